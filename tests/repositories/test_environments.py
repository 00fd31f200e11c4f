"""Test how the environments of projects are found, installed, shared and replaced."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import EnvironmentRequest
from tenure.repositories import environments
from tenure.repositories.environments import Environments
from tenure.sandbox.base import FolderCommand
from tests.repositories.projects import Project, make_wheel, open_project
from tests.support.tiers import slow

CALC = {
    "pyproject.toml": "[project]\nname = 'calc'\nversion = '2.1'\n[project.scripts]\ncalc = 'calc:main'\n",
    "src/calc/__init__.py": (
        "from importlib.metadata import version\n__version__ = version('calc')\n"
        "def main():\n    print('calc', __version__)\n"
    ),
    "tests/test_calc.py": "import calc\ndef test_version():\n    assert calc.__version__ == '2.1'\n",
}


async def run(project: Project, command: str, environment: object) -> tuple[int | None, str]:
    """Run a command in the files of the commit, and return its exit code and output."""
    async with project.workspaces.open(project.workspace) as folder:
        async with project.environments.use(project.workspace, environment, folder) as place:  # type: ignore[arg-type]
            outcome = await project.box.run_command(FolderCommand(command, folder, place))
        return outcome.exit_code, outcome.stdout + outcome.stderr


async def test_a_project_that_needs_nothing_works_without_a_network(tmp_path: Path) -> None:
    """A pure Python project is importable with its metadata and scripts, and is set up once."""
    project = await open_project(tmp_path, CALC)

    first, second = await project.set_up(), await project.set_up()

    assert (first.ready, first.needs_network, first.environment) == (True, False, second.environment)
    assert second.observation.summary == "environment: installed before"
    assert first.environment.test == "python -m pytest"
    code, output = await run(project, "calc && python -c 'import calc; print(calc.__file__)'", first.environment)
    assert (code, output) == (0, "calc 2.1\n/workspace/src/calc/__init__.py\n")


async def test_missing_packages_wait_for_a_person(tmp_path: Path) -> None:
    """A setup that needs the network says so with its command, and does not start."""
    files = CALC | {"pyproject.toml": "[project]\nname = 'calc'\nversion = '1'\ndependencies = ['not-here-at-all']\n"}
    project = await open_project(tmp_path, files)

    reply = await project.set_up()

    assert (reply.ready, reply.needs_network) == (False, True)
    assert "not-here-at-all" in reply.observation.text
    assert "pip install -e ." in reply.observation.text
    assert not (tmp_path / "home" / "environments").exists()


def list_index(folder: Path) -> dict[str, str]:
    """Return the variables of setups that install from a folder of wheels."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


@slow
async def test_packages_are_installed_from_a_folder(tmp_path: Path) -> None:
    """An index that is a folder needs no network; files that the setup generates are lent to each command."""
    wheels = make_wheel(tmp_path / "wheels", "helper", "VALUE = 42\n")
    project = await open_project(tmp_path, CALC, list_index(wheels))
    setup = "pip install helper && echo 'VERSION = 7' > src/calc/_generated.py"

    reply = await project.set_up(setup=setup)

    assert reply.ready, reply.observation.text
    code, output = await run(project, "python -c 'import helper; print(helper.VALUE)'", reply.environment)
    assert (code, output) == (0, "42\n")
    code, output = await run(project, "cat src/calc/_generated.py", reply.environment)
    assert (code, output) == (0, "VERSION = 7\n")
    async with project.workspaces.open(project.workspace, read_only=True) as folder:
        assert not (folder / "src" / "calc" / "_generated.py").exists()


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("echo hello; echo broken >&2; exit 3", "setup failed: exit code 3"),
        ("pip install --no-index nothing-like-it", "setup failed: exit code 1"),
        ("no-such-tool install", "setup failed: exit code 127"),
    ],
)
async def test_a_setup_that_fails_ends_with_its_last_lines(tmp_path: Path, setup: str, words: str) -> None:
    """The end of a failed setup is shown, and nothing of it is used later."""
    project = await open_project(tmp_path, {"a.txt": ""})

    reply = await project.set_up(setup=setup)

    assert (reply.ready, reply.environment.key, reply.observation.summary) == (False, "", words)
    left = [path.name for path in (tmp_path / "home" / "environments").iterdir()]
    assert [name for name in left if not name.endswith(".lock")] == []


async def test_a_setup_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setup has a limit of time, and its last lines are shown."""
    limits = environments.SETUP_LIMITS.model_copy(update={"wall_seconds": 1})
    monkeypatch.setattr(environments, "SETUP_LIMITS", limits)
    project = await open_project(tmp_path, {"a.txt": ""})

    reply = await project.set_up(setup="echo 'asks a question'; cat; sleep 99")

    assert reply.observation.summary == "setup failed: the time was over"
    assert "asks a question" in reply.observation.text


async def test_concurrent_setups_of_one_key_wait_for_each_other(tmp_path: Path) -> None:
    """Two setups of the same declarations install once."""
    project = await open_project(tmp_path, {"a.txt": ""})
    request = EnvironmentRequest(workspace=project.workspace, setup="date +%N > /environment/stamp; sleep 0.5")
    other = Environments(tmp_path / "home", project.box, project.workspaces, {})

    replies = await asyncio.gather(project.environments.set_up(request), other.set_up(request))

    assert sorted(reply.observation.summary.partition(" in ")[0] for reply in replies) == [
        *("environment: installed", "environment: installed before"),
    ]


async def test_other_declarations_have_another_environment(tmp_path: Path) -> None:
    """A changed declaration or setup gives another key, and the same ones the same key for each state."""
    project = await open_project(tmp_path, CALC)
    base = (await project.set_up()).environment
    code = await project.change({"src/calc/__init__.py": "x = 1\n"})
    manifest = await project.change({"pyproject.toml": CALC["pyproject.toml"].replace("2.1", "2.2")})

    same = await project.environments.set_up(EnvironmentRequest(workspace=code))
    other = await project.environments.set_up(EnvironmentRequest(workspace=manifest))

    assert same.environment.key == base.key
    assert other.environment.key != base.key


async def test_a_machine_without_the_environment_installs_it_again(tmp_path: Path) -> None:
    """A command on another machine, or after a removal, finds its environment."""
    project = await open_project(tmp_path, CALC)
    environment = (await project.set_up()).environment
    subprocess.run(["rm", "-rf", str(tmp_path / "home" / "environments")], check=True)

    assert await run(project, "calc", environment) == (0, "calc 2.1\n")


async def test_a_setup_cannot_leave_traps(tmp_path: Path) -> None:
    """Links and odd files of a setup, in the environment and as generated files, reach nothing of the worker."""
    secret = tmp_path / "secret.txt"
    secret.write_text("CANARY")
    project = await open_project(tmp_path, {"src/a.txt": "a"})
    setup = (
        f"ln -s {secret} stolen; ln -s {secret} /environment/stolen; echo made > made.txt; "
        "rm -rf src; ln -s /etc src; chmod 0 made.txt; mkdir -p /environment/x/.git"
    )

    reply = await project.set_up(setup=setup)

    assert reply.ready, reply.observation.text
    _, output = await run(project, "cat made.txt; cat stolen /environment/stolen; ls src", reply.environment)
    assert "CANARY" not in output
    assert output.startswith("made\n")
    assert "a.txt" in output


async def test_a_link_in_the_files_leads_lent_files_nowhere(tmp_path: Path) -> None:
    """A generated file is written next to a link that took the place of its folder, and not through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    project = await open_project(tmp_path, {"src/a.txt": "a"})
    environment = (await project.set_up(setup="echo made > src/made.txt")).environment
    async with project.workspaces.open(project.workspace) as folder:
        (folder / "src" / "a.txt").unlink()
        (folder / "src").rmdir()
        (folder / "src").symlink_to(outside)
        async with project.environments.use(project.workspace, environment, folder):
            assert (folder / "src" / "made.txt").read_text() == "made\n"
        assert list(outside.iterdir()) == []


HALF = "touch /environment/half; test -e fast || sleep 99; touch /environment/whole"
SCRIPT = f"""
import asyncio, sys
from pathlib import Path
from tests.repositories.projects import open_project

async def main():
    project = await open_project(Path(sys.argv[1]), {{"a.txt": ""}})
    await project.set_up(setup={HALF!r})

asyncio.run(main())
"""


@slow
async def test_a_killed_setup_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    """After SIGKILL of the worker in the middle of a setup, the same setup starts from nothing and completes."""
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], cwd=Path(__file__).parents[2])
    folder = tmp_path / "home" / "environments"
    while not list(folder.glob("*/files/half")):
        assert process.poll() is None
        await asyncio.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    left = [path.suffix for path in folder.iterdir() if path.is_dir()]
    project = await open_project(tmp_path, {"a.txt": ""})
    state = await project.change({"fast": ""})

    reply = await project.environments.set_up(EnvironmentRequest(workspace=state, setup=HALF))

    assert (left, reply.observation.summary.partition(" in ")[0]) == ([".new"], "environment: installed")
    (complete,) = [path for path in folder.iterdir() if path.is_dir()]
    assert complete.name == reply.environment.key
    assert (complete / "files" / "whole").exists()
