"""Which providers the settings let us ask."""

from typing import get_args

import pytest
from pydantic import SecretStr, ValidationError

from tenure.settings import SearchEngine, Settings, fault
from tenure.sources.search.base import LeftOut
from tenure.sources.search.providers import Providers
from tenure.sources.search.service import Http

KEYS = {"brave_key": SecretStr("b"), "tavily_key": SecretStr("t")}


def providers(**chosen: object) -> Providers:
    return Providers(Settings(_env_file=None, **chosen), Http("Tenure/test"))  # type: ignore[arg-type]


def test_where_nothing_is_set_up_wikipedia_is_asked() -> None:
    """It needs no key and is about everything; who needs one is listed, to be left out with a note."""
    assert providers().usable == ("wikipedia",)
    assert providers().chosen == ("wikipedia", "searxng", "brave", "tavily")


def test_who_is_set_up_is_asked() -> None:
    """A key, an address or an engine of one's own is enough, and then nobody else is asked."""
    own = providers(searxng_url="http://127.0.0.1:9", openalex_key=SecretStr("o"), opensearch={"own": "https://a.org/"})

    assert own.usable == ("searxng", "openalex", "own")
    assert providers(**KEYS).usable == ("brave", "tavily")


def test_a_list_is_kept_in_its_order() -> None:
    """Also with names whose key is missing."""
    named = providers(search_providers="crossref, brave,arxiv")

    assert named.usable == named.chosen == ("crossref", "brave", "arxiv")


@pytest.mark.parametrize("name", get_args(SearchEngine))
def test_every_provider_can_be_made(name: str) -> None:
    """With a key or without, it bears the name of its setting, and it is made once."""
    made = providers(searxng_url="http://127.0.0.1:9", **KEYS)

    assert made.provider(name).name == name
    assert made.provider(name) is made.provider(name)


def test_an_engine_of_ones_own_can_be_made() -> None:
    """By its name in the settings."""
    assert providers(opensearch={"own": "https://a.org/"}).provider("own").name == "own"


@pytest.mark.parametrize(
    ("name", "variable"),
    [("searxng", "TENURE_SEARXNG_URL"), ("brave", "TENURE_BRAVE_KEY"), ("tavily", "TENURE_TAVILY_KEY")],
)
def test_a_provider_without_its_setting_is_left_out(name: str, variable: str) -> None:
    """The note says what to set."""
    with pytest.raises(LeftOut, match=f"not set up: set {variable}"):
        providers().provider(name)


def test_a_provider_that_there_is_not_is_left_out() -> None:
    """A run may name one that this worker does not know."""
    with pytest.raises(LeftOut, match="there is no search provider 'gopher'"):
        providers().provider("gopher")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"search_providers": "brave,gopher"},
            "TENURE_SEARCH_PROVIDERS is not valid: value error, there is no 'gopher'",
        ),
        ({"opensearch": {"brave": "https://a.org/"}}, "TENURE_OPENSEARCH is not valid: value error, 'brave' is"),
    ],
)
def test_names_in_the_settings_are_checked(chosen: dict[str, object], message: str) -> None:
    """A wrong name is refused when the settings are read, and not in the middle of a run."""
    with pytest.raises(ValidationError) as caught:
        Settings(_env_file=None, **chosen)  # type: ignore[arg-type]

    assert fault(caught.value).startswith(message)
