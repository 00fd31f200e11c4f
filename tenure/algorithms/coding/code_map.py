"""Draw a map of a repository within a budget of tokens: its files and symbols, those that concern a task first.

The graph of files has an edge from each file to the files that define the names it refers to. A random walk over it
(personalised PageRank) starts at the files that concern the task, so that what they build on ranks high even if no word
of the task is in it; the idea is that of Aider's map. The rank of a file is then divided among its symbols by the
references that lead to them. The result depends only on the input.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.coding.code_files import is_test_path
from tenure.algorithms.coding.identifiers import split_identifiers
from tenure.algorithms.coding.symbols import CodeSymbol
from tenure.algorithms.retrieval.pagerank import compute_personalised_pagerank

_MAX_DEFINING_FILES: Final = 20
"""Files that define a name above which a reference to it says nothing: `run`, `get`, `__init__`."""
_MENTION_WEIGHT: Final = 10.0
"""Weight of a name that the task mentions."""
_LONG_NAME_WEIGHT: Final = 3.0
"""Weight of a name of several words, such as `parse_header`; one word such as `path` often means something else."""
_PRIVATE_WEIGHT: Final = 0.1
_TEST_WEIGHT: Final = 0.2
"""Weight of the references of a test, and of its symbols: a task concerns the code that it tests."""
_EVEN_START: Final = 0.1
"""Share of the walk that starts at any file, so that the map of a task without known words shows the main files."""
# `Fix` and `parse_header` of `Fix a parse_header in v2`
_WORD: Final = re.compile(r"[^\W\d]\w{2,}")
_MAX_FILE_SYMBOLS: Final = 25
_MIN_WORD_CHARACTERS: Final = 4
"""Length of a word of the task that is compared with names; shorter ones are mostly `the`, `is` and `not`."""


class MapFile(NamedTuple):
    """A file for the map."""

    path: str
    symbols: Sequence[CodeSymbol]
    references: Iterable[tuple[str, int]]
    """Names that it refers to, with the number of lines."""


class CodeMap(NamedTuple):
    """Map of a repository."""

    text: str
    shown: int
    """Number of files that it shows."""


def rank_symbols(
    files: Sequence[MapFile], task: str, start: Mapping[str, float]
) -> tuple[dict[str, float], dict[tuple[str, str], float]]:
    """Return the rank of each file, and of each symbol of a file by its qualified name.

    Args:
        files: files of the repository.
        task: text of the task.
        start: weights of files that concern the task, such as those of a search; may be empty.
    """
    mentioned = set(_WORD.findall(task))
    words = {word for word in split_identifiers(task).split() if len(word) >= _MIN_WORD_CHARACTERS}
    defined: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for file in files:
        for symbol in file.symbols:
            defined[symbol.name][file.path] = None
    links: dict[str, dict[str, float]] = {}
    received: defaultdict[tuple[str, str], float] = defaultdict(float)
    for file in files:
        outgoing: defaultdict[str, float] = defaultdict(float)
        trust = _TEST_WEIGHT if is_test_path(file.path) else 1.0
        for name, count in file.references:
            definers = defined.get(name, ())
            if not definers or len(definers) > _MAX_DEFINING_FILES or file.path in definers:
                continue
            weight = trust * _weigh_name(name, mentioned) * math.sqrt(count) / len(definers)
            for path in definers:
                outgoing[path] += weight
                received[path, name] += weight
        links[file.path] = outgoing
    total = sum(start.values())
    even = _EVEN_START / max(len(files), 1) if total > 0 else 1.0
    restart = {
        file.path: even * (_TEST_WEIGHT if is_test_path(file.path) else 1.0)
        + (start.get(file.path, 0.0) / total if total > 0 else 0.0)
        + (1.0 / len(files) if file.path in task else 0.0)
        for file in files
    }
    ranks = compute_personalised_pagerank(links, restart) if files else {}
    return ranks, {
        (file.path, symbol.qualified_name): ranks[file.path]
        * (1.0 + received.get((file.path, symbol.name), 0.0))
        * (_MENTION_WEIGHT if symbol.name in mentioned else 1.0)
        * _weigh_symbol(symbol.name, words)
        for file in files
        for symbol in file.symbols
    }


def build_map(
    files: Sequence[MapFile],
    task: str,
    start: Mapping[str, float],
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> CodeMap:
    """Return a map that shows the highest ranked files with their most important symbols.

    Args:
        files: files of the repository.
        task: text of the task.
        start: weights of files that concern the task.
        max_tokens: maximum length.
        count_tokens: token counter.
    """
    files = [MapFile(file.path, file.symbols, list(file.references)) for file in files]
    ranks, symbol_ranks = rank_symbols(files, task, start)
    by_path = {file.path: file for file in files}
    order = sorted(by_path, key=lambda path: (-ranks[path], path))
    parts: list[str] = []
    room = max_tokens
    for path in order:
        # Files of the first ranks get more room than later ones.
        part = _render_file(by_path[path], symbol_ranks, max(room // 6, 30), count_tokens)
        cost = count_tokens(part) + 1
        if cost > room:
            break
        parts.append(part)
        room -= cost
    return CodeMap("\n".join(parts), len(parts))


def _render_file(
    file: MapFile, ranks: Mapping[tuple[str, str], float], room: int, count_tokens: Callable[[str], int]
) -> str:
    """Return a file with its highest ranked symbols, in the order of the text, in at most this number of tokens."""
    symbols = [symbol for symbol in file.symbols if symbol.kind != "variable" or symbol.name.isupper()]
    best = sorted(symbols, key=lambda symbol: (-ranks[file.path, symbol.qualified_name], symbol.first))
    chosen: list[tuple[int, str]] = []
    seen_lines: set[str] = set()
    room -= count_tokens(file.path)
    for symbol in best[:_MAX_FILE_SYMBOLS]:
        line = f"  {symbol.first}: {'  ' * symbol.depth}{symbol.signature}"
        room -= count_tokens(line)
        if room < 0:
            break
        if line not in seen_lines:
            seen_lines.add(line)
            chosen.append((symbol.first, line))
    left = len(symbols) - len(chosen)
    more = f" ({left} more symbols)" if left else ""
    return "\n".join((f"{file.path}{more}", *(line for _, line in sorted(chosen))))


def _weigh_symbol(name: str, words: Collection[str]) -> float:
    """Return the weight of a symbol by the words of the task in its name; a private one without any has little."""
    common = sum(part in words for part in split_identifiers(name).split())
    return 1.0 + common if common or not name.startswith("_") else _PRIVATE_WEIGHT


def _weigh_name(name: str, mentioned: Collection[str]) -> float:
    weight = _MENTION_WEIGHT if name in mentioned else 1.0
    if len(split_identifiers(name).split()) > 2:
        weight *= _LONG_NAME_WEIGHT
    return weight * _PRIVATE_WEIGHT if name.startswith("_") else weight
