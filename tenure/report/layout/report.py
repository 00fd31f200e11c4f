"""Compose a report: the only place that decides which parts a report has, their order and their content.

The text comes first, then its references, then how it was made, and last the quotes. To add a part, add a line to
`_list_blocks` and a function that yields its blocks; every format shows it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.printable import flatten
from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.result import Result, ResultStatus, Synthesis
from tenure.contracts.run.run import FeedbackRecord
from tenure.report.layout.change import set_change, set_steps
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.disputes import DisputeLayout
from tenure.report.layout.limits import (
    MADE,
    describe_brief,
    describe_no_answer,
    list_all_claims,
    list_evidence_limits,
    list_search_limits,
)
from tenure.report.layout.marks import (
    STATUS_WORDS,
    SUPPORTED,
    CitationMarks,
    explain_marks,
    is_taint_marked,
    make_marks,
    needs_source,
)
from tenure.report.layout.news import set_news
from tenure.report.layout.program import list_files, set_program
from tenure.report.layout.proofs import choose_proofs
from tenure.report.layout.provenance import list_provenance
from tenure.report.layout.reasoning import set_reasoning
from tenure.report.layout.references import QUOTES_NOTE, list_quotes, list_references, make_address, sort_sources
from tenure.report.layout.synthesis import CLOSING_NOTES, COMPARISON, NOT_KNOWN, WHAT_FOLLOWS
from tenure.report.layout.text import format_words, make_line
from tenure.report.layout.tree import BlockNode, Line, ListNode, ParagraphNode, ParagraphStyle, PartNode, ReportTree
from tenure.report.translation import (
    format_day,
    join_list,
    mark_message,
    translate,
    translate_count,
    translate_note,
    use_language,
)

STATUS_LINES: Mapping[ResultStatus, str] = {
    "done": "",
    "finished_early": mark_message(
        "The run ended before it was complete, at a limit or because a person asked for the report."
    ),
    "cancelled": mark_message("The run was cancelled; these are the results up to then."),
    "no_evidence": "",
    "failing_tests": mark_message("No program passed its tests; this is the best of them."),
    "unsupported": mark_message("This kind of task is not supported; the part “{part}” gives the reason."),
    "failed": mark_message("The run failed; these are the results up to then."),
}
"""First remark of a report, by the status of the run."""

CONSIDERATIONS_NOTE = mark_message("Thoughts of the model, not statements of a source; they are not cited.")
"""Remark before thoughts that no source supports."""

FILES_NOTE = mark_message("A program made these files from the tables; its code is in the source with its output.")
"""Remark before the files of a report."""

_MODEL_ADVICE = mark_message(
    "Connect a model: without one, a question in other words than the documents, or in another language than English, "
    "is compared with them by its words alone."
)
_UNREAD_ADVICE = mark_message("Check the list of unread files below.")
_ADVICE = (
    mark_message("Ask again in the words of the documents."),
    mark_message("Name the files or folders that contain the answer with `--docs PATH`."),
    mark_message("Lower `TENURE_MIN_RELEVANCE` if the documents mention the subject only briefly."),
)


def compose_report(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> ReportTree:
    """Compose the tree of a result document.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative if they are below it.
        style: format of citation marks.
        proofs: quotes and records that it has.
    """
    with use_language(result.language) as language:
        return choose_proofs(_compose(result, base, style, language), proofs)


def compose_summary(result: Result, base: PurePath | None = None) -> ReportTree:
    """Compose what a reader sees first of a report: its remarks, its short answer and its first part."""
    report = compose_report(result, base)
    first = next((n for n, block in enumerate(report.blocks) if isinstance(block, PartNode)), len(report.blocks))
    return replace(report, blocks=report.blocks[: first + 1])


def _compose(result: Result, base: PurePath | None, style: CitationStyle, language: str) -> ReportTree:
    marks = make_marks(result.sources, style)
    claims = ClaimLayout(
        {source.n: source for source in result.sources},
        marks,
        is_taint_marked=is_taint_marked(list_all_claims(result)),
    )
    blocks = tuple(_list_blocks(result, claims, marks, base))
    parts = [block for block in blocks if isinstance(block, PartNode)]
    quotes = tuple(list_quotes(sort_sources(result.sources, marks), marks, parts))
    note = ParagraphNode(make_line(translate(QUOTES_NOTE)))
    fold = translate("All quotes, source by source")
    closing = _set_part("quotes", translate("Quotes"), [note, *quotes] if quotes else [], fold)
    return ReportTree(flatten(result.title), tuple(_set_head(result)), (*blocks, *closing), language)


def _list_blocks(
    result: Result, claims: ClaimLayout, marks: CitationMarks, base: PurePath | None
) -> Iterator[BlockNode]:
    """Yield the blocks of a report in their order, except the head and the quotes, which close it."""
    synthesis = result.synthesis or Synthesis()
    is_program = result.mode == "CODE"
    yield from _set_part("news", translate("Since the last report"), set_news(result.changes))
    if result.repository:
        yield from set_change(result, result.repository)
    elif is_program:
        yield from set_program(result)
    elif result.status == "no_evidence":
        yield from explain_no_evidence(result)
    yield from _set_remark(format_words(describe_no_answer(result), "strong"), "remark")
    if result.short_answer:
        answer = claims.set_sentence(result.short_answer)
        yield ParagraphNode(make_line(format_words(translate("Short answer:"), "strong"), " ", answer), "answer")
    yield from _set_part("abstract", translate("Abstract"), claims.set_claims(result.abstract_claims))
    yield from _set_list(map(make_line, explain_marks(list_all_claims(result))), "note")
    yield from _set_part("comparison", translate(COMPARISON), claims.set_claims(synthesis.comparison))
    yield from _set_remark(format_words(describe_brief(result)), "remark")
    for n, section in enumerate(result.sections, 1):
        blocks = (*claims.set_claims(section.claims), *claims.set_pictures(section.claims))
        yield PartNode(f"section-{n}", flatten(section.topic), blocks)
    yield from _set_part("pictures", translate("Pictures"), claims.set_pictures(list_all_claims(result)))
    if result.artifacts and not is_program:
        yield from _set_noted(
            "files", translate("Figures and files"), translate(FILES_NOTE), [ListNode(tuple(list_files(result)))]
        )
    yield from _set_disputes(result, claims)
    yield from _set_closing(synthesis, claims)
    limits = _set_list(map(make_line, list_evidence_limits(result)))
    yield from _set_part("limits", translate("Limits of the evidence"), limits)
    thoughts = _set_list(map(make_line, result.further_considerations))
    yield from _set_noted("further", translate("Further Considerations"), translate(CONSIDERATIONS_NOTE), thoughts)
    feedback = _set_list(map(_describe_feedback, result.feedback))
    yield from _set_part("feedback", translate("Feedback and answers"), feedback)
    references = list_references(sort_sources(result.sources, marks), marks, base)
    yield from _set_part("references", translate("References"), _set_list(references))
    reasoning = set_reasoning(result.reasoning, claims) if result.reasoning else ()
    fold = translate("How the conclusions were reached")
    yield from _set_part("reasoning", translate("Reasoning"), reasoning, fold)
    if result.repository:
        yield from set_steps(result.repository)
    yield from _set_part("made", translate(MADE), _set_list(list_provenance(result)))


def _set_head(result: Result) -> Iterator[BlockNode]:
    """Yield the question, unless it differs from the title only in punctuation and case, counts, and the status."""
    question, title = (re.findall(r"\w+", text.casefold()) for text in (result.question, result.title))
    page = result.repository.address if result.repository else ""
    if question != title or page:
        label = format_words(translate("Task:") if result.mode == "CODE" else translate("Question:"), "strong")
        origin = (translate("from "), make_address(page), ": ") if page else ()
        yield ParagraphNode(make_line(label, " ", *origin, flatten(result.question)), "question")
    yield from _set_remark(make_line(_count_sentences(result)), "summary")
    # The remark on a report that ended early has the reason and what is missing.
    if result.repository and result.status in ("failing_tests", "no_evidence"):
        # The proof says what fails, and the decision why nothing is changed.
        status = "" if result.patch else " ".join(result.decisions[-1:])
    elif result.status == "finished_early" and result.decisions and (result.mode == "RESEARCH" or result.repository):
        status = translate_note(result.decisions[-1])
    else:
        status = STATUS_LINES[result.status] and translate(STATUS_LINES[result.status], part=translate(MADE))
    yield from _set_remark(format_words(status), "remark")


def _count_sentences(result: Result) -> str:
    """Count the excerpts of a brief, or the sentences that need sources by their status."""
    claims = list_all_claims(result)
    if excerpts := sum(claim.begins == "excerpt" for claim in claims):
        sources = len({citation.source for claim in claims if claim.part for citation in claim.citations})
        english = f"{format_count(excerpts, 'excerpt')} of {format_count(sources, 'source')}."
        return translate_count(english, "Excerpts: {excerpts}. Sources: {sources}.", excerpts=excerpts, sources=sources)
    times = Counter(claim.status for claim in claims if needs_source(claim) and not claim.part)
    counted = join_list(
        f"{number} {translate(STATUS_WORDS[status] or SUPPORTED)}" for status, number in times.most_common()
    )
    if not times:
        return ""
    return translate_count(
        f"{format_count(times.total(), 'sentence')}: {counted}. {format_count(len(result.sources), 'source')}.",
        "Sentences: {sentences} ({counted}). Sources: {sources}.",
        sentences=times.total(),
        counted=counted,
        sources=len(result.sources),
    )


def explain_no_evidence(result: Result) -> Iterator[BlockNode]:
    """Yield the note that nothing was found, with the searches made and advice."""
    is_near = result.synthesis is not None and any(claim.citations for claim in result.synthesis.gaps)
    if is_near:
        note = translate(
            "No passage that answers the question was found; the nearest facts are under “{part}”.",
            part=translate(NOT_KNOWN),
        )
    else:
        note = translate("No passage that answers the question was found, so this report makes no claims.")
    yield ParagraphNode(make_line(format_words(translate("No evidence was found."), "strong"), f" {note}"))
    unread = sum(file.may_have_text for file in result.skipped)
    count = result.usage.searches
    searches = translate_count(
        f"{format_count(count, 'search', 'searches')} in the knowledge base",
        "searches in the knowledge base: {searches}",
        searches=count,
    )
    files = translate_count(
        f", {format_count(unread, 'file')} that could not be read",
        ", files that could not be read: {files}",
        files=unread,
    )
    topics = translate("; topics: {topics}", topics=join_list(result.coverage)) if result.coverage else ""
    limits = "".join(f"; {limit}" for limit in list_search_limits(result))
    searched = f" {searches}{files if unread else ''}{topics}{limits}."
    yield ParagraphNode(make_line(format_words(translate("Searched:"), "strong"), searched))
    yield ParagraphNode(format_words(translate("What to try:"), "strong"))
    advice = (*_ADVICE, *([_UNREAD_ADVICE] if unread else []), *([] if result.usage.model_calls else [_MODEL_ADVICE]))
    yield ListNode(tuple(make_line(translate(text)) for text in advice))


def _set_disputes(result: Result, claims: ClaimLayout) -> Iterator[PartNode]:
    disputes = DisputeLayout(result, claims)
    positions = (block for position in result.positions for block in disputes.set_position(position))
    yield from _set_part("positions", translate("For and against"), positions)
    contradictions = (block for pair in result.contradictions for block in disputes.set_contradiction(pair))
    yield from _set_part("disagreements", translate("Contradictions between sources"), contradictions)


def _set_closing(synthesis: Synthesis, claims: ClaimLayout) -> Iterator[PartNode]:
    """Yield the conclusions and the gaps, whose headings explain their kinds of claims."""
    follows = claims.set_claims(synthesis.resolution, "inference")
    yield from _set_noted("follows", translate(WHAT_FOLLOWS), translate(CLOSING_NOTES[WHAT_FOLLOWS]), follows)
    unknown = claims.set_claims(synthesis.gaps, "gap")
    yield from _set_noted("unknown", translate(NOT_KNOWN), translate(CLOSING_NOTES[NOT_KNOWN]), unknown)


def _describe_feedback(word: FeedbackRecord) -> Line:
    about = translate(" (on {topic})", topic=flatten(word.topic)) if word.topic else ""
    at = format_day(word.at[:16].replace("T", " "))
    return make_line(f"“{flatten(word.text)}”{about}, {at}: {flatten(translate_note(word.outcome))}")


def _set_part(id_: str, heading: str, blocks: Iterable[BlockNode], fold: str = "") -> Iterator[PartNode]:
    if content := tuple(blocks):
        yield PartNode(id_, heading, content, fold)


def _set_noted(id_: str, heading: str, note: str, blocks: Iterable[BlockNode]) -> Iterator[PartNode]:
    """Yield a part with a remark below its heading unless it is empty."""
    if content := tuple(blocks):
        yield PartNode(id_, heading, (ParagraphNode(format_words(note), "note"), *content))


def _set_list(items: Iterable[Line], style: ParagraphStyle = "") -> Iterator[ListNode]:
    if lines := tuple(items):
        yield ListNode(lines, style=style)


def _set_remark(line: Line, style: ParagraphStyle) -> Iterator[ParagraphNode]:
    if line:
        yield ParagraphNode(line, style)
