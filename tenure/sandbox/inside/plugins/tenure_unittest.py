"""Run the tests of a project with unittest, and report each of them: `tenure_unittest.py [ARGUMENTS OF UNITTEST]`."""

from __future__ import annotations

import os
import sys
import unittest
from typing import Any

import tenure_pytest_report as reports  # type: ignore[import-not-found]

REPORTER: Any = None
"""Reporter of this process; None if it must not report."""


class ReportedResult(unittest.TextTestResult):
    """Result that reports each test."""

    def _send(self, test: Any, outcome: str, error: Any = None) -> None:
        if REPORTER is not None:
            message = "" if error is None else str(error[1])[: reports.MAX_MESSAGE_CHARS]
            REPORTER.send("test", id=test.id(), path="", outcome=outcome, message=message)

    def startTest(self, test: Any) -> None:
        """Report that a test starts."""
        super().startTest(test)
        if REPORTER is not None:
            REPORTER.send("start", id=test.id())

    def addSuccess(self, test: Any) -> None:
        """Report a test that passed."""
        super().addSuccess(test)
        self._send(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:
        """Report a test that failed."""
        super().addFailure(test, err)
        self._send(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:
        """Report a test or module that has an error."""
        super().addError(test, err)
        self._send(test, "error", err)

    def addSkip(self, test: Any, reason: str) -> None:
        """Report a test that is skipped."""
        super().addSkip(test, reason)
        self._send(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        """Report a test whose failure is expected."""
        super().addExpectedFailure(test, err)
        self._send(test, "skipped")

    def addUnexpectedSuccess(self, test: Any) -> None:
        """Report a test whose failure was expected."""
        super().addUnexpectedSuccess(test)
        self._send(test, "failed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """Report a part of a test that failed; the test itself has no success then."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._send(test, "failed", err)


def main() -> None:
    """Run the tests of the command line."""
    global REPORTER
    sys.path[0] = os.getcwd()
    REPORTER = reports.TestReporter(reports.SECRET) if reports.SECRET else None
    runner: Any = unittest.TextTestRunner(resultclass=ReportedResult)  # type: ignore[arg-type]
    program = unittest.main(module=None, argv=["python -m unittest", *sys.argv[1:]], testRunner=runner, exit=False)
    code = 0 if program.result.wasSuccessful() else 1
    if REPORTER is not None:
        REPORTER.send_end(code, program.result.testsRun)
    sys.exit(code)


if __name__ == "__main__":
    main()
