"""Test the local model as a part of the local stack; one slow test serves a real model with llama.cpp."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from benchmarks.real_model.server import find_missing_packages, find_model_file
from tenure.local_models.choice import choose_model
from tenure.local_models.errors import LocalModelError
from tenure.local_models.model_file import LocalModel, load_model_key, remove_local_model, save_local_model
from tenure.settings import Settings
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.backup import create_backup
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.local_model import get_model_log, wait_until_loaded
from tenure.temporal.stack.record import load
from tests.support.ports import free_ports
from tests.support.tiers import slow

ELSEWHERE = "temporal.invalid:7233"
"""Address of a server that is not this home's; nothing here connects to it."""

Start = Callable[..., local.StackStatus]


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """Settings of a home with a local model."""
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF")
    local.prepare_home(settings.home)
    save_local_model(settings.home, LocalModel(path=file))
    return settings.model_copy(update={"local_model_port": free_ports(1)[0]})


@pytest.fixture
def up(settings: Settings, worker: list[str], monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start what is missing of the stack, with a stub of llama.cpp."""
    monkeypatch.setattr(processes, "LOCAL_MODEL_MODULE", "tests.temporal.stack.stub_model")
    monkeypatch.setattr("tenure.local_models.model_file.find_spec", lambda name: True)

    def start(**changes: object) -> local.StackStatus:
        chosen = choose_model(settings.model_copy(update=changes))
        return local.start_stack(chosen, external=ELSEWHERE, worker_command=worker)

    return start


def test_model_is_started_once_used_by_the_worker_and_stopped(settings: Settings, up: Start) -> None:
    """A second `up` leaves it alone; worker, `status` and `down` know it, and its key is in no command line."""
    first, second = up(), up()
    wait_until_loaded(settings.home)
    seen = local.get_status(settings)
    worker, model = psutil.Process(first.worker_pid), psutil.Process(first.local_model_pid)
    known, command, key = worker.environ(), model.cmdline(), load_model_key(settings.home)
    secrets = model.environ()
    done = local.stop_stack(settings)

    assert (second.local_model_pid, second.worker_pid, second.notes) == (first.local_model_pid, first.worker_pid, ())
    assert (seen.local_model, seen.local_model_pid) == ("tiny", first.local_model_pid)
    assert known["OPENAI_BASE_URL"] == f"http://127.0.0.1:{settings.local_model_port}/v1"
    assert (known["OPENAI_API_KEY"], known["TENURE_MODEL"]) == (key, "tiny")
    assert (known["TENURE_MODEL_TIMEOUT"], known["TENURE_MODEL_CONCURRENCY"]) == ("1800", "1")
    assert not [text for text in (*command, *secrets.values()) if key in text]
    assert f"local model stopped (process {first.local_model_pid})" in done
    assert not psutil.pid_exists(first.local_model_pid or 0)


def test_model_stays_after_down(settings: Settings, up: Start) -> None:
    """The next start of the stack serves it again, until it is removed."""
    up()
    local.stop_stack(settings)
    again = up()
    remove_local_model(settings.home)
    without = up()

    assert again.local_model_pid is not None
    assert (without.local_model, without.local_model_pid) == ("", None)
    assert not psutil.pid_exists(again.local_model_pid)
    assert "OPENAI_BASE_URL" not in psutil.Process(without.worker_pid).environ()


def test_named_server_replaces_the_model(up: Start) -> None:
    """With the URL of another server in the settings, the local model is stopped and the worker asks that server."""
    first = up()
    second = up(openai_base_url="http://127.0.0.1:1/v1")

    assert second.local_model_pid is None
    assert not psutil.pid_exists(first.local_model_pid or 0)
    assert psutil.Process(second.worker_pid).environ()["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize("change", ["file", "local_model_context", "local_model_port"])
def test_change_replaces_the_process(settings: Settings, up: Start, tmp_path: Path, change: str) -> None:
    """Another file, context or port leads to another process; the context does not concern the worker."""
    first = up()
    if change == "file":
        other = tmp_path / "other.gguf"
        other.write_bytes(b"GGUF")
        save_local_model(settings.home, LocalModel(path=other))
        second = up()
    else:
        second = up(**{change: free_ports(1)[0]})

    assert second.local_model_pid not in (None, first.local_model_pid)
    assert (second.worker_pid == first.worker_pid) == (change == "local_model_context")
    assert not psutil.pid_exists(first.local_model_pid or 0)


def test_dead_model_is_started_again(settings: Settings, up: Start) -> None:
    """`status` says that it has stopped, and `up` starts it without touching the worker."""
    first = up()
    process = psutil.Process(first.local_model_pid)
    process.send_signal(signal.SIGKILL)
    process.wait(5)
    seen, again = local.get_status(settings), up()

    assert any(note.startswith("the local model has stopped") for note in seen.notes)
    assert again.local_model_pid not in (None, first.local_model_pid)
    assert again.worker_pid == first.worker_pid
    assert again.notes[0].startswith("the local model had ended and was restarted")


def test_model_that_cannot_be_loaded_is_described_by_its_log(settings: Settings, up: Start, tmp_path: Path) -> None:
    """The reason of llama.cpp is in the line, with the log and the remedy."""
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF damaged")
    up()

    words = "tiny cannot be loaded: tensor 'a' is not within the file bounds"
    with pytest.raises(StackError, match=words) as end:
        wait_until_loaded(settings.home)
    assert str(get_model_log(settings.home)) in str(end.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("taken", r"port \d+ of the local model is taken by .*: set TENURE_LOCAL_MODEL_PORT to a free port"),
        ("missing", r"tiny\.gguf cannot be read \(No such file or directory\)"),
        ("format", "is not a GGUF file"),
        ("extra", "run `uv sync --extra local-model`"),
    ],
)
def test_fault_is_one_line_and_starts_nothing(
    settings: Settings, up: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    """A taken port, an unusable file and a missing extra are found before anything else is started."""
    if fault == "missing":
        (tmp_path / "tiny.gguf").unlink()
    if fault == "format":
        (tmp_path / "tiny.gguf").write_bytes(b"PK")
    if fault == "extra":
        monkeypatch.setattr("tenure.local_models.model_file.find_spec", lambda name: None)
    port = settings.local_model_port if fault == "taken" else 0
    with socket.create_server(("127.0.0.1", port)), pytest.raises((StackError, LocalModelError), match=words):
        up()

    assert local.get_status(settings).worker_pid is None


def test_model_whose_record_is_gone_is_found(settings: Settings, up: Start) -> None:
    """Without a record, `down` finds the process in the process table."""
    status = up()
    (settings.home / "stack.json").unlink()

    assert f"process {status.local_model_pid} stopped" in local.stop_stack(settings)


def test_model_alone_does_not_block_the_stack(settings: Settings, up: Start) -> None:
    """A stack of which only the model is left is started again."""
    first = up()
    processes.stop(load(settings.home).worker, 0)

    assert up().local_model_pid == first.local_model_pid


def test_copy_of_a_home_has_no_model(settings: Settings, tmp_path: Path) -> None:
    """A backup leaves out the file of the model, which may have gigabytes."""
    (settings.home / "prices.toml").write_text("")
    (settings.home / "notes.txt").write_text("kept")
    load_model_key(settings.home)

    assert sorted(create_backup(settings.home, tmp_path / "copy").files) == ["notes.txt", "prices.toml"]


@slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(find_missing_packages()), reason="the dependency group real-model is not installed")
def test_a_real_model_answers_with_its_key_only(settings: Settings, worker: list[str]) -> None:
    """llama.cpp serves the small model of a wheel on loopback, to clients with the key of the home."""
    save_local_model(settings.home, LocalModel(path=find_model_file()))
    chosen = choose_model(settings.model_copy(update={"local_model_context": 2048}))
    status = local.start_stack(chosen, external=ELSEWHERE, worker_command=worker)
    wait_until_loaded(settings.home)
    body = {"messages": [{"role": "user", "content": "What is bread?"}], "max_tokens": 4}
    key = {"Authorization": f"Bearer {load_model_key(settings.home)}"}
    with httpx.Client(base_url=str(chosen.openai_base_url) + "/", trust_env=False, timeout=300) as client:
        refused = [client.post("chat/completions", json=body), client.get("models")]
        answered = client.post("chat/completions", json=body, headers=key)
    listening = {
        one.laddr.ip for one in psutil.Process(status.local_model_pid).net_connections() if one.status == "LISTEN"
    }

    assert [reply.status_code for reply in refused] == [401, 401]
    assert answered.json()["choices"][0]["message"]["content"]
    assert answered.json()["model"] == chosen.model == "SmolLM2-135M-Instruct.Q4_1"
    assert listening == {"127.0.0.1"}
    assert os.getsid(status.local_model_pid or 0) == status.local_model_pid


@slow
@pytest.mark.skipif(bool(find_missing_packages()), reason="the dependency group real-model is not installed")
def test_a_real_file_that_is_cut_off_is_described(settings: Settings, worker: list[str], tmp_path: Path) -> None:
    """The reason of llama.cpp reaches the line for a file that ends too early."""
    (tmp_path / "tiny.gguf").write_bytes(find_model_file().read_bytes()[:50_000_000])
    local.start_stack(choose_model(settings), external=ELSEWHERE, worker_command=worker)

    with pytest.raises(StackError, match=r"tiny cannot be loaded: .*model is corrupted or incomplete"):
        wait_until_loaded(settings.home)
