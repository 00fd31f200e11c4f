"""Combine the parts of a report: progress, repetition, critiques and feedback.

Pure functions; the workflow only defines their order.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from tenure.algorithms.claims.citations import combine_claims
from tenure.algorithms.claims.verification import needs_sources
from tenure.algorithms.control import note_messages
from tenure.algorithms.control.feedback import match_headings
from tenure.algorithms.research.coverage import compute_coverage
from tenure.algorithms.research.open_parts import select_open_parts
from tenure.algorithms.research.outline_edits import OutlineChange
from tenure.algorithms.research.research_state import build_topic_progress
from tenure.algorithms.retrieval.positions import is_choice
from tenure.algorithms.retrieval.rrf import fuse_rankings, interleave_rankings
from tenure.algorithms.text.questions import format_heading
from tenure.algorithms.text.sentences import guess_language, stem_words
from tenure.algorithms.writing.repetition import remove_restatements
from tenure.contracts.evidence.disputes import Contradiction, PositionEvidence
from tenure.contracts.evidence.passages import Block, Claim, Draft, PassageRef
from tenure.contracts.research.dossier import Dossier, Gap, PartPassages
from tenure.contracts.research.report import Critique, ReportPart, ReportText, SectionDraft, SectionVerdict, Topic
from tenure.contracts.research.spiral import TopicState
from tenure.contracts.result.result import CritiqueRecord, Evaluation
from tenure.contracts.run.run import Feedback, FeedbackRecord, SectionPhase, TopicProgress

_YES_OR_NO = re.compile(r"^\s*(?:yes|no)\b", re.IGNORECASE)  # The "Yes" of "Yes, since 2.1".

CHAIN_LINK = "→"
"""Mark between the facts of a chain in one sentence."""

_MAX_UNCITED_INCREASE = 0.25
"""Maximum increase of the share of sentences without citations in a revision."""
LEADING_PASSAGES = 3
"""Number of passages of a part's direct search, and then of its research, that come before all others."""
SIDED_PASSAGES = 3
"""Passages of each side of a position that the dossier receives in any case."""


def list_written_sections(topics: Sequence[Topic], text: ReportText, dossier: Dossier) -> tuple[SectionDraft, ...]:
    """Return the sections with text, in the order of the outline."""
    return tuple(
        SectionDraft(topic=heading, draft=draft, coverage=measure_coverage(dossier, heading))
        for topic in topics
        if (draft := text.sections.get(heading := topic.heading)) is not None
    )


def measure_coverage(dossier: Dossier, heading: str) -> float:
    """Return the coverage of a part by its passages, from 0 to 1."""
    return round(compute_coverage(dossier.get_part(heading)), 3)


def summarize_progress(
    topics: Sequence[Topic],
    text: ReportText,
    dossier: Dossier,
    aims: Sequence[TopicState] = (),
    phase: SectionPhase = "waiting",
) -> tuple[TopicProgress, ...]:
    """Return the progress of each topic by its section, which is done unless it is reviewed, or by its findings."""
    aim_by_heading = {aim.topic.heading: aim for aim in aims}
    sections = text.sections
    return tuple(
        TopicProgress(
            topic=topic.heading,
            phase="reviewing" if phase == "reviewing" else "done",
            claims=len(draft.claims),
            sources=len({citation.source for claim in draft.claims for citation in claim.citations}),
            coverage=measure_coverage(dossier, topic.heading),
        )
        if (draft := sections.get(topic.heading)) is not None
        else build_topic_progress(aim_by_heading.get(topic.heading, TopicState(topic=topic)), phase)
        for topic in topics
    )


def rename_sections(text: ReportText, change: OutlineChange) -> ReportText:
    """Return a text with the sections that an outline keeps, under their new headings and in its order."""
    names = {before: now for now, before in change.previous_headings.items()}
    renamed = [
        part.model_copy(update={"heading": names[part.heading]})
        for part in text.parts
        if part.kind == "section" and part.heading in names
    ]
    others = tuple(part for part in text.parts if part.kind != "section")
    return insert_sections(change.topics, text.model_copy(update={"parts": others}), renamed)


def insert_sections(topics: Sequence[Topic], text: ReportText, sections: Sequence[ReportPart]) -> ReportText:
    """Return a text with further sections, all sections in the order of the outline."""
    ranks = {topic.heading: n for n, topic in enumerate(topics)}
    all_sections = [*(part for part in text.parts if part.kind == "section"), *sections]
    before = [part for part in text.parts if part.kind in ("answer", "comparison")]
    after = [part for part in text.parts if part.kind in ("closing", "gaps")]
    ordered = sorted(all_sections, key=lambda part: ranks.get(part.heading, len(ranks)))
    return text.model_copy(update={"parts": (*before, *ordered, *after)})


def rename_parts(dossier: Dossier, change: OutlineChange) -> Dossier:
    """Return a dossier whose parts have the headings of a changed outline."""
    names = {before: now for now, before in change.previous_headings.items()}
    return dossier.model_copy(
        update={"parts": {names.get(heading, heading): numbers for heading, numbers in dossier.parts.items()}}
    )


def cite_short_answer(answer: str, text: Draft, question: str) -> Claim | None:
    """Return a short answer with the quotes of the sentences that contain it: of a single one, if there is one.

    Of several such sentences it is the one that gives the chain of facts, whose quotes are all that the answer rests
    on. A word of the answer may also be one of the quotes, or, if sentences state the others and the question names no
    alternatives, of the question. Yes or No alone is stated by the first sentence.

    Returns:
        None if there is no answer, or if the text does not contain all of its words.
    """
    cited = sorted((claim for claim in text.claims if claim.citations), key=lambda claim: CHAIN_LINK not in claim.text)
    quotes = (" ".join(citation.quote for citation in claim.citations) for claim in cited)
    stated = {claim: {*stem_words(claim.text), *stem_words(quote)} for claim, quote in zip(cited, quotes, strict=True)}
    missing = set(stem_words(_YES_OR_NO.sub("", answer)))
    if not answer or not stated:
        return None
    single = next((claim for claim, stems in stated.items() if missing <= stems), None)
    chosen = [single] if single else []
    for claim, stems in () if single else stated.items():
        if missing & stems:
            chosen.append(claim)
            missing -= stems
    asked = set() if is_choice(question) else set(stem_words(question))
    if not chosen or not (single or missing <= asked):
        return None
    return combine_claims(chosen).model_copy(update={"text": answer, "part": ""})


def select_answers(abstract: Draft, sections: Sequence[SectionDraft]) -> Draft:
    """Return the text that states the short answer: the abstract, or without one the excerpts of the sections."""
    quoted = [claim for section in sections for claim in section.draft.claims if claim.part]
    answers = tuple(sorted(quoted, key=lambda claim: not claim.answers))
    return abstract if abstract.claims or not answers else Draft(blocks=(Block(claims=answers),))


def deduplicate_claims(topics: Sequence[Topic], text: ReportText) -> ReportText:
    """Return a text with each statement once: in the section to whose topic it belongs, of equals in the first.

    The answer, recommendations and gaps stay complete, since readers look for them in their places.
    """
    subjects = {topic.heading: f"{topic.heading} {topic.question}" for topic in topics}
    sections = [part for part in text.parts if part.kind == "section"]
    drafts = remove_restatements(
        [part.draft for part in sections], [subjects.get(part.heading, part.heading) for part in sections]
    )
    unique = {part.heading: draft for part, draft in zip(sections, drafts, strict=True)}
    return text.replace_drafts([unique[part.heading] if part.kind == "section" else part.draft for part in text.parts])


def add_unanswered_parts(text: ReportText, parts: Sequence[str]) -> ReportText:
    """Return a text whose gaps name the parts of the question that neither its outline nor its text speaks of."""
    written = [text.title, text.short_answer, *(f"{part.heading} {part.draft.text}" for part in text.parts)]
    if guess_language(" ".join(written)) != guess_language(" ".join(parts)):
        return text
    missing = select_open_parts(parts, written)
    if not missing:
        return text
    gaps = tuple(Claim(kind="gap", text=note_messages.UNSTATED_PART.format(part=part)) for part in missing)
    others = tuple(part for part in text.parts if part.kind != "gaps")
    blocks = (*text.get_draft("gaps").blocks, Block(kind="bullets", claims=gaps))
    return text.model_copy(update={"parts": (*others, ReportPart(kind="gaps", draft=Draft(blocks=blocks)))})


def is_regression(before: Sequence[Claim], after: Sequence[Claim], condemned: Collection[str] = ()) -> bool:
    """Return whether a revision has lost most cited passages, or has a much higher share of uncited sentences.

    The passages of `condemned` sentences, which the revision found unsupported, are not missed.
    """
    remaining = [claim for claim in before if claim.text not in condemned and needs_sources(claim)]
    if not remaining:
        return False
    now = [claim for claim in after if needs_sources(claim)]
    passages = [{c.chunk for claim in claims for c in claim.citations} for claims in (remaining, now)]
    shares = [sum(bool(claim.citations) for claim in claims) / max(1, len(claims)) for claims in (remaining, now)]
    return len(passages[1]) < len(passages[0]) / 2 or shares[1] < shares[0] - _MAX_UNCITED_INCREASE


def add_new_passages(earlier: Sequence[PassageRef], more: Iterable[PassageRef]) -> tuple[PassageRef, ...]:
    """Append passages that are not known yet, in order."""
    merged = {passage.chunk: passage for passage in earlier}
    for passage in more:
        merged.setdefault(passage.chunk, passage)
    return tuple(merged.values())


def interleave_passages(rankings: Sequence[Sequence[PassageRef]]) -> tuple[PassageRef, ...]:
    """Interleave ranked lists of passages, each passage once."""
    return add_new_passages((), interleave_rankings(rankings))


def order_across_sources(rankings: Sequence[Sequence[PassageRef]], per_source: int) -> tuple[PassageRef, ...]:
    """Order passages by their ranks in several lists, the best `per_source` ones of every source before all others.

    A passage of several lists comes before the best one of a single list, which may be on another subject.
    """
    scores = fuse_rankings([{ref.chunk: rank for rank, ref in enumerate(refs, 1)} for refs in rankings])
    passage_by_chunk = {ref.chunk: ref for refs in rankings for ref in refs}
    passages = sorted(passage_by_chunk.values(), key=lambda ref: (-scores[ref.chunk], ref.chunk))
    counts: Counter[str] = Counter()
    first: list[PassageRef] = []
    rest: list[PassageRef] = []
    for passage in passages:
        counts[passage.source] += 1
        (first if counts[passage.source] <= per_source else rest).append(passage)
    return (*first, *rest)


def order_part_passages(
    decisive: Sequence[PassageRef],
    direct: Sequence[PassageRef],
    researched: Sequence[PassageRef],
    others: Sequence[PassageRef],
) -> tuple[PassageRef, ...]:
    """Order the passages of a part: results of queries, the first of its direct search and research, all others.

    Research finds the later documents of a chain, which resemble the question least. Decisive are results of queries
    and calculations, and what the planner has asked for.
    """
    leading = (*decisive, *direct[:LEADING_PASSAGES], *researched[:LEADING_PASSAGES])
    return interleave_passages([(*leading, *interleave_passages([direct, others, researched]))])


def list_sided_passages(positions: Sequence[PositionEvidence]) -> tuple[PassageRef, ...]:
    """Return the best passages for and against positions."""
    sides = [side for position in positions for side in (position.supporting, position.contradicting)]
    return interleave_passages([[item.passage for item in side[:SIDED_PASSAGES]] for side in sides])


def build_requested_topic(critique: Critique) -> Topic:
    """Return the topic that a critique of no existing section requests."""
    question = critique.query or critique.critique
    return Topic(heading=format_heading(question), question=question)


def find_pending_feedback(
    feedback: Sequence[Feedback], topics: Sequence[Topic], considered: Mapping[str, Sequence[str]]
) -> tuple[Critique, ...]:
    """Return feedback that no version of the report considers yet, as critiques of the sections that it concerns."""
    headings = [topic.heading for topic in topics]
    return tuple(
        Critique(topic=name, critique=entry.text, query=entry.text, origin="person")
        for entry in feedback
        if entry.text not in considered
        for name in match_headings(entry, headings)
    )


def build_critiques(
    verdicts: Sequence[SectionVerdict], queries: Sequence[str], topics: Sequence[Topic]
) -> list[Critique]:
    """Return the searches of a review as critiques, each with the section that shares most words with it.

    A verdict REWRITE alone asks for nothing more: its edits are made.
    """
    critiques = {verdict.heading: verdict.critique for verdict in verdicts if verdict.action == "SEARCH"}
    names = {topic.heading.casefold(): topic.heading for topic in topics}
    requests: list[Critique] = []
    for query, heading in zip(queries, _find_nearest_headings(queries, topics), strict=True):
        reason = next((why for name, why in critiques.items() if names.get(name.casefold()) == heading), "")
        requests.append(Critique(topic=heading or None, critique=reason or describe_search(query), query=query))
    return requests


def describe_search(query: str) -> str:
    """Return the request of a review for a search, which says nothing about the documents."""
    return f"A search for “{query}” was asked for."


def select_evaluation(before: Evaluation | None, now: Evaluation | None) -> Evaluation | None:
    """Return the newest verdict, with the earlier judgement of the parts of the question if it judges none."""
    if before is None or now is None:
        return now or before
    return now if now.parts else now.model_copy(update={"parts": before.parts})


def merge_contradictions(old: Sequence[Contradiction], new: Sequence[Contradiction]) -> tuple[Contradiction, ...]:
    """Return contradictions; those of a pair of passages are as the last review has described them."""
    described = {frozenset((pair.a.chunk, pair.b.chunk)) for pair in new}
    return (*(pair for pair in old if frozenset((pair.a.chunk, pair.b.chunk)) not in described), *new)


def _find_nearest_headings(texts: Sequence[str], topics: Sequence[Topic]) -> list[str]:
    """Return for each text the heading of the topic that shares most words with it; empty without topics."""
    stems = {topic.heading: frozenset(stem_words(f"{topic.heading} {topic.question}")) for topic in topics}
    words = (frozenset(stem_words(text)) for text in texts)
    return [max(stems, key=lambda heading: len(stems[heading] & text_stems), default="") for text_stems in words]


def group_by_part(
    queries: Sequence[str], results: Sequence[Sequence[PassageRef]], topics: Sequence[Topic], gaps: Sequence[Gap] = ()
) -> list[PartPassages]:
    """Return the passages that each search (for a gap) has found, by the part that shares most words with it."""
    headings = _find_nearest_headings(queries, topics)
    gap_of_query: Sequence[Gap | None] = gaps or [None] * len(queries)
    return [
        PartPassages(heading=heading, passages=tuple(passages), gap=gap)
        for heading, passages, gap in zip(headings, results, gap_of_query, strict=True)
    ]


def build_critique_record(critique: Critique, before: ReportText, after: ReportText) -> CritiqueRecord:
    """Return a critique with its outcome."""
    name = critique.topic or build_requested_topic(critique).heading
    earlier, now = before.sections.get(name), after.sections.get(name)
    if now is None:
        outcome = "Nothing was found on it."
    elif earlier is None:
        outcome = f"The section “{name}” was written."
    elif now != earlier:
        outcome = f"The section “{name}” was rewritten."
    else:
        outcome = "The report was revised." if before.claims != after.claims else "Nothing more was found on it."
    return CritiqueRecord(topic=critique.topic, critique=critique.critique, outcome=outcome)


def deduplicate_topics(topics: Sequence[Topic]) -> list[Topic]:
    """Return topics with distinct headings, ignoring case, in order."""
    first = {topic.heading.casefold(): topic for topic in reversed(topics)}
    return [topic for topic in topics if first[topic.heading.casefold()] is topic]


def build_feedback_outcomes(
    feedback: Sequence[Feedback],
    considered: Mapping[str, Sequence[str]],
    changed: Mapping[str, Sequence[str]],
    queries: Mapping[str, Sequence[str]],
) -> tuple[FeedbackRecord, ...]:
    """Return each piece of feedback with its outcome; all mappings are by its text.

    Args:
        feedback: feedback of people.
        considered: headings of the sections for which feedback was considered.
        changed: headings of those that changed by it.
        queries: queries of the research.
    """
    records: list[FeedbackRecord] = []
    for entry in feedback:
        outcome = note_messages.FEEDBACK_UNREAD
        if headings := changed.get(entry.text):
            outcome = note_messages.FEEDBACK_USED.format(headings=_quote_names(headings))
        elif headings := considered.get(entry.text):
            outcome = note_messages.FEEDBACK_SEARCHED.format(headings=_quote_names(headings))
        if searches := queries.get(entry.text):
            outcome = f"{note_messages.FEEDBACK_QUERIES.format(queries=_quote_names(searches))} {outcome}"
        records.append(FeedbackRecord(text=entry.text, topic=entry.topic, at="", outcome=outcome))
    return tuple(records)


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in dict.fromkeys(names))


def describe_stop_reason(revisions: int, is_satisfied: bool) -> str:
    """Return the reason why an uninterrupted report was not revised again."""
    reason = "no critique was left" if is_satisfied else "the limit of revisions is reached"
    return f"Ended after {revisions} generation{'' if revisions == 1 else 's'} of the report: {reason}."
