"""Test the Docker back-end with a stub for its client, since the tests have no engine.

The stub records its calls, and runs its containers with bubblewrap.
"""

import os
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tenure.contracts.sandbox import InputFile, Program, SandboxLimits
from tenure.sandbox.base import Mounts, NoSandbox
from tenure.sandbox.choice import make_sandbox
from tenure.sandbox.docker import Docker
from tenure.settings import Settings
from tests.support.tiers import slow

STUB = """#!{python}
import os, sys
sys.path[:0] = {path!r}
given = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write("\\t".join(given[:3]) + "\\n")
if given[0] == "version":
    print("28.0")
elif given[0] == "kill":
    pass
elif "--interactive" not in given:
    at = given.index("--entrypoint")
    os.execv(given[at + 1], [given[at + 1], *given[at + 3:]])
else:
    from pathlib import Path
    from tenure.contracts.sandbox import SandboxLimits
    from tenure.sandbox import seccomp
    from tenure.sandbox.bubblewrap import Bubblewrap, find_binary
    from tenure.sandbox.groups import GroupSource
    from tenure.sandbox.runtime import examine
    binary = find_binary()
    made = Bubblewrap(binary, examine(Path({python!r})), GroupSource(None, ""))
    made._launcher._places.clear()
    rules = os.memfd_create("rules", 0)
    os.write(rules, seccomp.encode_filter())
    os.lseek(rules, 0, 0)
    at = given.index("--entrypoint")
    command = [given[at + 1], *given[at + 3:]]
    os.execv(binary.path, ["bwrap", *made.build_arguments(SandboxLimits(), rules), "--", *command])
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a machine with a stub for Docker."""
    client = tmp_path / "docker"
    path = [str(Path(__file__).parents[2])]
    client.write_text(STUB.format(python=sys.executable, path=path, log=str(tmp_path / "calls")))
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return Settings(
        sandbox="docker", sandbox_image="an-image", sandbox_python=Path(sys.executable), sandbox_runtime="runsc"
    )


def test_a_container_is_bounded_in_every_way(engine: Settings) -> None:
    """The command of a container takes away what a program has no need of, and sets each limit."""
    docker = Docker(engine)

    command = " ".join(docker.build_arguments(SandboxLimits(memory_mib=300, processes=20, scratch_mib=7), "a-name"))

    for part in (
        *("--rm --interactive --name a-name --label tenure-sandbox", "--network none", "--read-only"),
        *("--cap-drop ALL", "--security-opt no-new-privileges", "--user 65534:65534", "--ipc private"),
        *("--pids-limit 28", "--memory 300m --memory-swap 300m", "size=7m,mode=0700", "--log-driver none"),
        *("--runtime runsc", "--ulimit core=0", f"--entrypoint {docker.runtime.python} an-image"),
    ):
        assert part in command
    assert "OPENAI" not in command
    assert docker.isolation.memory == "enforced"


def test_folders_of_a_command_are_mounted_in_a_container(engine: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workspace, environment and proxy are mounted at constant paths; an odd name adds no option."""
    docker = Docker(engine)
    mounts = Mounts(Path("/w,readonly/a b"), Path("/e"), visible=(Path("/wheels"),), network=Path("/socket"))

    command = docker.build_arguments(SandboxLimits(), "a-name", mounts)
    found = [value for option, value in pairwise(command) if option == "--mount"]

    assert found == [
        "type=bind,source=/wheels,target=/wheels,readonly",
        "type=bind,source=/socket,target=/in/network,readonly",
        "type=bind,source=/e,target=/environment,readonly",
        'type=bind,"source=/w,readonly/a b",target=/workspace',
    ]
    assert command[command.index("--network") + 1] == "none"
    writable = docker.build_arguments(SandboxLimits(), "a-name", replace(mounts, is_setup=True))
    assert "type=bind,source=/e,target=/environment" in writable
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    assert "--user 1234:1234" in " ".join(docker.build_arguments(SandboxLimits(), "a-name", mounts))


@slow
async def test_a_program_runs_in_a_container(engine: Settings, tmp_path: Path) -> None:
    """Job, output, files and exit code pass through the client, and the filter is added to the engine's own."""
    text = (
        "import sys\nprint(sys.stdin.read())\nopen('made.txt', 'w').write('made')\n"
        "print(open('/proc/self/status').read().partition('Seccomp_filters:')[2].split()[0])\nsys.exit(4)"
    )
    program = Program(files=(InputFile(name="a.py", text=text),), entry="a.py", stdin="typed")

    outcome = await make_sandbox(engine).run(program, tmp_path / "kept")

    assert (outcome.verdict, outcome.exit_code, outcome.stdout) == ("failed", 4, "typed\n2\n"), outcome
    assert [one.name for one in outcome.artifacts] == ["made.txt"]
    assert outcome.isolation is not None
    assert (outcome.isolation.backend, outcome.isolation.version) == ("docker", "28.0 runsc")


@slow
async def test_a_container_is_ended_by_its_name(engine: Settings, tmp_path: Path) -> None:
    """A container that outstays its time is killed through the engine, and its client is gone."""
    limits = SandboxLimits(wall_seconds=1)
    text = "import time\ntime.sleep(99)"
    program = Program(files=(InputFile(name="a.py", text=text),), entry="a.py", limits=limits)

    outcome = await make_sandbox(engine).run(program, tmp_path / "kept")

    assert (outcome.verdict, outcome.limits_hit) == ("timeout", ("wall",))
    assert "run\t--rm\t--interactive" in (tmp_path / "calls").read_text()


def test_what_is_missing_is_said(engine: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No client, no image and no engine are three different sentences, and never a way around."""
    with pytest.raises(NoSandbox, match="TENURE_SANDBOX_IMAGE"):
        make_sandbox(engine.model_copy(update={"sandbox_image": ""}))
    (tmp_path / "docker").write_text("#!/bin/sh\necho 'Cannot connect to the engine' >&2\nexit 1")
    with pytest.raises(NoSandbox, match="docker version: Cannot connect to the engine"):
        make_sandbox(engine)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(NoSandbox, match="no docker on the path"):
        make_sandbox(engine)
