"""A result document as a Markdown report that a person reads from top to bottom.

Text first, then what it rests on, then how it came about. Everything that is not ours is escaped
where it enters. The text is set from the claims, so that every sentence has its mark.
"""

from collections.abc import Iterator
from pathlib import PurePath

from tenure.contracts.result.result import Contradiction, Result, ResultStatus, Synthesis
from tenure.contracts.run.run import Handled
from tenure.report.render import reasoning
from tenure.report.render.escaping import escape, flatten
from tenure.report.render.layout import parted
from tenure.report.render.limits import evidence_limits, web_limits
from tenure.report.render.marks import Marks, Style, marks, to_markdown
from tenure.report.render.news import HEADING, news
from tenure.report.render.program import made_files, program_body
from tenure.report.render.provenance import provenance
from tenure.report.render.references import quotes, references

STATUS_LINES: dict[ResultStatus, str] = {
    "done": "",
    "finished_early": "This report was asked for before the research was over; it holds what there was by then.",
    "cancelled": "The run was cancelled; this is what there was by then.",
    "no_evidence": "",
    "failing_tests": "No program passed its tests; this is the best of them.",
    "unsupported": "This kind of task cannot be done here; the last part says why.",
    "failed": "The run failed; this is what there was by then.",
}
"""What a reader has to know first, by how the run ended."""

BEYOND = "These thoughts go beyond the sources and are not cited."
"""What is said before thoughts that no source vouches for."""

HOW_TO_CHECK = (
    "Every mark above leads to words of its source, quoted here to the letter "
    "(white space apart) with their place in the stored text."
)
"""What is said before the quotes."""

FILES_MADE = "A program made these files from the tables; its code stands in the source that holds what it printed."
"""What is said before the files of a report."""

_NOTHING_FOUND = "**No evidence was found.** Nothing that was read answers the question, so this report claims nothing."

_ADVICE = (
    "Ask again in words that the documents themselves would use.",
    "Name the files or folders that hold the answer with `--docs PATH`.",
    "See below which files could not be read and why.",
    "Lower `TENURE_MIN_RELEVANCE` if the documents touch the question only in passing.",
)


def render(result: Result, base: PurePath | None = None, style: Style = "numeric") -> str:
    """Set a result document as Markdown.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative, where they are under it.
        style: how marks name sources.
    """
    return "\n\n".join(part.strip() for part in _parts(result, base, style) if part.strip()) + "\n"


def _parts(result: Result, base: PurePath | None, style: Style) -> Iterator[str]:
    yield f"# {escape(result.title)}"
    asked = "Task" if result.mode == "CODE" else "Question"
    yield f"> **{asked}:** {escape(result.question)}"
    if line := STATUS_LINES[result.status]:
        yield f"*{line}*"
    if told := news(result):
        yield f"## {HEADING}\n\n{told}"
    yield from program_body(result) if result.mode == "CODE" else _body(result, marks(result.sources, style))
    if result.contradictions:
        yield f"## Where sources disagree\n\n{_contradictions(result, marks(result.sources, style))}"
    if limits := evidence_limits(result):
        yield "## Limits of the evidence\n\n" + "\n".join(f"- {escape(limit)}" for limit in limits)
    if result.further_considerations:
        thoughts = "\n".join(f"- {escape(text)}" for text in result.further_considerations)
        yield f"## Further Considerations\n\n*{BEYOND}*\n\n{thoughts}"
    if result.feedback:
        asked = "\n".join(handled(word) for word in result.feedback)
        yield f"## What was asked along the way\n\n{asked}"
    if result.sources:
        yield f"## References\n\n{references(result, base, style)}"
        yield f"## Quotes\n\n{HOW_TO_CHECK}\n\n{quotes(result, style)}"
    yield f"## How this report was made\n\n{provenance(result)}"


def _body(result: Result, named: Marks) -> Iterator[str]:
    if result.status == "no_evidence":
        yield nothing_found(result)
    if result.abstract_claims:
        yield f"## Abstract\n\n{to_markdown(result.abstract_claims, named)}"
    for section in result.sections:
        yield f"## {escape(section.topic)}\n\n{to_markdown(section.claims, named)}"
    if result.reasoning:
        yield f"## {reasoning.HEADING}\n\n{reasoning.to_text(result.reasoning, named)}"
    if result.synthesis:
        yield from _synthesis(result.synthesis, named)
    if result.artifacts:
        yield f"## Figures and files\n\n{FILES_MADE}\n\n{made_files(result)}"


def _synthesis(synthesis: Synthesis, named: Marks) -> Iterator[str]:
    """Set what follows from it all; a single part by itself says nothing."""
    parts = parted(synthesis)
    written = [f"**{name}.** {to_markdown(claims, named)}" for name, claims in parts.items()]
    if len(written) > 1:
        yield "## Synthesis"
        yield from written


def _contradictions(result: Result, named: Marks) -> str:
    titles = {source.n: escape(source.title) for source in result.sources}
    return "\n\n".join(
        "\n".join(
            [
                escape(severity(found)),
                "",
                *(
                    f"- {titles[s.source]}: “{escape(s.quote)}” {named.markdown((s.source,))}"
                    for s in (found.a, found.b)
                ),
            ]
        )
        for found in result.contradictions
    )


def severity(found: Contradiction) -> str:
    """Say how much a contradiction matters, and what it is about where that is known."""
    return f"Severity: {found.severity}" + (f" ({flatten(found.about)})" if found.about else "")


def nothing_found(result: Result) -> str:
    """Say that nothing was found, where it was looked, and what to try."""
    searches, unread = result.usage.searches, len(result.skipped)
    looked = (
        f"{searches} search{'' if searches == 1 else 'es'} in the knowledge base, "
        f"{unread} file{'' if unread == 1 else 's'} that could not be read"
    )
    topics = ", ".join(escape(topic) for topic in result.coverage)
    what = f"; topics looked for: {topics}" if topics else ""
    advice = "\n".join(f"- {line}" for line in _ADVICE)
    what += "".join(f"; {escape(limit)}" for limit in web_limits(result))
    return f"{_NOTHING_FOUND}\n\n**Where it was looked:** {looked}{what}.\n\n**What to try:**\n\n{advice}"


def handled(word: Handled) -> str:
    """Set as a bullet what a person said and what was done with it."""
    about = f" (on {escape(word.topic)})" if word.topic else ""
    return f"- “{escape(word.text)}”{about}, {escape(word.at[:16].replace('T', ' '))}: {escape(flatten(word.outcome))}"
