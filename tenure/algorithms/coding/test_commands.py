"""Build the command that runs the tests of a project with a report, all of them or some."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final, Literal

TestRunner = Literal["pytest", "unittest", "go", "cargo", "jest", "vitest", "mocha", "tap", "other"]

REPORT_FOLDER: Final = "/box/out"
"""Folder in which a test command leaves reports; every `*.xml` in it is read as JUnit XML."""
OUTPUT_NAME: Final = "output.txt"
"""File with the whole output of runners whose output is their report."""
MAX_SELECTION_CHARS: Final = 60_000
"""Length of the names of tests in a command; the kernel takes 128 KiB for one argument."""

_PLUGINS: Final = "/in/tenure/sandbox/inside/plugins"
_MAX_SHOWN_BYTES: Final = 60_000
# Signs that a command is more than words: pipes, several commands, variables.
_SHELL: Final = re.compile(r"[|&;<>$`\n(){}]")
# `PYTHONPATH=src`; not `--x=1`
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*")
# `python`, `/usr/bin/python3.11`; not `pypy`
_PYTHON: Final = re.compile(r"(?:.*/)?python[\d.]*")
_VALUED_OPTIONS: Final = frozenset("-c -p -m -k -n -o -W -r --rootdir --confcutdir --tb".split())


@dataclass(frozen=True)
class TestPlan:
    """Command that runs tests."""

    __test__ = False  # not a pytest class

    command: str
    runner: TestRunner
    selects: bool
    """Whether it runs the requested tests only."""
    variables: Mapping[str, str]


def plan_tests(command: str, ids: Sequence[str], scripts: Mapping[str, str]) -> TestPlan:
    """Return the command for some tests, or for all.

    Args:
        command: command that runs all tests.
        ids: tests or files of tests; empty for all.
        scripts: scripts of package.json by their names.
    """
    words = split_words(command)
    if words is None:
        return _plan_other(command)
    start = next((n for n, word in enumerate(words) if not _ASSIGNMENT.fullmatch(word)), len(words))
    assignments, words = words[:start], words[start:]
    if not words:
        return _plan_other(command)
    name = words[0].rsplit("/", 1)[-1]
    if name in ("pytest", "py.test") or _is_module(words, "pytest"):
        return _plan_pytest(command, assignments, words, ids)
    if _is_module(words, "unittest"):
        return _plan_unittest(assignments, words, ids)
    if words[:2] == ["go", "test"]:
        return _plan_go(assignments, words, ids)
    if words[:2] == ["cargo", "test"]:
        return _plan_output(command, "cargo")
    return _plan_node(command, words, scripts) or _plan_other(command)


def split_words(command: str) -> list[str] | None:
    """Return the words of a simple command; None if it needs a shell."""
    if _SHELL.search(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:
        return None


def read_assignments(command: str) -> dict[str, str]:
    """Return the variables that a simple command sets before its first word, as in `PYTHONPATH=src pytest`."""
    assignments = takewhile(_ASSIGNMENT.fullmatch, split_words(command) or ())
    return {name: value for name, _, value in (word.partition("=") for word in assignments)}


def _is_module(words: Sequence[str], module: str) -> bool:
    return len(words) > 2 and bool(_PYTHON.fullmatch(words[0])) and words[1:3] == ["-m", module]


def _plan_pytest(command: str, assignments: list[str], words: list[str], ids: Sequence[str]) -> TestPlan:
    selection = shorten_selection(ids, "::")
    # A command with a path of its own, as in `PYTHONPATH=src pytest`, would hide the plugin that reports the tests.
    for n, word in enumerate(assignments):
        if word.startswith("PYTHONPATH="):
            assignments[n] = f"{word}:{_PLUGINS}"
            command = command.replace(word, assignments[n], 1)
    if not selection:
        return TestPlan(command, "pytest", not ids, build_pytest_variables())
    start = 3 if words[1:2] == ["-m"] else 1
    chosen = [*words[:start], *_keep_options(words[start:]), *selection]
    return TestPlan(" ".join([*assignments, shlex.join(chosen)]), "pytest", True, build_pytest_variables())


def _keep_options(words: Sequence[str]) -> list[str]:
    """Return the options among the words of a command, with their values and without files."""
    options: list[str] = []
    is_value = False
    for word in words:
        if is_value or word.startswith("-"):
            options.append(word)
        is_value = not is_value and word in _VALUED_OPTIONS
    return options


def shorten_selection(ids: Sequence[str], separator: str) -> list[str]:
    """Return tests to select, or their files if they are too many; empty for all tests."""
    for chosen in (list(ids), list(dict.fromkeys(test_id.partition(separator)[0] for test_id in ids))):
        if sum(len(test_id) + 3 for test_id in chosen) <= MAX_SELECTION_CHARS:
            return chosen
    return []


def build_pytest_variables(further: str = "", plugin: str = "tenure_pytest_report") -> dict[str, str]:
    """Return the variables by which every pytest that a command starts loads a plugin, which reports its tests.

    A file that cannot be imported, such as one whose data is in a submodule, does not end the run of all others.
    """
    options = f"-p {plugin} --continue-on-collection-errors {further}"
    return {"PYTHONPATH": _PLUGINS, "PYTEST_ADDOPTS": options.strip()}


def _plan_unittest(assignments: list[str], words: list[str], ids: Sequence[str]) -> TestPlan:
    selection = shorten_selection(ids, "::")
    arguments = [*_keep_options(words[3:]), *selection] if selection else words[3:]
    if selection and arguments and words[3:4] == ["discover"]:
        arguments = [word for word in arguments if word not in ("-s", "-t", "-p")]
    command = " ".join([*assignments, shlex.join([words[0], f"{_PLUGINS}/tenure_unittest.py", *arguments])])
    return TestPlan(command, "unittest", bool(selection) or not ids, {"PYTHONPATH": _PLUGINS})


def _plan_go(assignments: list[str], words: list[str], ids: Sequence[str]) -> TestPlan:
    """Select tests by the packages and names in `package::Test/part`, or by the folders of files."""
    arguments = [word for word in words[2:] if word != "-json"]
    selection = shorten_selection(ids, "::")
    if selection:
        # Go tests packages: a single file would be compiled without the others of its package.
        packages = list(
            dict.fromkeys(
                f"./{test_id.rpartition('/')[0]}" if test_id.endswith(".go") else test_id.partition("::")[0]
                for test_id in selection
            )
        )
        names = list(dict.fromkeys(test_id.partition("::")[2].partition("/")[0] for test_id in selection))
        options = [word for word in arguments if word.startswith("-")]
        pattern = f"^({'|'.join(re.escape(name) for name in names)})$" if all(names) else ""
        arguments = [*options, *(["-run", pattern] if pattern else []), *packages]
    command = " ".join([*assignments, shlex.join(["go", "test", "-json", *arguments])])
    return TestPlan(_keep_output(command), "go", bool(selection) or not ids, {})


def _plan_node(command: str, words: Sequence[str], scripts: Mapping[str, str]) -> TestPlan | None:
    """Return the command with a report for the runner that a script of package.json starts."""
    is_script = words[0] in ("npm", "pnpm", "yarn")
    name = next((word for word in words[1:] if word != "run" and not word.startswith("-")), "test")
    script = scripts.get(name, "") if is_script else command
    separator = " --" if words[0] == "npm" else ""
    separator = separator if is_script and " -- " not in command else ""
    for runner, options in _NODE_REPORTS.items():
        if re.search(rf"\b{runner}\b", script):
            return TestPlan(f"{command}{separator} {options}", runner, False, {"CI": "true"})
    if re.search(r"\bnode\b.*--test\b", script):
        # From version 23 on, Node writes TAP only on request.
        return replace(_plan_output(command, "tap"), variables={"NODE_OPTIONS": "--test-reporter=tap"})
    if re.search(r"\btap(?:e)?\b", script):
        return _plan_output(command, "tap")
    return None


_NODE_REPORTS: Final[dict[Literal["jest", "vitest", "mocha"], str]] = {
    "vitest": f"--reporter=json --outputFile={REPORT_FOLDER}/vitest.json",
    "jest": f"--json --outputFile={REPORT_FOLDER}/jest.json",
    "mocha": f"--reporter json --reporter-option output={REPORT_FOLDER}/mocha.json",
}
"""Options that make runners write a report."""


def _plan_output(command: str, runner: TestRunner) -> TestPlan:
    return TestPlan(_keep_output(command), runner, False, {})


def _keep_output(command: str) -> str:
    """Return a command whose whole output is kept in a file, and whose end is shown."""
    target = f"{REPORT_FOLDER}/{OUTPUT_NAME}"
    return f"( {command}\n) > {target} 2>&1; code=$?; tail -c {_MAX_SHOWN_BYTES} {target}; exit $code"


def _plan_other(command: str) -> TestPlan:
    """Return any command, such as `make test`: a pytest in it reports its tests, and its output may be a report."""
    return TestPlan(_keep_output(command), "other", False, build_pytest_variables())
