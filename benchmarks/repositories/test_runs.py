"""Run the tests of a repository in the box, and read the outcome of each test."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from benchmarks.repositories.instances import InstallConfig
from benchmarks.repositories.offline import PLUGINS, WORK, run_offline

Outcome = Literal["passed", "failed", "error", "skipped"]
Outcomes = Mapping[str, Outcome]

TEST_TIMEOUT_SECONDS: Final = 180.0
"""Suites take less than a minute on an idle machine; the machine is often loaded."""
# A line of TAP such as "    not ok 3 - parses a tag # SKIP no network".
_TAP_RESULT: Final = re.compile(r"^( *)(not )?ok \d+(?: - | )?(.*?)(?: # time=.*)?(?: \{)?$")
_TAP_SUBTEST: Final = re.compile(r"^( *)# Subtest: (.*)$")
_TAP_FILE: Final = re.compile(r"^# File: (.*)$")
_INDENT: Final = 4


class SuiteTooSlow(Exception):
    """The tests did not end in their time."""


class SuiteResult(NamedTuple):
    """Outcomes of the tests of a run, and its output."""

    outcomes: Outcomes
    output: str


def build_command(config: InstallConfig, targets: Sequence[str] = ()) -> str:
    """Return the shell command that runs tests.

    Args:
        config: runner and places of the tests.
        targets: files to run; none for all tests.
    """
    chosen = targets or config.tests
    return f"{config.before + ' && ' if config.before else ''}{_build_runner(config, chosen)}"


def build_import_path(config: InstallConfig) -> str:
    """Return the folders from which the project is imported, inside the box."""
    return ":".join([*(f"{WORK}/{path}" for path in config.paths), WORK])


def _build_runner(config: InstallConfig, targets: Sequence[str]) -> str:
    quoted = shlex.join(targets)
    match config.runner:
        case "pytest":
            # Options of a project may need plugins that are not installed, such as those of coverage.
            options = (
                "-o addopts= -p benchmarks_outcomes -p no:cacheprovider --continue-on-collection-errors -q --tb=short"
            )
            return f"python -m pytest {options} {quoted}"
        case "node":
            return (
                f"node --test --test-reporter={PLUGINS}/outcomes_node.mjs --test-reporter-destination=stdout {quoted}"
            )
        case "jest":
            return f'jest --json --outputFile="$TEST_OUTCOMES" {quoted}'
        case "tap":
            find = f"find {quoted} -name '*.js' -not -path '*/fixtures/*' | sort"
            return f'{find} | while read f; do echo "# File: $f"; TAP=1 node "$f"; done'


def run_tests(config: InstallConfig, work: Path, environment: Path, targets: Sequence[str] = ()) -> SuiteResult:
    """Run tests on a folder that belongs to the unprivileged user.

    Raises:
        SuiteTooSlow: they did not end in `TEST_TIMEOUT_SECONDS`.
    """
    variables = {"PYTHONPATH": f"{build_import_path(config)}:{PLUGINS}", "PYTHONHASHSEED": "0"}
    ran = run_offline(build_command(config, targets), work, environment, TEST_TIMEOUT_SECONDS, variables)
    if ran.exit_code is None:
        raise SuiteTooSlow(f"the tests did not end in {TEST_TIMEOUT_SECONDS:.0f} s")
    if config.runner == "tap":
        return SuiteResult(parse_tap(ran.output), ran.output)
    outcomes = json.loads(ran.outcomes) if ran.outcomes else {}
    return SuiteResult(read_jest_report(outcomes) if config.runner == "jest" and outcomes else outcomes, ran.output)


def read_jest_report(report: Mapping[str, Any]) -> dict[str, Outcome]:
    """Return the outcomes of a report of Jest; a file that cannot be loaded is a test with an error."""
    outcomes: dict[str, Outcome] = {}
    for file in report["testResults"]:
        path = file["name"].removeprefix(f"{WORK}/")
        if file["status"] == "failed" and not file["assertionResults"]:
            outcomes[path] = "error"
        for test in file["assertionResults"]:
            known: Outcome = test["status"] if test["status"] in ("passed", "failed") else "skipped"
            _add(outcomes, f"{path} > {test['fullName']}", known)
    return outcomes


def parse_tap(text: str) -> dict[str, Outcome]:
    """Return the outcomes of a TAP stream with nested tests; the names of a test and of those around it are its id."""
    outcomes: dict[str, Outcome] = {}
    names: list[str] = []
    file = ""
    for line in text.splitlines():
        if found := _TAP_FILE.match(line):
            file, names = found[1], []
        elif found := _TAP_SUBTEST.match(line):
            names = [*names[: len(found[1]) // _INDENT], found[2]]
        elif found := _TAP_RESULT.match(line):
            path = [*names[: len(found[1]) // _INDENT], found[3]]
            _add(outcomes, " > ".join([file, *path]), "failed" if found[2] else "passed")
    return outcomes


def _add(outcomes: dict[str, Outcome], name: str, outcome: Outcome) -> None:
    """Add an outcome; tests with one name count as one, which fails if any of them fails."""
    if outcomes.get(name) != "failed":
        outcomes[name] = outcome
