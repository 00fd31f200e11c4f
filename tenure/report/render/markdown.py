"""Render a result document as a Markdown report.

The text comes first, then its references, then how it was made. Untrusted text is escaped where it enters. The text
is rendered from the claims, so that every sentence has its citation mark.
"""

from collections.abc import Iterator
from pathlib import PurePath

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.evidence.passages import ClaimKind
from tenure.contracts.result.result import Result, ResultStatus
from tenure.contracts.run.run import FeedbackRecord
from tenure.report.render import reasoning
from tenure.report.render.disputes import DisputesPart, list_disputes
from tenure.report.render.escaping import escape, flatten
from tenure.report.render.layout import CLOSING_NOTES, COMPARISON, NOT_KNOWN, WHAT_FOLLOWS, order_synthesis
from tenure.report.render.limits import (
    describe_brief,
    describe_no_answer,
    list_all_claims,
    list_evidence_limits,
    list_web_limits,
)
from tenure.report.render.marks import CitationMarks, CitationStyle, explain_marks, make_marks, to_markdown
from tenure.report.render.news import HEADING, render_news
from tenure.report.render.program import render_files, render_program_body
from tenure.report.render.provenance import render_provenance
from tenure.report.render.references import render_quotes, render_references

STATUS_LINES: dict[ResultStatus, str] = {
    "done": "",
    "finished_early": "The run ended before it was complete, at a limit or because a person asked for the report.",
    "cancelled": "The run was cancelled; these are the results up to then.",
    "no_evidence": "",
    "failing_tests": "No program passed its tests; this is the best of them.",
    "unsupported": "This kind of task is not supported; the last part gives the reason.",
    "failed": "The run failed; these are the results up to then.",
}
"""First remark of a report, by the status of the run."""

CONSIDERATIONS_NOTE = "Thoughts of the model, not statements of a source; they are not cited."
"""Remark before thoughts that no source supports."""

QUOTES_NOTE = (
    "Every citation mark above leads to words of its source, quoted here verbatim (except for white space) with their "
    "place: in the file, if it is text and unchanged, else in the text that was read from it; and the nearest heading."
)
"""Remark before the quotes."""

FILES_NOTE = "A program made these files from the tables; its code is in the source with its output."
"""Remark before the files of a report."""

SHORT_ANSWER = "Short answer"
"""Label of the answer in a few words."""

_NOTHING_FOUND = "**No evidence was found.** No passage that answers the question was found{nearest}."
_NO_CLAIMS = ", so this report makes no claims"

_MODEL_ADVICE = (
    "Connect a model: without one, a question in other words than the documents, or in another language than English, "
    "is compared with them by its words alone."
)
_UNREAD_ADVICE = "Check the list of unread files below."
_ADVICE = (
    "Ask again in the words of the documents.",
    "Name the files or folders that contain the answer with `--docs PATH`.",
    "Lower `TENURE_MIN_RELEVANCE` if the documents mention the subject only briefly.",
)


def render_markdown(result: Result, base: PurePath | None = None, style: CitationStyle = "numeric") -> str:
    """Render a result document as Markdown.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative if they are below it.
        style: format of citation marks.
    """
    text = "\n\n".join(part.strip() for part in _parts(result, base, style) if part.strip()) + "\n"
    return remove_control_characters(text)


def explain_status(result: Result) -> str:
    """Return the first remark of a report; that of a report which ended early has the reason and what is missing."""
    is_explained = result.status == "finished_early" and result.mode == "RESEARCH" and result.decisions
    return result.decisions[-1] if is_explained else STATUS_LINES[result.status]


def _parts(result: Result, base: PurePath | None, style: CitationStyle) -> Iterator[str]:
    yield f"# {escape(result.title)}"
    asked = "Task" if result.mode == "CODE" else "Question"
    yield f"> **{asked}:** {escape(result.question)}"
    if line := explain_status(result):
        yield f"*{line}*"
    if told := render_news(result):
        yield f"## {HEADING}\n\n{told}"
    if result.mode == "CODE":
        yield from render_program_body(result)
    named = make_marks(result.sources, style)
    yield from _body(result, named)
    for part in list_disputes(result):
        yield f"## {part.heading}\n\n{_disputes(part, result, named)}"
    for heading, claims in order_synthesis(result.synthesis).closing.items():
        expected: ClaimKind = "inference" if heading == WHAT_FOLLOWS else "gap"
        yield f"## {heading}\n\n*{CLOSING_NOTES[heading]}*\n\n{to_markdown(claims, named, expected)}"
    if limits := list_evidence_limits(result):
        yield "## Limits of the evidence\n\n" + "\n".join(f"- {escape(limit)}" for limit in limits)
    if result.further_considerations:
        thoughts = "\n".join(f"- {escape(text)}" for text in result.further_considerations)
        yield f"## Further Considerations\n\n*{CONSIDERATIONS_NOTE}*\n\n{thoughts}"
    if result.feedback:
        asked = "\n".join(render_feedback(word) for word in result.feedback)
        yield f"## Feedback and answers\n\n{asked}"
    if result.sources:
        yield f"## References\n\n{render_references(result, base, style)}"
    yield from _background(result, named)
    yield f"## How this report was made\n\n{render_provenance(result)}"
    if quotes := render_quotes(result, style):
        yield f"## Quotes\n\n{QUOTES_NOTE}\n\n{quotes}"


def _body(result: Result, named: CitationMarks) -> Iterator[str]:
    if result.status == "no_evidence" and result.mode != "CODE":
        yield render_no_evidence(result)
    if told := describe_no_answer(result):
        yield f"**{told}**"
    if result.short_answer:
        yield f"**{SHORT_ANSWER}:** {to_markdown([result.short_answer], named)}"
    if result.abstract_claims:
        yield f"## Abstract\n\n{to_markdown(result.abstract_claims, named)}"
    synthesis = order_synthesis(result.synthesis)
    yield "\n".join(f"- {escape(line)}" for line in explain_marks(list_all_claims(result)))
    if synthesis.comparison:
        yield f"## {COMPARISON}\n\n{to_markdown(synthesis.comparison, named)}"
    if told := describe_brief(result):
        yield f"*{told}*"
    for section in result.sections:
        yield f"## {escape(section.topic)}\n\n{to_markdown(section.claims, named)}"
    if synthesis.parts:
        yield "## Synthesis"
        yield from (f"**{name}.** {to_markdown(claims, named)}" for name, claims in synthesis.parts.items())
    if result.artifacts and result.mode != "CODE":
        yield f"## Figures and files\n\n{FILES_NOTE}\n\n{render_files(result)}"


def _background(result: Result, named: CitationMarks) -> Iterator[str]:
    """Yield the steps of the reasoning, and the parts of the synthesis that its conclusions are drawn from."""
    background = order_synthesis(result.synthesis).background
    if result.reasoning or background:
        yield f"## {reasoning.HEADING}"
    if result.reasoning:
        yield reasoning.to_text(result.reasoning, named)
    yield from (f"**{name}.** {to_markdown(claims, named)}" for name, claims in background.items())


def _disputes(part: DisputesPart, result: Result, named: CitationMarks) -> str:
    titles = {source.n: escape(source.title) for source in result.sources}
    return "\n\n".join(
        "\n\n".join(
            [
                escape(dispute.words),
                "\n".join(
                    f"- {f'*{side.label}:* ' if side.label else ''}{titles[side.citation.source]}"
                    f"{f' ({escape(side.note)})' if side.note else ''}: “{escape(side.citation.quote)}” "
                    f"{named.render_markdown((side.citation.source,))}"
                    for side in dispute.sides
                ),
                *([f"*{escape(dispute.outcome)}*"] if dispute.outcome else []),
            ]
        )
        for dispute in part.disputes
    )


def render_no_evidence(result: Result) -> str:
    """Return the note that nothing was found, with the searches made and advice."""
    searches, unread = result.usage.searches, len(result.skipped)
    looked = f"{searches} search{'' if searches == 1 else 'es'} in the knowledge base" + (
        f", {unread} file{'' if unread == 1 else 's'} that could not be read" if unread else ""
    )
    topics = ", ".join(escape(topic) for topic in result.coverage)
    what = f"; topics: {topics}" if topics else ""
    further = (*([_UNREAD_ADVICE] if unread else []), *([] if result.usage.model_calls else [_MODEL_ADVICE]))
    advice = "\n".join(f"- {line}" for line in (*_ADVICE, *further))
    what += "".join(f"; {escape(limit)}" for limit in list_web_limits(result))
    gaps = order_synthesis(result.synthesis).closing.get(NOT_KNOWN, ())
    is_near = any(claim.citations for claim in gaps)
    note = _NOTHING_FOUND.format(nearest=f"; the nearest facts are under “{NOT_KNOWN}”" if is_near else _NO_CLAIMS)
    return f"{note}\n\n**Searched:** {looked}{what}.\n\n**What to try:**\n\n{advice}"


def render_feedback(word: FeedbackRecord) -> str:
    """Return a piece of feedback with its outcome as a bullet."""
    about = f" (on {escape(word.topic)})" if word.topic else ""
    return f"- “{escape(word.text)}”{about}, {escape(word.at[:16].replace('T', ' '))}: {escape(flatten(word.outcome))}"
