"""Test the list of runs on a real server."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tenure.runs.listing import list_runs
from tenure.runs.messages import RunFilter, RunRow
from tenure.runs.session.connection import Session
from tenure.runs.session.server_target import ServerTarget
from tenure.settings import Settings
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.encryption import EncryptionCodec


async def test_a_run_of_another_key_is_listed_without_its_question(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A run whose question is encrypted appears in the list of a program without keys."""
    address = server.client.service_client.config.target_host
    settings = Settings(home=tmp_path, temporal_port=int(address.rpartition(":")[2]), _env_file=None)
    config = server.client.config()
    config["data_converter"] = replace(DATA_CONVERTER, payload_codec=EncryptionCodec({"other": bytes(32)}))
    handle = await Client(**config).start_workflow(
        "AgentWorkflow", id="sealed-run", task_queue="unserved", memo={"question": "a secret"}
    )
    target = ServerTarget(settings, address, server.client.namespace, False, "")

    rows: tuple[RunRow, ...] = ()
    while "sealed-run" not in {row.id for row in rows}:  # the server lists a new run a little later
        rows = (await list_runs(Session(target), RunFilter(limit=1000))).runs
    await handle.terminate()

    (row,) = (row for row in rows if row.id == "sealed-run")
    assert (row.status, row.question) == ("running", "")


async def test_runs_that_timed_out_are_listed(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A status of the server that has two words selects the runs with it."""
    address = server.client.service_client.config.target_host
    settings = Settings(home=tmp_path, temporal_port=int(address.rpartition(":")[2]), _env_file=None)
    await server.client.start_workflow(
        "AgentWorkflow", id="late-run", task_queue="unserved", run_timeout=timedelta(milliseconds=100)
    )
    target = ServerTarget(settings, address, server.client.namespace, False, "")

    rows: tuple[RunRow, ...] = ()
    while "late-run" not in {row.id for row in rows}:  # the server lists an ended run a little later
        rows = (await list_runs(Session(target), RunFilter(status="timed_out", limit=1000))).runs

    assert {row.status for row in rows} == {"timed_out"}
