"""The status page of a run: what the web UI shows while it works, as Markdown."""

import re

from tenure.contracts.run.control import Question
from tenure.contracts.run.run import Progress, TopicProgress

_MARKUP = re.compile(r"([\\`*_\[\]>|#!~])")


def status_page(progress: Progress) -> str:
    """Return the run's live status: where it is, a table of its topics, what people said."""
    where = f"cycle {progress.cycle}" if progress.phase == "research" else f"generation {progress.revision}"
    lines = [f"**{progress.status}** · {progress.phase} · {where}"]
    if progress.last:
        lines += ["", _cell(progress.last)]
    if progress.waiting:
        lines += ["", _waiting(progress.waiting)]
    if progress.tests:
        lines += ["", f"{progress.tests_passed} of {progress.tests} tests passed"]
    if progress.topics:
        lines += ["", "| topic | state | claims | sources | coverage |", "|---|---|---:|---:|---:|"]
        lines += [_row(topic) for topic in progress.topics]
    lines += ["", _usage(progress)]
    if progress.error:
        lines += ["", f"**Failed:** {_cell(progress.error)}"]
    lines += [f"- {_cell(said.text)} → {_cell(said.outcome)}" for said in progress.feedback]
    return "\n".join(lines)


def _waiting(question: Question) -> str:
    asked = f"**Asks:** {_cell(question.text)} Assumed at {_cell(question.until)} unless somebody answers: "
    return f"{asked}{_cell(question.assumed)}"


def _row(topic: TopicProgress) -> str:
    cells = (_cell(topic.topic), topic.phase, str(topic.claims), str(topic.sources), f"{topic.coverage:.0%}")
    return f"| {' | '.join(cells)} |"


def _usage(progress: Progress) -> str:
    used = progress.usage
    tokens = f"{used.tokens_in + used.tokens_out:,} tokens" if used.tokens_in else "no tokens"
    return ", ".join([f"{used.calls} role calls", f"{used.searches} searches", *(progress.budget or (tokens,))])


def _cell(text: str) -> str:
    """Return a text as plain words: it can open no cell, heading, link, picture or code."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split())[:300]).replace("<", "&lt;")
