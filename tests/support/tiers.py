"""Define the tiers of the test suite: standard, slow and exhaustive tests.

`pytest` runs the standard tests, `pytest --slow` the slow ones as well, and `pytest --all` every test, with the long
forms of parametrised ones and every workflow test repeated without a workflow cache.
"""

import os
import sys

import pytest

RUN_ALL = "--all" in sys.argv or os.environ.get("TENURE_TEST_ALL") == "1"
"""Whether every test runs; the variable passes it on to the processes of pytest-xdist."""

RUN_SLOW = RUN_ALL or "--slow" in sys.argv or os.environ.get("TENURE_TEST_SLOW") == "1"
"""Whether slow tests run, and standard ones with checks that take long."""

slow = pytest.mark.slow
"""Mark of a test that takes more than about two seconds and for which a faster one covers the main path."""

exhaustive = pytest.mark.exhaustive
"""Mark of a long form: a slow or standard test covers its promise in short."""


def add_options(parser: pytest.Parser) -> None:
    """Add `--slow` and `--all` to pytest's options."""
    group = parser.getgroup("tenure")
    group.addoption("--slow", action="store_true", help="run slow tests as well, as .ci/run does")
    group.addoption("--all", action="store_true", help="run every test: slow and exhaustive ones, long parameter lists")


def deselect_other_tiers(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the tests of the tiers that were not asked for; a test that is named on the command line always runs."""
    if RUN_ALL or any("::" in argument for argument in config.args):
        return
    left_out = {"exhaustive"} if config.getoption("--slow") else {"slow", "exhaustive"}
    deselected = [item for item in items if any(marker.name in left_out for marker in item.iter_markers())]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in set(deselected)]
