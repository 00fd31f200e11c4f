"""Settings of chat models, embedding models and rerankers."""

from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, model_validator

from tenure.contracts.run.role_calls import MAX_MODEL_TIMEOUT_SECONDS, OFFLINE
from tenure.roles.registry import RoleName
from tenure.settings.group import SettingsGroup
from tenure.settings.home import HomeSettings

ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Amount of hidden reasoning before a model answers."""

AUTO_MODEL = "auto"
"""Value of `model` for one that a model server on this machine offers."""
MULTILINGUAL_MODEL = "multilingual"
"""Value of `embedding_model` for the one of the extra of this name."""


class RoleSettings(BaseModel):
    """Settings of one role; omitted ones are those of all roles."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    model: str = ""
    """Chat model; `offline` for the fallback of the role, which asks none."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Temperature."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort."""
    max_output: int | None = Field(default=None, ge=256)
    """Maximum number of answer tokens."""


class ModelServerSettings(SettingsGroup):
    """Model server."""

    openai_api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices("OPENAI_API_KEY"))
    """API key of the OpenAI-compatible server. Without a key and a URL, fallbacks answer instead of a model."""
    openai_base_url: str | None = Field(default=None, validation_alias=AliasChoices("OPENAI_BASE_URL"))
    """Base URL of the OpenAI-compatible server; OpenAI's own if only a key is given."""
    model_timeout: float = Field(default=180.0, gt=0, le=MAX_MODEL_TIMEOUT_SECONDS)
    """Seconds after which a model call is cancelled and retried by Temporal."""

    @property
    def has_model(self) -> bool:
        """Whether a chat model is configured."""
        return self.openai_api_key is not None or self.openai_base_url is not None


class ChatModelSettings(ModelServerSettings, HomeSettings):
    """Chat model."""

    model: str = "gpt-5"
    """Chat model of the roles that write and judge; `auto` for the first one of a model server on this machine."""
    fast_model: str = ""
    """Chat model of the small roles (router, decomposer, title); empty for `model`."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Temperature of all chat models; empty for the server's default."""
    reasoning_effort: ReasoningEffort | None = None
    """Reasoning effort of all chat models; empty for the server's default."""
    max_output: int | None = Field(default=None, ge=256)
    """Maximum number of answer tokens, hidden reasoning included; empty for the limit of the role's schema."""
    roles: dict[RoleName, RoleSettings] = {}
    """Model, temperature, reasoning effort and answer length of single roles."""
    prices: Path | None = None
    """TOML file with the prices of the models; empty for `prices.toml` in the home, if it exists."""
    model_api: Literal["chat", "responses"] = "chat"
    """API of the model server: Chat Completions, which all servers offer, or OpenAI's Responses in background mode."""
    model_images: bool = True
    """Whether pictures of documents are shown to the chat model; a model without sight is recognized."""
    model_calls_per_second: float = Field(default=20.0, gt=0)
    """Maximum rate of model calls per second of the whole task queue, enforced by the Temporal server."""
    model_concurrency: int = Field(default=16, ge=1, le=1000)
    """Maximum number of concurrent requests of one worker to the chat model server."""

    @model_validator(mode="after")
    def _check_auto_model(self) -> Self:
        """Reject a search for a model server next to one that is named; its key must reach no other server."""
        if self.model == AUTO_MODEL and self.has_model:
            raise ValueError(
                "TENURE_MODEL=auto uses a model server on this machine without a key: name the model, or unset "
                "OPENAI_API_KEY and OPENAI_BASE_URL"
            )
        return self

    @property
    def prices_file(self) -> Path:
        """Path of the price file, which need not exist unless it is configured."""
        return self.prices or self.home.absolute() / "prices.toml"

    @property
    def chat_models(self) -> tuple[str, ...]:
        """All chat models that may be called."""
        chosen = (self.model, self.fast_model, *(role.model for role in self.roles.values()))
        return tuple(dict.fromkeys(name for name in chosen if name and name != OFFLINE))

    @property
    def offline_roles(self) -> frozenset[str]:
        """Roles that ask no model."""
        return frozenset(name for name, role in self.roles.items() if role.model == OFFLINE)


class TranscriptionSettings(ModelServerSettings):
    """Transcription of sound and video.

    Recordings among the documents are sent to an OpenAI-compatible server that transcribes speech with times. Without
    a model they are not read.
    """

    transcription_model: str = ""
    """Model that transcribes recordings with times, such as `whisper-1`; empty for none."""
    transcription_base_url: str | None = None
    """Base URL of its server, without `/audio/transcriptions`; empty for `OPENAI_BASE_URL`."""
    transcription_api_key: SecretStr | None = None
    """API key of this server, if required; without a URL of its own, `OPENAI_API_KEY` is used."""
    transcription_timeout: float = Field(default=900.0, gt=0, le=MAX_MODEL_TIMEOUT_SECONDS)
    """Seconds after which the transcription of a file, or of a part of it, is cancelled."""
    transcription_max_megabytes: float = Field(default=25.0, gt=0, le=2000)
    """Size of a file that the server accepts, in megabytes; larger WAV files are split at pauses."""
    transcription_max_minutes: float = Field(default=600.0, gt=0)
    """Minutes of recordings that one ingestion sends; the recordings after that are skipped with a note."""
    transcription_price: float | None = Field(default=None, ge=0)
    """Price of a minute in US dollars, for the cost of a run; empty if it is unknown."""


class RetrievalModelSettings(ModelServerSettings, HomeSettings):
    """Embedding model and rerank server."""

    embedding_model: str = ""
    """Embedding model of the OpenAI-compatible server; `multilingual` for that of the extra of this name, and empty for
    the built-in all-MiniLM-L6-v2."""
    embedding_query_prefix: str = ""
    """Text before questions and sentences for that model, such as `query: `; empty for that of E5 and Nomic models."""
    embedding_passage_prefix: str = ""
    """Text before passages for that model, such as `passage: `; a change embeds all corpora again."""
    embedding_threads: int = Field(default=0, ge=0, le=256)
    """Threads of the built-in embedding model; 0 for one per core."""
    rerank_model: str = ""
    """Model of a rerank server that scores search results; empty for none."""
    rerank_base_url: str | None = None
    """Base URL of the rerank server, without `/rerank`; required with `rerank_model`."""
    rerank_api_key: SecretStr | None = None
    """API key of the rerank server, if required."""
