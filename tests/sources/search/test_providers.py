"""Which providers the settings let us ask."""

import pytest

from tenure.settings import Settings
from tenure.sources.search.base import LeftOut
from tenure.sources.search.providers import Providers
from tenure.sources.search.service import Http


def providers(**chosen: object) -> Providers:
    return Providers(Settings(_env_file=None, **chosen), Http("Tenure/test"))  # type: ignore[arg-type]


def test_a_provider_without_its_setting_is_left_out() -> None:
    """The note says what to set."""
    with pytest.raises(LeftOut, match="not set up: set TENURE_SEARXNG_URL"):
        providers().provider("searxng")


def test_a_provider_that_there_is_not_is_left_out() -> None:
    """A run may name one that this worker does not know."""
    with pytest.raises(LeftOut, match="there is no search provider 'gopher'"):
        providers().provider("gopher")


def test_a_provider_is_made_once() -> None:
    """It keeps what it has learnt about its server."""
    made = providers(searxng_url="http://127.0.0.1:9")

    assert made.provider("searxng") is made.provider("searxng")
    assert made.chosen == ("searxng",)
