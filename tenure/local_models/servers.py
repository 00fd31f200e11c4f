"""Find model servers on this machine by the lists of models at their usual ports.

Other programs use these ports too, so only a list in the form of OpenAI's counts. The request carries no content and no
key, follows no redirect and goes to 127.0.0.1 only. A server that is slow, floods or answers something else is left
out. The request is written with h11: httpx bounds no whole answer, and its import takes a quarter of a second of the
command. Names of models are shown and become a line for a shell, so only names of harmless characters count.
"""

import re
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Literal, NamedTuple

import h11
from pydantic import BaseModel, ValidationError

HOST: Final = "127.0.0.1"
PORTS: Final[Mapping[str, int]] = {"Ollama": 11434, "llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
"""Usual ports of the servers, in the order of preference."""

SEARCH_TIMEOUT_SECONDS: Final = 0.3
"""Time for all servers together, which are asked concurrently."""

MAX_REPLY_BYTES: Final = 256 * 1024
MAX_SHOWN_MODELS: Final = 5

# "qwen3:8b", "org/model-GGUF:Q4_K_M"; the name is shown in a command, so nothing that a shell interprets.
_NAME: Final = re.compile(r"[A-Za-z0-9/._][A-Za-z0-9/._:@+=,-]{0,199}")
# Such as nomic-embed-text, all-minilm, bge-m3, multilingual-e5-large, whisper-1; `auto` is no model for Tenure.
_NOT_CHAT: Final = re.compile(
    r"embed|rerank|minilm|paraphrase|whisper|(?<![a-z0-9])(?:bge|gte|e5|tts)(?![a-z0-9])|^auto$", re.IGNORECASE
)


class LocalServer(NamedTuple):
    """A model server on this machine."""

    kind: str
    """Program that usually listens on its port."""
    port: int
    chat_models: tuple[str, ...]
    """Names of its models without those for other purposes, such as embeddings."""

    @property
    def base_url(self) -> str:
        """URL for `OPENAI_BASE_URL`."""
        return f"http://{HOST}:{self.port}/v1"

    def describe(self, command: str) -> str:
        """Return the line that names its models, and shows how a command uses the first one."""
        models, others = self.chat_models[:MAX_SHOWN_MODELS], len(self.chat_models[MAX_SHOWN_MODELS:])
        names = ", ".join(models) + (f" and {others} more" if others else "")
        return (
            f"{self.kind} on this machine offers {names}; to use it: "
            f"`export OPENAI_BASE_URL={self.base_url} TENURE_MODEL={models[0]}`, then `{command}` again"
        )


class _ListEntry(BaseModel):
    id: str
    object: Literal["model"]


class _OpenAIModelList(BaseModel):
    object: Literal["list"]
    data: list[_ListEntry]


def find_servers() -> tuple[LocalServer, ...]:
    """Return the servers that offer a chat model, in the order of preference."""
    deadline = time.monotonic() + SEARCH_TIMEOUT_SECONDS
    with ThreadPoolExecutor(len(PORTS)) as threads:
        lists = threads.map(lambda port: _list_chat_models(port, deadline), PORTS.values())
        servers = [LocalServer(kind, port, models) for (kind, port), models in zip(PORTS.items(), lists, strict=True)]
    return tuple(server for server in servers if server.chat_models)


def _list_chat_models(port: int, deadline: float) -> tuple[str, ...]:
    """Return the names of the chat models of a server; none if it is no model server."""
    listed: list[_ListEntry] = []
    # Nothing listens, or another program: neither concerns the person who starts a run.
    with suppress(OSError, h11.RemoteProtocolError, ValidationError):
        listed = _OpenAIModelList.model_validate_json(_fetch_list(port, deadline)).data
    names = dict.fromkeys(entry.id for entry in listed)
    return tuple(filter(is_chat_model, names))


def is_chat_model(name: str) -> bool:
    """Return whether a name has only harmless characters and is not that of a model for another purpose."""
    return bool(_NAME.fullmatch(name)) and not _NOT_CHAT.search(name)


def _fetch_list(port: int, deadline: float) -> bytes:
    """Return the body of a reply with status 200."""
    client, body, received = h11.Connection(h11.CLIENT), bytearray(), 0
    headers = {"Host": f"{HOST}:{port}", "Accept": "application/json", "Connection": "close"}
    with socket.create_connection((HOST, port), _get_remaining(deadline)) as connection:
        request = h11.Request(method="GET", target="/v1/models", headers=list(headers.items()))
        connection.sendall((client.send(request) or b"") + (client.send(h11.EndOfMessage()) or b""))
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            connection.settimeout(_get_remaining(deadline))
            if event is h11.NEED_DATA:
                part = connection.recv(65_536)
                received += len(part)
                client.receive_data(part)
            elif isinstance(event, h11.Data):
                body += event.data
            elif not isinstance(event, h11.Response) or event.status_code != 200:
                raise OSError("it answers something else")
            if received > MAX_REPLY_BYTES:
                raise OSError("its answer is too large")
    return bytes(body)


def _get_remaining(deadline: float) -> float:
    """Return the seconds until the deadline."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
