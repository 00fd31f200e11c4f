"""Read all settings from environment variables or a `.env` file.

Variables have the prefix `TENURE_`, except `OPENAI_API_KEY` and `OPENAI_BASE_URL`, which OpenAI-compatible tools share.
Each room declares the group of settings that it reads as the type of its argument. `Settings` inherits from all groups,
so that a process reads them once and gives each room the same object. `docs/settings.md` is generated from the groups.
"""

import re
from collections import ChainMap

from pydantic import AliasChoices, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from tenure.contracts.evidence.rerank import RecencyOptions, RerankOptions
from tenure.contracts.run.limit_fields import LimitFields
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.settings.home import CodecSettings, StackSettings
from tenure.settings.knowledge import KnowledgeSettings, MemorySettings
from tenure.settings.models import ChatModelSettings, RetrievalModelSettings, RoleSettings, TranscriptionSettings
from tenure.settings.team import TeamSettings
from tenure.settings.web import McpServer, SearchSettings, WebSettings
from tenure.settings.worker import NotifierSettings, SandboxSettings, WorkerSettings


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
        return values


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
        """Options of the second stage; a rerank endpoint without a weight gets all that is left."""
        if not self.rerank_model or "endpoint" in self.rerank.model_fields_set:
            return self.rerank
        return self.rerank.model_copy(update={"endpoint": 1 - self.rerank.late_interaction})


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
        """Add the variables of single search providers."""
        providers = _ProviderVariables(settings_cls, env_settings, dotenv_settings)
        return init_settings, env_settings, dotenv_settings, providers


def get_environment_variable(name: str) -> str:
    """Return the environment variable of a setting."""
    alias = Settings.model_fields[name].validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"TENURE_{name.upper()}"


def describe_settings_error(error: ValidationError | SettingsError) -> str:
    """Return one line that names the invalid setting and the allowed values."""
    if isinstance(error, SettingsError):
        match = re.search(r'field "(\w+)"', str(error))
        return f"{get_environment_variable(match[1]) if match else 'a setting'} is not valid: it is not JSON"
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
