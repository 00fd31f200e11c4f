"""Tests of the limits of a run: all uses are derived from one declaration."""

from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.options import get_option, list_options
from tenure.contracts.run.run import RunLimits
from tenure.settings import Settings


def test_settings_and_requests_have_the_same_limits() -> None:
    """Default, range and description of a limit are equal in the settings and in the request of a run."""
    for name in LimitFields.model_fields:
        setting, limit = Settings.model_fields[name], RunLimits.model_fields[name]
        assert (setting.default, setting.metadata) == (limit.default, limit.metadata), name
        assert name == "rerank" or get_option(limit.metadata)


def test_a_declaration_lists_its_own_options_first() -> None:
    """Fields without an option of the command line are left out."""
    names = [name for name, _, _ in list_options(LimitFields)]

    assert names.index("max_cycles") < names.index("max_searches") < names.index("max_tokens")
    assert "min_relevance" not in names
