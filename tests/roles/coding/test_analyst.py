"""Tests of the analyst's fallback."""

from tenure.roles.base import Evidence
from tenure.roles.coding.analyst import AnalystInput, fallback
from tests.roles.cases import SALES


def test_without_a_model_there_is_no_program() -> None:
    """The fallback writes no program."""
    answer = fallback(AnalystInput(question="Do sales rise?", computation="A regression.", tables=(SALES,)), Evidence())

    assert (answer.code, answer.inputs, answer.shows) == ("", (), "")
