"""What `doctor` asks of the search providers."""

import json

import pytest
from pydantic import SecretStr

from tenure.settings import Settings
from tenure.sources.search import probe as trial
from tests.sources.search.engine import Engine, Said


async def test_where_nothing_is_set_up_nobody_is_asked() -> None:
    """Looking at settings reaches out to nobody."""
    assert (await trial.try_search(Settings(_env_file=None))).answers == ()


async def test_each_provider_that_is_set_up_is_asked() -> None:
    """What became of each is told, and who is not set up is not mentioned."""
    with Engine(Said({"type": "search"})) as engine:
        chosen = Settings(_env_file=None, brave_key=SecretStr("b"), search_urls={"brave": engine.url})
        (answer,) = (await trial.try_search(chosen)).answers

    assert (answer.provider, answer.status) == ("brave", "answered")
    assert engine.asked[0].query["count"] == "1"


def test_the_reply_is_printed_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It reads the settings of the environment."""
    monkeypatch.setenv("TENURE_SEARCH_PROVIDERS", "tavily")

    trial.main()

    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert answer["note"] == "not set up: set TENURE_TAVILY_KEY"
