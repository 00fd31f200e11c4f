"""The abstract writer's twin."""

from tenure.algorithms.text.sentences import words
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import Evidence
from tenure.roles.prompting import WrittenText
from tenure.roles.writing.abstract_writer import MAX_WORDS, AbstractWriterInput, offline
from tests.roles.cases import EVIDENCE, QUESTION, quoted
from tests.roles.writing.test_section_writer import said


def claim(text: str, position: int = 0, quote: str = "Bread") -> Claim:
    return Claim(text=text, citations=(quoted(position, quote),))


def section(topic: str, *claims: Claim) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=claims),)))


REST = tuple(claim(f"Fact number {n} is of no weight.") for n in range(5))


def abstract(*sections: SectionDraft, evidence: Evidence = EVIDENCE) -> WrittenText:
    return offline(AbstractWriterInput(question=QUESTION, sections=sections), evidence)


def test_an_abstract_leads_with_what_the_sections_lead_with() -> None:
    """The opening of each section, with what leans on it, is one paragraph with its passages."""
    text = abstract(
        section("Bread", claim("Bread is made of flour."), claim("It is old."), *REST),
        section("Cheese", claim("Cheese is made of milk.", 1, "Cheese"), *REST),
    )

    assert said(text) == ["Bread is made of flour.", "It is old.", "Cheese is made of milk."]
    assert [s.passages for s in text.blocks[0].sentences] == [(1,), (1,), (2,)]
    assert [block.kind for block in text.blocks] == ["paragraph"]


def test_what_answers_comes_before_what_stands_first() -> None:
    """Of a section's opening the sentence nearest to the question is taken, with what leans on it."""
    text = abstract(
        section("Bread", claim("Ovens are hot."), claim("Bread is made of flour."), claim("It is old."), *REST)
    )

    assert said(text) == ["Bread is made of flour.", "It is old."]


def test_a_short_section_keeps_its_opening() -> None:
    """A section that would be left with next to nothing gives nothing away."""
    assert abstract(section("Bread", claim("Bread is made of flour.")), section("Empty")).blocks == ()
    assert abstract(SectionDraft(topic="Empty", draft=Draft())).blocks == ()


def test_the_introduction_of_a_list_is_no_summary() -> None:
    """A sentence that ends in a colon promises what the abstract does not hold."""
    assert "Bread is made of these:" not in said(abstract(section("Bread", claim("Bread is made of these:"), *REST)))


def test_a_sentence_without_evidence_is_left_out() -> None:
    """Every sentence of the abstract rests on a passage at hand."""
    assert abstract(section("Bread", claim("Bread is made of flour."), *REST), evidence=Evidence()).blocks == ()


def test_an_abstract_keeps_to_its_length() -> None:
    """Openings are taken as long as there is room for them."""
    long = [section(f"Topic {n}", claim("Bread is " + "very " * 50 + f"old {n}."), *REST) for n in range(4)]

    text = abstract(*long)

    assert 0 < sum(len(words(sentence)) for sentence in said(text)) <= MAX_WORDS


def test_what_is_far_from_the_question_does_not_open_the_report() -> None:
    """A section that leads away from the question keeps its opening; the abstract starts with the nearest."""
    text = abstract(
        section("Wheels", claim("Wheels roll on."), *REST),
        section("Bread", claim("Bread is made of flour."), *REST),
    )

    assert said(text) == ["Bread is made of flour."]


def test_each_part_of_the_question_is_answered() -> None:
    """A lead that is near one part of the question stands there, however far it is from the rest of it."""
    sections = (
        section("Cheese", claim("Ripe cheese is cheese that ripens long.", 1, "Cheese"), *REST),
        section("Bread", claim("Flour."), *REST),
    )
    asked = AbstractWriterInput(question="How long does ripe cheese ripen, and what is flour?", sections=sections)

    assert len(said(offline(asked, EVIDENCE))) == len(sections)
