from dataclasses import replace

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.disputes import (
    Contradiction,
    DisputeOutcome,
    DisputeSide,
    DisputeSource,
    PositionEvidence,
    SidedPassage,
)
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, PassageRef, SynthesisDraft
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.contracts.research.report import SectionDraft
from tenure.report.assemble import MAX_TOTAL_CONTEXT_CHARS, assemble_result, list_cited_sources
from tenure.report.render.markdown import render_markdown
from tests.report.samples import (
    FALLS,
    MOON,
    NEAP,
    PULLS,
    RISES,
    SOURCES,
    TIDES,
    StoredSource,
    cite,
    paragraph,
    report,
)


def test_sources_are_numbered_in_reading_order_from_the_abstract() -> None:
    """The source that the abstract cites first is number one."""
    result = assemble_result(report(), SOURCES)

    assert [(entry.n, entry.id) for entry in result.sources] == [(1, MOON), (2, TIDES)]


def test_every_quote_is_what_its_source_says_at_its_offsets() -> None:
    """Each citation of the result resolves to a source whose text holds the quote at its place."""
    result = assemble_result(report(), SOURCES)
    texts = {entry.n: SOURCES[SourceId(entry.id)].text for entry in result.sources}
    claims = [*result.abstract_claims, *(claim for section in result.sections for claim in section.claims)]
    citations = [citation for claim in claims for citation in claim.citations]

    assert len(citations) == 6
    assert all(texts[c.source][c.start : c.end] == c.quote for c in citations)


def test_neighbours_share_a_mark() -> None:
    """Neighbouring sentences of the same source share a mark, and each claim keeps its own citations."""
    rhythm = assemble_result(report(), SOURCES).sections[0]

    assert rhythm.markdown == (
        "The sea rises twice a day. The sea also falls twice a day. [2] The Moon pulls the water towards it. [1]"
    )
    assert [len(claim.citations) for claim in rhythm.claims] == [1, 1, 1]


def test_every_bullet_carries_its_own_mark() -> None:
    """In a list no mark is shared."""
    bullets = assemble_result(report(), SOURCES).sections[1]

    assert bullets.markdown == "- Neap tides are weak. [2]\n- The Moon pulls the water towards it. [1]"


def test_several_sources_of_a_claim_stand_in_one_mark() -> None:
    """A claim's sources are listed once each, in ascending order."""
    both = Claim(text="Both.", citations=(RISES.citations[0], PULLS.citations[0], NEAP.citations[0]))

    result = assemble_result(report(abstract=paragraph(PULLS, both)), SOURCES)

    assert result.abstract == "The Moon pulls the water towards it. [1] Both. [1, 2]"


def test_a_false_quote_is_removed_with_a_note() -> None:
    """A false quote is removed, its claim is marked, and a note reports it."""
    false = RISES.citations[0].model_copy(update={"quote": "The sea rises four times a day."})
    result = assemble_result(report(abstract=paragraph(Claim(text="Four times.", citations=(false,)))), SOURCES)

    assert result.abstract_claims[0].status == "invalid_source"
    assert result.abstract_claims[0].citations == ()
    assert result.abstract == "Four times. [unsourced]"
    assert any(note.startswith("Abstract: a citation was removed") for note in result.notes)


def test_a_citation_of_an_unknown_source_is_taken_out_and_the_others_stay() -> None:
    """One citation that resolves to nothing marks the claim and leaves its good citation in place."""
    ghost = cite(MOON, "The Moon").model_copy(update={"source": SourceId("ghost")})
    half = Claim(text="Half.", status="supported", citations=(ghost, *RISES.citations))
    result = assemble_result(report(abstract=paragraph(half)), SOURCES)

    assert result.abstract_claims[0].status == "invalid_source"
    assert [citation.quote for citation in result.abstract_claims[0].citations] == ["The sea rises twice a day."]
    assert "ghost" not in {entry.id for entry in result.sources}
    assert any("'ghost' is not stored" in note for note in result.notes)


def test_a_short_answer_without_its_quote_is_left_out() -> None:
    """A short answer whose quote is false is removed with a note, since nothing states it any more."""
    false = RISES.citations[0].model_copy(update={"quote": "The sea rises four times a day."})
    result = assemble_result(report(short_answer=Claim(text="Four times", citations=(false,))), SOURCES)

    assert result.short_answer is None
    assert any(note.startswith("Short answer: a citation was removed") for note in result.notes)


def test_an_empty_quote_does_not_hold() -> None:
    """A citation of nothing supports nothing."""
    blank = cite(TIDES, "\n\n").model_copy()
    result = assemble_result(report(abstract=paragraph(Claim(text="So.", citations=(blank,)))), SOURCES)

    assert result.abstract_claims[0].citations == ()
    assert any("its quote is empty" in note for note in result.notes)


def test_a_section_without_text_is_left_out_with_a_note() -> None:
    """An empty section is not shown, and the run log says so."""
    empty = SectionDraft(topic="Storms", draft=Draft())
    result = assemble_result(report(sections=(empty,)), SOURCES)

    assert result.sections == ()
    assert "Storms: left out because it has no text." in result.notes


def test_a_finished_run_without_a_citation_found_no_evidence() -> None:
    """A report in which nothing is cited is not passed off as done."""
    result = assemble_result(report(abstract=Draft(), sections=()), {})

    assert result.status == "no_evidence"


def test_a_run_that_ended_otherwise_keeps_its_status() -> None:
    """A cancelled run without citations stays cancelled."""
    assert assemble_result(report(abstract=Draft(), sections=(), status="cancelled"), {}).status == "cancelled"


def test_a_missing_title_is_the_question() -> None:
    """A run stopped before it had a title is named for its question."""
    assert assemble_result(report(title=" "), SOURCES).title == "Why are there tides?"


def test_paragraphs_and_lists_keep_their_order() -> None:
    """Blocks follow each other with a blank line, and empty blocks leave no trace."""
    mixed = Draft(blocks=(Block(claims=(RISES,)), Block(claims=()), Block(kind="bullets", claims=(FALLS,))))
    result = assemble_result(report(abstract=mixed, sections=()), SOURCES)

    assert result.abstract == "The sea rises twice a day. [1]\n\n- The sea also falls twice a day. [1]"


def test_records_of_the_run_are_copied() -> None:
    """Critiques, decisions, feedback, usage, fallbacks, skipped files and notes are in the result."""
    draft = report()
    result = assemble_result(draft, SOURCES)

    for field in (
        "critiques",
        "decisions",
        "feedback",
        "usage",
        "fallbacks",
        "skipped",
        "further_considerations",
        "limits",
    ):
        assert getattr(result, field) == getattr(draft, field)
    assert result.notes == draft.notes
    assert result.coverage == {"The rhythm": 0.8, "Weak tides": 0.5}


def test_a_citation_keeps_the_context_of_its_quote() -> None:
    """The text before and after the quote is kept unchanged."""
    falls = assemble_result(report(), SOURCES).sections[0].claims[1].citations[0]

    assert (falls.before, falls.after) == ("# Tides\n\nThe sea rises twice a day. ", "\nNeap tides are weak.\n")


def test_the_words_around_a_quote_are_whole_and_not_too_many() -> None:
    """A long text is cut between words; a script that sets no spaces is cut anywhere."""
    quote = "here"
    claims = [
        Claim(text=quote, citations=(Citation(source=SourceId(name), start=400, end=404, quote=quote),))
        for name in ("words", "signs")
    ]
    texts = {"words": f"{'seven7 ' * 57} {quote} {'seven7 ' * 57}", "signs": f"{'字' * 400}{quote}{'字' * 400}"}
    sources = {SourceId(name): StoredSource(uri=name, title=name, text=text) for name, text in texts.items()}
    words, signs = (
        claim.citations[0] for claim in assemble_result(report(abstract=paragraph(*claims)), sources).abstract_claims
    )

    assert (words.before, words.after) == (" seven7" * 28 + "  ", " " + "seven7 " * 28)
    assert (signs.before, signs.after) == ("字" * 200, "字" * 200)


def test_a_long_report_keeps_fewer_words_around_each_quote() -> None:
    """All that citations keep besides their quotes stays within one bound."""
    source = StoredSource(uri="a", title="a", text="word " * 2000)
    cited = Citation(source=SourceId("a"), start=5000, end=5004, quote="word")
    draft = report(abstract=paragraph(*[Claim(text="Word.", citations=(cited,))] * 1000), sections=())
    claims = assemble_result(draft, {SourceId("a"): source}).abstract_claims

    assert 0 < sum(len(c.before) + len(c.after) for claim in claims for c in claim.citations) <= MAX_TOTAL_CONTEXT_CHARS


def test_claims_mark_the_start_of_blocks() -> None:
    """Paragraphs and bullets can be restored from the claims alone."""
    rhythm, weak = assemble_result(report(), SOURCES).sections

    assert [claim.begins for claim in rhythm.claims] == ["paragraph", None, None]
    assert [claim.begins for claim in weak.claims] == ["bullet", "bullet"]


def test_the_synthesis_keeps_its_parts() -> None:
    """Each part has its claims; a report without any has no synthesis."""
    synthesis = SynthesisDraft(resolution=paragraph(RISES, FALLS), gaps=paragraph(PULLS))
    result = assemble_result(report(synthesis=synthesis), SOURCES)

    assert result.synthesis is not None
    assert [len(part) for part in (result.synthesis.resolution, result.synthesis.gaps)] == [2, 1]
    assert len(result.synthesis.claims) == 3
    assert assemble_result(report(), SOURCES).synthesis is None


def test_both_sides_of_a_contradiction_are_checked_and_numbered() -> None:
    """A pair is shown with the numbers of its sources; one of which a side was made up is taken out with a note."""
    true = Contradiction(a=NEAP.citations[0], b=PULLS.citations[0], severity="high", about="the Moon")
    false = true.model_copy(update={"b": true.b.model_copy(update={"quote": "The Moon pushes."})})

    result = assemble_result(report(contradictions=(true, false)), SOURCES)

    (found,) = result.contradictions
    assert (found.a.source, found.b.source, found.severity, found.about) == (2, 1, "high", "the Moon")
    assert any(note.startswith("Contradictions: a pair of quotes was removed") for note in result.notes)


def test_a_citation_names_its_page() -> None:
    """For a source with pages, the result and the references name the page of the quote."""
    text = SOURCES[TIDES].text
    paged = {**SOURCES, TIDES: replace(SOURCES[TIDES], pages=(0, text.index("The sea also"), text.index("Neap")))}
    result = assemble_result(report(), paged)
    citations = {c.quote: c.page for s in result.sections for claim in s.claims for c in claim.citations}

    assert citations == {
        "The sea rises twice a day.": 1,
        "The sea also falls twice a day.": 2,
        "Neap tides are weak.": 3,
        "The Moon pulls the water towards it.": None,
    }
    shown = render_markdown(result)
    assert f"“Neap tides are weak.” (page 3, from character {text.index('Neap')}" in shown
    assert "“The Moon pulls the water towards it.” (from character 0" in shown


def test_a_citation_names_the_moment_of_a_recording() -> None:
    """For a source with other parts than pages, the result and the references name the part of the quote."""
    result = assemble_result(report(), {**SOURCES, MOON: replace(SOURCES[MOON], place="00:12:31, Ann Lee")})
    places = {c.source: c.place for s in result.sections for claim in s.claims for c in claim.citations}

    assert sorted(places.values()) == ["", "00:12:31, Ann Lee"]
    assert "“The Moon pulls the water towards it.” (00:12:31, Ann Lee, from character 0" in render_markdown(result)


def test_a_quote_of_recognized_text_says_so() -> None:
    """The place names recognized text and its uncertain words; a statement on such a word is not confirmed."""
    text = SOURCES[TIDES].text
    start, weak = text.index("Neap"), text.index("weak")
    words = (
        RecognizedWord(start, start + 4, 1, 0.1, 0.1, 0.2, 0.2, 0.99),
        RecognizedWord(weak, weak + 4, 1, 0.5, 0.1, 0.6, 0.2, 0.55),
    )
    result = assemble_result(report(), {**SOURCES, TIDES: replace(SOURCES[TIDES], words=words)})
    claims = {claim.text: claim for section in result.sections for claim in section.claims}
    [quoted] = claims[NEAP.text].citations

    assert (quoted.recognized, quoted.doubtful, claims[NEAP.text].status) == (True, ("weak",), "neutral")
    assert (claims[RISES.text].status, claims[RISES.text].citations[0].recognized) == ("supported", False)
    assert "recognized text (“weak” uncertain)" in render_markdown(result)


def test_sources_with_a_number_keep_it() -> None:
    """A continued document keeps the numbers of the earlier one, and lists its own sources."""
    draft = report(abstract=Draft(), sections=(SectionDraft(topic="Pull", draft=paragraph(RISES, PULLS)),))
    result = assemble_result(draft.model_copy(update={"numbered_sources": ("gone", MOON)}), SOURCES)

    assert [(source.n, source.id) for source in result.sources] == [(2, MOON), (3, TIDES)]


def dispute_source(claim: Claim, side: DisputeSide, *, found: bool = False) -> DisputeSource:
    """Return the source of a claim on a side."""
    return DisputeSource(citation=claim.citations[0], side=side, published="2020", found=found)


def test_both_sides_of_a_position_and_its_outcome_are_numbered() -> None:
    """Quotes for and against, and those that the last search found, have numbered sources that the references list."""
    ref = PassageRef(chunk=ChunkId("c"), source=TIDES, score=1.0, relevance=0.5)
    rises, falls = (SidedPassage(passage=ref, citation=claim.citations[0]) for claim in (RISES, FALLS))
    outcome = DisputeOutcome(
        status="disputed",
        reason="Nothing decides.",
        query="tides",
        sources=(dispute_source(RISES, "a"), dispute_source(FALLS, "b"), dispute_source(PULLS, "a", found=True)),
    )
    both = PositionEvidence(
        position="Does the sea rise?", supporting=(rises,), contradicting=(falls,), neutral=2, outcome=outcome
    )
    one_sided = both.model_copy(update={"contradicting": ()})
    false = SidedPassage(passage=ref, citation=FALLS.citations[0].model_copy(update={"quote": "The sea stays."}))
    made_up = both.model_copy(update={"contradicting": (false,)})

    draft = report(abstract=Draft(), sections=(), positions=(both, one_sided, made_up))
    result = assemble_result(draft, SOURCES)

    (found,) = result.positions
    assert list_cited_sources(draft) == sorted((MOON, TIDES))
    assert [one.quote for one in (*found.supporting, *found.contradicting)] == [RISES.text, FALLS.text]
    assert (found.supporting_passages, found.contradicting_passages, found.neutral_passages) == (1, 1, 2)
    assert found.outcome is not None and [one.found for one in found.outcome.sources] == [False, False, True]
    assert {source.n for source in result.sources} == {1, 2}
    assert "in: For and against" in render_markdown(result)
