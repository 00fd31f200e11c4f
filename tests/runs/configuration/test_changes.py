"""Test changes of the settings that a home stores."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.contracts.run.budget import Price
from tenure.prices import load_prices
from tenure.runs.configuration.changes import (
    is_configurable,
    load_settings,
    restart_worker,
    save_prices,
    save_variables,
)
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.settings import STORED_FILE, Settings


def test_stored_variables_are_private_and_can_be_removed(tmp_path: Path) -> None:
    """Only the owner of the home reads the file; an empty value removes a variable, and the others stay."""
    home = tmp_path / "home"
    save_variables(home, {"OPENAI_API_KEY": "sk-1", "TENURE_MODEL": "m", "TENURE_BRAVE_KEY": "b"})
    before = Settings(home=home, _env_file=None)
    save_variables(home, {"TENURE_MODEL": ""})
    after = Settings(home=home, _env_file=None)

    assert (home / STORED_FILE).stat().st_mode & 0o777 == 0o600
    assert json.loads((home / STORED_FILE).read_text()) == {"OPENAI_API_KEY": "sk-1", "TENURE_BRAVE_KEY": "b"}
    assert (before.model, after.model, after.has_model) == ("m", "gpt-5", True)
    assert after.search_keys == {"brave": SecretStr("b")}


def test_a_value_that_does_not_fit_is_not_stored(tmp_path: Path) -> None:
    """The error names the variable and not the other ones, and the file stays as it was."""
    save_variables(tmp_path, {"OPENAI_API_KEY": "sk-1"})
    before = (tmp_path / STORED_FILE).read_bytes()

    with pytest.raises(InvalidRequest, match=r"^TENURE_TEMPERATURE is not valid: .* less than or equal to 2$"):
        save_variables(tmp_path, {"TENURE_TEMPERATURE": "3"})
    with pytest.raises(InvalidRequest, match="unset OPENAI_API_KEY and OPENAI_BASE_URL"):
        save_variables(tmp_path, {"TENURE_MODEL": "auto"})
    with pytest.raises(InvalidRequest, match=r"^TENURE_MCP_SERVERS is not valid: it is not JSON$"):
        save_variables(tmp_path, {"TENURE_MCP_SERVERS": "{"})
    assert (tmp_path / STORED_FILE).read_bytes() == before


def test_a_home_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "file").touch()

    with pytest.raises(TenureError, match=r"settings.json cannot be written"):
        save_variables(tmp_path / "file" / "home", {"TENURE_MODEL": "m"})


def test_settings_are_read_again_for_an_open_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home and the ports of its server stay, and what is stored is read."""
    monkeypatch.chdir(tmp_path)
    opened = Settings(home=tmp_path, temporal_port=7999, _env_file=None)
    save_variables(tmp_path, {"TENURE_MAX_TOKENS": "5000"})
    again = load_settings(opened)

    assert (again.home, again.temporal_port, again.max_tokens) == (tmp_path, 7999, 5000)


def test_prices_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Names of models with dots and colons, and prices without one for cached prompts."""
    settings = Settings(home=tmp_path, _env_file=None)
    prices = {"gpt-5.1": Price(input=1.25, output=10, cached_input=0.125), 'org/m:"x"': Price(input=0, output=0.5)}
    save_prices(settings, prices)

    assert load_prices(settings) == prices


def test_settings_of_several_owners_belong_to_the_operator(tmp_path: Path) -> None:
    """A client of an owner changes none, and a home without a worker has nothing to restart."""
    settings = Settings(home=tmp_path, _env_file=None)
    owned = settings.model_copy(update={"owners": {"ann": SecretStr("a" * 32)}})

    assert (is_configurable(settings), is_configurable(owned)) == (True, False)
    assert restart_worker(settings).startswith("No worker of this home runs")
