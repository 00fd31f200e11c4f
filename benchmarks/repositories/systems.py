"""The compared systems: each works on a copy of the base of an instance, and returns a patch."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from benchmarks.repositories.environments import WHEELS
from benchmarks.repositories.instances import InstallConfig, Instance
from benchmarks.repositories.offline import NOBODY, WORK, build_box, hand_over
from benchmarks.repositories.test_runs import build_import_path
from benchmarks.start import environment as build_home_environment

_ROOT: Final = Path(__file__).resolve().parents[2]
_PEER_SCRIPT: Final = Path(__file__).with_name("run_mini_swe_agent.py")
_TAIL_CHARS: Final = 2_000
MODEL_TIMEOUT_SECONDS: Final = 1_800
"""Answers are written by hand; a call that timed out is repeated and gets the answer that was given meanwhile."""
FAILED: Final = "failed"
"""Status of a system that has ended with an error; it is not counted, and tried again."""


@dataclass(frozen=True)
class Attempt:
    """Result of a system on an instance."""

    patch: str
    status: str
    """Its own word for the end."""
    seconds: float
    note: str = ""
    """The end of its messages, if it failed."""


class System(Protocol):
    """A system that solves instances."""

    name: str

    def solve(self, instance: Instance, base: Path, environment: Path, folder: Path, base_url: str) -> Attempt:
        """Process an instance.

        Args:
            instance: the instance; patch and tests of the fix are not read.
            base: repository whose only commit is the base.
            environment: folder of the installed packages.
            folder: folder for the state of the system.
            base_url: model server of the protocol Chat Completions.
        """
        ...


def build_test_command(config: InstallConfig) -> str:
    """Return the command that runs all tests, as a person would give it."""
    if config.runner == "pytest":
        paths = f"PYTHONPATH={':'.join(config.paths)} " if config.paths else ""
        return f"{paths}python -m pytest -o addopts= -p no:cacheprovider -q {' '.join(config.tests)}".strip()
    command = {"node": "node --test", "jest": "npx jest", "tap": "npx tap"}[config.runner]
    return f"{config.before + ' && ' if config.before else ''}{command} {' '.join(config.tests)}".strip()


class MiniSweAgent:
    """mini-swe-agent with its prompts for SWE-bench, whose commands run in the same box as the tests.

    Args:
        python: interpreter of the environment that it is installed in.
    """

    name = "mini-swe-agent"

    def __init__(self, python: Path) -> None:
        self._python = python

    def solve(self, instance: Instance, base: Path, environment: Path, folder: Path, base_url: str) -> Attempt:
        """Run the agent until it submits."""
        hand_over(base)
        config = instance.install_config
        variables = {"PYTHONPATH": build_import_path(config)} if config and config.ecosystem == "python" else {}
        box = [
            *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
            *build_box(base, environment),
            *(item for name, value in variables.items() for item in ("--setenv", name, value)),
        ]
        order = {
            "task": instance.problem_statement,
            "box": box,
            "place": WORK,
            "base_url": base_url,
            "timeout_seconds": MODEL_TIMEOUT_SECONDS,
            "trajectory": str(folder / "trajectory.json"),
        }
        began = time.perf_counter()
        ran = subprocess.run(
            [self._python, _PEER_SCRIPT],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            check=False,
            env={**_build_quiet_environment(folder), "MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1"},
        )
        seconds = round(time.perf_counter() - began, 1)
        if ran.returncode:
            return Attempt("", FAILED, seconds, ran.stderr[-_TAIL_CHARS:])
        reply = json.loads(ran.stdout.splitlines()[-1])
        return Attempt(reply["submission"], reply["exit_status"], seconds)


class Tenure:
    """The product, by its command line, in a home of its own.

    Args:
        options: further options of `start`.
        settings: environment variables of client and worker.
    """

    name = "tenure"

    def __init__(self, options: Sequence[str] = (), settings: Mapping[str, str] | None = None) -> None:
        self._options = tuple(options)
        self._settings = dict(settings or {})

    def build_variables(self, environment: Path, folder: Path, base_url: str) -> dict[str, str]:
        """Return the environment of client and worker; ports that the settings lack are free ones."""
        return {
            **build_home_environment(folder / "home"),
            **self._build_model_settings(base_url),
            "TENURE_SETUP_VARIABLES": json.dumps({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(environment / WHEELS)}),
            **self._settings,
        }

    def solve(self, instance: Instance, base: Path, environment: Path, folder: Path, base_url: str) -> Attempt:
        """Start a run and wait for its result."""
        variables = self.build_variables(environment, folder, base_url)
        client = [sys.executable, str(_ROOT / "client.py")]
        options = ["--repo", str(base), *_build_options(instance.install_config, environment), *self._options, "--json"]
        began = time.perf_counter()
        try:
            ran = subprocess.run(
                [*client, "start", *options, "--", instance.problem_statement],
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            subprocess.run([*client, "down"], env=variables, capture_output=True, check=False)
        seconds = round(time.perf_counter() - began, 1)
        (folder / "output.log").write_text(ran.stderr, encoding="utf-8")
        (folder / "result.json").write_text(ran.stdout, encoding="utf-8")
        return _read_result(ran.stdout, ran.stderr, seconds)

    def _build_model_settings(self, base_url: str) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "local",
            "TENURE_MODEL_TIMEOUT": str(MODEL_TIMEOUT_SECONDS),
        }


class OfflineTenure(Tenure):
    """The product without a model: a repair by search."""

    name = "tenure-offline"

    def _build_model_settings(self, base_url: str) -> dict[str, str]:
        return {}


def _build_options(config: InstallConfig | None, environment: Path) -> list[str]:
    """Return the commands that a person would give: to install the packages from their wheels, and to run the tests."""
    if config is None:
        return []
    wheels = sorted((environment / WHEELS).glob("*.whl"))
    setup = ["--setup", f"/environment/bin/pip install {shlex.join(config.packages)}"] if wheels else []
    return [*setup, "--test", build_test_command(config)]


def _read_result(document: str, messages: str, seconds: float) -> Attempt:
    """Return the patch of the result document."""
    try:
        result: dict[str, Any] = json.loads(document)
    except ValueError:
        return Attempt("", FAILED, seconds, messages[-_TAIL_CHARS:])
    return Attempt(result.get("patch", ""), result["status"], seconds)


def _build_quiet_environment(folder: Path) -> dict[str, str]:
    """Return variables without settings of other models, and with a home of its own."""
    foreign = ("TENURE_", "TEMPORAL_", "OPENAI_", "ANTHROPIC_", "LITELLM_", "MSWEA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "DO_NOT_TRACK": "1"}
