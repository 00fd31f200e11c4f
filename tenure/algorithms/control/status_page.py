"""Render the status of a run as Markdown for the Temporal web UI."""

import re

from tenure.algorithms.control.step_lines import describe_step
from tenure.contracts.run.run import RunProgress

# "*", "[", "|" and other marks of Markdown.
_MARKUP = re.compile(r"([\\`*_\[\]>|#!~])")


def render_status_page(progress: RunProgress) -> str:
    """Return the status of a run: its phase, topics, the steps of its current plan, usage and the feedback of users."""
    where = f"cycle {progress.cycle}" if progress.phase == "research" else f"generation {progress.revision}"
    lines = [f"**{progress.status}** · {progress.phase} · {where}"]
    if progress.last:
        lines += ["", _escape_markdown(progress.last)]
    if question := progress.input_request:
        text, deadline, assumption = map(_escape_markdown, (question.text, question.deadline, question.assumption))
        lines += ["", f"**Asks:** {text} Assumed at {deadline} unless a user answers: {assumption}"]
    if work := progress.repository:
        names = ", ".join(work.files[:10]) or "no file"
        which = f"Attempt {work.attempt}, changed" if work.attempt else "Changed"
        lines += ["", f"{which}: {_escape_markdown(names)} (+{work.added} -{work.removed}), {work.steps} steps"]
        for label, text in (("Plan", work.plan), ("Tests before", work.before), ("Tests after", work.after)):
            lines += ["", f"**{label}:** {_escape_markdown(text)}"] if text else []
    if progress.tests:
        lines += ["", f"{progress.tests_passed} of {progress.tests} tests passed"]
    if progress.topics:
        lines += ["", "| topic | state | claims | sources | coverage |", "|---|---|---:|---:|---:|"]
        for topic in progress.topics:
            name = _escape_markdown(topic.topic)
            lines.append(f"| {name} | {topic.phase} | {topic.claims} | {topic.sources} | {topic.coverage:.0%} |")
    if progress.steps and progress.phase == "research":
        lines += ["", *(f"- {_escape_markdown(describe_step(step))}" for step in progress.steps)]
    lines += ["", _render_usage(progress)]
    if progress.error:
        lines += ["", f"**Failed:** {_escape_markdown(progress.error)}"]
    lines += [f"- {_escape_markdown(entry.text)} → {_escape_markdown(entry.outcome)}" for entry in progress.feedback]
    return "\n".join(lines)


def _render_usage(progress: RunProgress) -> str:
    used = progress.usage
    tokens = f"{used.tokens_in + used.tokens_out:,} tokens" if used.tokens_in else "no tokens"
    chain = f" ({used.critical_path} model answers in a row)" if used.critical_path else ""
    return ", ".join([f"{used.calls} role calls{chain}", f"{used.searches} searches", *(progress.budget or (tokens,))])


def _escape_markdown(text: str) -> str:
    """Escape a text so that it cannot create table cells, headings, links, images or code."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split())[:300]).replace("<", "&lt;")
