"""Start and stop the process that serves the home's own model with llama.cpp."""

import re
import sys
import time
from http import HTTPStatus
from pathlib import Path
from typing import Final

from tenure.installation import PROGRAM
from tenure.local_models.choice import find_served_model
from tenure.local_models.model_file import LocalModel, check_model, check_runner, get_key_file
from tenure.settings import ClientSettings
from tenure.settings.home import StackSettings
from tenure.temporal.loopback import request_status
from tenure.temporal.stack import processes
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.record import LocalModelRecord, StackRecord, load, save
from tenure.temporal.stack.server import describe_listener, is_free

MODEL_GRACE_SECONDS: Final = 5.0
"""Time that the process gets to end."""

LOAD_TIMEOUT_SECONDS: Final = 600.0
"""Time for loading a model from a slow disk."""

# llama.cpp: "llama_model_load: error loading model: unknown model architecture: 'x'".
_LOAD_ERROR: Final = re.compile(r"error loading model: (.*)")


def get_model_log(home: Path) -> Path:
    """Return the path of the log of the local model."""
    return home.absolute() / "logs" / "local-model.log"


def ensure_local_model(settings: ClientSettings, record: StackRecord, root: Path, notes: list[str]) -> StackRecord:
    """Return a record whose process serves the model that the settings use, without waiting until it is loaded.

    Raises:
        StackError: its port is taken, or the process cannot be started.
        LocalModelError: the model cannot be served.
    """
    model, running = find_served_model(settings), record.local_model
    state = _identify(settings, model) if model else ""
    if running and model and processes.is_alive(running.process) and running.state == state:
        return record
    if running:
        if not processes.stop(running.process, MODEL_GRACE_SECONDS) and model:
            notes.append(f"the local model had ended and was restarted: {_describe_end(get_model_log(settings.home))}")
        record = record.model_copy(update={"local_model": None})
        save(settings.home.absolute(), record)
    if model:
        record = record.model_copy(update={"local_model": _start(settings, model, root, state)})
        save(settings.home.absolute(), record)
    return record


def wait_until_loaded(home: Path) -> None:
    """Wait until the local model of a home is loaded, if it has one.

    Raises:
        StackError: the process ends, or takes too long.
    """
    deadline, log = time.monotonic() + LOAD_TIMEOUT_SECONDS, get_model_log(home)
    served = load(home.absolute()).local_model
    while served and request_status(served.port, "/health", timeout=5) != HTTPStatus.OK:
        if not processes.is_alive(served.process):
            raise StackError(
                f"the local model {served.name} cannot be loaded: {_describe_end(log)} (see {log}); choose another one "
                f"with `{PROGRAM} up --local-model FILE`, or none with `{PROGRAM} up --no-local-model`"
            )
        if time.monotonic() > deadline:
            raise StackError(f"{served.name} is not loaded after {LOAD_TIMEOUT_SECONDS:.0f} s: see {log}")
        time.sleep(0.1)


def describe_stopped_model(home: Path, record: StackRecord) -> str:
    """Return the note about a process that has stopped, or an empty string."""
    if record.local_model is None or processes.is_alive(record.local_model.process):
        return ""
    return f"the local model has stopped ({_describe_end(get_model_log(home))}): run `{PROGRAM} up`"


def _start(settings: StackSettings, model: LocalModel, root: Path, state: str) -> LocalModelRecord:
    """Start the process after all checks that need no loaded model."""
    check_runner()
    check_model(model)
    home, port = settings.home.absolute(), settings.local_model_port
    if not is_free(port):
        raise StackError(
            f"port {port} of the local model is taken by {describe_listener(port)}: set TENURE_LOCAL_MODEL_PORT to a "
            "free port, or stop the other program"
        )
    options = {
        "--file": model.path,
        "--name": model.name,
        "--port": port,
        "--key-file": get_key_file(home),
        "--context-tokens": settings.local_model_context,
    }
    arguments = [str(part) for option in options.items() for part in option]
    get_model_log(home).unlink(missing_ok=True)  # what it says about the end of a process concerns the last one
    environment = processes.build_child_environment() | {"TENURE_HOME": str(home), "PYTHONPATH": str(root)}
    # Without the working directory on the import path: it is the home.
    command = [sys.executable, "-P", "-m", processes.LOCAL_MODEL_MODULE, *arguments]
    process = processes.spawn(command, environment, home, get_model_log(home))
    return LocalModelRecord(process=process, name=model.name, port=port, state=state)


def _identify(settings: StackSettings, model: LocalModel) -> str:
    """Return a text that identifies the file of a model and the options of its process."""
    # A file that is gone is found by the checks before the start.
    status = model.path.stat() if model.path.exists() else None
    version = (status.st_size, status.st_mtime_ns) if status else ()
    return " ".join(map(str, (model.path, *version, settings.local_model_port, settings.local_model_context)))


def _describe_end(log: Path) -> str:
    """Return the reason that llama.cpp has logged last, or the last line of the log."""
    lines = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    reasons: list[str] = _LOAD_ERROR.findall(lines)
    return reasons[-1][:200] if reasons else processes.read_last_line(log)
