"""Plugin for pytest that writes the outcome of each test to the file of the variable `TEST_OUTCOMES`.

It runs in the environment of a project, so it uses the standard library only.
"""

import json
import os
from pathlib import Path
from typing import Any

_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Store the outcome of a phase; a failure in any phase counts."""
    if report.failed:
        _outcomes[report.nodeid] = "failed"
    elif report.when == "call" or report.skipped:
        _outcomes.setdefault(report.nodeid, "passed" if report.passed else "skipped")


def pytest_collectreport(report: Any) -> None:
    """Store files that cannot be collected."""
    if report.failed:
        _outcomes[report.nodeid] = "error"


def pytest_sessionfinish() -> None:
    """Write the outcomes."""
    Path(os.environ["TEST_OUTCOMES"]).write_text(json.dumps(_outcomes), encoding="utf-8")
