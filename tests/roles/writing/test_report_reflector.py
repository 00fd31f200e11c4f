"""Tests of the report reflector's fallback."""

from dataclasses import replace

import pytest

from tenure.contracts.evidence.passages import Block, Claim, Draft, SynthesisDraft
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import Evidence
from tenure.roles.writing.report_reflector import (
    MAX_CRITIQUES,
    ReportReflectorInput,
    ReportReflectorOutput,
    fallback,
    keep_actionable_critiques,
    render,
    render_sections,
)
from tests.roles.cases import EVIDENCE, quoted
from tests.support.passages import passage

QUESTION = "How is rye bread made?"


def section(topic: str, text: str) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=(Claim(text=text),)),)))


FULL = section("Making bread", "Rye bread is made of flour. " * 30)


def reflect(*sections: SectionDraft, earlier: tuple[str, ...] = (), question: str = QUESTION) -> ReportReflectorOutput:
    return fallback(ReportReflectorInput(question=question, sections=sections, earlier_critiques=earlier), Evidence())


def test_a_full_report_is_not_criticised() -> None:
    """A report with all words of the question and no short section gets no critique."""
    assert reflect(FULL) == ReportReflectorOutput(critiques=(), further_considerations=())


def test_a_short_section_is_criticised() -> None:
    """A section with too little text is criticised by its exact heading, with a query."""
    (critique,) = reflect(FULL, section("Bread ovens", "Ovens are hot.")).critiques

    assert (critique.topic, critique.query) == ("Bread ovens", f"Bread ovens: {QUESTION}")


def test_missing_words_of_the_question_are_criticised() -> None:
    """Missing words are reported for the section nearest to the question."""
    wine = section("Wine", "Grapes are pressed. " * 40)
    bread = section("Bread", "Bread is old. " * 40)

    (critique,) = reflect(wine, bread).critiques

    assert critique.topic == "Bread"
    assert "rye" in critique.critique and "rye" in critique.query


def test_no_critique_is_repeated() -> None:
    """Earlier critiques are not repeated, so that the reflection ends."""
    thin = section("Bread ovens", "Ovens are hot.")
    first = reflect(thin)

    assert len(first.critiques) == 2
    assert reflect(thin, earlier=tuple(c.critique for c in first.critiques)).critiques == ()


def test_a_report_without_sections_gets_no_critique() -> None:
    """Without sections there is no critique."""
    assert reflect().critiques == ()


@pytest.mark.parametrize("question", [QUESTION, "How is " + " ".join(f"bread{n}" for n in range(2000)) + " made?"])
def test_a_large_report_fits_the_schema(question: str) -> None:
    """Many short sections and a long question give a valid output."""
    found = reflect(*(section(f"Topic {n}", "Short.") for n in range(12)), question=question)

    assert len(found.critiques) == MAX_CRITIQUES


def test_topics_near_the_question_are_suggested() -> None:
    """A heading of several passages near the question, without a section, is a further consideration."""
    beside = tuple(passage("x", "ovens", n, title="On ovens", headings=("Rye ovens",)) for n in (0, 9))
    lone = passage("x", "other", headings=("Rye fields",))
    own_name = tuple(passage("x", "mills", n, title="Rye mills", headings=("Rye mills",)) for n in (0, 9))
    asked = ReportReflectorInput(question=QUESTION, sections=(FULL,))

    found = fallback(asked, replace(EVIDENCE, passages=(*beside, lone, *own_name))).further_considerations

    assert len(found) == 1
    assert "“Rye ovens” in “On ovens”" in found[0]


def test_critiques_without_a_search_or_an_error_are_dropped() -> None:
    """A critique without both is dropped."""
    said = ReportReflectorOutput.model_validate(
        {
            "critiques": [
                {"topic": "Bread", "critique": "Dull.", "query": " "},
                {"topic": "Bread", "critique": "No hours.", "query": "hours of rising"},
                {"topic": "Bread", "critique": "Both cannot be true.", "error": "contradiction", "query": ""},
            ],
            "further_considerations": [],
        }
    )
    given = ReportReflectorInput(question=QUESTION, sections=(FULL,))

    kept = keep_actionable_critiques(given, said, EVIDENCE)
    assert [one.critique for one in kept.critiques] == ["No hours.", "Both cannot be true."]


def test_the_prompt_shows_titles_and_the_synthesis() -> None:
    """The texts of the passages are left out; the synthesis is shown if there is one."""
    given = ReportReflectorInput(question=QUESTION, sections=(FULL,), synthesis=SynthesisDraft(situation=FULL.draft))
    prompt = render(given, EVIDENCE)[1].content

    assert "- Bread: Making bread; Rye" in prompt and EVIDENCE.passages[0].text not in prompt
    assert "<synthesis>\nSituation: Rye bread" in prompt
    assert "<synthesis>" not in render(ReportReflectorInput(question=QUESTION, sections=(FULL,)), Evidence())[1].content


def test_tables_are_shown_row_by_row() -> None:
    """A table of a section is a table in the prompt, and its unsupported cells are marked."""
    cells = (
        Claim(text="flour", label="Bread", column="Of", status="supported", citations=(quoted(0, "Bread"),)),
        Claim(text="stone", label="Bread", column="In", status="neutral", citations=(quoted(0, "Bread"),)),
    )
    section = SectionDraft(topic="Bread", draft=Draft(blocks=(Block(kind="table", claims=cells),)))

    assert render_sections([section]) == "Bread\n|  | Of | In |\n| Bread | flour | stone [not confirmed] |"
