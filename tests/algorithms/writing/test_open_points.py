"""Tests of the points that a synthesis leaves open."""

import pytest

from tenure.algorithms.writing.open_points import (
    MAX_EMPTY_CELLS,
    add_answers,
    build_gap_queries,
    build_gap_query,
    close_points,
    list_open_points,
    restore_gaps,
)
from tenure.contracts.evidence.passages import AbstractDraft, Block, Claim, Draft, PointAnswer, SynthesisDraft
from tenure.contracts.research.report import SectionDraft

GAPS = ("How rye ages is open.", "The findings do not say what rye costs.")


def gap(text: str, column: str = "") -> Claim:
    return Claim(text=text, kind="gap", label="Rye" if column else "", column=column)


def draft(*claims: Claim) -> Draft:
    return Draft(blocks=(Block(claims=claims),)) if claims else Draft()


def table(*cells: Claim) -> Draft:
    return Draft(blocks=(Block(kind="table", claims=cells),))


def answer(point: int, text: str, section: int = 0) -> PointAnswer:
    return PointAnswer(point=point, section=section, claim=Claim(text=text))


def section(topic: str) -> SectionDraft:
    return SectionDraft(topic=topic, draft=draft(Claim(text=f"{topic} is old.")))


SYNTHESIS = SynthesisDraft(
    gaps=draft(*map(gap, GAPS)),
    comparison=table(Claim(text="brown", label="Rye", column="Colour"), gap("–", "Price"), gap("–", "Age")),
)


def test_open_points_are_gaps_and_empty_cells() -> None:
    """Gaps come first, then the empty cells of the comparison up to a limit; full cells are no open points."""
    assert [claim.column or claim.text for claim in list_open_points(SYNTHESIS).claims] == [*GAPS, "Price", "Age"]
    wide = SYNTHESIS.model_copy(update={"comparison": table(*(gap("–", str(n)) for n in range(20)))})
    assert len(list_open_points(wide).claims) == len(GAPS) + MAX_EMPTY_CELLS
    assert list_open_points(SynthesisDraft()) == Draft()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The findings do not say whether rye is sold; they name only wheat.", "whether rye is sold"),
        ("It is unclear how long bread keeps.", "how long bread keeps"),
        ("The price of rye is open.", "The price of rye is open"),
        ("Wheat is cheap. The sources do not say why.", "Wheat is cheap. The sources do not say why"),
    ],
)
def test_the_subject_of_a_gap_is_searched_for(text: str, query: str) -> None:
    """The query leaves out the words that only call a point open, and the nearest known fact."""
    assert build_gap_query(text) == query


def test_each_gap_has_a_query() -> None:
    """The writer's query is used, else the subject of the gap; the sections mostly answer empty cells."""
    named = SYNTHESIS.model_copy(update={"gap_queries": (" ", "price of rye in euros", "of no gap")})

    assert build_gap_queries(SYNTHESIS) == ("How rye ages is open", "what rye costs")
    assert build_gap_queries(named) == ("How rye ages is open", "price of rye in euros")


def test_closed_and_answered_points_leave_the_synthesis() -> None:
    """Gaps that are closed or answered go; a cell gets its text in its place; answers to gaps are returned."""
    written = AbstractDraft(closed_points=(1,), answers=(answer(2, "Rye costs two euros.", 1), answer(4, "two years")))
    closed, answers = close_points(SYNTHESIS, written)

    assert closed.gaps.claims == ()
    cells = closed.comparison.claims
    assert [(cell.column, cell.text, cell.kind) for cell in cells] == [
        ("Colour", "brown", "fact"),
        ("Price", "–", "gap"),
        ("Age", "two years", "fact"),
    ]
    assert [one.claim.text for one in answers] == ["Rye costs two euros."]


def test_nothing_is_closed_without_an_answer() -> None:
    """A synthesis stays as it is if the abstract closes nothing."""
    assert close_points(SYNTHESIS, AbstractDraft()) == (SYNTHESIS, ())


def test_a_gap_returns_if_its_answer_is_refused() -> None:
    """An answer that did not pass its check leaves the gap open; the other gaps are those after their check."""
    answers = (answer(1, "Rye ages well."), answer(2, "Rye costs two euros."))
    kept = restore_gaps(SYNTHESIS.gaps, Draft(), answers, (Draft(), draft(answers[1].claim)))

    assert [claim.text for claim in kept.claims] == [GAPS[0]]
    assert restore_gaps(SYNTHESIS.gaps, SYNTHESIS.gaps, (), ()) == SYNTHESIS.gaps


def test_answers_join_their_sections() -> None:
    """An answer is a paragraph at the end of its section; an unknown number stands for the last section."""
    answers = (answer(1, "Rye ages well.", 1), answer(2, "Rye is cheap.", 9), answer(3, "Refused.", 1))
    checked = (draft(answers[0].claim), draft(answers[1].claim), Draft())
    bread, cheese, salt = add_answers([section("Bread"), section("Cheese"), section("Salt")], answers, checked)

    assert bread.draft.text == "Bread is old.\n\nRye ages well."
    assert cheese == section("Cheese")
    assert salt.draft.text == "Salt is old.\n\nRye is cheap."
