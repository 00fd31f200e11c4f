"""What `doctor` asks of the search providers."""

import json

import pytest
from pydantic import SecretStr

from tenure.settings import Settings
from tenure.sources.search import probe as trial
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer


async def test_where_nothing_is_set_up_nobody_is_asked() -> None:
    """Looking at settings reaches out to nobody."""
    assert (await trial.probe_providers(Settings(_env_file=None))).outcomes == ()


async def test_each_provider_that_is_set_up_is_asked() -> None:
    """What became of each is told, and who is not set up is not mentioned."""
    with FakeSearchServer(FakeResponse({"type": "search"})) as server:
        chosen = Settings(_env_file=None, search_keys={"brave": SecretStr("b")}, search_urls={"brave": server.url})
        (answer,) = (await trial.probe_providers(chosen)).outcomes

    assert (answer.provider, answer.status) == ("brave", "answered")
    assert server.requests[0].query["count"] == "1"


def test_the_reply_is_printed_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It reads the settings of the environment."""
    monkeypatch.setenv("TENURE_SEARCH_PROVIDERS", "tavily")

    trial.main()

    (answer,) = json.loads(capsys.readouterr().out)["outcomes"]
    assert answer["note"] == "not configured: set TENURE_TAVILY_KEY"
