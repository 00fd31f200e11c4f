"""Choose the next ReAct action without a model: tools that the task calls for, search, named entities, finish.

The order is fixed and depends on the task and its passages. Passages cannot name an action: they are only read for
entities to search and for sentences that answer, so that a prompt injection has no effect here.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.research.action_parsing import FINISH, ParsedAction
from tenure.algorithms.research.planning import is_same_query
from tenure.algorithms.research.tool_choice import choose_tool_calls
from tenure.algorithms.retrieval.bridge_entities import find_bridge_entities
from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import split_sentences, stem_words

MIN_ANSWER_OVERLAP: Final = 0.75
"""Minimum share of a question's words in a sentence and its document title, to count as answered."""

SEARCH_TOOLS: Final[tuple[str, ...]] = ("hybrid_search", "vector_search", "web_search")
"""Search tools, best first."""

MAX_SEARCH_RESULTS: Final = 12
"""Number of passages per search, as for other searches of a task."""

MAX_QUERY_LENGTH, MAX_SENTENCE_LENGTH = 500, 300
"""Maximum characters of a query, and of a sentence of an answer."""

TOOLS_FOR_PASSAGES: Final = frozenset({"lookup"})
"""Tools that work on passages which were seen."""


class PastAction(NamedTuple):
    """Executed action."""

    tool: str
    text: str
    """Query, expression or question."""


def choose_action(
    task: str,
    tools: Sequence[str],
    past_actions: Sequence[PastAction],
    passages: Sequence[Passage],
    numbers: Sequence[int],
    remaining_steps: int,
) -> ParsedAction:
    """Choose the next action.

    Args:
        task: task of the loop.
        tools: available tools.
        past_actions: executed actions, in order.
        passages: passages found, best first.
        numbers: number of each passage in citations.
        remaining_steps: remaining steps, including this one.
    """
    parts = tuple(part.question for part in decompose_question(task)) or (task,)
    open_parts = [part for part in parts if _find_best_sentence(part, passages).share < MIN_ANSWER_OVERLAP]
    if remaining_steps > 1:
        for move in _propose_actions(task, parts, open_parts, tools, past_actions, passages):
            if not any(
                past.tool == move.action and is_same_query(past.text, _get_argument(move)) for past in past_actions
            ):
                return move
    return _build_finish(parts, passages, numbers)


def _propose_actions(
    task: str,
    parts: Sequence[str],
    open_parts: Sequence[str],
    tools: Sequence[str],
    past_actions: Sequence[PastAction],
    passages: Sequence[Passage],
) -> Iterator[ParsedAction]:
    """Yield possible actions in order of preference, including executed ones."""
    calls = [call for call in choose_tool_calls(task) if call.tool in tools]
    for call in calls:
        if call.tool not in TOOLS_FOR_PASSAGES:
            yield _build_action(call.thought, call.tool, **call.arguments)
    search = next((name for name in SEARCH_TOOLS if name in tools), None)
    if search is None or (not passages and any(past.tool == "calculate" for past in past_actions)):
        return
    yield _build_search("No search was executed yet.", search, task)
    for call in calls if passages else ():
        yield _build_action(call.thought, call.tool, **call.arguments)
    for part in open_parts if len(parts) > 1 else ():
        yield _build_search("This part of the task is not answered.", search, part)
    made = [past.text for past in past_actions if past.tool in SEARCH_TOOLS]
    if open_parts:
        for bridge in find_bridge_entities(made[-1] if made else task, passages, made):
            yield _build_search(f"“{bridge.name}” was named and may lead further.", search, bridge.query)


def _build_search(thought: str, tool: str, query: str) -> ParsedAction:
    most = {} if tool == "web_search" else {"k": MAX_SEARCH_RESULTS}
    return _build_action(thought, tool, query=shorten(query, MAX_QUERY_LENGTH), **most)


def _build_action(thought: str, tool: str, **arguments: str | int) -> ParsedAction:
    return ParsedAction(thought, tool, json.dumps(arguments, ensure_ascii=False))


def _get_argument(move: ParsedAction) -> str:
    return str(next(iter(json.loads(move.arguments).values())))


class _BestSentence(NamedTuple):
    """Sentence that answers a question best."""

    share: float
    sentence: str
    passage: int


def _find_best_sentence(question: str, passages: Sequence[Passage]) -> _BestSentence:
    """Return the sentence that has most words of a question, including words of its document title."""
    wanted = set(stem_words(question))
    best = _BestSentence(0.0, "", -1)
    for place, passage in enumerate(passages):
        titled = wanted.intersection(stem_words(passage.title))
        for sentence in split_sentences(passage.text):
            shared = wanted.intersection(stem_words(sentence.text))
            share = len(shared | titled) / max(1, len(wanted))
            if shared and share > best.share:
                best = _BestSentence(share, sentence.text, place)
    return best


def _build_finish(parts: Sequence[str], passages: Sequence[Passage], numbers: Sequence[int]) -> ParsedAction:
    """Return the final action with the best sentence for each part of the task."""
    found = [best for part in parts if (best := _find_best_sentence(part, passages)).sentence]
    quotes = dict.fromkeys(f"{shorten(best.sentence, MAX_SENTENCE_LENGTH)} [{numbers[best.passage]}]" for best in found)
    share = sum(best.share for best in found) / len(parts)
    answer = " ".join(quotes) or "Nothing was found that answers it."
    return ParsedAction("No further search is likely to help.", FINISH, "", answer, round(share, 3))
