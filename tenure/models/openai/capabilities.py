"""What a server can do for a model: found out by asking, and remembered beyond the end of a worker.

Servers refuse parameters that others demand. Each refusal costs a request, so what was refused is kept for
every (endpoint, model) in a small JSON file that all workers of a home share. After a week it is forgotten,
since servers learn. The file is a convenience: one that cannot be read or written costs a few requests.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import structlog
from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

Rung = Literal["json_schema", "json_object", "text"]

LADDER: Final[tuple[Rung, ...]] = ("json_schema", "json_object", "text")
"""Ways to ask for structure, strictest first."""

OutputLimit = Literal["max_completion_tokens", "max_tokens", "none"]

OUTPUT_LIMITS: Final[tuple[OutputLimit, ...]] = ("max_completion_tokens", "max_tokens", "none")
"""Names under which servers take the length of an answer, newest first; `none` where they take it under neither."""

ToolChoice = Literal["required", "auto", "none"]

TOOL_CHOICES: Final[tuple[ToolChoice, ...]] = ("required", "auto", "none")
"""Ways to offer a model functions, strictest first: it has to call one, it may, or it is offered none."""

KEPT_SECONDS: Final = 7 * 24 * 3600.0
"""How long a refusal is remembered."""

_LOCK_SECONDS = 2.0


class Capabilities(BaseModel):
    """What a server was found to do for one model; without a word against it, everything."""

    model_config = ConfigDict(frozen=True)

    rung: Rung = "json_schema"
    """The strictest way to ask for structure."""
    output_limit: OutputLimit = "max_completion_tokens"
    """The parameter for the length of an answer."""
    streaming: bool = True
    """Whether answers are sent as they are made."""
    stream_usage: bool = True
    """Whether a streamed answer is asked for the tokens it cost."""
    tools: ToolChoice = "required"
    """How functions are offered."""
    since: float = 0.0
    """When the first refusal was met, in seconds since 1970."""

    def and_less(self, other: "Capabilities") -> "Capabilities":
        """Return what both have found: the weaker of each."""
        return Capabilities(
            rung=max(self.rung, other.rung, key=LADDER.index),
            output_limit=max(self.output_limit, other.output_limit, key=OUTPUT_LIMITS.index),
            streaming=self.streaming and other.streaming,
            stream_usage=self.stream_usage and other.stream_usage,
            tools=max(self.tools, other.tools, key=TOOL_CHOICES.index),
            since=min((at for at in (self.since, other.since) if at), default=0.0),
        )


class Memory:
    """The capabilities of one endpoint's models.

    Args:
        endpoint: address of the server; it holds neither user nor key.
        path: the file; None to forget everything when the process ends.
        now: the clock, in seconds since 1970.
    """

    def __init__(self, endpoint: str, path: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self._endpoint = endpoint
        self._path = path
        self._now = now
        self._known = self._read().get(endpoint, {})

    def of(self, model: str) -> Capabilities:
        """Return what is known of a model."""
        found = self._known.get(model, Capabilities())
        return found if self._is_fresh(found) else Capabilities()

    def learn(self, model: str, found: Capabilities) -> None:
        """Remember what a model was refused, here and for other workers, beside what those have found."""
        found = self.of(model).and_less(found.model_copy(update={"since": self._now()}))
        self._known[model] = found
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self._path}.lock", timeout=_LOCK_SECONDS):
                self._write(model, found)
        except (OSError, Timeout) as error:
            structlog.get_logger().warning("capabilities are not kept", file=str(self._path), reason=str(error))

    def _write(self, model: str, found: Capabilities) -> None:
        """Put one entry into the file, between two readings of which nobody sees half of it."""
        assert self._path is not None
        everything = self._read()
        mine = everything.setdefault(self._endpoint, {})
        self._known[model] = mine[model] = found.and_less(mine.get(model, Capabilities()))
        text = json.dumps({at: {name: one.model_dump() for name, one in of.items()} for at, of in everything.items()})
        fresh = self._path.with_name(f"{self._path.name}.new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self._path)

    def _read(self) -> dict[str, dict[str, Capabilities]]:
        """Return what the file holds and is not too old; nothing where there is none or it is not ours."""
        if self._path is None or not self._path.exists():
            return {}
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            everything = {at: self._entries(entries) for at, entries in found.items()}
        except (OSError, ValueError, AttributeError) as error:
            structlog.get_logger().warning("capabilities are not read", file=str(self._path), reason=str(error)[:200])
            return {}
        return {at: entries for at, entries in everything.items() if entries}

    def _entries(self, entries: dict[str, Any]) -> dict[str, Capabilities]:
        read = {model: Capabilities.model_validate(entry) for model, entry in entries.items()}
        return {model: one for model, one in read.items() if self._is_fresh(one)}

    def _is_fresh(self, found: Capabilities) -> bool:
        return found.since + KEPT_SECONDS > self._now()
