"""Test the choice of a model on this machine."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.local_models.choice import check_model_choice, choose_model, find_served_model
from tenure.local_models.errors import LocalModelError
from tenure.local_models.model_file import LocalModel, load_local_model, load_model_key, save_local_model
from tenure.settings import Settings
from tests.local_models.test_servers import get_port, search_only
from tests.model_server import ModelServer


def build_settings(**values: object) -> Settings:
    nothing = {"home": "/nonexistent", "openai_api_key": None, "openai_base_url": None}
    return Settings.model_validate(nothing | values)


def test_auto_takes_the_first_model_of_the_first_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings name server and model as if a person had set them, with time for slow answers."""
    with ModelServer(models={"embed": None, "b": None, "a": None}) as first, ModelServer() as second:
        search_only(monkeypatch, {"Ollama": get_port(first), "vLLM": get_port(second)})
        chosen = choose_model(build_settings(model="auto"))
        timed = choose_model(build_settings(model="auto", model_timeout=60))

    check_model_choice(chosen)
    assert (chosen.openai_base_url, chosen.model, chosen.has_model) == (first.base_url, "b", True)
    assert (chosen.model_timeout, timed.model_timeout) == (1800, 60)


@pytest.mark.parametrize("values", [{}, {"model": "qwen3"}, {"openai_base_url": "http://127.0.0.1:9/v1"}], ids=str)
def test_other_settings_lead_to_no_search(monkeypatch: pytest.MonkeyPatch, values: dict[str, object]) -> None:
    """Without `auto`, settings stay the same and no server is asked."""
    with ModelServer() as model:
        search_only(monkeypatch, {"Ollama": get_port(model)})
        settings = build_settings(**values)

        assert choose_model(settings) is settings
    assert model.fetches == []


def test_missing_server_is_an_error_only_where_a_model_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server the settings have no model, and the check says which ports were tried."""
    search_only(monkeypatch, {"Ollama": 1})
    chosen = choose_model(build_settings(model="auto"))

    assert not chosen.has_model
    with pytest.raises(LocalModelError, match=r"^TENURE_MODEL=auto finds no .* \(Ollama: port 1\): start one"):
        check_model_choice(chosen)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a local model."""
    save_local_model(tmp_path, LocalModel(path=tmp_path / "tiny.gguf"))
    return tmp_path


@pytest.mark.parametrize("model", ["gpt-5", "auto"])
def test_model_of_the_home_comes_before_a_search(home: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings without a server use the home's own model, one request at a time, and no other server is asked."""
    with ModelServer() as other:
        search_only(monkeypatch, {"Ollama": get_port(other)})
        chosen = choose_model(build_settings(home=home, model=model, local_model_port=8299))

    assert (chosen.openai_base_url, chosen.model) == ("http://127.0.0.1:8299/v1", "tiny")
    assert chosen.openai_api_key == SecretStr(load_model_key(home))
    assert (chosen.model_concurrency, chosen.model_timeout) == (1, 1800)
    assert find_served_model(chosen) == load_local_model(home)
    assert other.fetches == []


def test_named_server_comes_before_the_model_of_the_home(home: Path) -> None:
    """A key or URL of the settings is used, and the stack serves nothing."""
    settings = build_settings(home=home, openai_api_key="sk-secret")

    assert choose_model(settings) is settings
    assert find_served_model(settings) is None


def test_choice_keeps_what_a_person_has_set(home: Path) -> None:
    """Limits that are set are not replaced by those of a local model."""
    chosen = choose_model(build_settings(home=home, model_concurrency=3, model_timeout=60))

    assert (chosen.model_concurrency, chosen.model_timeout) == (3, 60)
