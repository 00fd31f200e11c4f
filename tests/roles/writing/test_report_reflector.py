"""The report reflector's twin."""

from dataclasses import replace

import pytest

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import Evidence
from tenure.roles.writing.report_reflector import ReportReflectorInput, ReportReflectorOutput, offline
from tests.passages import passage
from tests.roles.cases import EVIDENCE

QUESTION = "How is rye bread made?"


def section(topic: str, text: str) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=(Claim(text=text),)),)))


FULL = section("Making bread", "Rye bread is made of flour. " * 30)


def reflect(*sections: SectionDraft, earlier: tuple[str, ...] = (), question: str = QUESTION) -> ReportReflectorOutput:
    return offline(ReportReflectorInput(question=question, sections=sections, earlier=earlier), Evidence())


def test_a_full_report_is_not_criticised() -> None:
    """Where every word of the question is said and no section is thin there is nothing to improve."""
    assert reflect(FULL) == ReportReflectorOutput(critiques=(), further_considerations=())


def test_a_thin_section_is_named() -> None:
    """A section with too little text is criticised by its exact heading, with something to search for."""
    (critique,) = reflect(FULL, section("Bread ovens", "Ovens are hot.")).critiques

    assert (critique.topic, critique.query) == ("Bread ovens", f"Bread ovens: {QUESTION}")


def test_words_of_the_question_that_nobody_says_are_named() -> None:
    """What was asked and is not answered goes to the section nearest to the question."""
    wine = section("Wine", "Grapes are pressed. " * 40)
    bread = section("Bread", "Bread is old. " * 40)

    (critique,) = reflect(wine, bread).critiques

    assert critique.topic == "Bread"
    assert "rye" in critique.critique and "rye" in critique.query


def test_nothing_is_criticised_twice() -> None:
    """Critiques made before are not made again, so that reflecting comes to an end."""
    thin = section("Bread ovens", "Ovens are hot.")
    first = reflect(thin)

    assert len(first.critiques) == 2
    assert reflect(thin, earlier=tuple(c.critique for c in first.critiques)).critiques == ()


def test_a_report_without_sections_has_nothing_to_criticise() -> None:
    """There is no section to which a critique could go."""
    assert reflect().critiques == ()


@pytest.mark.parametrize("question", [QUESTION, "How is " + " ".join(f"bread{n}" for n in range(2000)) + " made?"])
def test_many_thin_sections_and_a_long_question_fit_the_schema(question: str) -> None:
    """The largest report and the longest question give a reflection all the same."""
    found = reflect(*(section(f"Topic {n}", "Short.") for n in range(12)), question=question)

    assert len(found.critiques) == 12


def test_what_lies_beside_the_question_is_pointed_to() -> None:
    """A heading over several passages near to the question, and no section yet, is a further consideration."""
    beside = tuple(passage("x", "ovens", n, title="On ovens", headings=("Rye ovens",)) for n in (0, 9))
    lone = passage("x", "other", headings=("Rye fields",))
    own_name = tuple(passage("x", "mills", n, title="Rye mills", headings=("Rye mills",)) for n in (0, 9))
    asked = ReportReflectorInput(question=QUESTION, sections=(FULL,))

    found = offline(asked, replace(EVIDENCE, passages=(*beside, lone, *own_name))).further_considerations

    assert len(found) == 1
    assert "“Rye ovens” in “On ovens”" in found[0]
