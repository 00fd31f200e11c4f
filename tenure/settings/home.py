"""Settings of the home, its owners, and the processes of its stack."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from tenure.encryption_keys import parse_encryption_keys
from tenure.installation import DEFAULT_HOME
from tenure.ownership import MIN_TOKEN_LENGTH, locate_owner_home
from tenure.settings.group import AbsolutePaths, CommaSeparated, IdentifierName, SettingsGroup


class HomeSettings(SettingsGroup):
    """Home, owners and knowledge base.

    Each home has its own stack, runs and knowledge base, and each owner a namespace, keys and a knowledge base.
    """

    home: Path = DEFAULT_HOME
    """Folder of all state; that of an installed `tenure` is `~/.local/share/tenure`, that of a checkout `.tenure`."""
    document_roots: AbsolutePaths = ()
    """Folders and files that the worker may ingest or give to programs, as absolute paths separated by colons; commands
    such as `start --docs` add the paths that they name to a list in the home. The word `{owner}` in a path stands for
    the owner.
    """
    lancedb_uri: str = ""
    """Location of the knowledge base: a folder or an object store URI; empty for `knowledge` in the home. All workers
    of a Temporal namespace need the same one.
    """
    files_uri: str = Field(default="", pattern=r"^(s3://[a-z0-9][a-z0-9.-]+(/[\w./-]+)?)?$")
    """Folder of an object store, such as `s3://bucket/files`, for files that programs read and create and for commits
    of repositories, if workers and clients run on several machines; empty for paths of one machine.
    """
    owner: IdentifierName | Literal[""] = ""
    """Owner of everything that commands start and read, in a namespace and a knowledge base of its own."""
    owner_token: SecretStr | None = None
    """Token of `owner`: keys derived from it encrypt the owner's payloads and open the gate of a local stack."""
    owners: dict[IdentifierName, SecretStr] = {}
    """Tokens of all owners by name, for the worker, which serves their namespaces, and for `up`, which creates them. A
    token has at least 32 characters, such as `openssl rand -hex 32` prints."""
    owner_namespace: str = Field(default="{owner}", pattern=r"^[\w.-]*\{owner\}[\w.-]*$")
    """Namespace of an owner, where `{owner}` stands for the name, such as `tenure-{owner}.a1b2c`."""

    @field_validator("owners")
    @classmethod
    def _check_owners(cls, owners: dict[str, SecretStr]) -> dict[str, SecretStr]:
        """Reject short and shared tokens without repeating any of them."""
        tokens = [token.get_secret_value() for token in owners.values()]
        if any(len(token) < MIN_TOKEN_LENGTH for token in tokens):
            raise ValueError(f"a token needs at least {MIN_TOKEN_LENGTH} characters: `openssl rand -hex 32` makes one")
        if len(set(tokens)) < len(tokens):
            raise ValueError("two owners have the same token: each needs one of its own")
        return owners

    @model_validator(mode="after")
    def _check_owner(self) -> Self:
        """Reject an owner without a token, and a token without an owner."""
        if bool(self.owner) != bool(self.owner_token and self.owner_token.get_secret_value()):
            raise ValueError("TENURE_OWNER and TENURE_OWNER_TOKEN belong together: set both or neither")
        return self

    @property
    def owner_home(self) -> Path:
        """Folder of what belongs to the owner; without one, the home."""
        return locate_owner_home(self.home, self.owner)

    @property
    def knowledge_uri(self) -> str:
        """URI of the knowledge base of the owner; by default a folder in the home."""
        if not self.lancedb_uri:
            return str(self.owner_home / "knowledge")
        return f"{self.lancedb_uri.rstrip('/')}/owner-{self.owner}" if self.owner else self.lancedb_uri

    def list_owners(self) -> tuple[Self, ...]:
        """Return settings for each owner of a worker, for the owner without a name first."""
        tokens = {"": None, **self.owners}
        return tuple(self.model_copy(update={"owner": name, "owner_token": token}) for name, token in tokens.items())


class ConnectionSettings(HomeSettings):
    """Connection and encryption."""

    temporal_port: int = Field(default=7233, ge=1, le=65535)
    """Port of this home's local Temporal server, on 127.0.0.1."""
    encryption_keys: SecretStr | None = None
    """Keys that encrypt all payloads in Temporal's history, as `id:base64,id:base64`; the first one encrypts."""

    @field_validator("encryption_keys")
    @classmethod
    def _check_encryption_keys(cls, keys: SecretStr | None) -> SecretStr | None:
        """Reject unusable keys without repeating any of them."""
        if keys is not None:
            parse_encryption_keys(keys.get_secret_value())
        return keys


class StackSettings(ConnectionSettings):
    """Local stack."""

    ui_port: int = Field(default=8233, ge=1, le=65535)
    """Port of this home's Temporal web UI, on 127.0.0.1."""
    site_port: int = Field(default=8235, ge=0, le=65535)
    """Port of the page and the HTTP API of the local stack, on 127.0.0.1; with 0 the stack serves no page."""
    mcp_port: int = Field(default=8236, ge=1, le=65535)
    """Port of the MCP server of `mcp --http`, on 127.0.0.1."""
    local_model_port: int = Field(default=8237, ge=1, le=65535)
    """Port of the model of `up --local-model`, on 127.0.0.1."""
    local_model_context: int = Field(default=16_384, ge=2048, le=1_048_576)
    """Context of that model in tokens; a longer one needs more memory."""
    retention_days: int = Field(default=365, ge=1, le=36_500)
    """Days for which the local server keeps finished runs; a longer retention of its namespace is not shortened."""


class CodecSettings(StackSettings):
    """Codec server."""

    codec_port: int = Field(default=8234, ge=1, le=65535)
    """Port on which the worker decrypts payloads for programs with the home's key, if there are keys."""
    codec_host: str = "127.0.0.1"
    """Address on which it listens; any but 127.0.0.1 requires all `codec_` settings."""
    codec_url: str = Field(default="", pattern=r"^(https://[A-Za-z0-9.-]+(:\d{1,5})?)?$")
    """URL for browsers on other machines, such as `https://codec.example:8234`; empty for this machine only."""
    codec_origins: CommaSeparated = ()
    """Origins of the web UIs that may use it under `codec_url`, such as `https://temporal.example`."""
    codec_certificate: Path | None = None
    """PEM file with its certificate, followed by those of intermediate authorities."""
    codec_private_key: Path | None = None
    """PEM file with the private key of the certificate."""
    codec_token: SecretStr | None = None
    """Token that takes the place of the home's key, for servers on several machines; at least 32 characters."""

    @field_validator("codec_origins")
    @classmethod
    def _check_codec_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        """Reject everything but origins of encrypted pages."""
        if wrong := [origin for origin in origins if not re.fullmatch(r"https://[A-Za-z0-9.-]+(:\d{1,5})?", origin)]:
            raise ValueError(f"{wrong[0]!r} is not an origin such as https://temporal.example")
        return origins

    @model_validator(mode="after")
    def _check_codec(self) -> Self:
        """Reject a codec server that other machines reach without encryption, a token or a named origin."""
        if self.codec_token is not None and len(self.codec_token.get_secret_value()) < MIN_TOKEN_LENGTH:
            raise ValueError(
                f"TENURE_CODEC_TOKEN needs at least {MIN_TOKEN_LENGTH} characters: `openssl rand -hex 32` makes one"
            )
        remote = ("codec_url", "codec_origins", "codec_certificate", "codec_private_key")
        if self.codec_host == "127.0.0.1" and not any(getattr(self, name) for name in remote):
            return self
        if missing := [f"TENURE_{name.upper()}" for name in (*remote, "codec_token") if not getattr(self, name)]:
            raise ValueError(f"a codec server for other machines needs {', '.join(missing)} as well")
        return self
