"""Render the steps of a task: thought, action, observation and confidence."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.react import ReactStep
from tenure.report.render.escaping import escape

MAX_STEP_CHARS: Final = 240
"""Maximum length of a thought or an observation."""

_PASSAGE_NUMBERS: Final = re.compile(r"(?:(?<!\s)\s++)?+\[\d+(?:\s*[,;]\s*\d+)*\]")
"""Numbers of passages in an answer; the passages that they name are not shown."""


def render_steps(steps: Sequence[ReactStep], answer: str) -> Iterator[str]:
    """Yield a list item for each step, and one for the answer."""
    for step in steps:
        thought = f" {_brief(step.thought)}" if step.thought else ""
        yield f"- step {step.n}{thought} **{_call(step)}**{_describe_outcome(step)}"
    if answer:
        yield f"- answered: {escape(_PASSAGE_NUMBERS.sub('', answer))}"


def _call(step: ReactStep) -> str:
    if step.tool == "finish" and not step.corrected:
        return f"finish, {step.confidence:.0%} sure"
    return f"{_brief(step.tool) or 'no action'}{f' {_brief(step.arguments)}' if step.arguments else ''}"


def _describe_outcome(step: ReactStep) -> str:
    if step.tool == "finish" and not step.corrected:
        return ""
    if step.corrected:
        return f", corrected: {_brief(step.observation)}"
    new = f", {format_count(step.passages, 'new passage')}" if step.passages else ""
    return f", reliability {step.reliability:.2f}{new}: {_brief(step.observation)}"


def _brief(text: str) -> str:
    return escape(shorten(" ".join(text.split()), MAX_STEP_CHARS))
