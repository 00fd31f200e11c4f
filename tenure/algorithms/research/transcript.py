"""Short-term memory: the transcript of a loop under a bound of tokens, with a rolling summary (003, memory).

The last steps stay as they are. When there is no room for all of them the oldest becomes a line: what was done, and
the sentence of its observation that is nearest to the task. When there is no room for all lines either, they lose
their sentences first and then themselves, from the oldest on, so that a loop of any length fits into one prompt.
"""

from typing import Final

from tenure.algorithms.control.budget import BYTES_PER_TOKEN, estimated_tokens
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import sentences, stems
from tenure.contracts.evidence.react import ReactStep, Transcript

MOST_TOKENS: Final = 6_000
"""Tokens of a transcript."""

GIST_SHARE: Final = 0.25
"""Share of them that summarised steps may have."""

LONGEST_LINE, LONGEST_CALL = 400, 160
"""Characters of a summarised step, and of its call alone."""

ARROW: Final = " → "
"""What stands in a line between the call and what came of it."""


def remembered(transcript: Transcript, step: ReactStep, task: str, most: int = MOST_TOKENS) -> Transcript:
    """Return a transcript with one more step, within so many tokens.

    Args:
        transcript: the memory so far.
        step: what was just done.
        task: what the loop is about; it decides which sentence of an observation is kept.
        most: tokens.
    """
    gist, steps = list(transcript.gist), [*transcript.steps, _fitting(step, most)]
    room = most - int(most * GIST_SHARE)
    while len(steps) > 1 and sum(map(tokens, steps)) > room:
        gist.append(_line(steps.pop(0), task))
    kept = _trimmed(gist, most - sum(map(tokens, steps)))
    return Transcript(gist=tuple(kept), forgotten=transcript.forgotten + len(gist) - len(kept), steps=tuple(steps))


def tokens(step: ReactStep) -> int:
    """Return about how many tokens a step has."""
    return estimated_tokens(step.thought + step.tool + step.arguments + step.observation)


def _fitting(step: ReactStep, most: int) -> ReactStep:
    """Return a step that takes no more than so many tokens, its observation cut, then its thought, then the call."""
    spare = most - 1
    fitted: dict[str, str] = {}
    for field in ("tool", "arguments", "thought", "observation"):
        text = _cut(getattr(step, field), spare * BYTES_PER_TOKEN)
        fitted[field] = text
        spare -= -(-len(text.encode()) // BYTES_PER_TOKEN)
    return step.model_copy(update=fitted)


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text, of at most so many bytes."""
    data = text.encode()
    return text if len(data) <= most else data[: max(0, most)].decode(errors="ignore")


def _line(step: ReactStep, task: str) -> str:
    """Return a step in one line: its call, and what is worth keeping of what came of it."""
    call = shorten(f"{step.n}. {step.tool or 'no action'} {step.arguments}".strip(), LONGEST_CALL)
    kept = "" if step.corrected else _nearest(step.observation, task)
    came = "not done" if step.corrected else shorten(kept, LONGEST_LINE - len(call) - len(ARROW)) or "nothing"
    return f"{call}{ARROW}{came}"


def _nearest(text: str, task: str) -> str:
    """Return the sentence of a text that shares most words with a task, the first one of several."""
    wanted = set(stems(task))
    found = [" ".join(sentence.text.split()) for sentence in sentences(text)] or [" ".join(text.split())]
    return max(found, key=lambda sentence: len(wanted.intersection(stems(sentence))))


def _trimmed(gist: list[str], most: int) -> list[str]:
    """Return the lines that fit into so many tokens: first without what came of the oldest, then without the oldest."""
    kept = list(gist)
    for at, line in enumerate(kept):
        if _size(kept) <= most:
            break
        kept[at] = line.partition(ARROW)[0]
    while kept and _size(kept) > most:
        kept.pop(0)
    return kept


def _size(lines: list[str]) -> int:
    return sum(map(estimated_tokens, lines))
