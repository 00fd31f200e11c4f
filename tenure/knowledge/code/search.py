"""Search the index of a repository: by meaning and words, or for a symbol with its definition, callers and tests."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tenure.algorithms.chunking.chunking import estimate_tokens
from tenure.algorithms.coding.code_files import is_test_path
from tenure.algorithms.coding.code_hits import build_hits, render_line
from tenure.algorithms.coding.code_map import MapFile, build_map
from tenure.algorithms.coding.identifiers import split_identifiers
from tenure.algorithms.coding.languages import find_language
from tenure.algorithms.coding.symbols import find_enclosing
from tenure.algorithms.coding.syntax import MAX_SOURCE_BYTES
from tenure.contracts.coding.repositories import ActionResult
from tenure.files.ignore_rules import IgnoreRules
from tenure.files.opening import FileRefused, open_file
from tenure.knowledge.code.snapshot import CodeSnapshot, Definition

if TYPE_CHECKING:
    from tenure.knowledge.code.index import CodeIndex

MAX_FILES: Final = 12
"""Files that a search by meaning shows."""
_MAX_CHUNKS: Final = 400
"""Chunks that are ranked: those of all states of the repository, so some are of none of the files."""
_MAX_FILE_CHUNKS: Final = 2
_TEST_WEIGHT: Final = 0.5
_TEXT_WEIGHT: Final = 0.3
"""Weights of the scores of tests, and of files in no known language. In 60 fixes of five repositories, a changed file
was among the first five results in 0.83 of all cases with the weights, 0.73 without them, and 0.80 to 0.73 with sums of
the scores of several chunks instead of the best one."""
_MAX_SHOWN_LINES: Final = 6
_MIN_WORD_CHARACTERS: Final = 4
"""Length of a word of the query by which lines are chosen; shorter ones are mostly `the`, `is` and `not`."""
_MAX_DEFINITIONS: Final = 20
_MAX_REFERENCES: Final = 80
_MAX_BODY_LINES: Final = 80
"""Lines of all definitions together up to which their code is shown: 95 % of the functions of the field's libraries
are shorter (60 to 70 lines), and a model reads the definition next."""
_MAX_SUGGESTIONS: Final = 20
_MAP_START_FILES: Final = 20
"""Files of a search by the task at which the map's walk starts."""

ChooseFiles = Callable[[str], bool]


class RankedFile(NamedTuple):
    """A file with its score and the chunks that match best."""

    path: str
    score: float
    chunks: tuple[tuple[int, int, str], ...]
    """First and last line, and symbol."""


def make_filter(pattern: str) -> ChooseFiles:
    """Return whether a path is matched by a glob pattern or lies in the folder that it names; empty matches all.

    A pattern without a slash is matched with the names in every folder.

    Raises:
        FileRefused: the pattern is too long.
    """
    if not pattern.strip():
        return lambda path: True
    rules = IgnoreRules.from_glob(pattern)

    def matches(path: str) -> bool:
        parts = path.split("/")
        # As in a `.gitignore`, a matched folder includes its files.
        return any(rules.decide(parts[:end], is_folder=end < len(parts)) for end in range(1, len(parts) + 1))

    return matches


def rank_files(
    index: "CodeIndex", repository: str, snapshot: CodeSnapshot, query: str, chosen: ChooseFiles
) -> list[RankedFile]:
    """Return the files of a state that match a query best, best first."""
    words = split_identifiers(query)
    scores: dict[str, list[tuple[float, tuple[int, int, str]]]] = {}
    for file, first, last, symbol, score in index.find_chunks(repository, words, _MAX_CHUNKS) if words else ():
        indexed = snapshot.files.get(file)
        if indexed is not None and chosen(indexed.path):
            scores.setdefault(indexed.path, []).append((score, (first, last, symbol)))
    ranked = [
        RankedFile(
            path,
            _score_file(path, (score for score, _ in chunks)),
            tuple(chunk for _, chunk in sorted(chunks, key=lambda scored: -scored[0])[:_MAX_FILE_CHUNKS]),
        )
        for path, chunks in scores.items()
    ]
    return sorted(ranked, key=lambda file: (-file.score, file.path))


def _score_file(path: str, scores: Iterable[float]) -> float:
    """Return the score of a file by those of its chunks; tests and texts repeat the words of the code that is meant."""
    weight = _TEST_WEIGHT if is_test_path(path) else 1.0 if find_language(path) else _TEXT_WEIGHT
    return weight * max(scores)


def search_meaning(
    index: "CodeIndex", repository: str, snapshot: CodeSnapshot, folder: Path, query: str, pattern: str
) -> ActionResult:
    """Return the parts of files that match a query best, by words and the parts of identifiers."""
    ranked = rank_files(index, repository, snapshot, query, make_filter(pattern))[:MAX_FILES]
    words = {word for word in split_identifiers(query).split() if len(word) >= _MIN_WORD_CHARACTERS}
    read = _make_reader(folder)
    entries = [entry for file in ranked for entry in _show_chunks(file, read(file.path), words)]
    action = f"search by meaning {_quote(query)}"
    summary = f"{len(ranked)} files, best first" if ranked else ""
    return build_hits(action, summary, entries, advice="Try other words, a text that occurs in the code, or a symbol.")


def search_symbol(snapshot: CodeSnapshot, folder: Path, query: str, pattern: str) -> ActionResult:
    """Return the definitions of a symbol, the lines that refer to it, and the tests among them."""
    chosen = make_filter(pattern)
    qualified_name = query.strip().removesuffix("()").replace("::", ".").replace("#", ".")
    name = qualified_name.rpartition(".")[2]
    definitions = [definition for definition in _find_definitions(snapshot, qualified_name) if chosen(definition.path)]
    read = _make_reader(folder)
    callers: list[tuple[str, int]] = []
    tests: list[tuple[str, int]] = []
    for path, lines in sorted(snapshot.find_references(name)):
        if chosen(path):
            (tests if is_test_path(path) else callers).extend((path, line) for line in lines)
    action = f"search symbol {_quote(query)}"
    if not definitions and not callers and not tests:
        return build_hits(action, "", (), advice=_suggest(snapshot, name))
    shown = definitions[:_MAX_DEFINITIONS]
    # The code of a few short definitions is what is read next anyway.
    lines_shown = sum(definition.symbol.last - definition.symbol.first + 1 for definition in shown)
    bodies = lines_shown <= _MAX_BODY_LINES
    entries = [_show_definition(definition, read(definition.path) if bodies else []) for definition in shown]
    for kind, references in (("caller", callers), ("test", tests)):
        entries += [
            f"{kind} {_show_reference(snapshot, path, line, read(path))}" for path, line in references[:_MAX_REFERENCES]
        ]
    summary = f"{len(definitions)} definitions, {len(callers)} references, {len(tests)} in tests"
    hidden = max(len(callers) - _MAX_REFERENCES, 0) + max(len(tests) - _MAX_REFERENCES, 0)
    hidden += max(len(definitions) - _MAX_DEFINITIONS, 0)
    return build_hits(action, summary, entries, f"{hidden} more lines: add a file pattern" if hidden else "")


def draw_map(index: "CodeIndex", repository: str, snapshot: CodeSnapshot, task: str, max_tokens: int) -> ActionResult:
    """Return a map of the repository within a budget of tokens, with the files that concern the task first."""
    ranked = rank_files(index, repository, snapshot, task, lambda path: True)[:_MAP_START_FILES]
    files = [
        MapFile(file.path, file.symbols, file.count_references())
        for file in sorted(snapshot.files.values())
        if not file.reason and find_language(file.path)
    ]
    drawn = build_map(files, task, {file.path: file.score for file in ranked}, max_tokens, estimate_tokens)
    share = f"{drawn.shown} of {len(files)} files with source code"
    return ActionResult(text=f"map: {share}\n{drawn.text}" if files else "map: no source code", summary=f"map: {share}")


def _find_definitions(snapshot: CodeSnapshot, qualified_name: str) -> list[Definition]:
    """Return the definitions of a name, or those whose qualified name ends with it."""
    name = qualified_name.rpartition(".")[2]
    definitions = snapshot.definitions.get(name, ())
    if qualified_name != name:
        definitions = tuple(
            item for item in definitions if f".{item.symbol.qualified_name}".endswith(f".{qualified_name}")
        )
    return sorted(definitions, key=lambda item: (is_test_path(item.path), item.path, item.symbol.first))


def _suggest(snapshot: CodeSnapshot, name: str) -> str:
    """Return names that resemble an unknown one: in another case, or with it as a part."""
    lower = name.lower()
    near = [symbol for symbol in snapshot.definitions if lower in symbol.lower()] if lower else []
    near = sorted(near, key=lambda symbol: (symbol.lower() != lower, len(symbol), symbol))[:_MAX_SUGGESTIONS]
    return f"Similar symbols: {', '.join(near)}" if near else "Try a search by meaning or text."


def _show_definition(definition: Definition, lines: list[str]) -> str:
    """Return a definition with its numbered lines, or with its signature if none are given."""
    symbol = definition.symbol
    text = f"{symbol.kind} {symbol.qualified_name} (lines {symbol.first}–{symbol.last})"
    body = [f"{n:>5}|{line}" for n, line in enumerate(lines[symbol.first - 1 : symbol.last], symbol.first)]
    head = render_line(definition.path, symbol.first, text if body else f"{text}: {symbol.signature}")
    return "\n".join([f"definition {head}", *body])


def _show_reference(snapshot: CodeSnapshot, path: str, line: int, lines: list[str]) -> str:
    around = find_enclosing(snapshot.by_path[path].symbols, line)
    code = lines[line - 1].strip() if line <= len(lines) else ""
    return render_line(path, line, f"in {around.qualified_name}: {code}" if around else code)


def _show_chunks(file: RankedFile, lines: list[str], words: Collection[str]) -> Iterator[str]:
    """Yield the place of each chunk, with the lines that have most words of the query."""
    for first, last, symbol in sorted(file.chunks):
        yield f"{file.path}:{first}-{last}{f' {symbol}' if symbol else ''}"
        weighed = [
            (sum(word in words for word in set(split_identifiers(lines[row - 1]).split())), -row)
            for row in range(first, min(last, len(lines)) + 1)
        ]
        best = sorted(-row for weight, row in sorted(weighed, reverse=True)[:_MAX_SHOWN_LINES] if weight)
        for row in best:
            yield f"  {render_line('', row, lines[row - 1]).removeprefix(':')}"


def _make_reader(folder: Path) -> Callable[[str], list[str]]:
    @cache
    def read(path: str) -> list[str]:
        """Return the lines of a file of the state, none if it is not a file any more."""
        try:
            with open_file(folder / path) as opened:
                return opened.read(MAX_SOURCE_BYTES).decode("utf-8", "replace").split("\n")
        except (OSError, FileRefused):
            return []

    return read


def _quote(query: str) -> str:
    text = " ".join(query.split())
    return f'"{text[:80]}…"' if len(text) > 80 else f'"{text}"'
