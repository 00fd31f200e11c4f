"""One sandbox for all tests of a process: it lives on threads of its own, and starting it is the dearest part."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest

from tenure.contracts.sandbox import SandboxSelfTest
from tenure.sandbox.base import NoSandbox
from tenure.sandbox.choice import make_bubblewrap
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.runtime import find_current
from tenure.settings import Settings


@cache
def made() -> ContainedSandbox:
    """Make the sandbox of this process."""
    settings = Settings()
    runtime = find_current(settings)
    return ContainedSandbox(make_bubblewrap(settings, runtime), runtime)


@cache
def tested() -> SandboxSelfTest:
    """Have the sandbox of this process try itself, in a loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(made().check())).result()


@pytest.fixture
def box() -> ContainedSandbox:
    """The sandbox, on the packages of the tests; a machine that cannot have one skips and says why."""
    try:
        found = tested()
    except NoSandbox as error:
        pytest.skip(str(error))
    if not found.usable and not found.findings:
        # It could not be set up; a sandbox whose isolation fails must fail the tests instead.
        pytest.skip(found.message)
    return made()
