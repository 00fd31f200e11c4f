"""Tests of the settings: environment variables and the `.env` file, types and ranges."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.run.options import get_option
from tenure.contracts.run.run import RunLimits
from tenure.settings import STORED_FILE, Settings, describe_settings_error, list_given_variables, read_settings
from tenure.settings.home import HomeSettings
from tenure.settings.models import RoleSettings
from tenure.settings.worker import SandboxSettings


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove all settings of this machine and work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv(f"TENURE_{name.upper()}", raising=False)
        if field.validation_alias:
            monkeypatch.delenv(name.upper(), raising=False)


def test_defaults() -> None:
    """By default there is no model, and all state is in one folder."""
    settings = Settings()

    assert not settings.has_model
    assert settings.home == Path(".tenure")
    assert settings.knowledge_uri == str(Path.cwd() / ".tenure" / "knowledge")


def test_the_environment_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable overrides the file, and unknown variables in the file are ignored."""
    Path(".env").write_text("TENURE_MODEL=from-file\nTENURE_UI_PORT=9000\nSOMETHING_ELSE=1\n")
    monkeypatch.setenv("TENURE_MODEL", "from-environment")

    settings = Settings()

    assert (settings.model, settings.ui_port) == ("from-environment", 9000)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty key or port, as in compose files, means the default."""
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("TENURE_UI_PORT", "")

    assert (Settings().has_model, Settings().ui_port) == (False, 8233)


def _store(**variables: str) -> None:
    Path(".tenure").mkdir()
    Path(".tenure", STORED_FILE).write_text(json.dumps(variables))


def test_the_environment_overrides_the_file_of_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the home's file count below both others, keys of providers are joined, and a draft replaces them."""
    _store(TENURE_MODEL="stored", TENURE_FAST_MODEL="stored", TENURE_UI_PORT="9001", TENURE_BRAVE_KEY="b")
    Path(".env").write_text("TENURE_FAST_MODEL=from-file\n")
    monkeypatch.setenv("TENURE_MODEL", "from-environment")
    monkeypatch.setenv("TENURE_TAVILY_KEY", "t")
    settings, draft = Settings(), read_settings({"TENURE_UI_PORT": "9002"}, Path(".tenure"))

    assert (settings.model, settings.fast_model, settings.ui_port) == ("from-environment", "from-file", 9001)
    assert set(settings.search_keys) == {"brave", "tavily"}
    assert (draft.model, draft.ui_port, set(draft.search_keys)) == ("from-environment", 9002, {"tavily"})
    assert list_given_variables() >= {"TENURE_MODEL", "TENURE_FAST_MODEL", "TENURE_TAVILY_KEY"}
    assert "TENURE_UI_PORT" not in list_given_variables()


@pytest.mark.parametrize(
    ("name", "value"),
    [("OPENAI_API_KEY", "sk-environment"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("TENURE_MODEL", "auto")],
)
def test_a_stored_key_reaches_no_other_server(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Key and address of the model server come from the environment as soon as it chooses the server."""
    _store(OPENAI_API_KEY="sk-stored", OPENAI_BASE_URL="http://127.0.0.1:2/v1")
    monkeypatch.setenv(name, value)
    settings = Settings()
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None

    assert {key, settings.openai_base_url} - {None} == {value} - {"auto"}


def test_a_damaged_file_of_the_home_is_named() -> None:
    """The message names the file, what is wrong with it, and the remedy."""
    _store(TENURE_MODEL="m")
    Path(".tenure", STORED_FILE).write_text('{"TENURE_MODEL": 1}')

    with pytest.raises(SettingsError) as raised:
        Settings()
    assert describe_settings_error(raised.value) == (
        ".tenure/settings.json cannot be read (it is no JSON object of variables with their texts): correct it, or "
        "remove it"
    )


def test_lists_are_comma_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names between commas form a list without duplicates, in order; no JSON is needed."""
    monkeypatch.setenv("TENURE_FETCH_ALLOW", "wiki.internal, 10.0.0.0/8,,wiki.internal")

    assert Settings().fetch_allow == ("wiki.internal", "10.0.0.0/8")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_a_key_or_a_url_enables_the_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either of the two shared variables is sufficient."""
    monkeypatch.setenv(name, "http://127.0.0.1:9/v1")

    assert Settings().has_model


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_a_search_for_a_model_excludes_a_named_server(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `auto` no other server is named, so that its key never reaches the one that is found."""
    monkeypatch.setenv("TENURE_MODEL", "auto")
    assert not Settings().has_model

    monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    with pytest.raises(ValidationError) as refused:
        Settings()

    assert describe_settings_error(refused.value).startswith("TENURE_MODEL=auto uses a model server on this machine")


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither printing nor dumping the settings reveals the key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = Settings()

    assert "sk-secret" not in repr(settings) + str(settings) + settings.model_dump_json()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-secret"


def test_the_knowledge_base_can_be_remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """A URI replaces the folder in the home."""
    monkeypatch.setenv("TENURE_LANCEDB_URI", "s3://bucket/knowledge")

    assert Settings().knowledge_uri == "s3://bucket/knowledge"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TENURE_UI_PORT", "0"),
        ("TENURE_TEMPORAL_PORT", "70000"),
        ("TENURE_MODEL_TIMEOUT", "0"),
        ("TENURE_CHUNK_TOKENS", "251"),
        ("TENURE_MIN_RELEVANCE", "1.5"),
        ("TENURE_MAX_SECTIONS", "many"),
        ("TENURE_LOG_LEVEL", "LOUD"),
    ],
)
def test_values_out_of_range_are_rejected(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid value raises an error that names the setting, instead of using a default."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError, match=name.removeprefix("TENURE_").lower()):
        Settings()


def test_every_setting_has_a_description() -> None:
    """The settings page consists of these descriptions."""
    undescribed = [
        name for name, field in Settings.model_fields.items() if not (field.description or get_option(field.metadata))
    ]

    assert undescribed == []


def test_limits_have_the_same_defaults_in_settings_and_requests() -> None:
    """A request without settings has the limits of the default settings."""
    settings, limits = Settings(), RunLimits()
    elsewhere = {
        "chat_model",
        "max_call_output",
        "highest_price",
        "filters",
        "mcp",
        "web",
    }  # from prices and routes, and from the command line
    names = [name for name in RunLimits.model_fields if name not in elsewhere]

    assert {name: getattr(settings, name) for name in names} == {name: getattr(limits, name) for name in names}


def test_rerank_options_are_set_by_variables_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option can be set alone, also those of recency."""
    monkeypatch.setenv("TENURE_RERANK", '{"authority": {"docs.python.org": 2}, "diversity": 0.5}')
    monkeypatch.setenv("TENURE_RERANK__DIVERSITY", "0.3")
    monkeypatch.setenv("TENURE_RERANK__RECENCY__HALF_LIFE_DAYS", "90")

    assert Settings().rerank == RerankOptions(
        authority={"docs.python.org": 2.0}, diversity=0.3, recency=RecencyOptions(half_life_days=90)
    )


def test_a_rerank_model_has_a_default_weight() -> None:
    """It decides alone, unless a weight is set, even 0."""

    def weight(**rerank: float) -> float:
        return Settings(rerank_model="m", rerank=RerankOptions.model_validate(rerank)).rerank_options.endpoint

    assert (weight(), weight(endpoint=0.2), weight(endpoint=0.0)) == (1.0, 0.2, 0.0)
    assert Settings().rerank_options == RerankOptions()


def test_roles_are_set_by_variables_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms can be combined; a variable of one value overrides the JSON."""
    monkeypatch.setenv("TENURE_ROLES", '{"router": {"model": "a", "max_output": 300}, "outliner": {"model": "b"}}')
    monkeypatch.setenv("TENURE_ROLES__ROUTER__MODEL", "c")
    monkeypatch.setenv("TENURE_ROLES__REPORT_WRITER__TEMPERATURE", "0.5")

    settings = Settings()

    assert settings.roles == {
        "router": RoleSettings(model="c", max_output=300),
        "outliner": RoleSettings(model="b"),
        "report_writer": RoleSettings(temperature=0.5),
    }


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("TENURE_UI_PORT", "0", "TENURE_UI_PORT is not valid: input should be greater than or equal to 1"),
        (
            "TENURE_ROLES__POET__MODEL",
            "m",
            "TENURE_ROLES__POET is not valid: value error, no role is named 'poet'; there are ",
        ),
        (
            "TENURE_ROLES__ROUTER__TEMPERATURE",
            "3",
            "TENURE_ROLES__ROUTER__TEMPERATURE is not valid: input should be less than or equal to 2",
        ),
        (
            "TENURE_ROLES__ROUTER__MODLE",
            "m",
            "TENURE_ROLES__ROUTER__MODLE is not valid: should be one of model, temperature, reasoning_effort,",
        ),
        ("TENURE_REASONING_EFFORT", "hard", "TENURE_REASONING_EFFORT is not valid: input should be 'none', 'minimal',"),
        ("TENURE_ROLES", "{", "TENURE_ROLES is not valid: it is not JSON"),
        ("TENURE_RERANK__DIVERSITY", "2", "TENURE_RERANK__DIVERSITY is not valid: input should be less than 1"),
        ("TENURE_RERANK__MIXTURE", "1", "TENURE_RERANK is not valid: value error, there is no 'mixture'; there are"),
        ("TENURE_RERANK__RECENCY__DAYS", "9", "TENURE_RERANK is not valid: value error, there is no 'days'; there are"),
    ],
)
def test_errors_are_described_in_one_line(name: str, value: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable and the allowed values."""
    monkeypatch.setenv(name, value)

    with pytest.raises((ValidationError, SettingsError)) as wrong:
        Settings()

    assert isinstance(wrong.value, ValidationError | SettingsError)
    assert describe_settings_error(wrong.value).startswith(line)
    assert "\n" not in describe_settings_error(wrong.value)


def test_a_group_does_not_read_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A room is built from its own group alone, with the defaults and the checks of the whole."""
    monkeypatch.setenv("TENURE_SANDBOX", "docker")

    assert SandboxSettings(home=tmp_path).sandbox == "bubblewrap"
    assert Settings().sandbox == "docker"
    with pytest.raises(ValidationError, match="TENURE_OWNER and TENURE_OWNER_TOKEN belong together"):
        HomeSettings(owner="ann")


def test_settings_cannot_be_changed() -> None:
    """Rooms share one object, so that none changes the settings of another."""
    with pytest.raises(ValidationError, match="frozen"):
        Settings().web_pages = 9  # type: ignore[misc]
