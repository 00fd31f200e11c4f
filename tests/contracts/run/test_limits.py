"""Tests of the limits of a run: all uses are derived from one table."""

from typing import get_args

from tenure.contracts.evidence.passages import SearchMode
from tenure.contracts.evidence.reasoning import ReasoningStrategy
from tenure.contracts.run.limit_fields import Complexity, LimitFields
from tenure.contracts.run.limits import LIMITS
from tenure.contracts.run.run import RunLimits
from tenure.settings import Settings


def test_each_limit_has_a_field() -> None:
    """The table and the fields have the same names, except for the options of the second stage."""
    assert {*LIMITS, "rerank"} == set(LimitFields.model_fields)


def test_settings_and_requests_have_the_same_limits() -> None:
    """Default, range and description of a limit are equal in the settings and in the request of a run."""
    for name in LIMITS:
        setting, limit = Settings.model_fields[name], RunLimits.model_fields[name]
        assert (setting.default, setting.metadata) == (limit.default, limit.metadata), name
        assert setting.description == limit.description == LIMITS[name].description


def test_choices_are_those_of_the_fields() -> None:
    """The command line offers the values that the fields accept."""
    effort, reasoning = LIMITS["effort"].option, LIMITS["reasoning"].option
    search = LIMITS["search_mode"].option

    assert search is not None and search.choices == get_args(SearchMode)
    assert effort is not None and set(effort.choices) == set(get_args(Complexity))
    assert reasoning is not None
    assert set(reasoning.choices) == {*get_args(ReasoningStrategy), "none"}
