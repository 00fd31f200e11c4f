"""Test the search for model servers on this machine, among servers that are none or are hostile."""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat

import pytest

from tenure.local_models import servers
from tenure.local_models.servers import LocalServer, find_servers
from tests.model_server import ModelServer
from tests.support.ports import free_ports

Parts = Callable[[], Iterable[bytes]]


def get_port(model: ModelServer) -> int:
    return int(model.base_url.removesuffix("/v1").rpartition(":")[2])


def build_reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return head.encode() + b"\r\n\r\n" + body


def list_models(*names: object) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}).encode()


@contextmanager
def serve_raw(parts: Parts, *, stays_open: bool = False) -> Iterator[int]:
    """Answer every connection with these bytes, and close it unless it stays open; yield the port."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the test has ended
            with connection, suppress(OSError):  # the client leaves early
                connection.recv(65_536)
                for part in parts():
                    connection.sendall(part)
                if stays_open:
                    connection.recv(1)  # returns when the client closes it

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def drip(reply: bytes) -> Iterator[bytes]:
    """Yield a reply so slowly that all of it takes too long, although each byte comes in time."""
    for byte in reply:
        yield bytes([byte])
        threading.Event().wait(0.05)


def search_only(monkeypatch: pytest.MonkeyPatch, ports: dict[str, int], seconds: float = 30.0) -> None:
    """Search these ports only, with time for servers that share a busy machine with their client."""
    monkeypatch.setattr(servers, "PORTS", ports)
    monkeypatch.setattr(servers, "SEARCH_TIMEOUT_SECONDS", seconds)


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Ports that are searched; nothing listens on them until a test replaces one."""
    made = dict(zip(servers.PORTS, free_ports(len(servers.PORTS)), strict=True))
    search_only(monkeypatch, made)
    return made


def test_servers_are_found_in_order_with_their_chat_models(ports: dict[str, int]) -> None:
    """Each server is listed once, in the order of preference; models for other purposes are left out."""
    embeddings = ("nomic-embed-text:latest", "all-minilm", "bge-m3", "intfloat/multilingual-e5-large", "qwen3-reranker")
    with (
        ModelServer(models=dict.fromkeys((*embeddings, "qwen3:8b", "llama3.2:3b"))) as ollama,
        ModelServer(models=dict.fromkeys(embeddings)) as studio,
        ModelServer(models={"Qwen/Qwen3-8B": 32_768, "auto": None}) as vllm,
    ):
        ports |= {"vLLM": get_port(vllm), "Ollama": get_port(ollama), "LM Studio": get_port(studio)}
        found = find_servers()

    assert found == (
        LocalServer("Ollama", ports["Ollama"], ("qwen3:8b", "llama3.2:3b")),
        LocalServer("vLLM", ports["vLLM"], ("Qwen/Qwen3-8B",)),
    )


def test_request_has_no_key_and_no_content(ports: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is asked once, for its list, without the key of the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with ModelServer() as model:
        ports["Ollama"] = get_port(model)
        find_servers()

    (request,) = model.fetches
    assert model.requests == []
    assert request.path == "/v1/models"
    assert {name.lower() for name in request.headers} == {"host", "accept", "connection"}


HOSTILE: dict[str, Parts] = {
    "closed": lambda: [],
    "page": lambda: [build_reply(b"<html>", status="404 Not Found")],
    "other program": lambda: [build_reply(b'{"models": ["qwen3"]}')],
    "no list": lambda: [build_reply(json.dumps({"object": "list", "data": [{"id": "a"}]}).encode())],
    "names of another type": lambda: [build_reply(list_models(7, ["qwen3"]))],
    "empty Ollama": lambda: [build_reply(b'{"object": "list", "data": null}')],
    "key needed": lambda: [build_reply(list_models("qwen3"), status="401 Unauthorized")],
    "other protocol": lambda: [b"SSH-2.0-OpenSSH_9.9\r\n"],
    "cut off": lambda: [build_reply(list_models("qwen3"))[:-5]],
    "silence": lambda: iter(()),
    "slow": lambda: drip(build_reply(list_models("qwen3"))),
    "information": lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "flood": lambda: chain([b"HTTP/1.1 200 OK\r\n\r\n"], repeat(b" " * 65_536)),
    "flood of headers": lambda: chain([b"HTTP/1.1 200 OK\r\n"], repeat(b"x: y\r\n" * 10_000)),
    "large": lambda: [build_reply(list_models(*map(str, range(20_000))))],
    "deep": lambda: [build_reply(b"[" * 200_000)],
    "terminal": lambda: [build_reply(list_models("\x1b]0;owned\x07", "a\nb", "\u202eabc", "x" * 5_000, "", "auto"))],
    "shell": lambda: [build_reply(list_models("$(reboot)", "a;reboot", "`reboot`", "a b", "-rf", "a'b", "~", "a\\b"))],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_programs_are_no_model_servers(ports: dict[str, int], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign or hostile server yields nothing and prevents no other server from being found."""
    search_only(monkeypatch, ports, seconds=3)
    with serve_raw(HOSTILE[name], stays_open=name == "silence") as port, ModelServer(models={"qwen3": None}) as model:
        ports |= {"llama.cpp": port, "vLLM": get_port(model)}
        found = find_servers()

    assert found == (LocalServer("vLLM", ports["vLLM"], ("qwen3",)),)


def test_redirect_is_not_followed(ports: dict[str, int]) -> None:
    """A redirect leads to no request, even to a server that would answer."""
    with ModelServer() as target:
        reply = build_reply(b"", f"Location: {target.base_url}/models", status="302 Found")
        with serve_raw(lambda: [reply]) as port:
            ports["llama.cpp"] = port
            found = find_servers()

    assert found == ()
    assert target.fetches == []


def test_list_that_does_not_end_the_connection_is_read(ports: dict[str, int]) -> None:
    """A complete list in pieces suffices, also if the server keeps the connection."""
    body = list_models("/models/qwen3.gguf")
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:9], body[9:])]
    parts = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *chunks, b"0\r\n\r\n"]
    with serve_raw(lambda: parts, stays_open=True) as port:
        ports["llama.cpp"] = port
        (found,) = find_servers()

    assert found.chat_models == ("/models/qwen3.gguf",)


def test_line_of_a_server_is_short_and_names_the_command() -> None:
    """At most five models are named, and the command is the one that was used."""
    line = LocalServer("Ollama", 11434, tuple(f"m{number}" for number in range(40))).describe("tenure start")

    assert line == (
        "Ollama on this machine offers m0, m1, m2, m3, m4 and 35 more; to use it: "
        "`export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 TENURE_MODEL=m0`, then `tenure start` again"
    )
