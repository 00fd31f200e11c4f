"""The analyst's twin."""

from tenure.roles.base import Evidence
from tenure.roles.coding.analyst import AnalystInput, offline
from tests.roles.cases import SALES


def test_without_a_model_there_is_no_program() -> None:
    """The twin makes no figures up: it writes no program whatever is wanted."""
    answer = offline(AnalystInput(question="Do sales rise?", wanted="A regression.", tables=(SALES,)), Evidence())

    assert (answer.code, answer.inputs, answer.shows) == ("", (), "")
