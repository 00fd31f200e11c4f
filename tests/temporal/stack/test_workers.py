"""Workers of several versions of the code, with programs that only live."""

import signal
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from tenure.local_models.choice import choose_model
from tenure.settings import Settings
from tenure.temporal.stack import local
from tenure.temporal.stack.backup import create_backup, restore_backup
from tenure.temporal.stack.local import StackStatus
from tenure.temporal.stack.processes import find_stack_processes
from tenure.temporal.stack.record import load
from tenure.temporal.stack.versions import list_versions
from tests.local_models.test_servers import get_port, search_only
from tests.model_server import ModelServer
from tests.support.waiting import block_until
from tests.temporal.stack.conftest import IDLE_WORKER

ELSEWHERE = "temporal.invalid:7233"
"""Address of a server that is not this home's; nothing here connects to it."""


class Versions:
    """A source that is edited, and what the server says about its versions."""

    def __init__(self, root: Path) -> None:
        self.root, self.in_use, self.unused_state = root, set[str](), "drained"
        self.edit("1")

    def edit(self, text: str) -> None:
        """Change the program of the worker."""
        self.root.mkdir(exist_ok=True)
        (self.root / "worker.py").write_text(f"{IDLE_WORKER}# {text}\n", encoding="utf-8")

    def read_states(self, build_ids: Collection[str]) -> dict[str, Any]:
        """Return the states of versions at the server."""
        return {build_id: "in_use" if build_id in self.in_use else self.unused_state for build_id in build_ids}


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    """The source of a worker."""
    return Versions(tmp_path / "installed")


def restore(source: Path, home: Path) -> None:
    """Copy a home, as a person does who moves it to another machine."""
    create_backup(source, source.with_name("backup"))
    restore_backup(source.with_name("backup"), home)


@pytest.fixture
def up(settings: Settings, versions: Versions) -> Callable[..., StackStatus]:
    """Start what is missing, and take the started version for the current one of the server."""

    def start(**changes: object) -> StackStatus:
        status = local.start_stack(
            settings.model_copy(update=changes),
            external=ELSEWHERE,
            read_versions=versions.read_states,
            root=versions.root,
        )
        versions.in_use |= {status.build_id}
        return status

    return start


def inspect(pid: int | None) -> psutil.Process:
    """Return a process that has started its program: before, it has no command line and no environment."""
    assert pid is not None
    process = psutil.Process(pid)
    block_until("the start of the program", lambda: process.cmdline() and process.environ())
    return process


def kill(pid: int | None) -> None:
    """Kill a process and wait until it has ended."""
    assert pid is not None
    process = psutil.Process(pid)
    process.send_signal(signal.SIGKILL)
    process.wait(5)


def test_a_worker_runs_from_a_copy_and_becomes_current(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """A worker does not run the files that people edit."""
    status = up()

    _, script, *options = inspect(status.worker_pid).cmdline()
    assert Path(script) == settings.home / "versions" / status.build_id / "worker.py"
    assert options == ["--make-current"]
    assert up().worker_pid == status.worker_pid


def test_the_worker_of_edited_code_keeps_its_runs(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """After a change of the code the earlier worker continues next to the new one, and one line says so."""
    first = up()
    versions.edit("2")
    second = up()
    third = up()

    assert second.worker_pid != first.worker_pid
    assert [(worker.build_id, worker.pid) for worker in second.draining] == [(first.build_id, first.worker_pid)]
    assert second.notes == (
        f"the code changed: the worker of version {first.build_id} (process {first.worker_pid}) finishes its runs",
    )
    assert (third.worker_pid, third.draining, third.notes) == (second.worker_pid, second.draining, ())
    assert (settings.home / "logs" / f"worker-{first.build_id}.log").is_file()


def test_a_version_without_runs_is_removed(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """When all runs of a version have ended, its worker is stopped and its copy deleted."""
    first = up()
    versions.edit("2")
    second = up()
    versions.in_use = {second.build_id}
    third = up()

    assert not psutil.pid_exists(first.worker_pid or 0)
    assert third.draining == ()
    assert third.notes == (f"all runs of version {first.build_id} have ended: its worker was stopped",)
    assert set(list_versions(settings.home)) == {second.build_id}


def test_a_version_keeps_its_copy_until_the_server_is_certain(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """A run that the server lists late still gets a worker of its version."""
    first = up()
    versions.edit("2")
    second = up()
    versions.in_use, versions.unused_state = {second.build_id}, "idle"
    third = up()
    versions.in_use |= {first.build_id}
    fourth = up()

    assert third.draining == ()
    assert [worker.build_id for worker in fourth.draining] == [first.build_id]


def test_a_killed_worker_of_earlier_code_is_started_again(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """After a kill -9 the worker of an earlier version starts again from its copy, and does not become current."""
    first = up()
    versions.edit("2")
    up()
    kill(first.worker_pid)
    seen = local.get_status(settings)
    again = up()

    assert f"the worker of the earlier version {first.build_id} has stopped" in seen.notes[0]
    (worker,) = again.draining
    assert worker.pid not in (None, first.worker_pid)
    _, script, *options = inspect(worker.pid).cmdline()
    assert script.endswith(f"{first.build_id}/worker.py")
    assert options == ["--versioned"]


def test_a_worker_that_died_before_the_change_is_started_again(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """A version whose worker was gone when the code changed still gets a worker for its runs, as after a reboot."""
    first = up()
    kill(first.worker_pid)
    versions.edit("2")
    second = up()

    assert second.build_id != first.build_id
    assert [worker.build_id for worker in second.draining] == [first.build_id]
    assert second.draining[0].pid


def test_an_undone_change_gives_the_place_back(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """The worker of a version that drains takes the place again, without a restart, when its code comes back."""
    first = up()
    versions.edit("2")
    second = up()
    versions.edit("1")
    third = up()

    assert (third.build_id, third.worker_pid) == (first.build_id, first.worker_pid)
    assert [(worker.build_id, worker.pid) for worker in third.draining] == [(second.build_id, second.worker_pid)]


def test_a_version_that_never_had_runs_is_stopped(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """A worker whose version got no run is replaced immediately: it would become current later otherwise."""
    first = up()
    versions.in_use = set()
    versions.edit("2")
    second = up()

    assert not psutil.pid_exists(first.worker_pid or 0)
    assert second.draining == ()
    assert second.notes == ("the worker was restarted: its code changed",)


def test_changed_settings_reach_the_workers_of_all_versions(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """With another key, the current worker and those of earlier versions are restarted, and keep their versions."""
    first = up()
    versions.edit("2")
    second = up()
    third = up(model="another")

    assert (third.build_id, [worker.build_id for worker in third.draining]) == (second.build_id, [first.build_id])
    for pid, before in ((third.worker_pid, second.worker_pid), (third.draining[0].pid, first.worker_pid)):
        assert pid not in (None, before)
        assert inspect(pid).environ()["TENURE_MODEL"] == "another"
    assert "TENURE_MODEL_CONCURRENCY" not in inspect(third.draining[0].pid).environ()


def test_a_worker_whose_copy_is_gone_is_left_alone(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """A worker that cannot be started again is not stopped for changed settings; after its end a note says why."""
    first = up()
    block_until("the worker", local.get_worker_log(settings.home).read_text, lambda text: "working for" in text)
    versions.edit("2")
    up()
    list_versions(settings.home)[first.build_id].remove()
    third = up(model="another")
    assert [worker.pid for worker in third.draining] == [first.worker_pid]

    kill(first.worker_pid)
    assert f"the copy of version {first.build_id} is missing" in up(model="another").notes[0]


def test_without_versioning_one_worker_is_replaced(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """With versioning off a changed source restarts the worker, which runs the source itself."""
    start = partial(up, worker_versioning=False)
    first = start()
    versions.edit("2")
    second = start()

    assert (second.build_id, second.draining) == ("", ())
    assert second.notes == ("the worker was restarted: its code changed",)
    assert not psutil.pid_exists(first.worker_pid or 0)
    # A process is found once it has replaced the image of its parent.
    block_until("the worker", partial(find_stack_processes, settings.home), lambda found: len(found) == 1)


def test_runs_of_a_version_are_served_after_versioning_ends(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """Turning versioning off leaves no run without a worker: its version keeps one until it has no runs."""
    first = up()
    second = up(worker_versioning=False)

    (worker,) = second.draining
    assert worker.build_id == first.build_id
    assert inspect(worker.pid).environ()["TENURE_WORKER_VERSIONING"] == "on"
    assert inspect(second.worker_pid).environ()["TENURE_WORKER_VERSIONING"] == "False"


def test_a_version_of_another_server_keeps_its_copy(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """A server without runs of a version says nothing about the other servers that the home has used."""
    first = up()
    local.start_stack(
        settings,
        external="other.invalid:7233",
        read_versions=lambda build_ids: dict.fromkeys(build_ids, "drained"),
        root=versions.root,
    )
    versions.edit("2")
    versions.in_use = set()
    up()

    assert first.build_id in list_versions(settings.home)


def test_a_restored_home_serves_the_runs_of_earlier_code(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions, tmp_path: Path
) -> None:
    """A backup contains the code of its runs: in the restored home, each version with runs gets a worker."""
    first = up()
    versions.edit("2")
    second = up()
    (settings.home / "temporal.db").touch()
    restored = tmp_path / "restored"
    restore(settings.home, restored)
    try:
        status = up(home=restored)
        assert (status.build_id, [worker.build_id for worker in status.draining]) == (
            second.build_id,
            [first.build_id],
        )
        copies = list_versions(restored)
        assert copies[first.build_id].folder.stat().st_mode & 0o777 == 0o755
    finally:
        local.stop_stack(settings.model_copy(update={"home": restored}))


def test_plugins_of_today_are_not_in_earlier_versions(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker of an earlier version that is started again sees the plugins of its version only."""
    first = up()
    kill(first.worker_pid)
    monkeypatch.setenv("TENURE_PLUGINS", "/new/plugins")
    versions.edit("2")

    (worker,) = up().draining
    assert inspect(worker.pid).environ()["TENURE_PLUGINS"] == ""


def test_down_stops_the_workers_of_all_versions(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """`down` leaves no worker, and names the version of each earlier one."""
    first = up()
    versions.edit("2")
    second = up()
    done = local.stop_stack(settings)

    assert done == (
        f"worker stopped (process {second.worker_pid})",
        f"worker of {first.build_id} stopped (process {first.worker_pid})",
    )
    assert find_stack_processes(settings.home) == []
    assert load(settings.home).workers == ()


def test_a_dead_worker_of_the_current_code_is_restarted_alone(
    up: Callable[..., StackStatus], settings: Settings, versions: Versions
) -> None:
    """Workers of earlier versions continue when only the current one has died."""
    up()
    versions.edit("2")
    second = up()
    kill(second.worker_pid)
    third = up()

    assert third.draining == second.draining
    assert third.worker_pid not in (None, second.worker_pid)
    assert third.build_id == second.build_id


def test_worker_gets_the_model_that_a_command_has_chosen(
    settings: Settings, worker: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `auto` the worker is started with server and model, left alone while they stay, and replaced otherwise."""
    automatic = settings.model_copy(update={"model": "auto"})

    def start() -> StackStatus:
        return local.start_stack(choose_model(automatic), external=ELSEWHERE, worker_command=worker)

    with ModelServer(models={"qwen3": None}) as model:
        search_only(monkeypatch, {"Ollama": get_port(model)})
        first, second = start(), start()
        known = psutil.Process(first.worker_pid).environ()
        model.offered = {"llama3.2": None}
        third = start()

    assert (known["OPENAI_BASE_URL"], known["TENURE_MODEL"]) == (model.base_url, "qwen3")
    assert second.worker_pid == first.worker_pid
    assert third.notes == ("the worker was restarted: the settings changed",)
    assert psutil.Process(third.worker_pid).environ()["TENURE_MODEL"] == "llama3.2"
