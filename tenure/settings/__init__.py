"""Read all settings from environment variables, a `.env` file, or the file of the home that the page writes.

Variables have the prefix `TENURE_`, except `OPENAI_API_KEY` and `OPENAI_BASE_URL`, which OpenAI-compatible tools share.
Each room declares the group of settings that it reads as the type of its argument. `Settings` inherits from all groups,
so that a process reads them once and gives each room the same object. `docs/settings.md` is generated from the groups.
"""

import re
from collections import ChainMap
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Final, Self

from pydantic import AliasChoices, PrivateAttr, TypeAdapter, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.run.limit_fields import LimitFields
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.installation import DEFAULT_HOME
from tenure.settings.home import CodecSettings, StackSettings
from tenure.settings.knowledge import KnowledgeSettings, MemorySettings
from tenure.settings.models import (
    AUTO_MODEL,
    ChatModelSettings,
    RetrievalModelSettings,
    RoleSettings,
    TranscriptionSettings,
)
from tenure.settings.team import TeamSettings
from tenure.settings.web import McpServer, SearchSettings, WebSettings
from tenure.settings.worker import NotifierSettings, SandboxSettings, WorkerSettings

STORED_FILE: Final = "settings.json"
"""File of the home with the variables that were set on the page; it contains keys, and only its owner may read it."""

MODEL_SERVER_VARIABLES: Final = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
"""A key must reach no other server than its own, so these variables come from the same source."""

CHOSEN_SETTINGS: Final = ("openai_api_key", "openai_base_url", "model", "model_timeout", "model_concurrency")
"""Settings of a model of this machine that a process chooses."""

_STORED: Final = TypeAdapter(dict[str, str])

_draft: ContextVar[Mapping[str, str] | None] = ContextVar("draft", default=None)
"""Variables in place of those of the home's file, while `read_settings` reads."""


class _StoredVariables(EnvSettingsSource):
    """Source of the variables in the file of the home."""

    def __init__(self, settings_cls: type[BaseSettings], home: Path, *sources: EnvSettingsSource) -> None:
        self._home = home
        self._given = ChainMap(*(dict(source.env_vars) for source in sources))
        super().__init__(settings_cls)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        draft = _draft.get()
        stored = load_stored_variables(self._home) if draft is None else draft
        names = {name.lower(): name for name in MODEL_SERVER_VARIABLES}
        if any(self._given.get(name) for name in names) or self._given.get("tenure_model") == AUTO_MODEL:
            stored = {name: value for name, value in stored.items() if name not in MODEL_SERVER_VARIABLES}
        return {name.lower(): value for name, value in stored.items()}


def load_stored_variables(home: Path) -> dict[str, str]:
    """Return the variables in the file of a home; none if there is no file.

    Raises:
        SettingsError: the file cannot be read.
    """
    path = home / STORED_FILE
    try:
        return _STORED.validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValidationError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is no JSON object of variables with their texts"
        raise SettingsError(f"{path} cannot be read ({words}): correct it, or remove it") from None


class _ProviderVariables(PydanticBaseSettingsSource):
    """Source of the variables of single search providers, such as `TENURE_BRAVE_KEY` and `TENURE_SEARXNG_URL`."""

    def __init__(self, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource) -> None:
        super().__init__(settings_cls)
        self._variables = ChainMap(*(dict(s.env_vars) for s in sources if isinstance(s, EnvSettingsSource)))

    def get_field_value(self, field: object, field_name: str) -> tuple[None, str, bool]:
        return None, field_name, False

    def __call__(self) -> dict[str, dict[str, str]]:
        values: dict[str, dict[str, str]] = {"search_keys": {}, "search_urls": {}}
        for name in list_extensions(SEARCH_PROVIDERS):
            for suffix, setting in {"key": "search_keys", "token": "search_keys", "url": "search_urls"}.items():
                if value := self._variables.get(f"tenure_{name}_{suffix}"):
                    values[setting][name] = value
        return {setting: found for setting, found in values.items() if found}


class ClientSettings(
    LimitFields,
    StackSettings,
    ChatModelSettings,
    RetrievalModelSettings,
    TranscriptionSettings,
    MemorySettings,
    WebSettings,
    NotifierSettings,
):
    """Settings that a client reads to plan runs and to follow them."""

    _configured: Self | None = PrivateAttr(default=None)

    @property
    def configured(self) -> Self | None:
        """Settings before a model of this machine was chosen; None if none was."""
        return self._configured

    def choose(self, chosen: Mapping[str, object]) -> Self:
        """Return settings with a model of this machine."""
        copy = self.model_copy(update=chosen)
        copy._configured = self
        return copy

    @field_validator("rerank", mode="before")
    @classmethod
    def _check_rerank_steps(cls, rerank: object) -> object:
        """Reject unknown steps; `RerankOptions` itself ignores them, since other versions may send them."""
        for value, model in (
            (rerank, RerankOptions),
            (rerank.get("recency") if isinstance(rerank, dict) else None, RecencyOptions),
        ):
            unknown = sorted(value.keys() - model.model_fields.keys()) if isinstance(value, dict) else []
            if unknown:
                raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join(model.model_fields)}")
        return rerank

    @property
    def rerank_options(self) -> RerankOptions:
        """Options of the second stage; a rerank endpoint without a weight decides alone."""
        if not self.rerank_model or "endpoint" in self.rerank.model_fields_set:
            return self.rerank
        return self.rerank.model_copy(update={"endpoint": 1.0})


class Settings(
    BaseSettings,
    ClientSettings,
    CodecSettings,
    TeamSettings,
    WorkerSettings,
    SandboxSettings,
    KnowledgeSettings,
    SearchSettings,
):
    """All settings, for what starts the rooms of a process: a client, a worker or the local stack."""

    model_config = SettingsConfigDict(
        env_prefix="TENURE_",
        env_nested_delimiter="__",
        env_file=".env",
        extra="ignore",
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Add the file of the home and the variables of single search providers."""
        environment = [source for source in (env_settings, dotenv_settings) if isinstance(source, EnvSettingsSource)]
        given = ChainMap(*(dict(source.env_vars) for source in environment))
        home = init_settings().get("home") or given.get("tenure_home") or DEFAULT_HOME
        stored = _StoredVariables(settings_cls, Path(home), *environment)
        providers = _ProviderVariables(settings_cls, *environment, stored)
        return init_settings, env_settings, dotenv_settings, providers, stored


def read_settings(stored: Mapping[str, str], home: Path) -> Settings:
    """Return the settings of the environment with these variables in place of those in the file of the home.

    Raises:
        ValidationError: a value does not fit.
        SettingsError: a value is not JSON where it has to be.
    """
    token = _draft.set(stored)
    try:
        return Settings(home=home)
    finally:
        _draft.reset(token)


def list_given_variables() -> set[str]:
    """Return the variables that the environment or the `.env` file sets; they have precedence over the home's file."""
    sources = (EnvSettingsSource(Settings), DotEnvSettingsSource(Settings))
    return {name.upper() for source in sources for name, value in source.env_vars.items() if value}


def get_environment_variable(name: str) -> str:
    """Return the environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"TENURE_{name.upper()}"


def describe_settings_error(error: ValidationError | SettingsError) -> str:
    """Return one line that names the invalid setting and the allowed values."""
    if isinstance(error, SettingsError):
        match = re.search(r'field "(\w+)"', str(error))
        return f"{get_environment_variable(match[1])} is not valid: it is not JSON" if match else str(error)
    first = error.errors()[0]
    if not first["loc"]:  # several settings contradict each other
        return str(first["msg"]).removeprefix("Value error, ")
    setting, *inner = (str(part) for part in first["loc"] if part != "[key]")
    variable = get_environment_variable(setting) if setting in Settings.model_fields else setting
    words = str(first["msg"])
    if first["type"] == "extra_forbidden":
        inside = McpServer if setting == "mcp_servers" else RoleSettings
        words = f"Should be one of {', '.join(inside.model_fields)}"
    return f"{'__'.join([variable, *(part.upper() for part in inner)])} is not valid: {words[0].lower()}{words[1:]}"
