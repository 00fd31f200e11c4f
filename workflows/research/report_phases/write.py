"""Write the report in one answer from the dossier, and revise it by the edits of a review."""

from collections.abc import Mapping, Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.report_phases.dossier import add_topics, search_for_gaps
from workflows.research.report_phases.report_context import ReportContext
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims.absence import describe_withdrawal, list_absences
    from tenure.algorithms.claims.verification import describe_removal
    from tenure.algorithms.control import note_messages
    from tenure.algorithms.control.feedback import match_headings
    from tenure.algorithms.control.transitions import is_repeated_critique
    from tenure.algorithms.text.counts import format_count
    from tenure.algorithms.writing import manuscript
    from tenure.algorithms.writing.trace_records import describe_review
    from tenure.contracts.research.dossier import Gap
    from tenure.contracts.research.report import Critique, ReportText
    from tenure.roles.writing import report_reviewer, report_writer
    from tenure.roles.writing.report_reviewer import ReportReviewerInput
    from tenure.roles.writing.report_writer import PartEvidence, ReportWriterInput


async def write_generation(context: ReportContext, critiques: Sequence[Critique]) -> None:
    """Write the report or, after the first generation, revise it as critiques ask."""
    context.update(revisions=context.state.revisions + 1)
    context.apply_pending_outline()
    # A critique without a section asks for a new one.
    added = (manuscript.build_requested_topic(critique) for critique in critiques if critique.topic is None)
    context.update(topics=(*context.state.topics, *added))
    before = context.state.text
    if context.state.revisions == 1:
        await _write(context)
    else:
        await _revise(context, critiques)
    await write_added_sections(context)
    context.update(text=manuscript.deduplicate_claims(context.state.topics, context.state.text))
    after = context.state.text
    records = (manuscript.build_critique_record(critique, before, after) for critique in critiques)
    context.update(critiques=(*context.state.critiques, *records))


async def _write(context: ReportContext) -> None:
    """Write the report, and search for what its writer has found no passage for."""
    context.update(written_topics=frozenset(topic.heading for topic in context.state.topics))
    if not context.state.dossier.passages:
        return
    await context.parent.wait_while_paused()
    passages = len(context.state.dossier.passages)
    context.report_progress("write", f"writing from {format_count(passages, 'passage')}", "drafting")
    feedback = _match_feedback(context)
    text = await _write_or_compose(context)
    context.state = context.state.with_text(text, feedback)
    context.update(is_reviewed=False)
    searching = search_for_gaps(context, [absence.gap for absence in list_absences(text)])
    await context.try_step(searching, False, "The documents were not searched for what is open")


async def _write_or_compose(context: ReportContext) -> ReportText:
    """Return the report, composed without the model if its call fails permanently."""
    try:
        return await _ask_writer(context)
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        context.add_notes([note_messages.COMPOSED_WITHOUT_MODEL.format(failure=describe_failure(error))])
        return await _ask_writer(context, by_rule=True)


async def write_added_sections(context: ReportContext) -> None:
    """Write the sections that the outline has and the report lacks: a person or a critique has added them."""
    context.apply_pending_outline()
    while missing := _list_missing(context):
        context.report_progress("write", topics="drafting")
        await add_topics(context, [topic for topic in context.state.topics if topic.heading in missing])
        context.update(written_topics=context.state.written_topics.union(missing))
        if headings := [heading for heading in missing if context.state.dossier.parts.get(heading)]:
            added = await _ask_writer(context, headings)
            sections = [part for part in added.parts if part.kind == "section" and part.heading in headings]
            text = manuscript.insert_sections(context.state.topics, context.state.text, sections)
            context.state = context.state.with_text(text, {})
        context.apply_pending_outline()


def _list_missing(context: ReportContext) -> tuple[str, ...]:
    """Return the headings of topics that were added since the report was written."""
    state = context.state
    written = {*state.written_topics, *state.text.sections}
    return tuple(topic.heading for topic in state.topics if topic.heading not in written) if state.revisions else ()


async def _ask_writer(context: ReportContext, additions: Sequence[str] = (), *, by_rule: bool = False) -> ReportText:
    text = await context.clients.models.ask(
        report_writer.ROLE,
        _describe_report(context).model_copy(update={"additions": tuple(additions)}),
        context.state.dossier.passages,
        summary=", ".join(additions) or f"{len(context.state.dossier.passages)} passages",
        for_writing=True,
        by_rule=by_rule,
    )
    context.record_version(text)
    return text


async def _revise(context: ReportContext, critiques: Sequence[Critique]) -> None:
    """Search for what critiques ask for, and have the report edited to meet them."""
    context.report_progress("refine", critiques[0].critique if critiques else "", "reviewing")
    stated = {absence.gap.query: absence.gap for absence in list_absences(context.state.text)}
    gaps = [stated.get(critique.query, Gap(query=critique.query)) for critique in critiques]
    is_new = await search_for_gaps(context, gaps)
    if not is_new and all(critique.origin == "reflector" and critique.query for critique in critiques):
        return
    failure = "The report was not improved further"
    await context.try_step(review(context, critiques), None, failure)


async def review(context: ReportContext, critiques: Sequence[Critique] = ()) -> None:
    """Request a review with edits of the report; the state receives the text and the requests of the review."""
    state = context.state
    await context.parent.wait_while_paused()
    feedback = _match_feedback(context)
    # Considered even if the review fails: otherwise the report would be revised again and again.
    context.state = context.state.with_text(state.text, feedback)
    # Searches are listed with what they have found; only a reason beyond that is a request.
    requested = [entry for entry in critiques if entry.critique != manuscript.describe_search(entry.query)]
    reasons = (f"{entry.topic}: {entry.critique}" if entry.topic else entry.critique for entry in requested)
    requests = dict.fromkeys((*reasons, *feedback))
    output = await context.clients.models.ask(
        report_reviewer.ROLE,
        ReportReviewerInput(
            **dict(_describe_report(context)),
            text=state.text,
            requests=tuple(requests),
            searches={query: state.dossier.searches[query] for query in state.searches},
            first_new=state.first_new,
            earlier_critiques=tuple(
                entry for entry in state.reviews if entry not in {critique.critique for critique in requested}
            ),
            may_search=state.revisions < context.max_revisions and not context.parent.is_finishing,
            running_low=context.parent.control.running_low,
        ),
        state.dossier.passages,
        summary=f"generation {state.revisions}" + (f": {next(iter(requests))}" if requests else ""),
        for_writing=True,
    )
    context.parent.log.add(describe_review(output, context.versions))
    context.record_version(output.text, tuple(requests), output)
    critiques_made = [verdict.critique for verdict in output.verdicts if verdict.critique]
    text, edited, evaluation = context.state.text, output.text, context.state.evaluation
    if requests or not manuscript.is_regression(text.claims, edited.claims, output.condemned):
        text, evaluation = edited, manuscript.select_evaluation(evaluation, output.evaluation)
        context.add_decisions(describe_removal(claim, "Report") for claim in output.removed)
        context.add_decisions(describe_withdrawal(gap) for gap in output.unanswered)
        context.update(searches=(), first_new=0)
    else:
        context.add_notes([note_messages.EARLIER_DRAFT])
    if output.refused_edits:
        context.add_notes([note_messages.UNPLACED_EDITS])
    worded = [entry.gap.query for entry in list_absences(text) if entry.claim.query]
    queries = dict.fromkeys((*output.queries, *(query for query in worded if query not in state.dossier.searches)))
    needed = manuscript.build_critiques(output.verdicts, tuple(queries), context.state.topics)
    new = [entry for entry in needed if not is_repeated_critique(entry.critique, context.state.reviews)]
    context.state = context.state.with_text(text, feedback)
    context.update(
        is_reviewed=True,
        open_critiques=tuple(new),
        reviews=(*context.state.reviews, *critiques_made),
        evaluation=evaluation,
        contradictions=manuscript.merge_contradictions(context.state.contradictions, output.contradictions),
        considerations=output.considerations or context.state.considerations,
    )


def _match_feedback(context: ReportContext) -> Mapping[str, tuple[str, ...]]:
    """Return the headings that feedback concerns, by the text of feedback that no version considers yet."""
    headings = [topic.heading for topic in context.state.topics]
    considered = context.state.considered_feedback
    items = context.parent.feedback_items
    return {entry.text: match_headings(entry, headings) for entry in items if entry.text not in considered}


def _describe_report(context: ReportContext) -> ReportWriterInput:
    request, state = context.request, context.state
    return ReportWriterInput(
        question=request.question,
        parts=tuple(
            PartEvidence(topic=topic, passages=state.dossier.parts.get(topic.heading, ())) for topic in state.topics
        ),
        effort=request.limits.effort or request.complexity,
        feedback=tuple(entry.text for entry in context.parent.feedback_items),
        line=state.reasoning,
        unplanned=context.unplanned_parts,
        positions=state.research.positions,
        advice=request.experience.advice,
        preferences=request.experience.preferences,
        length=request.limits.length,
        omitted=len(state.dossier.omitted),
    )
