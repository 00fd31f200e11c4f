"""Tests of the abstract writer's fallback."""

from tenure.algorithms.text.sentences import split_words
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import Evidence
from tenure.roles.writing.abstract_writer import (
    MAX_WORDS,
    AbstractWriterInput,
    AbstractWriterOutput,
    WrittenAnswer,
    build_abstract,
    fallback,
    render,
)
from tests.roles.cases import EVIDENCE, QUESTION, quoted


def claim(text: str, position: int = 0, quote: str = "Bread") -> Claim:
    return Claim(text=text, citations=(quoted(position, quote),))


def said(text: AbstractWriterOutput) -> list[str]:
    return [sentence.text for sentence in text.sentences]


def section(topic: str, *claims: Claim) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=claims),)))


REST = tuple(claim(f"Fact number {n} is of no weight.") for n in range(5))


def abstract(*sections: SectionDraft, evidence: Evidence = EVIDENCE) -> AbstractWriterOutput:
    return fallback(AbstractWriterInput(question=QUESTION, sections=sections), evidence)


def test_an_abstract_consists_of_section_openings() -> None:
    """The openings of the sections, with dependent sentences, form one paragraph with passages."""
    text = abstract(
        section("Bread", claim("Bread is made of flour."), claim("It is old."), *REST),
        section("Cheese", claim("Cheese is made of milk.", 1, "Cheese"), *REST),
    )

    assert said(text) == ["Bread is made of flour.", "It is old.", "Cheese is made of milk."]
    assert [s.passages for s in text.sentences] == [(1,), (1,), (2,)]


def test_the_lead_nearest_to_the_question_is_used() -> None:
    """Of a section's opening the sentence nearest to the question is used, with dependent sentences."""
    text = abstract(
        section("Bread", claim("Ovens are hot."), claim("Bread is made of flour."), claim("It is old."), *REST)
    )

    assert said(text) == ["Bread is made of flour.", "It is old."]


def test_open_points_that_a_section_answers_are_closed() -> None:
    """Open points are numbered in the prompt, apart from the sections; numbers that no point has are left out."""
    points = Draft(blocks=(Block(claims=(Claim(text="Its age is open."), Claim(text="Its price is open."))),))
    given = AbstractWriterInput(question=QUESTION, sections=(section("Bread", *REST),), open_points=points)
    output = AbstractWriterOutput(sentences=(), closed_points=(2, 2, 3, 0))

    prompt = render(given, EVIDENCE)[1].content
    assert "<open_points>\n1. Its age is open.\n2. Its price is open.\n</open_points>" in prompt
    assert build_abstract(given, output, EVIDENCE).closed_points == (2,)
    assert "<open_points>" not in render(AbstractWriterInput(question=QUESTION, sections=()), EVIDENCE)[1].content


def test_open_points_are_answered_from_passages() -> None:
    """Passages of the searches for gaps are shown; answers name a point and cite; other answers are left out."""
    claims = (Claim(text="Its age is open.", kind="gap"), Claim(text="–", kind="gap", label="Rye", column="Price"))
    given = AbstractWriterInput(
        question=QUESTION,
        sections=(section("Bread", *REST),),
        open_points=Draft(blocks=(Block(claims=claims),)),
        found_passages=1,
    )
    answers = (
        WrittenAnswer(point=1, section=1, text="Cheese is old.", passages=(len(EVIDENCE.passages),)),
        WrittenAnswer(point=1, text="It is repeated.", passages=(1,)),
        WrittenAnswer(point=2, text="without a passage", passages=()),
        WrittenAnswer(point=0, text="no such point", passages=(1,)),
    )
    prompt = render(given, EVIDENCE)[1].content
    built = build_abstract(given, AbstractWriterOutput(sentences=(), answers=answers), EVIDENCE)

    assert prompt.count("<passage n=") == 1 and f'<passage n="{len(EVIDENCE.passages)}"' in prompt
    assert "2. Empty cell: Rye – Price" in prompt
    assert [(one.point, one.section, one.claim.text) for one in built.answers] == [(1, 1, "Cheese is old.")]


def test_a_short_section_keeps_its_opening() -> None:
    """A section with few sentences contributes nothing."""
    assert abstract(section("Bread", claim("Bread is made of flour.")), section("Empty")).sentences == ()
    assert abstract(SectionDraft(topic="Empty", draft=Draft())).sentences == ()


def test_the_introduction_of_a_list_is_not_used() -> None:
    """A sentence that ends in a colon is not used."""
    assert "Bread is made of these:" not in said(abstract(section("Bread", claim("Bread is made of these:"), *REST)))


def test_a_sentence_without_evidence_is_omitted() -> None:
    """Every sentence of the abstract cites an available passage."""
    assert abstract(section("Bread", claim("Bread is made of flour."), *REST), evidence=Evidence()).sentences == ()


def test_an_abstract_keeps_to_its_length() -> None:
    """Each section has its share of the maximum length."""
    long = [section(f"Bread {n}", *(claim(f"Bread is {'very ' * 20}old {n}.") for _ in range(3))) for n in range(4)]

    text = abstract(*long)

    assert 0 < sum(len(split_words(sentence)) for sentence in said(text)) <= MAX_WORDS


def test_unrelated_openings_are_omitted() -> None:
    """A section far from the question contributes nothing; the abstract starts with the nearest."""
    text = abstract(
        section("Wheels", claim("Wheels roll on."), *REST),
        section("Bread", claim("Bread is made of flour."), *REST),
    )

    assert said(text) == ["Bread is made of flour."]


def test_each_part_of_the_question_is_answered() -> None:
    """A lead near one part of the question is used, however far it is from the other parts."""
    sections = (
        section("Cheese", claim("Ripe cheese is cheese that ripens long.", 1, "Cheese"), *REST),
        section("Bread", claim("Flour."), *REST),
    )
    asked = AbstractWriterInput(question="How long does ripe cheese ripen, and what is flour?", sections=sections)

    assert len(said(fallback(asked, EVIDENCE))) == len(sections)


def test_a_short_answer_leads_the_abstract() -> None:
    """The sentence with the date that the question asks for comes first, and the date is the short answer."""
    sections = (
        section(
            "Bread", claim("The Guild of Bakers bakes bread."), claim("The Guild of Bakers was founded in 1848."), *REST
        ),
    )
    asked = AbstractWriterInput(question="When was the Guild of Bakers founded?", sections=sections)

    written = build_abstract(asked, fallback(asked, EVIDENCE), EVIDENCE)

    assert (written.short_answer, written.claims[0].text) == ("1848", "The Guild of Bakers was founded in 1848.")
