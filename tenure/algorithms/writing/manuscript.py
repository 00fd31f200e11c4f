"""Combine section results into a report: progress, repetition, critiques and feedback.

Pure functions; the workflow only defines their order.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from tenure.algorithms.claims.verification import needs_sources
from tenure.algorithms.control.feedback import match_headings
from tenure.algorithms.research.outline_edits import OutlineChange
from tenure.algorithms.research.research_state import build_topic_progress
from tenure.algorithms.text.questions import format_heading, shorten
from tenure.algorithms.text.sentences import stem_words
from tenure.algorithms.writing.repetition import remove_repeats, remove_restatements
from tenure.contracts.evidence.disputes import PositionEvidence
from tenure.contracts.evidence.passages import AbstractDraft, Block, Claim, Draft, PassageRef, SynthesisDraft
from tenure.contracts.research.report import Critique, SectionDraft, SectionResult, Topic
from tenure.contracts.research.spiral import TopicState
from tenure.contracts.result.result import CritiqueRecord
from tenure.contracts.run.run import Feedback, FeedbackRecord, TopicProgress

SectionResults = Mapping[str, SectionResult]
"""Latest result of each section, by heading."""

_YES_OR_NO = re.compile(r"^\s*(?:yes|no)\b", re.IGNORECASE)

_MAX_UNCITED_INCREASE = 0.25
"""Maximum increase of the share of sentences without citations in a revision."""
MAX_BRIEF_LENGTH = 1500
"""Maximum characters of each part of the synthesis that writers read."""
LEADING_PASSAGES = 3
"""Number of passages of a section's direct search, and then of its research, that come before all others."""
MAX_SHARED_PASSAGES = 6
"""Maximum number of passages that a section receives from the searches of the others."""
SIDED_PASSAGES = 3
"""Passages of each side of a position that its section receives in any case."""
DIGEST_SENTENCES = 3
"""Sentences of another section that the reviewer of a section reads."""
MAX_OPENING_SENTENCES = 5
"""Maximum number of sentences of a paragraph that is the abstract of a direct answer."""
_SENTENCE_BLOCKS = ("paragraph", "bullets", "numbered")
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


def select_opening(section: SectionDraft) -> AbstractDraft:
    """Return the opening of the only section of a report as its abstract, without a short answer.

    The opening is the first paragraph if more follows, else the first sentence; a table or a single
    sentence has none. The section loses what its abstract says, so that a direct answer is printed once.
    """
    blocks = [block for block in section.draft.blocks if block.claims]
    first = blocks[0]
    is_whole = first.kind == "paragraph" and len(blocks) > 1 and len(first.claims) <= MAX_OPENING_SENTENCES
    claims = first.claims if is_whole else first.claims[:1]
    said = [claim for claim in claims if claim.kind != "lead_in" and first.kind in _SENTENCE_BLOCKS]
    if not said or len(section.draft.claims) == 1:
        return AbstractDraft()
    return AbstractDraft(blocks=(Block(claims=tuple(said)),))


def cite_short_answer(answer: str, abstract: Draft) -> Claim | None:
    """Return a short answer with the quotes of the abstract's sentences that contain it.

    Yes or No alone is stated by the first sentence.

    Returns:
        None if there is no answer, or if the abstract does not contain all of its words.
    """
    stated = {claim: set(stem_words(claim.text)) for claim in abstract.claims if claim.citations}
    left = set(stem_words(_YES_OR_NO.sub("", answer)))
    if not answer or not stated:
        return None
    chosen = [] if left else [next(iter(stated))]
    for claim, stems in stated.items():
        if left & stems:
            chosen.append(claim)
            left -= stems
    return None if left else _combine_claims(answer, chosen)


def _combine_claims(text: str, claims: Sequence[Claim]) -> Claim:
    """Return a text with the quotes of several claims; it is as well supported as the weakest of them."""
    weakest = min(claims, key=lambda claim: (claim.status == "supported", claim.confidence or 0.0))
    return weakest.model_copy(
        update={
            "text": text,
            "citations": tuple(dict.fromkeys(citation for claim in claims for citation in claim.citations)),
            "tainted": any(claim.tainted for claim in claims),
        }
    )


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
    """Remove sentences of the abstract and the sections from the synthesis.

    A situation or a complication that is left alone is removed too: only a resolution makes sense without the others.
    Recommendations and gaps stay complete, since readers look for them at the end.
    """
    if _has_closing(synthesis):
        return synthesis
    parts = (synthesis.situation, synthesis.complication, synthesis.resolution)
    kept = remove_repeats([abstract, *(section.draft for section in written), *parts])[-3:]
    if not kept[2].claims and not all(part.claims for part in kept[:2]):
        kept = (Draft(),) * 3
    return synthesis.model_copy(update={"situation": kept[0], "complication": kept[1], "resolution": kept[2]})


def select_closing(synthesis: SynthesisDraft) -> SynthesisDraft:
    """Return the parts of a synthesis that a report shows: with recommendations or gaps without their basis."""
    if not _has_closing(synthesis):
        return synthesis
    return synthesis.model_copy(update={"situation": Draft(), "complication": Draft()})


def _has_closing(synthesis: SynthesisDraft) -> bool:
    return bool(synthesis.gaps.claims) or any(claim.kind == "inference" for claim in synthesis.resolution.claims)


def list_conclusions(synthesis: SynthesisDraft) -> tuple[SectionDraft, ...]:
    """Return recommendations in the form of a section, as the writer of the abstract reads them."""
    if not _has_closing(synthesis) or not synthesis.resolution.claims:
        return ()
    return (SectionDraft(topic="What follows", draft=synthesis.resolution),)


def render_synthesis_brief(synthesis: SynthesisDraft) -> str:
    """Render a synthesis for the writers of sections; without sentences that instructions in a source may have caused.

    The text is shortened, since every section reads it.
    """
    parts = {
        "Situation": synthesis.situation,
        "Complication": synthesis.complication,
        "Resolution": synthesis.resolution,
        "Gaps": synthesis.gaps,
    }
    said = {name: " ".join(c.text for c in part.claims if not c.tainted) for name, part in parts.items()}
    lines = [f"{name}: {shorten(text, MAX_BRIEF_LENGTH)}" for name, text in said.items() if text]
    if cells := synthesis.comparison.claims:
        columns = ", ".join(dict.fromkeys(cell.column for cell in cells if cell.column))
        rows = ", ".join(dict.fromkeys(cell.label for cell in cells if cell.label))
        table = f"The report has a table that compares {columns} by these rows: {rows}"
        lines.append(shorten(table, MAX_BRIEF_LENGTH))
    return "\n".join(lines)


def deduplicate_claims(topics: Sequence[Topic], results: SectionResults) -> dict[str, SectionResult]:
    """Return the results with each claim only in the section to whose topic it belongs, of equals the first."""
    order = [topic.heading for topic in topics if topic.heading in results]
    subjects = {topic.heading: f"{topic.heading} {topic.question}" for topic in topics}
    drafts = remove_restatements([results[name].draft for name in order], [subjects[name] for name in order])
    return {name: results[name].model_copy(update={"draft": draft}) for name, draft in zip(order, drafts, strict=True)}


def is_regression(before: Draft, after: Draft, condemned: Collection[str] = ()) -> bool:
    """Return whether a revision has lost most cited passages, or has a much higher share of uncited sentences.

    Args:
        before: the text before the revision.
        after: the text after it.
        condemned: sentences that the revision found unsupported; their passages are not missed.
    """
    kept = [claim for claim in before.claims if claim.text not in condemned and needs_sources(claim)]
    if not kept:
        return False
    now = [claim for claim in after.claims if needs_sources(claim)]
    passages = [{c.chunk for claim in claims for c in claim.citations} for claims in (kept, now)]
    shares = [sum(bool(claim.citations) for claim in claims) / max(1, len(claims)) for claims in (kept, now)]
    return len(passages[1]) < len(passages[0]) / 2 or shares[1] < shares[0] - _MAX_UNCITED_INCREASE


def build_digest(topic: Topic, results: SectionResults) -> tuple[str, ...]:
    """Return the headings of all sections except one, each with its sentences nearest to the topic of that one.

    Sentences follow their heading, one a line; `DIGEST_SENTENCES` of those that share the most words with the topic.
    Cells of tables say too little on their own.
    """
    wanted = set(stem_words(f"{topic.heading} {topic.question}"))
    return tuple(
        "\n".join((name, *_select_nearest([c.statement for c in result.draft.claims if not c.column], wanted)))
        for name, result in results.items()
        if name != topic.heading and result.draft.claims
    )


def _select_nearest(sentences: Sequence[str], stems: Collection[str]) -> list[str]:
    """Return the sentences that share the most words with a topic, in reading order."""
    shared = [len(set(stem_words(sentence)).intersection(stems)) for sentence in sentences]
    nearest = sorted(range(len(sentences)), key=lambda n: -shared[n])[:DIGEST_SENTENCES]
    return [sentences[n] for n in sorted(nearest) if shared[n]]


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


def add_new_passages(known: Sequence[PassageRef], more: Iterable[PassageRef]) -> tuple[PassageRef, ...]:
    """Append passages that are not known yet, in order."""
    merged = {passage.chunk: passage for passage in known}
    for passage in more:
        merged.setdefault(passage.chunk, passage)
    return tuple(merged.values())


def select_shared_evidence(
    found: Sequence[PassageRef], own: Sequence[PassageRef], limit: int = MAX_SHARED_PASSAGES
) -> tuple[PassageRef, ...]:
    """Return the most relevant passages that searches of other sections have found and a section does not know.

    Args:
        found: passages that searches of all sections have found.
        own: passages that the section knows.
        limit: maximum number of passages.
    """
    known = {passage.chunk for passage in own}
    new = [passage for passage in found if passage.chunk not in known]
    return tuple(sorted(new, key=lambda passage: -passage.relevance)[:limit])


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
    computed: Sequence[PassageRef],
    direct: Sequence[PassageRef],
    researched: Sequence[PassageRef],
    others: Sequence[PassageRef],
    cited: Sequence[PassageRef] = (),
) -> tuple[PassageRef, ...]:
    """Order the passages of a section: results of queries, the first of its direct search and research, all others.

    Research finds the later documents of a chain, which resemble the question least. Of its passages, those that the
    synthesis cites come first: a cause often shares no word with the question about it.

    Args:
        computed: results of queries and calculations.
        direct: passages of the search for the section's question itself, best first.
        researched: passages that the research has accepted for the topic, best first.
        others: passages of other searches, best first.
        cited: passages of all topics that the synthesis cites.
    """
    chunks = {passage.chunk for passage in cited}
    decisive = [passage for passage in researched if passage.chunk in chunks]
    leading = (*computed, *direct[:LEADING_PASSAGES], *decisive, *researched[:LEADING_PASSAGES])
    return interleave_passages([(*leading, *interleave_passages([direct, others, researched, cited]))])


def select_cited_evidence(synthesis: SynthesisDraft, topics: Sequence[TopicState]) -> tuple[PassageRef, ...]:
    """Return the passages of the research that the synthesis cites, without claims that a source may have dictated."""
    drafts = (synthesis.situation, synthesis.complication, synthesis.resolution, synthesis.gaps, synthesis.comparison)
    claims = [claim for draft in drafts for claim in draft.claims if not claim.tainted]
    cited = {citation.chunk for claim in claims for citation in claim.citations}
    return tuple(passage for topic in topics for passage in topic.passages if passage.chunk in cited)


def select_positions(
    topic: Topic, positions: Sequence[PositionEvidence], topics: Sequence[Topic]
) -> tuple[PositionEvidence, ...]:
    """Return the disputed positions that belong to a topic: the one that shares most words with the position."""
    return tuple(held for held in positions if held.is_disputed and _find_topic(held, topics) == topic)


def _find_topic(held: PositionEvidence, topics: Sequence[Topic]) -> Topic:
    """Return the topic of a position; of several with as many common words, the one that it was searched for."""
    words = set(stem_words(held.position))
    return max(
        topics,
        key=lambda topic: (
            len(words.intersection(stem_words(f"{topic.heading} {topic.question}"))),
            topic.heading == held.topic,
        ),
    )


def add_sided_passages(evidence: Sequence[PassageRef], positions: Sequence[PositionEvidence]) -> tuple[PassageRef, ...]:
    """Return the evidence of a section with the best passages for and against its positions."""
    sided = [
        one.passage
        for held in positions
        for side in (held.supporting, held.contradicting)
        for one in side[:SIDED_PASSAGES]
    ]
    first: dict[str, PassageRef] = {}
    for passage in (*evidence, *sided):
        first.setdefault(passage.chunk, passage)
    return tuple(first.values())


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
