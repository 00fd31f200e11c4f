"""The report in the making: what is written, what it rests on, and what people said that is still unheard.

Pure functions over the sections' results, so that the workflow only says what happens in which order.
"""

from collections.abc import Iterable, Mapping, Sequence

from tenure.algorithms.control.feedback import concerned
from tenure.algorithms.research.outline_edits import Edited
from tenure.algorithms.research.research_state import gathered
from tenure.algorithms.text.questions import heading
from tenure.algorithms.writing.repetition import without_repeats, without_restatements
from tenure.contracts.evidence.passages import Draft, PassageRef, SynthesisDraft
from tenure.contracts.research.report import Critique, SectionDraft, SectionResult, Topic
from tenure.contracts.research.spiral import Aim
from tenure.contracts.result.result import CritiqueRecord
from tenure.contracts.run.run import Feedback, Handled, TopicProgress

Results = Mapping[str, SectionResult]
"""The newest result of each section, by heading."""

_MORE_UNCITED = 0.25
"""By how much the share of sentences without a source may grow in a rewriting."""
SHOWN = 24
"""Passages shown to roles that see the whole report, more only where more are cited."""


def sections(topics: Sequence[Topic], results: Results) -> tuple[SectionDraft, ...]:
    """Return the sections that have text, in the order of the outline."""
    written = [results[topic.heading] for topic in topics if topic.heading in results]
    return tuple(
        SectionDraft(topic=r.topic.heading, draft=r.draft, coverage=r.coverage) for r in written if r.draft.claims
    )


def standing(topics: Sequence[Topic], results: Results, aims: Sequence[Aim] = ()) -> tuple[TopicProgress, ...]:
    """Return how far the topics of the outline are: their sections, or what was gathered for those that have none."""
    known = {aim.topic.heading: aim for aim in aims}
    return tuple(
        _standing(result)
        if (result := results.get(topic.heading))
        else gathered(known.get(topic.heading, Aim(topic=topic)))
        for topic in topics
    )


def _standing(result: SectionResult) -> TopicProgress:
    return TopicProgress(
        topic=result.topic.heading,
        phase=result.phase,
        claims=len(result.draft.claims),
        sources=len({citation.source for claim in result.draft.claims for citation in claim.citations}),
        coverage=result.coverage,
    )


def renamed(results: Results, wanted: Edited) -> dict[str, SectionResult]:
    """Return the sections that an outline keeps, under the headings that it gives them."""
    return {
        topic.heading: results[name].model_copy(update={"topic": topic})
        for topic in wanted.topics
        if (name := wanted.before.get(topic.heading, "")) in results
    }


def beside(abstract: Draft, written: Sequence[SectionDraft]) -> tuple[SectionDraft, ...]:
    """Return the sections without the sentences that stand in the abstract; none is emptied by that."""
    kept = without_repeats([abstract, *(section.draft for section in written)])[1:]
    return tuple(
        section.model_copy(update={"draft": draft if draft.claims else section.draft})
        for section, draft in zip(written, kept, strict=True)
    )


def apart(synthesis: SynthesisDraft, abstract: Draft, written: Sequence[SectionDraft]) -> SynthesisDraft:
    """Return the synthesis without the sentences that stand in the abstract or a section."""
    parts = (synthesis.situation, synthesis.complication, synthesis.resolution)
    kept = without_repeats([abstract, *(section.draft for section in written), *parts])[-3:]
    return SynthesisDraft(situation=kept[0], complication=kept[1], resolution=kept[2])


def once_each(topics: Sequence[Topic], results: Results) -> dict[str, SectionResult]:
    """Return the results with everything said only in the first section that says it."""
    order = [topic.heading for topic in topics if topic.heading in results]
    drafts = without_restatements([results[name].draft for name in order])
    return {name: results[name].model_copy(update={"draft": draft}) for name, draft in zip(order, drafts, strict=True)}


def poorer(before: Draft, after: Draft) -> bool:
    """Tell whether a rewriting has lost most of what a draft rests on, or left much more of it without a source."""
    passages = [{c.chunk for claim in draft.claims for c in claim.citations} for draft in (before, after)]
    shares = [sum(bool(claim.citations) for claim in draft.claims) / len(draft.claims) for draft in (before, after)]
    return len(passages[1]) < len(passages[0]) / 2 or shares[1] < shares[0] - _MORE_UNCITED


def sentences_beside(topic: Topic, results: Results) -> tuple[str, ...]:
    """Return the sentences of all sections but one."""
    return tuple(
        claim.text for name, result in results.items() if name != topic.heading for claim in result.draft.claims
    )


def shown(
    results: Results, evidence: Sequence[PassageRef], reasoned: Sequence[PassageRef] = ()
) -> tuple[PassageRef, ...]:
    """Return the passages for roles that see the whole report: every cited one, then the question's own.

    Args:
        results: the sections.
        evidence: passages for the question as a whole.
        reasoned: passages that the reasoning cites.
    """
    cited = {c.chunk for r in results.values() for claim in r.draft.claims for c in claim.citations}
    of_sections = [[p for p in result.evidence if p.chunk in cited] for result in results.values()]
    first = {passage.chunk: passage for passage in (*together(of_sections), *reasoned, *evidence)}
    return tuple(first.values())[: max(len(cited) + len(reasoned), SHOWN)]


def together(found: Sequence[Sequence[PassageRef]]) -> tuple[PassageRef, ...]:
    """Interleave lists of passages by rank, each passage once."""
    longest = max((len(refs) for refs in found), default=0)
    merged: dict[str, PassageRef] = {}
    for rank in range(longest):
        for refs in found:
            if rank < len(refs):
                merged.setdefault(refs[rank].chunk, refs[rank])
    return tuple(merged.values())


def critiques_of(topic: Topic, critiques: Iterable[Critique]) -> tuple[Critique, ...]:
    """Return the critiques that concern a topic, those that asked for it as a new section included."""
    return tuple(c for c in critiques if c.topic == topic.heading or (c.topic is None and asked_for(c) == topic))


def asked_for(critique: Critique) -> Topic:
    """Return the topic that a critique without a topic asks for."""
    wanted = critique.query or critique.critique
    return Topic(heading=heading(wanted), question=wanted)


def unheard(wishes: Sequence[Feedback], topics: Sequence[Topic], results: Results) -> tuple[Critique, ...]:
    """Return what people said of sections that were written without it."""
    headings = [topic.heading for topic in topics]
    return tuple(
        Critique(topic=name, critique=wish.text, query=wish.text, origin="person")
        for wish in wishes
        for name in concerned(wish, headings)
        if name in results and wish.text not in results[name].wishes
    )


def wished_of(topic: Topic, wishes: Sequence[Feedback], topics: Sequence[Topic], results: Results) -> list[Critique]:
    """Return what people said of a section that is not yet written with it."""
    headings = [other.heading for other in topics]
    before = results.get(topic.heading)
    return [
        Critique(topic=topic.heading, critique=wish.text, query=wish.text, origin="person")
        for wish in wishes
        if topic.heading in concerned(wish, headings) and not (before and wish.text in before.wishes)
    ]


def record(critique: Critique, before: Results, after: Results) -> CritiqueRecord:
    """Return a critique with what became of it."""
    name = critique.topic or asked_for(critique).heading
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


def addressed(
    critiques: Sequence[Critique], topics: Sequence[Topic], most: int
) -> tuple[tuple[Critique, ...], tuple[Critique, ...]]:
    """Return critiques that can be followed, each under the exact heading it means, and those that cannot.

    A section asked for under the name of one that exists is a critique of that one; there is room for
    new sections up to `most`.
    """
    names = {topic.heading.casefold(): topic.heading for topic in topics}
    kept: list[Critique] = []
    dropped: list[Critique] = []
    for critique in critiques:
        name = critique.topic or (asked_for(critique).heading if critique.query else "")
        known = names.get(name.casefold())
        if known is not None:
            kept.append(critique.model_copy(update={"topic": known}))
        elif critique.topic is None and name and len(names) < most:
            names[name.casefold()] = name
            kept.append(critique)
        else:
            dropped.append(critique)
    return tuple(kept), tuple(dropped)


def distinct(topics: Iterable[Topic]) -> list[Topic]:
    """Return topics with every heading once, case aside, in order."""
    first: dict[str, Topic] = {}
    for topic in topics:
        first.setdefault(topic.heading.casefold(), topic)
    return list(first.values())


def handled(
    wishes: Sequence[Feedback],
    results: Results,
    heeded: Mapping[str, Sequence[str]],
    asked: Mapping[str, Sequence[str]],
) -> tuple[Handled, ...]:
    """Return what people said and what came of it.

    Args:
        wishes: what was said.
        results: the sections.
        heeded: sections that changed with a wish, by its text.
        asked: what was asked of the sources because of a wish, by its text.
    """
    return tuple(
        Handled(
            text=wish.text,
            topic=wish.topic,
            at="",
            outcome=" ".join(
                [*_searched(asked.get(wish.text, ())), _outcome(wish.text, results, heeded)],
            ),
        )
        for wish in wishes
    )


def _searched(queries: Sequence[str]) -> list[str]:
    return [f"The research asked {_quoted(queries)}."] if queries else []


def _outcome(wish: str, results: Results, heeded: Mapping[str, Sequence[str]]) -> str:
    if wish in heeded:
        return f"Taken up in {_quoted(heeded[wish])}."
    looked = [name for name, result in results.items() if wish in result.wishes]
    return f"Looked for in {_quoted(looked)}, and nothing more was found." if looked else "No section took it up."


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"“{name}”" for name in dict.fromkeys(names))


def why_ended(revisions: int, content: bool) -> str:
    """Return why a report that nobody interrupted had no further generation."""
    reason = "no critique was left" if content else "the limit of revisions is reached"
    return f"Ended after {revisions} generation{'' if revisions == 1 else 's'} of the report: {reason}."
