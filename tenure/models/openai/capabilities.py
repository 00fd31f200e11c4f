"""Detect and cache the parameters that a server supports for each model.

Servers reject parameters that others require. Each rejection costs a request, so it is cached per (endpoint, model) in
a small JSON file that all workers of a home share. Entries expire after a week, because servers are upgraded. The file
is optional: if it cannot be read or written, a few more requests are rejected.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import structlog
from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, TypeAdapter

OutputMode = Literal["json_schema", "json_object", "text"]

OUTPUT_MODES: Final[tuple[OutputMode, ...]] = ("json_schema", "json_object", "text")
"""Ways to request structured output, strictest first."""

OutputLimit = Literal["max_completion_tokens", "max_tokens", "none"]

OUTPUT_LIMITS: Final[tuple[OutputLimit, ...]] = ("max_completion_tokens", "max_tokens", "none")
"""Names of the parameter that limits the length of an answer, newest first; `none` if a server supports neither."""

CACHE_TTL_SECONDS: Final = 7 * 24 * 3600.0
"""Time after which a cached rejection expires."""

_LOCK_TIMEOUT_SECONDS = 2.0


class Capabilities(BaseModel):
    """Capabilities of a server for one model; without a rejection, all of them."""

    model_config = ConfigDict(frozen=True)

    output_mode: OutputMode = "json_schema"
    """Strictest supported way to request structured output."""
    output_limit: OutputLimit = "max_completion_tokens"
    streaming: bool = True
    stream_usage: bool = True
    """Whether the token usage of a streamed answer can be requested."""
    reasoning: bool = False
    """Whether the model was seen to reason before its answers, which takes tokens of their limit."""
    images: bool = True
    """Whether pictures in a prompt are accepted."""
    max_output: int | None = None
    """Largest limit of an answer that the server accepts; None if no limit was too large."""
    since: float = 0.0
    """Time of the first rejection, in seconds since 1970."""

    def restrict(self, other: "Capabilities") -> "Capabilities":
        """Return the weaker capability of both in every respect."""
        return Capabilities(
            output_mode=max(self.output_mode, other.output_mode, key=OUTPUT_MODES.index),
            output_limit=max(self.output_limit, other.output_limit, key=OUTPUT_LIMITS.index),
            streaming=self.streaming and other.streaming,
            stream_usage=self.stream_usage and other.stream_usage,
            reasoning=self.reasoning or other.reasoning,
            images=self.images and other.images,
            max_output=min((n for n in (self.max_output, other.max_output) if n is not None), default=None),
            since=min((at for at in (self.since, other.since) if at), default=0.0),
        )


_ENTRIES = TypeAdapter(dict[str, dict[str, Capabilities]])
"""Capabilities by endpoint and model."""


class CapabilityCache:
    """Capabilities of the models of one endpoint; without a file they are forgotten when the process ends."""

    def __init__(self, endpoint: str, path: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self._endpoint = endpoint
        self._path = path
        self._now = now
        self._known = self._read().get(endpoint, {})

    def get(self, model: str) -> Capabilities:
        """Return the known capabilities of a model."""
        cached = self._known.get(model, Capabilities())
        return cached if self._is_fresh(cached) else Capabilities()

    def record(self, model: str, limits: Capabilities) -> None:
        """Store limits of a model for all workers, combined with those that are already known."""
        limits = self.get(model).restrict(limits.model_copy(update={"since": self._now()}))
        self._known[model] = limits
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_TIMEOUT_SECONDS):
                self._write(self._path, model, limits)
        except (OSError, Timeout) as error:
            structlog.get_logger().warning("capabilities are not cached", file=str(self._path), reason=str(error))

    def _write(self, path: Path, model: str, limits: Capabilities) -> None:
        """Write one entry to the file; other processes read either the old or the new content."""
        endpoints = self._read()
        models = endpoints.setdefault(self._endpoint, {})
        self._known[model] = models[model] = limits.restrict(models.get(model, Capabilities()))
        temporary = path.with_name(f"{path.name}.new")
        temporary.write_bytes(_ENTRIES.dump_json(endpoints))
        temporary.replace(path)

    def _read(self) -> dict[str, dict[str, Capabilities]]:
        """Return the entries of the file that have not expired; empty if the file is missing or invalid."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            endpoints = _ENTRIES.validate_json(self._path.read_bytes())
        except (OSError, ValueError) as error:
            structlog.get_logger().warning(
                "cached capabilities are not readable", file=str(self._path), reason=str(error)[:200]
            )
            return {}
        return {
            endpoint: {model: entry for model, entry in models.items() if self._is_fresh(entry)}
            for endpoint, models in endpoints.items()
        }

    def _is_fresh(self, capabilities: Capabilities) -> bool:
        return capabilities.since + CACHE_TTL_SECONDS > self._now()
