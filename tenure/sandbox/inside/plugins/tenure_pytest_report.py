"""Report the tests of a project: a plugin that any command which starts pytest loads.

Tests run in the same process and could influence the plugin. It makes that as hard as it can be made here: the secret
of the run is read from standard input before any file of the project is loaded, reports go to a descriptor that no
child process inherits, and functions of the test framework that were replaced are named at the end. The
remaining ways are stated with the verdict.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REPORT_DESCRIPTOR = 198
MAX_MESSAGE_CHARS = 500
_JUDGES = ("_pytest.runner", "_pytest.reports", "_pytest.outcomes", "_pytest.python", "_pytest.main", "unittest.case")


def read_secret() -> str | None:
    """Return the secret of the run, and replace standard input; None in a process that must not report."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return None
    try:
        os.fstat(REPORT_DESCRIPTOR)
        os.set_inheritable(REPORT_DESCRIPTOR, False)
        with os.fdopen(os.dup(0), "rb") as source:
            secret = source.read(200).decode("ascii").strip()
        empty = os.open("/dev/null", os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    except (OSError, ValueError):
        return None
    return secret or None


def read_functions() -> dict[str, Any]:
    """Return the functions by which tests are judged, by their names."""
    found: dict[str, Any] = {}
    for name, module in [(name, sys.modules[name]) for name in _JUDGES if name in sys.modules]:
        for key, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", None) == name:
                found[f"{name}.{key}"] = value
                if isinstance(value, type):
                    found.update({f"{name}.{key}.{one}": method for one, method in vars(value).items()})
    return found


class TestReporter:
    """Reports of one session."""

    def __init__(self, secret: str) -> None:
        self._secret, self._process, self._write = secret, os.getpid(), os.write
        self._phases: dict[str, list[Any]] = {}
        self._dumps = json.dumps

    def send(self, kind: str, **facts: Any) -> None:
        """Send one line."""
        if os.getpid() != self._process:
            return  # a fork of a test
        line = memoryview(self._dumps({"nonce": self._secret, "kind": kind, **facts}).encode() + b"\n")
        while line:
            line = line[self._write(REPORT_DESCRIPTOR, line) :]

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        """Report that a test starts."""
        self._phases[nodeid] = []
        self.send("start", id=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Collect the phases of a test, and report it after the last one."""
        self._phases.setdefault(report.nodeid, []).append(report)
        if report.when == "teardown":
            self._finish(report.nodeid)

    def _finish(self, nodeid: str) -> None:
        phases = self._phases.pop(nodeid, [])
        failed = next((phase for phase in phases if phase.outcome == "failed"), None)
        skipped = any(phase.outcome == "skipped" for phase in phases)
        outcome, message = ("skipped" if skipped else "passed"), ""
        if failed is not None:
            outcome = "failed" if failed.when == "call" else "error"
            message = describe_failure(failed)
        self.send("test", id=nodeid, path=nodeid.split("::")[0], outcome=outcome, message=message)

    def pytest_collectreport(self, report: Any) -> None:
        """Report a file that cannot be collected."""
        if report.outcome == "failed":
            name = report.nodeid or "collection"
            self.send("test", id=name, path=name.split("::")[0], outcome="error", message=describe_failure(report))

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """Report the end, and the functions that were replaced meanwhile."""
        self.send_end(int(exitstatus), getattr(session, "testscollected", 0))

    def send_end(self, code: int, collected: int) -> None:
        """Report the end."""
        current = read_functions()
        replaced = [name for name, value in _FUNCTIONS.items() if current.get(name, value) is not value]
        self.send("end", code=code, collected=collected, replaced=sorted(replaced)[:20])


def describe_failure(report: Any) -> str:
    """Return the message of a failed phase."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", "") or report.longrepr or "")
    if crash is None and len(text) > MAX_MESSAGE_CHARS:
        return text[-MAX_MESSAGE_CHARS:]
    return text[:MAX_MESSAGE_CHARS]


def pytest_configure(config: Any) -> None:
    """Register the reporter in the process that controls the session."""
    if SECRET and not hasattr(config, "workerinput"):
        config.pluginmanager.register(TestReporter(SECRET), "tenure-reporter")


SECRET = read_secret()
"""Secret of the run; standard input is empty afterwards."""
_FUNCTIONS = read_functions()
"""Functions before any file of the project is loaded."""
