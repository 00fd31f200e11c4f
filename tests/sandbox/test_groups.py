"""Test control groups by plain folders and a stub of systemd: a machine of the tests may have neither."""

import asyncio
import os
from pathlib import Path

import pytest

from tenure.contracts.sandbox import InputFile, Program, SandboxLimits
from tenure.sandbox.bubblewrap import Bubblewrap, find_binary
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.groups import ControlGroup, GroupSource, UserManager, UserScope, find_groups
from tenure.sandbox.runtime import find_current
from tenure.settings import Settings
from tests.support.tiers import slow


def test_a_control_group_is_bounded_filled_and_read(tmp_path: Path) -> None:
    """A group gets its limits and its processes, and reports an end by memory; a plain folder replaces the kernel's."""
    group = ControlGroup(tmp_path, memory_mib=100, processes=10)

    assert (group.folder / "memory.max").read_text() == str(100 << 20)
    assert (group.folder / "memory.swap.max").read_text() == "0"
    assert (group.folder / "pids.max").read_text() == "18"
    assert not group.has_exceeded_limit
    group.add_process(4321)
    assert (group.folder / "cgroup.procs").read_text() == "4321"
    (group.folder / "memory.events").write_text("low 0\noom_kill 1\n")
    (group.folder / "memory.peak").write_text(str(99 << 20))
    assert (group.has_exceeded_limit, group.peak_mib) == (True, 99.0)
    with pytest.raises(OSError, match="not empty"):
        group.remove()
    for file in group.folder.iterdir():
        file.unlink()
    group.remove()
    group.remove()
    assert group.peak_mib is None


def test_a_group_of_the_first_version_is_bounded_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory controller of version 1 is recognised by its files, which have other names."""
    (tmp_path / "memory.limit_in_bytes").write_text("")
    group = ControlGroup(tmp_path, memory_mib=100, processes=10)

    assert [path.name for path in group.folder.iterdir()] == ["memory.limit_in_bytes"]
    assert (group.folder / "memory.limit_in_bytes").read_text() == str(100 << 20)
    (group.folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (group.folder / "memory.max_usage_in_bytes").write_text(str(98 << 20))
    assert (group.has_exceeded_limit, group.peak_mib) == (True, 98.0)


def test_a_configured_group_is_used(tmp_path: Path) -> None:
    """The group of the setting comes before any other, and a group that cannot be made is an error."""
    source = find_groups(tmp_path)

    assert source.note == f"control groups below {tmp_path}"
    assert source.make is not None
    group = source.make(SandboxLimits(memory_mib=64))
    assert [path.parent for path in tmp_path.glob("*/memory.max")] == [*tmp_path.glob("tenure-*")]
    assert group.command == ()
    missing = find_groups(tmp_path / "missing")
    assert missing.make is not None
    with pytest.raises(FileNotFoundError):
        missing.make(SandboxLimits())


def _lay_out(folder: Path, controllers: str, passed_on: str) -> Path:
    """Lay out the files of this process's own group in a folder."""
    line = next((one for one in Path("/proc/self/cgroup").read_text().splitlines() if one.startswith("0::")), None)
    if line is None:
        pytest.skip("this kernel has no control groups of version 2")
    own = folder / line.removeprefix("0::").lstrip("/")
    own.mkdir(parents=True, exist_ok=True)
    if own != folder:
        os.setxattr(own, "user.delegate", b"1")
    (own / "cgroup.controllers").write_text(controllers)
    (own / "cgroup.subtree_control").write_text(passed_on)
    return own


def test_a_delegated_group_is_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delegated group passes on its controllers, which it can once this process is in a group below it."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    own = _lay_out(tmp_path, "cpu memory pids", "")

    source = find_groups(None, tmp_path)

    assert (source.make is not None, source.note) == (True, f"control groups below {own}")
    assert (own / "tenure-worker" / "cgroup.procs").read_text() == str(os.getpid())
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_a_group_without_the_controller_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the memory controller nothing is changed, and the note says what to do."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    own = _lay_out(tmp_path, "cpu pids", "")

    source = find_groups(None, tmp_path)

    assert (source.make, "TENURE_SANDBOX_CGROUP" in source.note) == (None, True)
    assert sorted(path.name for path in own.iterdir()) == ["cgroup.controllers", "cgroup.subtree_control"]


MANAGER = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
LINE
"""


def _make_manager(folder: Path, line: str, answer: str = "success") -> UserManager:
    """Return a manager whose programs are scripts."""
    folder.chmod(0o755)
    for name, text in (("run", MANAGER.replace("LINE", line)), ("control", f"#!/bin/sh\necho {answer}\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return UserManager(str(folder / "run"), str(folder / "control"), {"XDG_RUNTIME_DIR": str(folder)})


def test_a_manager_counts_only_if_it_limits(tmp_path: Path) -> None:
    """A manager is used if a process in its scope has the limit and its files, and not if it only starts it."""
    assert _make_manager(tmp_path, "printf '67108864\\ninherited\\n'").has_working_limit()
    assert not _make_manager(tmp_path, 'exec "$@"').has_working_limit()
    assert not _make_manager(tmp_path, "exit 1").has_working_limit()
    assert not UserManager(str(tmp_path / "missing"), str(tmp_path / "missing"), {}).has_working_limit()


def test_a_scope_says_whether_its_limit_was_exceeded(tmp_path: Path) -> None:
    """The scope carries all limits, and the manager says why it ended."""
    scope = UserScope(_make_manager(tmp_path, 'exec "$@"', "oom-kill"), 100, 10)

    assert {"MemoryMax=100M", "MemorySwapMax=0", "TasksMax=18"} <= {*scope.command}
    assert scope.command[-1] == "--"
    assert (scope.has_exceeded_limit, scope.peak_mib) == (True, None)
    assert not UserScope(_make_manager(tmp_path, 'exec "$@"'), 100, 10).has_exceeded_limit


@slow
def test_a_sandbox_is_started_by_the_manager(tmp_path: Path) -> None:
    """A program runs in a scope, with the filter and without a watch over its memory."""
    folder = Path("/tmp") / f"tenure-manager-{os.getpid()}"
    folder.mkdir()
    try:
        manager = _make_manager(folder, f'echo "$@" >> {tmp_path}/started; exec "$@"')
        tmp_path.chmod(0o777)
        (tmp_path / "started").touch(0o666)
        (tmp_path / "started").chmod(0o666)
        for parent in (tmp_path, *tmp_path.parents[:3]):
            parent.chmod(parent.stat().st_mode | 0o001)
        source = GroupSource(lambda limits: UserScope(manager, limits.memory_mib, limits.processes), "scopes")
        runtime = find_current(Settings())
        box = ContainedSandbox(Bubblewrap(find_binary(), runtime, source), runtime)
        text = "print(open('/proc/self/status').read().count('Seccomp:\\t2'))"
        program = Program(files=(InputFile(name="main.py", text=text),), entry="main.py")

        outcome = asyncio.run(box.run(program, tmp_path))
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()

    assert (outcome.verdict, outcome.stdout) == ("passed", "1\n")
    assert outcome.isolation is not None
    assert (outcome.isolation.memory, outcome.isolation.memory_note) == ("enforced", "scopes")
    assert (tmp_path / "started").read_text().count("bwrap") == 1
