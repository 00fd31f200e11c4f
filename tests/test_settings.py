"""Settings come from the environment and a file, typed and in range."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import SettingsError

from tenure.contracts.evidence.rerank import Recency, Rerank
from tenure.contracts.run.run import Limits
from tenure.settings import RoleSettings, Settings, fault


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Start without a setting of this machine, in a folder without a file of settings."""
    monkeypatch.chdir(tmp_path)
    for name, field in Settings.model_fields.items():
        monkeypatch.delenv(f"TENURE_{name.upper()}", raising=False)
        if field.validation_alias:
            monkeypatch.delenv(name.upper(), raising=False)


def test_nothing_has_to_be_set() -> None:
    """Out of the box the twins answer and all state is in one folder."""
    settings = Settings()

    assert not settings.uses_model
    assert settings.home == Path(".tenure")
    assert settings.knowledge_uri == str(Path.cwd() / ".tenure" / "knowledge")


def test_the_environment_sets_and_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable wins over the file, and other people's variables in the file do no harm."""
    Path(".env").write_text("TENURE_MODEL=from-file\nTENURE_UI_PORT=9000\nSOMETHING_ELSE=1\n")
    monkeypatch.setenv("TENURE_MODEL", "from-environment")

    settings = Settings()

    assert (settings.model, settings.ui_port) == ("from-environment", 9000)


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty key or port, as compose files make them, means the default."""
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("TENURE_UI_PORT", "")

    assert (Settings().uses_model, Settings().ui_port) == (False, 8233)


def test_a_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names between commas are a list, each once and in order; no JSON is needed."""
    monkeypatch.setenv("TENURE_FETCH_ALLOW", "wiki.internal, 10.0.0.0/8,,wiki.internal")

    assert Settings().fetch_allow == ("wiki.internal", "10.0.0.0/8")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_a_key_or_an_address_turns_the_model_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either of the two variables that all tools share is enough."""
    monkeypatch.setenv(name, "http://127.0.0.1:9/v1")

    assert Settings().uses_model


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither printing nor logging the settings gives the key away."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = Settings()

    assert "sk-secret" not in repr(settings) + str(settings) + settings.model_dump_json()
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-secret"


def test_a_knowledge_base_can_be_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address replaces the folder in the home."""
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
def test_a_value_out_of_range_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong value is an error that names the setting, not a silent default."""
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError, match=name.removeprefix("TENURE_").lower()):
        Settings()


def test_every_setting_says_what_it_means() -> None:
    """The reference is made of these descriptions."""
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_the_limits_of_a_run_are_settings_with_the_same_default() -> None:
    """What bounds a run can be set, and a run started without settings has the same bounds."""
    settings, limits = Settings(), Limits()
    elsewhere = {"call_output", "dearest", "filters", "mcp", "web"}  # from prices and routes, and from the command line
    names = [name for name in Limits.model_fields if name not in elsewhere]

    assert {name: getattr(settings, name) for name in names} == {name: getattr(limits, name) for name in names}


def test_the_second_stage_is_set_by_variable_or_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step can be set alone, also within the preference for new documents."""
    monkeypatch.setenv("TENURE_RERANK", '{"authority": {"docs.python.org": 2}, "diversity": 0.5}')
    monkeypatch.setenv("TENURE_RERANK__DIVERSITY", "0.3")
    monkeypatch.setenv("TENURE_RERANK__RECENCY__HALF_LIFE_DAYS", "90")

    assert Settings().rerank == Rerank(
        authority={"docs.python.org": 2.0}, diversity=0.3, recency=Recency(half_life_days=90)
    )


def test_a_rerank_model_is_asked_without_more_ado() -> None:
    """It has the weight that late interaction leaves, unless it is given one, be it none."""

    def weight(**rerank: float) -> float:
        return Settings(rerank_model="m", rerank=Rerank.model_validate(rerank)).second_stage.endpoint

    assert [weight(), weight(late_interaction=0.4)] == pytest.approx([1.0, 0.6])
    assert (weight(endpoint=0.2), weight(endpoint=0.0)) == (0.2, 0.0)
    assert Settings().second_stage == Rerank()


def test_single_roles_are_set_by_variable_or_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways may be mixed; a variable of one value wins over the JSON."""
    monkeypatch.setenv("TENURE_ROLES", '{"router": {"model": "a", "max_output": 300}, "outliner": {"model": "b"}}')
    monkeypatch.setenv("TENURE_ROLES__ROUTER__MODEL", "c")
    monkeypatch.setenv("TENURE_ROLES__SECTION_WRITER__TEMPERATURE", "0.5")

    settings = Settings()

    assert settings.roles == {
        "router": RoleSettings(model="c", max_output=300),
        "outliner": RoleSettings(model="b"),
        "section_writer": RoleSettings(temperature=0.5),
    }


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("TENURE_UI_PORT", "0", "TENURE_UI_PORT is not valid: input should be greater than or equal to 1"),
        ("TENURE_ROLES__POET__MODEL", "m", "TENURE_ROLES__POET is not valid: input should be 'router', 'clarifier',"),
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
def test_what_is_wrong_is_said_in_one_line(name: str, value: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable and what there is."""
    monkeypatch.setenv(name, value)

    with pytest.raises((ValidationError, SettingsError)) as wrong:
        Settings()

    assert isinstance(wrong.value, ValidationError | SettingsError)
    assert fault(wrong.value).startswith(line)
    assert "\n" not in fault(wrong.value)
