"""Keep the transcript of a ReAct loop within a token limit, with a rolling summary of its oldest steps.

The newest steps stay verbatim. If there is no room for all of them, the oldest one becomes a summary line: its call,
and the sentence of its observation that is nearest to the task.
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
    """Append a step to the transcript of a task, which decides which sentence of an observation is kept."""
    gist, steps = list(transcript.summaries), [*transcript.steps, _truncate_step(step, max_tokens)]
    room = max_tokens - int(max_tokens * SUMMARY_SHARE)
    while len(steps) > 1 and sum(map(estimate_step_tokens, steps)) > room:
        gist.append(_summarize_step(steps.pop(0), task))
    lines = _trim_summary(gist, max_tokens - sum(map(estimate_step_tokens, steps)))
    return Transcript(summaries=tuple(lines), omitted=transcript.omitted + len(gist) - len(lines), steps=tuple(steps))


def estimate_step_tokens(step: ReactStep) -> int:
    """Return the estimated number of tokens of a step."""
    return estimate_tokens(step.thought + step.tool + step.arguments + step.observation)


def _truncate_step(step: ReactStep, max_tokens: int) -> ReactStep:
    """Truncate a step to a token limit: first its observation, then its thought, then the call."""
    spare = max_tokens - 1
    fitted: dict[str, str] = {}
    for field in ("tool", "arguments", "thought", "observation"):
        data = getattr(step, field).encode()[: max(0, spare * BYTES_PER_TOKEN)]
        fitted[field] = data.decode(errors="ignore")
        spare -= -(-len(fitted[field].encode()) // BYTES_PER_TOKEN)
    return step.model_copy(update=fitted)


def _summarize_step(step: ReactStep, task: str) -> str:
    """Return a step in one line: its call, and the most relevant part of its result."""
    call = shorten(f"{step.n}. {step.tool or 'no action'} {step.arguments}".strip(), MAX_CALL_LENGTH)
    if step.corrected:
        return f"{call}{ARROW}not done"
    stems = set(stem_words(task))
    texts = [sentence.text for sentence in split_sentences(step.observation)] or [step.observation]
    nearest = max(texts, key=lambda text: len(stems.intersection(stem_words(text))))
    result = shorten(" ".join(nearest.split()), MAX_LINE_LENGTH - len(call) - len(ARROW))
    return f"{call}{ARROW}{result or 'nothing'}"


def _trim_summary(gist: list[str], max_tokens: int) -> list[str]:
    """Return the lines within a token limit; the oldest ones lose their result first and are then removed."""
    lines = list(gist)
    tokens = sum(map(estimate_tokens, lines))
    for at, line in enumerate(lines):
        if tokens <= max_tokens:
            break
        lines[at] = line.partition(ARROW)[0]
        tokens += estimate_tokens(lines[at]) - estimate_tokens(line)
    removed = 0
    while removed < len(lines) and tokens > max_tokens:
        tokens -= estimate_tokens(lines[removed])
        removed += 1
    return lines[removed:]
