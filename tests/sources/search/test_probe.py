"""Tests of the probe of search providers for `doctor`."""

import json

import pytest
from pydantic import SecretStr

from tenure.settings import Settings
from tenure.sources.search import probe as trial
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer


async def test_without_configured_providers_no_request_is_sent() -> None:
    """Checking the settings sends no request."""
    assert (await trial.probe_providers(Settings(_env_file=None))).outcomes == ()


async def test_each_configured_provider_is_queried() -> None:
    """Each outcome is reported, and other providers are not mentioned."""
    with FakeSearchServer(FakeResponse({"type": "search"})) as server:
        chosen = Settings(_env_file=None, search_keys={"brave": SecretStr("b")}, search_urls={"brave": server.url})
        (answer,) = (await trial.probe_providers(chosen)).outcomes

    assert (answer.provider, answer.status) == ("brave", "answered")
    assert server.requests[0].query["count"] == "1"


def test_the_reply_is_printed_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The settings come from the environment."""
    monkeypatch.setenv("TENURE_SEARCH_PROVIDERS", "tavily")

    trial.main()

    (answer,) = json.loads(capsys.readouterr().out)["outcomes"]
    assert answer["note"] == "not configured: set TENURE_TAVILY_KEY"
