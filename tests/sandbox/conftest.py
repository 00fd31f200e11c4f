"""One sandbox for all tests of a process: it lives on threads of its own, and starting it is the dearest part."""

from functools import cache

import pytest

from tenure.sandbox.base import NoSandbox
from tenure.sandbox.choice import bubblewrapped
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.runtime import current
from tenure.settings import Settings


@cache
def made() -> ContainedSandbox:
    """Make the sandbox of this process."""
    settings = Settings()
    return bubblewrapped(settings, current(settings))


@pytest.fixture
def box() -> ContainedSandbox:
    """The sandbox, on the packages of the tests; a machine that has none skips and says why."""
    try:
        return made()
    except NoSandbox as error:
        pytest.skip(str(error))
