"""What to do next without a model: calculate, ask tables, search, follow what was named, and finish (003, ReAct).

A fixed order over what the task says and what its passages say. No passage can name an action: words of sources are
read for names that lead on and for sentences that answer, and for nothing else.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.research.action_parsing import FINISH, Move
from tenure.algorithms.research.planning import same
from tenure.algorithms.retrieval.bridge_entities import bridges
from tenure.algorithms.retrieval.decomposition import decompose
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import sentences, stems
from tenure.contracts.research.tools import ToolName

ANSWERED: Final = 0.75
"""Share of the words of a question that one sentence, with the title of its document, has to have to answer it."""

SEARCHES: Final[tuple[ToolName, ...]] = ("hybrid_search", "vector_search", "web_search")
"""Tools that search, the best first."""

WANTED: Final = 12
"""Passages of a search, as of any other search of a task; what reads them here needs no short observation."""

LONGEST_QUERY, LONGEST_SENTENCE = 500, 300
"""Characters of a query, and of a sentence of an answer."""

_ARITHMETIC = re.compile(
    r"(?<![\w.])[(\s]*\d[\d.,]*(?:[()\s]*(?:[+*/^×÷]|(?<=\s)[-–−](?=\s)|\*\*)[()\s]*\d[\d.,]*)+\)*(?![\w])"
)
_PERCENT = re.compile(r"(?P<share>\d+(?:\.\d+)?)\s*(?:%|per ?cent)\s+of\s+(?P<whole>\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_CONVERTED = re.compile(
    r"\b(?:convert|how (?:much|many|long|far|heavy) (?:is|are)|what (?:is|are))\s+"
    r"(?P<from>\d[\d,]*(?:\.\d+)?\s*[a-z°µ/]+)\s+(?:in|to|into)\s+(?P<to>[a-z°µ/]+)\b",
    re.IGNORECASE,
)
_AGGREGATE = re.compile(
    r"\b(?:how many|how much|number of|count of|totals?|sum|average|mean|highest|lowest|largest|smallest|maximum|"
    r"minimum)\b",
    re.IGNORECASE,
)


class Taken(NamedTuple):
    """An action that was taken."""

    tool: str
    """The tool."""
    text: str
    """Its query, expression or question."""


def next_action(
    task: str,
    offered: Sequence[ToolName],
    taken: Sequence[Taken],
    passages: Sequence[Passage],
    numbers: Sequence[int],
    left: int,
) -> Move:
    """Return what is done next.

    Args:
        task: what is to be found.
        offered: the tools that there are.
        taken: actions that were taken, in order.
        passages: what was found, best first.
        numbers: by which numbers the passages are known.
        left: steps left, this one included.
    """
    parts = tuple(part.question for part in decompose(task)) or (task,)
    open_parts = [part for part in parts if _best(part, passages).share < ANSWERED]
    if left > 1:
        for move in _moves(task, parts, open_parts, offered, taken, passages):
            if not any(one.tool == move.action and same(one.text, _text(move)) for one in taken):
                return move
    return _finish(parts, passages, numbers)


def expression(task: str) -> str:
    """Return the calculation that a task spells out, empty where it spells none."""
    if found := _PERCENT.search(task):
        return f"{found['share']} / 100 * {found['whole'].replace(',', '')}"
    if found := _CONVERTED.search(task):
        return f"{found['from'].replace(',', '')} to {found['to']}"
    if found := _ARITHMETIC.search(task):
        return _plain(found.group())
    return ""


def _moves(
    task: str,
    parts: Sequence[str],
    open_parts: Sequence[str],
    offered: Sequence[ToolName],
    taken: Sequence[Taken],
    passages: Sequence[Passage],
) -> Iterator[Move]:
    """Yield what could be done, in the order in which it is tried; what was done already is among it."""
    computed = expression(task)
    if computed and "calculate" in offered:
        yield _move("The task spells out a calculation.", "calculate", expression=computed)
    if _AGGREGATE.search(task) and "sql" in offered:
        yield _move("The task asks for a figure that tables may hold.", "sql", question=task[:LONGEST_QUERY])
    search = next((name for name in SEARCHES if name in offered), None)
    if search is None or (computed and not passages and any(one.tool == "calculate" for one in taken)):
        return
    yield _search("Nothing was looked for yet.", search, task)
    for part in open_parts if len(parts) > 1 else ():
        yield _search("This part of the task is not answered.", search, part)
    made = [one.text for one in taken if one.tool in SEARCHES]
    if open_parts:
        for bridge in bridges(made[-1] if made else task, passages, made):
            yield _search(f"“{bridge.name}” was named and leads on.", search, bridge.query)


def _search(thought: str, tool: ToolName, query: str) -> Move:
    most = {} if tool == "web_search" else {"k": WANTED}
    return _move(thought, tool, query=shorten(query, LONGEST_QUERY), **most)


def _move(thought: str, tool: ToolName, **arguments: str | int) -> Move:
    return Move(thought, tool, json.dumps(arguments, ensure_ascii=False))


def _text(move: Move) -> str:
    return str(next(iter(json.loads(move.arguments).values())))


class _Best(NamedTuple):
    """The sentence that answers a question best."""

    share: float
    sentence: str
    passage: int


def _best(question: str, passages: Sequence[Passage]) -> _Best:
    """Return the sentence with most of a question's words, those of its document's title counted in."""
    wanted = set(stems(question))
    best = _Best(0.0, "", -1)
    for place, passage in enumerate(passages):
        titled = wanted.intersection(stems(passage.title))
        for sentence in sentences(passage.text):
            said = wanted.intersection(stems(sentence.text))
            share = len(said | titled) / max(1, len(wanted))
            if said and share > best.share:
                best = _Best(share, sentence.text, place)
    return best


def _finish(parts: Sequence[str], passages: Sequence[Passage], numbers: Sequence[int]) -> Move:
    """Return the end, with the sentences that answer the parts best."""
    found = [best for part in parts if (best := _best(part, passages)).sentence]
    said = dict.fromkeys(f"{shorten(best.sentence, LONGEST_SENTENCE)} [{numbers[best.passage]}]" for best in found)
    share = sum(best.share for best in found) / len(parts)
    answer = " ".join(said) or "Nothing was found that answers it."
    return Move("What was found is what there is.", FINISH, "", answer, round(share, 3))


def _plain(written: str) -> str:
    """Return a calculation in plain signs, without brackets that have no partner."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", written)
    for sign, plain in (("×", "*"), ("÷", "/"), ("–", "-"), ("−", "-"), ("**", "^")):
        text = text.replace(sign, plain)
    text = " ".join(text.strip().rstrip(".,").split())
    return text if text.count("(") == text.count(")") else text.replace("(", "").replace(")", "")
