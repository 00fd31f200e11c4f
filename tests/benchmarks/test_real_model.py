"""Test the model layer with a real server and a small model, if the dependency group `real-model` is installed."""

import pytest

from benchmarks.real_model.checks import Check, check_doctor, check_limit, check_overflow, check_streaming
from benchmarks.real_model.server import find_missing_packages, serve_model
from tests.support.ports import free_ports
from tests.support.tiers import slow

MISSING = ", ".join(find_missing_packages())

pytestmark = [
    slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason=f"the dependency group real-model is not installed: {MISSING}"),
]

CHECKS: tuple[Check, ...] = (check_doctor, check_limit, check_streaming, check_overflow)
"""Checks that take little time; `python -m benchmarks.real_model` makes all of them."""


async def test_a_real_server_supports_the_model_layer() -> None:
    """Context size, strict grammar, stop reasons, usage of streams and overflow are understood."""
    with serve_model(*free_ports(1)) as base_url:
        found = [await check(base_url) for check in CHECKS]

    assert [result for result in found if not result.works] == []
