"""A Temporal server that restarts during a model call: the call continues and is not paid twice."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.contracts.run.role_calls import DEFAULT_HEARTBEAT_SECONDS
from tests.model_server import ModelServer
from tests.support.homes import modelled_home
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS

AWAY_SECONDS = 12
"""Time without a server: a restart of the development server with its database, or a failover of a cluster."""


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Give a model server."""
    with ModelServer() as made:
        yield made


@slow
def test_a_server_away_for_twelve_seconds_repeats_no_call(model: ModelServer, tmp_path: Path) -> None:
    """With the default heartbeat timeout, a call during the outage is made once, and the run ends."""
    (shelf := tmp_path / "shelf").mkdir()
    (shelf / "bread.md").write_text("# Bread\n\nBread is made from flour, water, salt and yeast.\n")
    seconds = str(DEFAULT_HEARTBEAT_SECONDS)
    with modelled_home(tmp_path, model, TENURE_HEARTBEAT_SECONDS=seconds) as home:
        with model.hold("report_writer") as gate:
            home.json("start", "How is bread made?", "--docs", str(shelf), "--id", "away", "--detach")
            assert gate.arrived.wait(WAIT_SECONDS)
            server = psutil.Process(json.loads(home.run("status", "--json").stdout)["server_pid"])
            server.kill()
            server.wait(10)
            time.sleep(AWAY_SECONDS)
            up = home.run("up")
            # A server that counted the worker as dead would start the second attempt immediately.
            time.sleep(5)
        watched = home.run("watch", "away", "--json")

    assert (up.returncode, watched.returncode) == (0, 0), up.stderr + watched.stderr
    assert len(model.requests_of("report_writer")) == 1
    assert len(model.requests) == json.loads(watched.stdout)["usage"]["model_calls"]
