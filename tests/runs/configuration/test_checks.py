"""Test the findings about the chat model, which `doctor` and the page show."""

import pytest

from tenure.local_models.choice import choose_model
from tenure.runs.configuration.checks import check_models
from tests.local_models.test_choice import build_settings
from tests.local_models.test_servers import get_port, search_only
from tests.model_server import ModelServer
from tests.support.tiers import slow


def test_servers_of_this_machine_are_named_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model, each server that is found has a line with the command that uses it, and fields for programs."""
    with ModelServer(models={"qwen3:8b": None}) as model:
        search_only(monkeypatch, {"Ollama": get_port(model)})
        none, found = check_models(build_settings())

    assert (none.name, none.level) == ("chat model", "ok")
    assert (found.name, found.level) == ("model server", "ok")
    assert f"export OPENAI_BASE_URL={model.base_url} TENURE_MODEL=qwen3:8b`" in found.message
    assert found.json["models"] == ("qwen3:8b",)


def test_missing_server_of_an_automatic_choice_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `auto` and no server, nothing can be probed, and the line says so."""
    search_only(monkeypatch, {"Ollama": 1})
    (found,) = check_models(build_settings(model="auto"))

    assert (found.level, found.message.partition(" (")[0]) == (
        "fail",
        "TENURE_MODEL=auto finds no model server with a chat model on this machine",
    )


@slow
def test_model_that_was_chosen_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the probe uses the model that this process has chosen, not the variable."""
    monkeypatch.setenv("TENURE_MODEL", "auto")
    with ModelServer(models={"qwen3:8b": 40_000}) as model:
        search_only(monkeypatch, {"Ollama": get_port(model)})
        (found,) = check_models(choose_model(build_settings(model="auto")))

    assert found.message.startswith("qwen3:8b: answered in ")
    assert found.json["context_tokens"] == 40_000
