"""Test the environment and the fingerprint of a worker."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.contracts.evidence.rerank import RerankOptions
from tenure.runs.configuration.changes import save_variables
from tenure.settings import Settings
from tenure.settings.models import RoleSettings
from tenure.temporal.stack.fingerprint import build_site_environment, build_worker_environment, compute_fingerprint

SHOP = "postgresql://reader:swordfish@127.0.0.1/shop"


def settings(home: Path, **values: object) -> Settings:
    return Settings(_env_file=None, home=home).model_copy(update=values)


def test_settings_that_are_objects_reach_the_worker(tmp_path: Path) -> None:
    """Databases and roles are written as JSON, with their addresses, as a worker reads them."""
    roles, rerank = {"router": RoleSettings(model="m")}, RerankOptions(diversity=0.2)
    told = build_worker_environment(settings(tmp_path, databases={"shop": SecretStr(SHOP)}, roles=roles, rerank=rerank))

    assert json.loads(told["TENURE_DATABASES"] or "") == {"shop": SHOP}
    assert json.loads(told["TENURE_ROLES"] or "")["router"]["model"] == "m"
    assert json.loads(told["TENURE_RERANK"] or "") == {"diversity": 0.2}


def test_settings_that_are_lists_reach_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """List settings are read by the worker as by the client, including empty ones."""
    for listed in ((), ("127.0.0.1:8080", "10.0.0.0/8")):
        told = build_worker_environment(settings(tmp_path, fetch_allow=listed))
        monkeypatch.setenv("TENURE_FETCH_ALLOW", told["TENURE_FETCH_ALLOW"] or "")

        assert Settings(_env_file=None).fetch_allow == listed


def test_another_endpoint_of_traces_makes_another_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose variables of OpenTelemetry have changed is replaced."""
    before = compute_fingerprint(settings(tmp_path), "a")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")

    assert compute_fingerprint(settings(tmp_path), "a") != before


def test_a_database_more_makes_another_worker(tmp_path: Path) -> None:
    """A worker that does not know a database is replaced by one that does."""
    with_shop = settings(tmp_path, databases={"shop": SecretStr(SHOP)})

    assert (
        compute_fingerprint(settings(tmp_path), "a")
        != compute_fingerprint(with_shop, "a")
        == compute_fingerprint(with_shop, "a")
    )


def test_the_page_reads_what_it_can_change_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets what the environment sets, and neither stored settings, nor defaults, nor a model that was chosen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENURE_SANDBOX_PYTHON", raising=False)
    monkeypatch.setenv("TENURE_TAVILY_KEY", "t")
    monkeypatch.setenv("TENURE_FAST_MODEL", "small")
    save_variables(tmp_path, {"TENURE_BRAVE_KEY": "b", "TENURE_MAX_TOKENS": "9", "TENURE_WEB": "false"})
    chosen = Settings(home=tmp_path).choose({"model": "local", "openai_base_url": "http://127.0.0.1:1/v1"})
    told = build_site_environment(chosen)
    given = {name: value for name, value in told.items() if value is not None}

    assert given.keys() == {
        *("TENURE_HOME", "TENURE_TEMPORAL_PORT", "TENURE_UI_PORT", "TENURE_FAST_MODEL", "TENURE_SEARCH_KEYS")
    }
    assert json.loads(given["TENURE_SEARCH_KEYS"]) == {"tavily": "t"}
    assert build_worker_environment(chosen)["TENURE_MODEL"] == "local"


def test_a_worker_knows_nothing_of_a_team(tmp_path: Path) -> None:
    """The secret at the provider does not reach it, and another person does not replace it."""
    team = settings(tmp_path, team_client_secret=SecretStr("swordfish"), team_people={"ann@example.org": "ann"})

    assert "TENURE_OWNERS" in build_worker_environment(team)
    assert not {name for name, value in build_worker_environment(team).items() if "_TEAM_" in name and value}
    assert compute_fingerprint(team, "a") == compute_fingerprint(settings(tmp_path), "a")
