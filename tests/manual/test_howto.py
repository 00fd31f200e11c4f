"""Run the shell commands of the manual beyond the tutorial on one stack, and compare what they print."""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import pytest

from tenure.cli.errors import get_exit_code
from tenure.runs.errors import Unreachable
from tenure.temporal.stack.server import find_binary
from tests.cli.conftest import ROOT, no_stack, run_client
from tests.manual.pages import list_commands, read_manual
from tests.manual.steps import CHAPTERS, ELSEWHERE, NOT_RUN, OTHERS, PYTHON, START, STEPS, Step
from tests.support.homes import Home
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.test_tutorial import build_pattern

MEMORY_ID = "026af961a8050dce9599fe66"
"""Id of a memory in the manual."""

UNREACHABLE = get_exit_code(Unreachable())

ONE_COMMAND = Lock()
"""Lock of the environment and the current folder of this process."""

FILES = {
    "policies/retention.md": "# Retention\n\n## Retention period\n\nThe retention period of invoices is seven years. "
    "The retention period of letters is two years. The law of 2024 sets the retention period.\n",
    "policies/exceptions.md": "# Exceptions\n\nThe retention period of invoices may be extended by three years if a "
    "court asks for them. Both versions of the archive cost 400 euros per year.\n",
    "user/papers/search.md": "---\ndate: 2024-05-01\n---\n# Hybrid search\n\nHybrid search merges the results of a "
    "dense and a sparse search. The first draft proposes reciprocal rank fusion.\n",
    "user/papers/second.md": "# Second draft\n\nIt proposes a weighted sum of scores for hybrid search.\n",
    "user/notes.md": "# Notes\n\nBoth drafts are due on Friday.\n",
    "user/inbox/letter.md": "# Letter\n\nThe parcel arrived on Monday.\n",
    "user/drafts/draft.md": "# Draft\n\nThe draft has three chapters.\n",
    "sales.csv": "region,revenue\nnorth,10\nnorth,20\nsouth,5\n",
    "questions.csv": "question\nWhat does hybrid search merge?\nWhat are the results of a dense and a sparse search?\n",
    "outline.txt": "Retention period\nExceptions\n",
    "median.py": "def median(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2 + 1]\n",
    "test_median.py": "from median import median\n\n\ndef test_median():\n    assert median([3, 1, 2]) == 2\n",
}
"""Files that the commands read."""

PROGRAMS = {
    "python": '#!/bin/sh\nexec {python} "$@"\n',
    # Of `uv run temporal …`, the binary of this environment runs the command.
    "uv": '#!/bin/sh\nshift 2\nexec {temporal} "$@"\n',
}


def find_reason(page: str, command: str) -> str | None:
    """Return the reason why a command is not run."""
    found = (reason for pattern, reason in NOT_RUN.items() if re.search(pattern, command))
    return ELSEWHERE.get(page) or next(found, None)


def test_every_command_is_run_or_has_a_reason() -> None:
    """A new command of the manual needs a step with its output, or a reason why it is not run."""
    known = {step.command for step in STEPS}
    missing = [
        f"{page}: {command}"
        for page, commands in read_manual().items()
        for command in commands
        if command not in known and find_reason(page, command) is None
    ]

    assert missing == []


def test_every_step_is_in_the_manual() -> None:
    """A command that the manual no longer has leaves the steps, and so do pages and reasons without a command."""
    manual = read_manual()
    commands = {command for page in manual.values() for command in page}

    assert [step.command for step in STEPS if step.is_from_manual and step.command not in commands] == []
    assert ELSEWHERE.keys() <= manual.keys()
    assert [pattern for pattern in NOT_RUN if not any(re.search(pattern, command) for command in commands)] == []


def test_commands_of_a_page() -> None:
    """Continued lines and loops are one command, and comments are none."""
    page = "```sh\n# first\na --b \\\n  c   # why\n\nfor x in y; do\n  z\ndone\n```\n```text\nno\n```\n"

    assert list_commands(page) == ["a --b c", "for x in y; do\n  z\ndone"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Home]:
    """A folder with the client, the manual and the documents of the examples, and a home of its own."""
    settings = no_stack(tmp_path / ".tenure").settings.model_copy(update={"site_port": free_ports(1)[0]})
    (tmp_path / "client.py").symlink_to(ROOT / "client.py")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "backups").mkdir()
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(text.format(python=sys.executable, temporal=find_binary()))
        (tmp_path / "bin" / name).chmod(0o755)
    around = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path / "user")}
    home = Home(settings, around | {"BROWSER": "true"})
    yield home
    home.run("down")


@slow
@pytest.mark.timeout(1500)
def test_commands_print_what_is_expected(folder: Home) -> None:
    """Each command ends with its exit code and prints its lines; all deviations are reported together."""
    environment = folder.environment()
    wrong = run_steps((START,), environment, folder.settings.home.parent)
    with ThreadPoolExecutor(2) as threads:
        for faults in threads.map(
            lambda steps: run_steps(steps, dict(environment), folder.settings.home.parent), CHAPTERS
        ):
            wrong += faults
    wrong += run_steps(OTHERS, environment, folder.settings.home.parent)

    assert not wrong, "\n\n".join(wrong)


def run_steps(steps: Sequence[Step], environment: dict[str, str], folder: Path) -> list[str]:
    """Run commands one after the other in a shell, and return their deviations; `export` changes the environment."""
    memory, wrong = MEMORY_ID, []
    for step in steps:
        command = step.command.replace(MEMORY_ID, memory)
        command = command.replace(*step.replaced) if step.replaced else command
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            environment[name] = str(folder / value)
            continue
        done = run_command(command, environment, folder)
        if done.returncode == UNREACHABLE:
            # A very busy machine may exceed the time for an answer once.
            done = run_command(command, environment, folder)
        if found := re.search(r"remembered as preference: (\w{24})", done.stdout):
            memory = found[1]
        if (fault := describe_fault(step, done.returncode, done.stdout)) is not None:
            wrong.append(f"{command}\n{fault}")
    return wrong


def run_command(command: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell or as it would read it, with both outputs in one."""
    if (words := split_client_command(command, Path(environment["HOME"]))) is not None:
        with ONE_COMMAND:
            return run_client(words, environment, folder, io.StringIO())
    return subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def split_client_command(command: str, home: Path) -> tuple[str, ...] | None:
    """Return the words of a command of the client, or None if a shell has to run it.

    The start of an interpreter takes longer than most commands. Browsers are found when `webbrowser` is imported.
    """
    outside_of_quotes = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", command)
    if not command.startswith(PYTHON) or re.search(r"[|<>$`;&*(){}]|--open", outside_of_quotes):
        return None
    words = shlex.split(command.removeprefix(PYTHON))
    return tuple(re.sub(r"^~(?=/)", str(home), word) for word in words)


def test_only_a_shell_runs_what_a_shell_interprets() -> None:
    """Quotes and the folder of the user are read; pipes, variables and other programs need a shell."""
    home = Path("/home/ann")

    assert split_client_command('python client.py ask r "Why > how?" --docs ~/a', home) == (
        *("ask", "r", "Why > how?", "--docs", "/home/ann/a"),
    )
    for command in ("python client.py list | wc", 'python client.py ask "$q"', "python client.py up > log", "cp a b"):
        assert split_client_command(command, home) is None


def describe_fault(step: Step, code: int, output: str) -> str | None:
    """Return the deviation of a command's result from its step, or None."""
    if code != step.code:
        return f"exit code {code} instead of {step.code}:\n{output[-1500:]}"
    if not re.match(build_pattern(step.printed), output, re.DOTALL):
        return f"{step.printed!r} expected:\n{output[-1500:]}"
    return None
