"""Homes with free ports, and a worker that does nothing but live, for tests of the local stack."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.settings import Settings
from tenure.temporal.stack import local
from tests.support.ports import free_ports

IDLE_WORKER = """\
import os, signal, sys

def hand_back(number, frame):
    print("handed back", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, hand_back)
print("working for", os.environ["TENURE_HOME"], flush=True)
signal.pause()
"""


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a fresh home; its stack is ended after the test."""
    port, ui_port = free_ports(2)
    made = Settings(home=tmp_path / "home", temporal_port=port, ui_port=ui_port, site_port=0, _env_file=None)
    yield made
    local.stop_stack(made)


@pytest.fixture
def worker(tmp_path: Path) -> list[str]:
    """Command of a worker that waits until it is stopped."""
    script = tmp_path / "worker.py"
    script.write_text(IDLE_WORKER, encoding="utf-8")
    return [sys.executable, str(script)]
