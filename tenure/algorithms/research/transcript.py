"""Keep the transcript of a ReAct loop within a token limit, with a rolling summary of its oldest steps.

The newest steps stay verbatim. If there is no room for all of them, the oldest one becomes a summary line: its call,
and the sentence of its observation that is nearest to the task. If there is no room for all summary lines, the oldest
ones first lose their sentence and are then removed.
"""

from typing import Final

from tenure.algorithms.control.budget import BYTES_PER_TOKEN, estimate_tokens
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import split_sentences, stem_words
from tenure.contracts.evidence.react import ReactStep, Transcript

MAX_TRANSCRIPT_TOKENS: Final = 6_000
"""Default limit of a transcript."""

SUMMARY_SHARE: Final = 0.25
"""Share of the tokens for summarized steps."""

MAX_LINE_LENGTH, MAX_CALL_LENGTH = 400, 160
"""Maximum characters of a summary line, and of the call in it."""

ARROW: Final = " → "
"""Separator between the call and its result in a summary line."""


def append_step(
    transcript: Transcript, step: ReactStep, task: str, max_tokens: int = MAX_TRANSCRIPT_TOKENS
) -> Transcript:
    """Append a step to a transcript.

    Args:
        transcript: transcript so far.
        step: latest step.
        task: task of the loop; it decides which sentence of an observation is kept.
        max_tokens: token limit of the transcript.
    """
    gist, steps = list(transcript.summaries), [*transcript.steps, _truncate_step(step, max_tokens)]
    room = max_tokens - int(max_tokens * SUMMARY_SHARE)
    while len(steps) > 1 and sum(map(estimate_step_tokens, steps)) > room:
        gist.append(_summarize_step(steps.pop(0), task))
    kept = _trim_summary(gist, max_tokens - sum(map(estimate_step_tokens, steps)))
    return Transcript(summaries=tuple(kept), omitted=transcript.omitted + len(gist) - len(kept), steps=tuple(steps))


def estimate_step_tokens(step: ReactStep) -> int:
    """Return the estimated number of tokens of a step."""
    return estimate_tokens(step.thought + step.tool + step.arguments + step.observation)


def _truncate_step(step: ReactStep, max_tokens: int) -> ReactStep:
    """Truncate a step to a token limit: first its observation, then its thought, then the call."""
    spare = max_tokens - 1
    fitted: dict[str, str] = {}
    for field in ("tool", "arguments", "thought", "observation"):
        text = _truncate_bytes(getattr(step, field), spare * BYTES_PER_TOKEN)
        fitted[field] = text
        spare -= -(-len(text.encode()) // BYTES_PER_TOKEN)
    return step.model_copy(update=fitted)


def _truncate_bytes(text: str, max_bytes: int) -> str:
    """Return the beginning of a text, of at most `max_bytes` bytes."""
    data = text.encode()
    return text if len(data) <= max_bytes else data[: max(0, max_bytes)].decode(errors="ignore")


def _summarize_step(step: ReactStep, task: str) -> str:
    """Return a step in one line: its call, and the most relevant part of its result."""
    call = shorten(f"{step.n}. {step.tool or 'no action'} {step.arguments}".strip(), MAX_CALL_LENGTH)
    kept = "" if step.corrected else _find_nearest_sentence(step.observation, task)
    came = "not done" if step.corrected else shorten(kept, MAX_LINE_LENGTH - len(call) - len(ARROW)) or "nothing"
    return f"{call}{ARROW}{came}"


def _find_nearest_sentence(text: str, task: str) -> str:
    """Return the first of the sentences that share most words with a task."""
    wanted = set(stem_words(task))
    found = [" ".join(sentence.text.split()) for sentence in split_sentences(text)] or [" ".join(text.split())]
    return max(found, key=lambda sentence: len(wanted.intersection(stem_words(sentence))))


def _trim_summary(gist: list[str], max_tokens: int) -> list[str]:
    """Return the lines within a token limit; the oldest ones lose their result first and are then removed."""
    kept = list(gist)
    tokens = sum(map(estimate_tokens, kept))
    for at, line in enumerate(kept):
        if tokens <= max_tokens:
            break
        kept[at] = line.partition(ARROW)[0]
        tokens += estimate_tokens(kept[at]) - estimate_tokens(line)
    removed = 0
    while removed < len(kept) and tokens > max_tokens:
        tokens -= estimate_tokens(kept[removed])
        removed += 1
    return kept[removed:]
