"""Test the choice of a model on this machine."""

import pytest

from tenure.local_models.choice import NoModelServer, check_model_choice, choose_model
from tenure.settings import Settings
from tests.local_models.test_servers import get_port, search_only
from tests.model_server import ModelServer


def build_settings(**values: object) -> Settings:
    return Settings.model_validate({"openai_api_key": None, "openai_base_url": None, **values})


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
    with pytest.raises(NoModelServer, match=r"^TENURE_MODEL=auto finds no .* \(Ollama: port 1\): start one"):
        check_model_choice(chosen)
