"""Bound the conversation of a model that works in a repository, and compact it when it has become long.

The conversation only grows at its end, so that a provider charges little for what was sent before. Every answer sends
all of it again, so that at some length a summary is cheaper, although the next answer then pays for the new beginning.
"""

import re
from collections.abc import Sequence
from typing import Final

from tenure.algorithms.coding.code_hits import divide_room
from tenure.algorithms.coding.engineer_answer import describe_action
from tenure.algorithms.control.budget import estimate_tokens
from tenure.algorithms.text.questions import shorten
from tenure.contracts.coding.engineering import ConversationTurn, EngineerAction

MAX_CONVERSATION_TOKENS: Final = 32_000
"""Length at which a conversation is compacted. At a tenth of the price for what a provider has in its cache, 32,000
tokens cost 3,200 an answer; the beginning of 10,000 that remains costs 10,000 once and 1,000 from then on, which pays
after five answers. Models with a context of 64,000 tokens have room for the answer as well."""

RECENT_TOKENS: Final = 6_000
"""Length of the latest turns that stay unchanged: the code that the model is changing, and the last results."""

MAX_RESULT_CHARACTERS: Final = 32_000
"""Length of the results of one answer: about 8,000 tokens, or two files of 350 lines. Of 25 recorded conversations, the
longest results of an answer had about 31,000 characters; with 16,000, models asked again for what was left out in five
of the last six, and each time the whole conversation was sent once more."""

MAX_EXCESS: Final = 1.1
"""Factor of its room that a text may have without being cut: to ask for a few lines costs more than they do."""

MAX_THOUGHT_IN_SUMMARY: Final = 300

_NUMBER: Final = re.compile(r"^(\d+)\|", re.MULTILINE)  # `12|` of a line that READ shows


def limit_results(texts: Sequence[str], limit: int = MAX_RESULT_CHARACTERS) -> tuple[str, ...]:
    """Return texts that together are about within a limit: short ones as they are, long ones without their middle."""
    rooms = divide_room([len(text) for text in texts], limit)
    return tuple(
        text if len(text) <= MAX_EXCESS * room else _leave_out_middle(text, room)
        for text, room in zip(texts, rooms, strict=True)
    )


def _leave_out_middle(text: str, limit: int) -> str:
    """Return a text with whole lines of its middle left out if it is too long."""
    if len(text) <= limit:
        return text
    # The beginning of a file or a search matters most, and the end of what a command prints.
    head = text[: limit * 2 // 3].rpartition("\n")[0] or text[: limit * 2 // 3]
    tail = text[len(text) - limit // 3 :].partition("\n")[2]
    above, below = _NUMBER.findall(head), _NUMBER.findall(tail)
    if above and below and int(above[-1]) < int(below[0]):
        note = f"lines {int(above[-1]) + 1}-{int(below[0]) - 1} left out: READ them if needed"
    else:
        note = f"{len(text) - len(head) - len(tail):,} characters left out: ask for less"
    return f"{head}\n[{note}]\n{tail}"


def summarize_turn(thought: str, actions: Sequence[EngineerAction], summaries: Sequence[str]) -> str:
    """Return a turn in a few lines: its thought, and each action with its outcome."""
    lines = [shorten(" ".join(thought.split()), MAX_THOUGHT_IN_SUMMARY)] if thought else []
    lines += [
        f"- {describe_action(action)} → {shorten(' '.join(summary.split()), 200)}"
        for action, summary in zip(actions, summaries, strict=False)
    ]
    return "\n".join(lines)


def compact_turns(
    summary: str, turns: Sequence[ConversationTurn], max_tokens: int = MAX_CONVERSATION_TOKENS
) -> tuple[str, tuple[ConversationTurn, ...]]:
    """Return the summary and the turns of a conversation, in which older turns become lines of the summary if needed.

    The latest turn always stays, since the model has not read its results.
    """
    if estimate_tokens(summary) + sum(map(_estimate_turn, turns)) <= max_tokens:
        return summary, tuple(turns)
    recent, size = 1, _estimate_turn(turns[-1])
    while recent < len(turns) and size + _estimate_turn(turns[-recent - 1]) <= RECENT_TOKENS:
        recent += 1
        size += _estimate_turn(turns[-recent])
    old = turns[: len(turns) - recent]
    lines = "\n".join(filter(None, (summary, *(turn.summary for turn in old))))
    return _leave_out_middle(lines, 4 * RECENT_TOKENS), tuple(turns[-recent:])


def _estimate_turn(turn: ConversationTurn) -> int:
    return estimate_tokens(turn.answer) + estimate_tokens(turn.results)
