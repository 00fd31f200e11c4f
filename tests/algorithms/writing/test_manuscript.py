"""Tests of sections, critiques and feedback of a report."""

import pytest

from tenure.algorithms.research.outline_edits import apply_outline, revise_outline
from tenure.algorithms.writing import manuscript
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, PassageRef, SynthesisDraft
from tenure.contracts.research.report import Critique, SectionDraft, SectionResult, Topic
from tenure.contracts.research.spiral import TopicState
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


def result(topic: Topic, *texts: str, feedback: tuple[str, ...] = (), chunk: str = "c1") -> SectionResult:
    """Return a written section."""
    evidence = (reference(0.5, "s", chunk),)
    return SectionResult(
        topic=topic, phase="done", draft=draft(*texts, chunk=chunk), feedback=feedback, evidence=evidence
    )


def test_written_sections_follow_the_outline() -> None:
    """Empty and missing sections are left out."""
    results = {"Cheese": result(CHEESE, "It ripens."), "Bread": result(BREAD)}

    assert [s.topic for s in manuscript.list_written_sections([BREAD, CHEESE], results)] == ["Cheese"]


def test_abstract_sentences_leave_their_section() -> None:
    """A section never becomes empty."""
    written = manuscript.list_written_sections(
        [BREAD, CHEESE], {"Bread": result(BREAD, "One.", "Two."), "Cheese": result(CHEESE, "Three.")}
    )
    kept = manuscript.remove_abstract_repeats(draft("One.", "Three."), written)

    assert [section.draft.text for section in kept] == ["Two.", "Three."]


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

    found = manuscript.cite_short_answer(answer, Draft(blocks=(Block(claims=claims),)))

    assert (found and [citation.quote for citation in found.citations]) == quoted
    assert found is None or found.text == answer


def test_a_short_answer_is_as_certain_as_its_weakest_sentence() -> None:
    """Status, confidence and taint come from the sentences that state it."""
    sure = claim("The guild began in Ghent.", "Ghent").model_copy(update={"confidence": 0.9})
    unsure = claim("It moved to Bruges.", "Bruges").model_copy(
        update={"status": "unverified", "confidence": 0.4, "tainted": True}
    )

    found = manuscript.cite_short_answer("Ghent and Bruges", Draft(blocks=(Block(claims=(sure, unsure)),)))

    assert found is not None
    assert (found.status, found.confidence, found.tainted) == ("unverified", 0.4, True)


def test_synthesis_does_not_repeat_the_report() -> None:
    """Synthesis does not repeat the report."""
    synthesis = SynthesisDraft(
        situation=draft("One.", "Two.", "Three."), complication=draft("Three.", "Four."), resolution=draft("Four.")
    )
    written = manuscript.list_written_sections([BREAD], {"Bread": result(BREAD, "Two.")})
    kept = manuscript.remove_synthesis_repeats(synthesis, draft("One."), written)

    assert [part.text for part in (kept.situation, kept.complication, kept.resolution)] == ["Three.", "Four.", ""]


def test_a_synthesis_without_its_other_parts_is_a_resolution() -> None:
    """A situation or a complication that is left alone is removed, a resolution is kept."""
    both = SynthesisDraft(situation=draft("One."), complication=draft("Two."))
    resolved = SynthesisDraft(situation=draft("One."), resolution=draft("Two."))

    assert manuscript.remove_synthesis_repeats(both, Draft(), []) == both
    assert manuscript.remove_synthesis_repeats(both, draft("One."), []) == SynthesisDraft()
    assert manuscript.remove_synthesis_repeats(both, draft("Two."), []) == SynthesisDraft()
    assert manuscript.remove_synthesis_repeats(resolved, draft("One."), []).resolution.text == "Two."


def test_the_synthesis_for_writers_leaves_tainted_sentences_out() -> None:
    """Parts follow each other, shortened, without sentences that instructions in a source may have caused."""
    tainted = draft("Obey.").claims[0].model_copy(update={"tainted": True})
    synthesis = SynthesisDraft(
        situation=draft("One.", "Two."),
        complication=Draft(blocks=(Block(claims=(tainted,)),)),
        resolution=draft("long " * 500),
    )
    brief = manuscript.render_synthesis_brief(synthesis)

    assert brief.startswith("Situation: One. Two.\nResolution: long ") and "Obey" not in brief
    assert len(brief) < manuscript.MAX_BRIEF_LENGTH + 60
    assert manuscript.render_synthesis_brief(SynthesisDraft()) == ""


def test_first_section_keeps_a_repeated_sentence() -> None:
    """First section keeps a repeated sentence."""
    results = {"Cheese": result(CHEESE, "Salt.", "Rennet."), "Bread": result(BREAD, "Salt.")}
    kept = manuscript.deduplicate_claims([BREAD, CHEESE], results)

    assert (kept["Bread"].draft.text, kept["Cheese"].draft.text) == ("Salt.", "Rennet.")


def test_a_sentence_stays_in_the_section_of_its_topic() -> None:
    """A repeated sentence is removed from the first section if the later one's topic has more of its words."""
    said = "The rennet of a calf curdles the milk of the cheese."
    results = {"Bread": result(BREAD, "Salt.", said), "Cheese": result(CHEESE, said)}
    kept = manuscript.deduplicate_claims([BREAD, CHEESE], results)

    assert (kept["Bread"].draft.text, kept["Cheese"].draft.text) == ("Salt.", said)


def test_the_digest_of_other_sections_has_their_nearest_sentences() -> None:
    """Other sections with text are listed with the sentences that share words with the topic, in reading order."""
    near = [f"Bread needs {what}." for what in ("salt", "yeast", "flour", "time")]
    results = {"Bread": result(BREAD, "Salt."), "Cheese": result(CHEESE, "Rennet.", *near), "Wine": result(CHEESE)}

    assert manuscript.build_digest(BREAD, results) == ("\n".join(["Cheese", *near[: manuscript.DIGEST_SENTENCES]]),)


def test_regression_of_a_revision() -> None:
    """Half of the passages may be lost, and some sentences may be uncited."""
    two = Draft(blocks=(*draft("One.", "Two.").blocks, *draft("Three.", "Four.", chunk="c2").blocks))
    uncited = Draft(blocks=(Block(claims=(Claim(text="Five."), Claim(text="Six."))),))

    assert not manuscript.is_regression(two, draft("One."))
    assert manuscript.is_regression(draft("One."), uncited)
    assert manuscript.is_regression(two, Draft(blocks=(*two.blocks, *uncited.blocks)))
    assert not manuscript.is_regression(uncited, draft("One."))
    assert manuscript.is_regression(two, Draft())
    assert not manuscript.is_regression(two, draft("One."), ("Three.", "Four."))
    assert not manuscript.is_regression(draft("One."), Draft(), ("One.",))


def test_cited_passages_are_shown_first() -> None:
    """Cited passages are shown first."""
    others = tuple(reference(0.9, "o", f"o{n}") for n in range(40))
    shown = manuscript.select_passages_shown({"Bread": result(BREAD, "One.", chunk="cited")}, others)

    assert (shown[0].chunk, len(shown)) == ("cited", manuscript.DEFAULT_PASSAGES_SHOWN)


def test_lists_are_interleaved_by_rank() -> None:
    """Lists are interleaved by rank."""
    a, b, c = (reference(0.5, "s", name) for name in "abc")

    assert [p.chunk for p in manuscript.interleave_passages([[a, b], [c, a], []])] == ["a", "c", "b"]


def test_known_passages_keep_their_places() -> None:
    """New passages follow the known ones, each once."""
    a, b, c = (reference(0.5, "s", name) for name in "abc")

    assert manuscript.add_new_passages([a, b], [c, a, c]) == (a, b, c)


def test_a_section_receives_the_best_passages_of_other_searches() -> None:
    """Passages that it knows are left out, and of the others the most relevant come first, within the limit."""
    a, b, c, d = (reference(relevance, "s", name) for name, relevance in zip("abcd", (0.9, 0.3, 0.8, 0.5), strict=True))

    assert manuscript.select_shared_evidence([a, b, c, d], [a], 2) == (c, d)


def test_a_section_begins_with_its_direct_search() -> None:
    """Computed results come first, then the first passages of direct search and research, then all others by rank."""
    one, two, *direct = (reference(0.5, "s", f"d{n}") for n in range(10))
    ordered = manuscript.order_section_evidence([one], direct, [two, direct[0]], [direct[7]])

    assert [p.chunk for p in ordered] == ["d0", "d2", "d3", "d4", "d1", "d9", "d5", "d6", "d7", "d8"]


def test_a_section_receives_what_the_synthesis_cites() -> None:
    """Cited passages of its own research directly follow those of the direct search, the others come by rank."""
    direct = [reference(0.5, "s", f"d{n}") for n in range(5)]
    researched = [reference(0.5, "s", f"r{n}") for n in range(5)]
    other = reference(0.5, "s", "other")
    ordered = manuscript.order_section_evidence([], direct, researched, [], [researched[4], other])

    assert [p.chunk for p in ordered][:9] == ["d0", "d1", "d2", "r4", "r0", "r1", "r2", "other", "d3"]


def test_the_passages_of_a_synthesis_are_those_of_the_research() -> None:
    """Passages are returned with their scores, without those of claims that a source may have dictated."""
    cited, dictated, free = (reference(0.5, "s", name) for name in ("cited", "dictated", "free"))

    def cite(passage: PassageRef, *, tainted: bool) -> Claim:
        citation = Citation(source=passage.source, chunk=passage.chunk, start=0, end=1, quote="x")
        return Claim(text="x", citations=(citation,), tainted=tainted)

    synthesis = SynthesisDraft(
        situation=Draft(blocks=(Block(claims=(cite(cited, tainted=False), cite(dictated, tainted=True))),))
    )
    topics = [TopicState(topic=BREAD, passages=(free, dictated, cited))]

    assert manuscript.select_cited_evidence(synthesis, topics) == (cited,)


def test_critiques_are_resolved() -> None:
    """Headings ignore case, new sections count towards the limit, the rest is returned as dropped."""
    named = Critique(topic="bread", critique="short")
    same = Critique(critique="missing", query="Cheese")
    new, full = Critique(critique="missing", query="Rye"), Critique(critique="missing", query="Butter")
    unknown = Critique(topic="Wine", critique="odd")
    kept, dropped = manuscript.resolve_critiques([named, same, new, full, unknown], [BREAD, CHEESE], 3)

    assert [critique.topic for critique in kept] == ["Bread", "Cheese", None]
    assert dropped == (full, unknown)
    assert manuscript.select_critiques(BREAD, kept) == (kept[0],)
    assert manuscript.select_critiques(manuscript.build_requested_topic(new), kept) == (new,)


def test_headings_are_deduplicated_ignoring_case() -> None:
    """Headings are deduplicated ignoring case."""
    assert manuscript.deduplicate_topics([BREAD, Topic(heading="BREAD", question="Again?"), CHEESE]) == [BREAD, CHEESE]


def test_feedback_is_pending_until_it_is_considered() -> None:
    """Feedback is pending until it is considered."""
    wish = Feedback(text="More salt", topic="Bread")
    before, after = {"Bread": result(BREAD, "One.")}, {"Bread": result(BREAD, "One.", feedback=("More salt",))}

    assert [c.topic for c in manuscript.find_pending_feedback([wish], [BREAD, CHEESE], before)] == ["Bread"]
    assert manuscript.find_pending_feedback([wish], [BREAD, CHEESE], after) == ()
    assert [c.critique for c in manuscript.find_topic_feedback(BREAD, [wish], [BREAD, CHEESE], {})] == ["More salt"]
    assert manuscript.find_topic_feedback(BREAD, [wish], [BREAD, CHEESE], after) == []


def test_outcomes_of_critiques() -> None:
    """Outcomes of critiques."""
    critique = Critique(topic="Bread", critique="short")
    old, new = {"Bread": result(BREAD, "One.")}, {"Bread": result(BREAD, "Two.")}
    told = [
        manuscript.build_critique_record(critique, a, b).outcome
        for a, b in (({}, {}), ({}, old), (old, new), (old, old))
    ]

    assert told == [
        "Nothing was found on it.",
        "The section “Bread” was written.",
        "The section “Bread” was rewritten.",
        "Nothing more was found on it.",
    ]


def test_outcomes_of_feedback() -> None:
    """Outcomes of feedback."""
    wishes = [Feedback(text=text) for text in ("salt", "mould", "wine")]
    written = {"Bread": result(BREAD, "One.", feedback=("mould",))}
    handled = manuscript.build_feedback_outcomes(
        wishes, written, {"salt": ["Bread"]}, {"mould": ["Which mould?"], "salt": []}
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
    """Renamed sections keep their text."""
    written = {"Bread": result(BREAD, "It rises.", chunk="c7"), "Cheese": result(CHEESE, "It ripens.")}
    lines = (OutlineTopic(heading="Loaves", renamed_from="Bread"), OutlineTopic(heading="Wine"))
    wanted = apply_outline((BREAD, CHEESE), revise_outline(None, lines))
    kept = manuscript.rename_sections(written, wanted)

    assert {name: section.topic.heading for name, section in kept.items()} == {"Loaves": "Loaves"}
    assert kept["Loaves"].draft == written["Bread"].draft
    assert [
        (one.topic, one.phase, one.claims, one.sources) for one in manuscript.summarize_progress(wanted.topics, kept)
    ] == [
        ("Loaves", "done", 1, 1),
        ("Wine", "waiting", 0, 0),
    ]


def test_progress_of_topics_without_section() -> None:
    """Coverage and sources are those of the accepted passages."""
    aim = TopicState(topic=CHEESE, passages=(reference(0.5, "s", "c"),), coverage=0.4)

    assert [(one.coverage, one.sources) for one in manuscript.summarize_progress((BREAD, CHEESE), {}, (aim,))] == [
        (0.0, 0),
        (0.4, 1),
    ]


def test_a_position_belongs_to_the_topic_with_most_of_its_words() -> None:
    """Of equal topics the one that it was searched for is taken; a position with one side belongs to none."""
    speed, keep = Topic(heading="Speed", question="Is rye fast?"), Topic(heading="Keeping", question="Does rye keep?")
    pro, con = passage("Yes.", "a"), passage("No.", "b")
    both, one = held("Does rye keep fresh?", [pro], [con], "Speed"), held("Does rye keep fresh?", [pro], [])

    assert manuscript.select_positions(keep, [both], [speed, keep]) == (both,)
    assert manuscript.select_positions(speed, [both], [speed, keep]) == ()
    assert manuscript.select_positions(keep, [one], [speed, keep]) == ()


def test_both_sides_join_the_evidence_of_a_section() -> None:
    """The best passages of each side follow the evidence, each passage once."""
    pro, con = [passage("Yes.", f"p{n}") for n in range(9)], passage("No.", "c")
    position = held("Should we?", pro, [con])
    evidence = [position.supporting[0].passage]

    found = manuscript.add_sided_passages(evidence, [position])

    assert [one.source for one in found] == ["p0", "p1", "p2", "c"]
    assert manuscript.add_sided_passages(evidence, []) == tuple(evidence)


ADVICE = Draft(blocks=(Block(claims=(Claim(text="Bake.", kind="inference"),)),))
GAP = Draft(blocks=(Block(claims=(Claim(text="Not said.", kind="gap"),)),))
TABLE = Draft(blocks=(Block(kind="table", claims=(Claim(text="hot", label="Rye", column="Oven"),)),))


def test_recommendations_replace_their_basis() -> None:
    """With recommendations or gaps a report shows those instead of situation and complication."""
    full = SynthesisDraft(situation=draft("One."), complication=draft("Two."), resolution=ADVICE, comparison=TABLE)
    plain = SynthesisDraft(situation=draft("One."), resolution=draft("Two."))

    assert manuscript.select_closing(full) == SynthesisDraft(resolution=ADVICE, comparison=TABLE)
    assert manuscript.select_closing(SynthesisDraft(situation=draft("One."), gaps=GAP)) == SynthesisDraft(gaps=GAP)
    assert manuscript.select_closing(plain) == plain


def test_the_abstract_is_written_from_conclusions_too() -> None:
    """Recommendations are a further section for its writer; gaps and other syntheses are none."""
    (advice,) = manuscript.list_conclusions(SynthesisDraft(resolution=ADVICE, gaps=GAP))

    assert (advice.topic, advice.draft) == ("What follows", ADVICE)
    assert manuscript.list_conclusions(SynthesisDraft(gaps=GAP)) == ()
    assert manuscript.list_conclusions(SynthesisDraft(resolution=draft("Two."))) == ()


def test_the_end_of_a_report_is_complete() -> None:
    """Recommendations, gaps and the comparison stay, even if the abstract has the same sentences."""
    closing = SynthesisDraft(resolution=ADVICE, gaps=GAP, comparison=TABLE)
    plain = SynthesisDraft(situation=draft("One."), comparison=TABLE)

    assert manuscript.remove_synthesis_repeats(closing, GAP, ()) == closing
    assert manuscript.remove_synthesis_repeats(plain, draft("x"), ()) == SynthesisDraft(comparison=TABLE)


def test_writers_know_gaps_and_the_comparison() -> None:
    """The brief names the gaps, and the rows and columns of the table that the report has."""
    brief = manuscript.render_synthesis_brief(SynthesisDraft(gaps=GAP, comparison=TABLE))

    assert brief == "Gaps: Not said.\nThe report has a table that compares Oven by these rows: Rye"


LEAD_IN = Claim(text="There are two:", kind="lead_in")


@pytest.mark.parametrize(
    ("blocks", "opening"),
    [
        (((), ("Bread is old.", "It rises."), ("Salt.",)), "Bread is old. It rises."),
        ((("Bread is old.", "It rises."),), "Bread is old."),
        ((tuple("abcdef"), ("Salt.",)), "a"),
    ],
)
def test_a_direct_answer_opens_with_its_section(blocks: tuple[tuple[str, ...], ...], opening: str) -> None:
    """The abstract is the first paragraph; its first sentence if it is long, or if nothing follows."""
    section = SectionDraft(
        topic="Bread", draft=Draft(blocks=tuple(block for one in blocks for block in draft(*one).blocks))
    )

    assert manuscript.select_opening(section).text == opening


def test_a_direct_answer_may_have_no_opening() -> None:
    """A table, a single sentence or a lead-in is no abstract; the sentences around a lead-in are."""
    cells = tuple(Claim(text=text, label="Bread", column=text) for text in ("old", "brown"))
    table = Block(kind="table", claims=cells)
    led = Block(claims=(Claim(text="Bread is old."), LEAD_IN))
    bullets = Block(kind="bullets", claims=(Claim(text="Salt."), Claim(text="Yeast.")))

    def open_with(*blocks: Block) -> str:
        section = SectionDraft(topic="Bread", draft=Draft(blocks=blocks))
        return manuscript.select_opening(section).text

    assert open_with(table) == open_with(Block(claims=(LEAD_IN,)), bullets) == ""
    assert open_with(Block(claims=led.claims[:1])) == ""
    assert open_with(led, bullets) == "Bread is old." and open_with(bullets) == "Salt."
