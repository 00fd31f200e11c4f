"""Tests of parts, critiques and feedback of a report."""

from typing import Any

import pytest

from tenure.algorithms.research.outline_edits import apply_outline, revise_outline
from tenure.algorithms.writing import manuscript
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.disputes import Contradiction
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft
from tenure.contracts.research.dossier import Dossier, Gap, PartPassages
from tenure.contracts.research.report import Critique, ReportPart, ReportText, SectionDraft, SectionVerdict, Topic
from tenure.contracts.research.spiral import TopicState
from tenure.contracts.result.result import EvaluatedPart, Evaluation
from tenure.contracts.run.control import OutlineTopic
from tenure.contracts.run.run import Feedback
from tests.support.passages import held, passage, reference

BREAD, CHEESE = Topic(heading="Bread", question="Bread?"), Topic(heading="Cheese", question="Cheese?")


def draft(*texts: str, chunk: str = "c1") -> Draft:
    """Return a draft of sentences that cite one chunk."""
    cited = (Citation(source=SourceId("s"), chunk=ChunkId(chunk), start=0, end=1, quote="q"),)
    return (
        Draft(blocks=(Block(claims=tuple(Claim(text=text, citations=cited) for text in texts)),)) if texts else Draft()
    )


def claim(text: str, quote: str) -> Claim:
    """Return a supported claim with one quote."""
    cited = Citation(source=SourceId("s"), chunk=ChunkId("c1"), start=0, end=len(quote), quote=quote)
    return Claim(text=text, status="supported", confidence=1.0, citations=(cited,))


def part(kind: Any, *texts: str, heading: str = "", chunk: str = "c1") -> ReportPart:
    """Return a part of a report."""
    return ReportPart(kind=kind, heading=heading, draft=draft(*texts, chunk=chunk))


def report(**sections: tuple[str, ...]) -> ReportText:
    """Return a report of sections."""
    return ReportText(parts=tuple(part("section", *texts, heading=name) for name, texts in sections.items()))


def said(text: ReportText) -> list[tuple[str, str]]:
    """Return heading or kind and text of each part."""
    return [(one.heading or one.kind, one.draft.text) for one in text.parts]


DOSSIER = Dossier(
    passages=(reference(0.9, "s", "c1"), reference(0.3, "s", "c2")), parts={"Bread": (1, 2), "Cheese": (2,)}
)


def test_written_sections_follow_the_outline() -> None:
    """Sections without text are left out; coverage is that of their passages in the dossier."""
    text = report(Cheese=("It ripens.",), Bread=("It rises.",), Wine=())
    wine = Topic(heading="Wine", question="Wine?")
    sections = manuscript.list_written_sections([wine, BREAD, CHEESE], text, DOSSIER)

    assert [one.topic for one in sections] == ["Bread", "Cheese"]
    assert sections[0].coverage > sections[1].coverage == manuscript.measure_coverage(DOSSIER, "Cheese") > 0
    assert manuscript.measure_coverage(DOSSIER, "Wine") == 0


@pytest.mark.parametrize(
    ("answer", "quoted"),
    [
        ("In Ghent", ["Ghent"]),
        ("Ghent and Bruges", ["Ghent", "Bruges"]),
        ("Yes", ["Ghent"]),
        ("No, in Bruges", ["Bruges"]),
        ("Antwerp", None),
        ("", None),
    ],
)
def test_short_answers_are_stated_by_the_abstract(answer: str, quoted: list[str] | None) -> None:
    """A short answer cites the sentences with its words; an answer that the abstract does not give is dropped."""
    claims = (
        claim("The guild began in Ghent.", "Ghent"),
        claim("It moved to Bruges.", "Bruges"),
        Claim(text="It left for Antwerp."),
    )

    found = manuscript.cite_short_answer(answer, Draft(blocks=(Block(claims=claims),)), "Where to?")

    assert (found and [citation.quote for citation in found.citations]) == quoted
    assert found is None or found.text == answer


def test_a_short_answer_is_as_certain_as_its_weakest_sentence() -> None:
    """Status, confidence and taint come from the sentences that state it."""
    sure = claim("The guild began in Ghent.", "Ghent").model_copy(update={"confidence": 0.9})
    unsure = claim("It moved to Bruges.", "Bruges").model_copy(
        update={"status": "unverified", "confidence": 0.4, "tainted": True}
    )

    found = manuscript.cite_short_answer("Ghent and Bruges", Draft(blocks=(Block(claims=(sure, unsure)),)), "")

    assert found is not None
    assert (found.status, found.confidence, found.tainted) == ("unverified", 0.4, True)


def test_a_sentence_that_states_all_of_a_short_answer_is_its_only_one() -> None:
    """Sentences with a part of the answer are cited only if none states the whole."""
    claims = (claim("It began in Ghent.", "Ghent"), claim("It moved from Ghent to Bruges.", "Bruges"))
    found = manuscript.cite_short_answer("Ghent and Bruges", Draft(blocks=(Block(claims=claims),)), "")

    assert found is not None and [citation.quote for citation in found.citations] == ["Bruges"]


def test_a_chain_of_facts_states_the_short_answer_at_its_end() -> None:
    """The sentence with the whole chain is cited before one that only names the end."""
    claims = (claim("The guild sits in Bruges.", "Bruges"), claim("Baker → guild → Bruges.", "Ghent, then Bruges"))
    found = manuscript.cite_short_answer("Bruges", Draft(blocks=(Block(claims=claims),)), "")

    assert found is not None and [citation.quote for citation in found.citations] == ["Ghent, then Bruges"]


def test_words_of_a_quote_and_of_the_question_need_no_sentence() -> None:
    """A short answer may have a word of a quote that its sentence leaves out, or one of the question."""
    text = Draft(blocks=(Block(claims=(claim("It began in Ghent.", "in Ghent, Flanders"),)),))

    assert manuscript.cite_short_answer("Ghent, Flanders", text, "Where?") is not None
    assert manuscript.cite_short_answer("the guild of Ghent", text, "Where did the guild begin?") is not None
    assert manuscript.cite_short_answer("the guild of Ghent", text, "Where?") is None
    assert manuscript.cite_short_answer("Ghent, in 1840", text, "Did it begin in 1820 or 1840?") is None


def test_excerpts_state_the_short_answer_of_a_report_without_an_abstract() -> None:
    """Those that answer come first; sentences that no excerpt has are none."""
    claims = tuple(
        claim(text, "q").model_copy(update={"part": form, "answers": answers})
        for text, form, answers in (("One.", "sentence", False), ("Two.", "sentence", True), ("Three.", "", False))
    )
    sections = [SectionDraft(topic="Bread", draft=Draft(blocks=(Block(claims=claims),)))]

    assert manuscript.select_answers(Draft(), sections).text == "Two. One."
    assert manuscript.select_answers(draft("Abstract."), sections) == draft("Abstract.")
    assert manuscript.select_answers(Draft(), []) == Draft()


def test_the_first_section_keeps_a_repeated_sentence() -> None:
    """Of equal sentences of sections that belong to neither more than to the other the first one stays."""
    text = manuscript.deduplicate_claims([BREAD, CHEESE], report(Bread=("Salt.",), Cheese=("Salt.", "Rennet.")))

    assert said(text) == [("Bread", "Salt."), ("Cheese", "Rennet.")]


def test_a_sentence_stays_in_the_section_of_its_topic() -> None:
    """A repeated sentence is removed from the first section if the later one's topic has more of its words."""
    repeated = "The rennet of a calf curdles the milk of the cheese."
    text = manuscript.deduplicate_claims([BREAD, CHEESE], report(Bread=("Salt.", repeated), Cheese=(repeated,)))

    assert said(text) == [("Bread", "Salt."), ("Cheese", repeated)]


def test_other_parts_may_repeat_sections() -> None:
    """Readers look for the answer, for recommendations and for gaps in their places; only empty sections go."""
    parts = (part("answer", "Salt."), part("section", "Salt.", heading="Bread"), part("closing", "Salt."))
    text = ReportText(title="T", parts=(*parts, part("section", "Salt.", heading="Cheese")))

    assert manuscript.deduplicate_claims([BREAD, CHEESE], text) == ReportText(title="T", parts=parts)


def test_regression_of_a_revision() -> None:
    """Half of the passages may be lost, and some sentences may be uncited; condemned sentences are not missed."""
    two = (*draft("One.", "Two.").claims, *draft("Three.", "Four.", chunk="c2").claims)
    one, uncited = draft("One.").claims, (Claim(text="Five."), Claim(text="Six."))

    assert not manuscript.is_regression(two, one)
    assert manuscript.is_regression(one, uncited)
    assert manuscript.is_regression(two, (*two, *uncited))
    assert not manuscript.is_regression(uncited, one)
    assert manuscript.is_regression(two, ())
    assert not manuscript.is_regression(two, one, ("Three.", "Four."))
    assert not manuscript.is_regression(one, (), ("One.",))


def test_gaps_and_lead_ins_are_no_loss() -> None:
    """Statements that need no passage count neither before nor after a revision."""
    gap, lead_in = Claim(text="Its age.", kind="gap"), Claim(text="Two kinds:", kind="lead_in")
    one = draft("One.").claims

    assert not manuscript.is_regression((*one, gap, gap), one)
    assert not manuscript.is_regression(one, (*one, gap, lead_in, gap))
    assert not manuscript.is_regression((gap,), ())


def test_the_best_passages_of_all_sources_come_first() -> None:
    """A source has a number of places before the others; a passage of two lists comes before the first one of one."""
    found = [reference(0.5, name[0], name) for name in ("a1", "a2", "b1", "a3", "c1")]

    assert [p.chunk for p in manuscript.order_across_sources([found], 1)] == ["a1", "b1", "c1", "a2", "a3"]
    assert [p.chunk for p in manuscript.order_across_sources([found], 2)] == ["a1", "a2", "b1", "c1", "a3"]
    assert [p.chunk for p in manuscript.order_across_sources([found[:3], found[2:]], 2)][:2] == ["b1", "a1"]


def test_lists_are_interleaved_by_rank() -> None:
    """Lists are interleaved by rank."""
    a, b, c = (reference(0.5, "s", name) for name in "abc")

    assert [p.chunk for p in manuscript.interleave_passages([[a, b], [c, a], []])] == ["a", "c", "b"]


def test_known_passages_keep_their_places() -> None:
    """New passages follow the known ones, each once."""
    a, b, c = (reference(0.5, "s", name) for name in "abc")

    assert manuscript.add_new_passages([a, b], [c, a, c]) == (a, b, c)


def test_the_passages_of_a_part_begin_with_its_direct_search() -> None:
    """Computed results come first, then the first passages of direct search and research, then all others by rank."""
    one, two, *direct = (reference(0.5, "s", f"d{n}") for n in range(10))
    ordered = manuscript.order_part_passages([one], direct, [two, direct[0]], [direct[7]])

    assert [p.chunk for p in ordered] == ["d0", "d2", "d3", "d4", "d1", "d9", "d5", "d6", "d7", "d8"]


def test_both_sides_of_a_dispute_join_the_dossier() -> None:
    """The best passages of each side are interleaved; a position with one side brings none."""
    pro, con = [passage("Yes.", f"p{n}") for n in range(9)], passage("No.", "c")
    both, one = held("Should we?", pro, [con]), held("Must we?", pro, [])

    assert [ref.source for ref in manuscript.list_sided_passages([both, one])] == ["p0", "c", "p1", "p2"]


def test_the_verdict_on_the_parts_of_a_question_stays_without_another() -> None:
    """A review that judges no part leaves the earlier verdict on them; its errors replace the earlier ones."""
    part = EvaluatedPart(part="cost", answered="no")
    before, now = Evaluation(parts=(part,), issues=("a",)), Evaluation(issues=("b",))
    yes = Evaluation(parts=(part.model_copy(update={"answered": "yes"}),))

    assert manuscript.select_evaluation(before, now) == Evaluation(parts=(part,), issues=("b",))
    assert manuscript.select_evaluation(before, yes) == manuscript.select_evaluation(None, yes) == yes
    assert manuscript.select_evaluation(before, None) == before


def test_a_contradiction_is_kept_once_as_described_last() -> None:
    """The same two passages are one contradiction, in either order."""
    a, b, c = (Citation(source=SourceId(n), chunk=ChunkId(n), start=0, end=1, quote="q") for n in "abc")
    rule = Contradiction(a=a, b=b, severity="medium", about="2 against 9")
    model, other = Contradiction(a=b, b=a, severity="high"), Contradiction(a=a, b=c, severity="low")

    assert manuscript.merge_contradictions([rule], [model, other]) == (model, other)
    assert manuscript.merge_contradictions([other], [rule, model]) == (other, rule, model)


RYE, OVENS = (
    Topic(heading="Rye bread", question="How is rye bread made?"),
    Topic(heading="Ovens", question="What is an oven?"),
)


def test_searches_of_a_review_become_critiques() -> None:
    """A search belongs to the section that shares most words with it, and has the reason of that section's verdict."""
    verdicts = (
        SectionVerdict(heading="ovens", action="SEARCH", critique="No heat."),
        SectionVerdict(heading="Rye bread", action="REWRITE", critique="Too bold."),
    )
    asked = manuscript.build_critiques(verdicts, ["heat of an oven", "age of rye"], [RYE, OVENS])

    assert [(one.topic, one.critique, one.query, one.origin) for one in asked] == [
        ("Ovens", "No heat.", "heat of an oven", "reflector"),
        ("Rye bread", "A search for “age of rye” was asked for.", "age of rye", "reflector"),
    ]
    assert manuscript.build_critiques(verdicts, [], [RYE, OVENS]) == []
    assert manuscript.build_critiques((), ["rye"], [])[0].topic is None


def test_results_of_searches_are_grouped_by_part() -> None:
    """Passages belong to the part that shares most words with their search, of equals to the first."""
    a, b = reference(0.5, "s", "a"), reference(0.5, "s", "b")

    assert manuscript.group_by_part(["heat of an oven", "milk"], [[a], [a, b]], [RYE, OVENS]) == [
        PartPassages(heading="Ovens", passages=(a,)),
        PartPassages(heading="Rye bread", passages=(a, b)),
    ]
    gap = Gap(statement="Its heat.", query="heat of an oven")
    assert manuscript.group_by_part([gap.query], [[a]], [OVENS], [gap])[0].gap == gap


def test_headings_are_deduplicated_ignoring_case() -> None:
    """Headings are deduplicated ignoring case."""
    assert manuscript.deduplicate_topics([BREAD, Topic(heading="BREAD", question="Again?"), CHEESE]) == [BREAD, CHEESE]


def test_feedback_is_pending_until_it_is_considered() -> None:
    """Feedback becomes a critique of each section that it concerns, until a version considers it."""
    wish = Feedback(text="More salt", topic="Bread")
    (pending,) = manuscript.find_pending_feedback([wish], [BREAD, CHEESE], {})

    assert (pending.topic, pending.critique, pending.query, pending.origin) == ("Bread", *["More salt"] * 2, "person")
    assert manuscript.find_pending_feedback([wish], [BREAD, CHEESE], {"More salt": ()}) == ()


def test_outcomes_of_critiques() -> None:
    """The outcome says how the section has changed, or whether another part of the report has changed."""
    critique = Critique(topic="Bread", critique="short")
    old, new = report(Bread=("One.",)), report(Bread=("Two.",))
    other = old.model_copy(update={"parts": (*old.parts, part("gaps", "Its age."))})
    versions = ((ReportText(), ReportText()), (ReportText(), old), (old, new), (old, other), (old, old))

    assert [manuscript.build_critique_record(critique, a, b).outcome for a, b in versions] == [
        "Nothing was found on it.",
        "The section “Bread” was written.",
        "The section “Bread” was rewritten.",
        "The report was revised.",
        "Nothing more was found on it.",
    ]


def test_outcomes_of_feedback() -> None:
    """The report says in which sections feedback was considered, and which searches were made for it."""
    wishes = [Feedback(text=text) for text in ("salt", "mould", "wine")]
    handled = manuscript.build_feedback_outcomes(
        wishes,
        {"salt": ["Bread", "Cheese"], "mould": ["Bread"]},
        {"salt": ["Bread"], "mould": []},
        {"mould": ["Which mould?"], "salt": []},
    )

    assert [h.outcome for h in handled] == [
        "Considered in “Bread”.",
        "The research searched for “Which mould?”. Searched for in “Bread”; nothing new was found.",
        "No section considered it.",
    ]


def test_stop_reasons() -> None:
    """The report states the reason for its end."""
    assert manuscript.describe_stop_reason(1, True) == "Ended after 1 generation of the report: no critique was left."
    assert manuscript.describe_stop_reason(2, False).endswith(
        "2 generations of the report: the limit of revisions is reached."
    )


def test_renamed_sections_keep_their_text() -> None:
    """Text and passages of a topic that an outline renames stay; other sections go, and other parts stay."""
    written = report(Bread=("It rises.",), Cheese=("It ripens.",))
    written = written.model_copy(update={"parts": (part("answer", "Yes."), *written.parts, part("gaps", "Its age."))})
    lines = (OutlineTopic(heading="Loaves", renamed_from="Bread"), OutlineTopic(heading="Wine"))
    wanted = apply_outline((BREAD, CHEESE), revise_outline(None, lines))
    text, dossier = manuscript.rename_sections(written, wanted), manuscript.rename_parts(DOSSIER, wanted)

    assert said(text) == [("answer", "Yes."), ("Loaves", "It rises."), ("gaps", "Its age.")]
    assert dossier.parts["Loaves"] == (1, 2) and dossier.passages == DOSSIER.passages
    assert [
        (one.topic, one.phase, one.claims, one.sources, one.coverage > 0)
        for one in manuscript.summarize_progress(wanted.topics, text, dossier)
    ] == [("Loaves", "done", 1, 1, True), ("Wine", "waiting", 0, 0, False)]


def test_added_sections_are_put_in_their_places() -> None:
    """Sections follow the outline, between the answer with its comparison and the end of the report."""
    text = ReportText(parts=(part("answer", "a"), part("section", "c", heading="Cheese"), part("gaps", "g")))
    added = manuscript.insert_sections([BREAD, CHEESE], text, [part("section", "b", heading="Bread")])

    assert said(added) == [("answer", "a"), ("Bread", "b"), ("Cheese", "c"), ("gaps", "g")]


def test_progress_of_topics_without_section() -> None:
    """Coverage and sources are those of the accepted passages, and the phase is that of the report."""
    aim = TopicState(topic=CHEESE, passages=(reference(0.5, "s", "c"),), coverage=0.4)
    progress = manuscript.summarize_progress((BREAD, CHEESE), ReportText(), Dossier(), (aim,), "drafting")

    assert [(one.coverage, one.sources, one.phase) for one in progress] == [(0.0, 0, "drafting"), (0.4, 1, "drafting")]


def test_sections_are_done_unless_they_are_reviewed() -> None:
    """A section with text is done while others are written."""
    text = report(Bread=("It rises.",))
    phases = [
        manuscript.summarize_progress((BREAD,), text, DOSSIER, (), phase)[0].phase
        for phase in ("drafting", "reviewing")
    ]

    assert phases == ["done", "reviewing"]


def test_parts_of_the_question_without_a_sentence_become_gaps() -> None:
    """A part that neither a sentence nor a heading speaks of is named after the other gaps."""
    written = report(Bread=("It costs a coin.",))
    written = written.model_copy(update={"parts": (*written.parts, part("gaps", "The oven is not described."))})
    filled = manuscript.add_unanswered_parts(written, ("what does it cost", "who maintains it"))

    assert [claim.text for claim in filled.get_draft("gaps").claims] == [
        "The oven is not described.",
        "No sentence of this report speaks of this part of the question: “who maintains it”.",
    ]
    assert filled.sections == written.sections
    assert manuscript.add_unanswered_parts(written, ("what does it cost",)) == written
