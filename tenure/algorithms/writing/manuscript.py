"""Combine section results into a report: progress, repetition, critiques and feedback.

Pure functions; the workflow only defines their order.
"""

from collections.abc import Iterable, Mapping, Sequence

from tenure.algorithms.control.feedback import match_headings
from tenure.algorithms.research.outline_edits import OutlineChange
from tenure.algorithms.research.research_state import build_topic_progress
from tenure.algorithms.text.questions import format_heading
from tenure.algorithms.writing.repetition import remove_repeats, remove_restatements
from tenure.contracts.evidence.passages import Draft, PassageRef, SynthesisDraft
from tenure.contracts.research.report import Critique, SectionDraft, SectionResult, Topic
from tenure.contracts.research.spiral import TopicState
from tenure.contracts.result.result import CritiqueRecord
from tenure.contracts.run.run import Feedback, FeedbackRecord, TopicProgress

SectionResults = Mapping[str, SectionResult]
"""Latest result of each section, by heading."""

_MAX_UNCITED_INCREASE = 0.25
"""Maximum increase of the share of sentences without citations in a revision."""
LEADING_PASSAGES = 6
"""Number of passages of a section's direct search that come before all others."""
DEFAULT_PASSAGES_SHOWN = 24
"""Number of passages shown to roles that read the whole report; more only if more are cited."""


def list_written_sections(topics: Sequence[Topic], results: SectionResults) -> tuple[SectionDraft, ...]:
    """Return the sections with text, in the order of the outline."""
    written = [results[topic.heading] for topic in topics if topic.heading in results]
    return tuple(
        SectionDraft(topic=r.topic.heading, draft=r.draft, coverage=r.coverage) for r in written if r.draft.claims
    )


def summarize_progress(
    topics: Sequence[Topic], results: SectionResults, aims: Sequence[TopicState] = ()
) -> tuple[TopicProgress, ...]:
    """Return the progress of each topic, from its section or from its findings."""
    known = {aim.topic.heading: aim for aim in aims}
    return tuple(
        _build_progress(result)
        if (result := results.get(topic.heading))
        else build_topic_progress(known.get(topic.heading, TopicState(topic=topic)))
        for topic in topics
    )


def _build_progress(result: SectionResult) -> TopicProgress:
    return TopicProgress(
        topic=result.topic.heading,
        phase=result.phase,
        claims=len(result.draft.claims),
        sources=len({citation.source for claim in result.draft.claims for citation in claim.citations}),
        coverage=result.coverage,
    )


def rename_sections(results: SectionResults, change: OutlineChange) -> dict[str, SectionResult]:
    """Return the sections that an outline keeps, under their new headings."""
    return {
        topic.heading: results[name].model_copy(update={"topic": topic})
        for topic in change.topics
        if (name := change.previous_headings.get(topic.heading, "")) in results
    }


def remove_abstract_repeats(abstract: Draft, written: Sequence[SectionDraft]) -> tuple[SectionDraft, ...]:
    """Remove sentences of the abstract from the sections; a section that would become empty stays unchanged."""
    kept = remove_repeats([abstract, *(section.draft for section in written)])[1:]
    return tuple(
        section.model_copy(update={"draft": draft if draft.claims else section.draft})
        for section, draft in zip(written, kept, strict=True)
    )


def remove_synthesis_repeats(
    synthesis: SynthesisDraft, abstract: Draft, written: Sequence[SectionDraft]
) -> SynthesisDraft:
    """Remove sentences of the abstract and the sections from the synthesis."""
    parts = (synthesis.situation, synthesis.complication, synthesis.resolution)
    kept = remove_repeats([abstract, *(section.draft for section in written), *parts])[-3:]
    return SynthesisDraft(situation=kept[0], complication=kept[1], resolution=kept[2])


def deduplicate_claims(topics: Sequence[Topic], results: SectionResults) -> dict[str, SectionResult]:
    """Return the results with each claim only in the first section that states it."""
    order = [topic.heading for topic in topics if topic.heading in results]
    drafts = remove_restatements([results[name].draft for name in order])
    return {name: results[name].model_copy(update={"draft": draft}) for name, draft in zip(order, drafts, strict=True)}


def is_regression(before: Draft, after: Draft) -> bool:
    """Return whether a revision has lost most cited passages, or has a much higher share of uncited sentences."""
    passages = [{c.chunk for claim in draft.claims for c in claim.citations} for draft in (before, after)]
    shares = [sum(bool(claim.citations) for claim in draft.claims) / len(draft.claims) for draft in (before, after)]
    return len(passages[1]) < len(passages[0]) / 2 or shares[1] < shares[0] - _MAX_UNCITED_INCREASE


def collect_other_sentences(topic: Topic, results: SectionResults) -> tuple[str, ...]:
    """Return the sentences of all sections except one."""
    return tuple(
        claim.text for name, result in results.items() if name != topic.heading for claim in result.draft.claims
    )


def select_passages_shown(
    results: SectionResults, evidence: Sequence[PassageRef], cited_by_reasoning: Sequence[PassageRef] = ()
) -> tuple[PassageRef, ...]:
    """Return the passages for roles that read the whole report: cited ones first, then those on the whole question.

    Args:
        results: sections.
        evidence: passages on the whole question.
        cited_by_reasoning: passages that the reasoning cites.
    """
    cited = {c.chunk for r in results.values() for claim in r.draft.claims for c in claim.citations}
    of_sections = [[p for p in result.evidence if p.chunk in cited] for result in results.values()]
    first = {passage.chunk: passage for passage in (*interleave_passages(of_sections), *cited_by_reasoning, *evidence)}
    return tuple(first.values())[: max(len(cited) + len(cited_by_reasoning), DEFAULT_PASSAGES_SHOWN)]


def interleave_passages(found: Sequence[Sequence[PassageRef]]) -> tuple[PassageRef, ...]:
    """Interleave ranked lists of passages, each passage once."""
    longest = max((len(refs) for refs in found), default=0)
    merged: dict[str, PassageRef] = {}
    for rank in range(longest):
        for refs in found:
            if rank < len(refs):
                merged.setdefault(refs[rank].chunk, refs[rank])
    return tuple(merged.values())


def order_section_evidence(
    computed: Sequence[PassageRef], direct: Sequence[PassageRef], found: Sequence[Sequence[PassageRef]]
) -> tuple[PassageRef, ...]:
    """Order the passages of a section: results of queries, the first passages of its direct search, all others.

    Args:
        computed: results of queries and calculations.
        direct: passages of the search for the section's question itself, best first.
        found: all ranked lists of passages.
    """
    return interleave_passages([(*computed, *direct[:LEADING_PASSAGES], *interleave_passages([direct, *found]))])


def select_critiques(topic: Topic, critiques: Iterable[Critique]) -> tuple[Critique, ...]:
    """Return the critiques of a topic, including those that requested it as a new section."""
    return tuple(
        c for c in critiques if c.topic == topic.heading or (c.topic is None and build_requested_topic(c) == topic)
    )


def build_requested_topic(critique: Critique) -> Topic:
    """Return the topic that a critique of no existing section requests."""
    wanted = critique.query or critique.critique
    return Topic(heading=format_heading(wanted), question=wanted)


def find_pending_feedback(
    feedback: Sequence[Feedback], topics: Sequence[Topic], results: SectionResults
) -> tuple[Critique, ...]:
    """Return feedback on sections that were written without it, as critiques."""
    headings = [topic.heading for topic in topics]
    return tuple(
        Critique(topic=name, critique=entry.text, query=entry.text, origin="person")
        for entry in feedback
        for name in match_headings(entry, headings)
        if name in results and entry.text not in results[name].feedback
    )


def find_topic_feedback(
    topic: Topic, feedback: Sequence[Feedback], topics: Sequence[Topic], results: SectionResults
) -> list[Critique]:
    """Return feedback that a section does not consider yet, as critiques."""
    headings = [other.heading for other in topics]
    before = results.get(topic.heading)
    return [
        Critique(topic=topic.heading, critique=entry.text, query=entry.text, origin="person")
        for entry in feedback
        if topic.heading in match_headings(entry, headings) and not (before and entry.text in before.feedback)
    ]


def build_critique_record(critique: Critique, before: SectionResults, after: SectionResults) -> CritiqueRecord:
    """Return a critique with its outcome."""
    name = critique.topic or build_requested_topic(critique).heading
    earlier, now = before.get(name), after.get(name)
    if now is None or not now.draft.claims:
        outcome = "Nothing was found on it."
    elif earlier is None:
        outcome = f"The section “{name}” was written."
    elif now.draft != earlier.draft:
        outcome = f"The section “{name}” was rewritten."
    else:
        outcome = "Nothing more was found on it."
    return CritiqueRecord(topic=critique.topic, critique=critique.critique, outcome=outcome)


def resolve_critiques(
    critiques: Sequence[Critique], topics: Sequence[Topic], max_sections: int
) -> tuple[tuple[Critique, ...], tuple[Critique, ...]]:
    """Return critiques that can be followed, each with the exact heading, and critiques that cannot.

    A request for a section that exists already is a critique of it. New sections are accepted up to `max_sections`.
    """
    names = {topic.heading.casefold(): topic.heading for topic in topics}
    kept: list[Critique] = []
    dropped: list[Critique] = []
    for critique in critiques:
        name = critique.topic or (build_requested_topic(critique).heading if critique.query else "")
        known = names.get(name.casefold())
        if known is not None:
            kept.append(critique.model_copy(update={"topic": known}))
        elif critique.topic is None and name and len(names) < max_sections:
            names[name.casefold()] = name
            kept.append(critique)
        else:
            dropped.append(critique)
    return tuple(kept), tuple(dropped)


def deduplicate_topics(topics: Iterable[Topic]) -> list[Topic]:
    """Return topics with distinct headings, ignoring case, in order."""
    first: dict[str, Topic] = {}
    for topic in topics:
        first.setdefault(topic.heading.casefold(), topic)
    return list(first.values())


def build_feedback_outcomes(
    feedback: Sequence[Feedback],
    results: SectionResults,
    changed_sections: Mapping[str, Sequence[str]],
    queries: Mapping[str, Sequence[str]],
) -> tuple[FeedbackRecord, ...]:
    """Return each piece of feedback with its outcome.

    Args:
        feedback: feedback of users.
        results: sections.
        changed_sections: headings of sections that changed, by the text of the feedback.
        queries: executed queries, by the text of the feedback.
    """
    return tuple(
        FeedbackRecord(
            text=entry.text,
            topic=entry.topic,
            at="",
            outcome=" ".join(
                [
                    *_describe_queries(queries.get(entry.text, ())),
                    _describe_outcome(entry.text, results, changed_sections),
                ],
            ),
        )
        for entry in feedback
    )


def _describe_queries(queries: Sequence[str]) -> list[str]:
    return [f"The research searched for {_quote_names(queries)}."] if queries else []


def _describe_outcome(text: str, results: SectionResults, changed_sections: Mapping[str, Sequence[str]]) -> str:
    if text in changed_sections:
        return f"Considered in {_quote_names(changed_sections[text])}."
    looked = [name for name, result in results.items() if text in result.feedback]
    return f"Searched for in {_quote_names(looked)}; nothing new was found." if looked else "No section considered it."


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in dict.fromkeys(names))


def describe_stop_reason(revisions: int, is_satisfied: bool) -> str:
    """Return the reason why an uninterrupted report was not revised again."""
    reason = "no critique was left" if is_satisfied else "the limit of revisions is reached"
    return f"Ended after {revisions} generation{'' if revisions == 1 else 's'} of the report: {reason}."
