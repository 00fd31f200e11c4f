"""Test how long the local server keeps finished runs."""

from pathlib import Path

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.testing import WorkflowEnvironment

from tenure.runs.session.retention import raise_retention
from tenure.settings import Settings


async def _read_days(server: WorkflowEnvironment) -> int:
    client = server.client
    found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    return found.config.workflow_execution_retention_ttl.ToTimedelta().days


async def test_retention_is_raised_and_never_shortened(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A namespace with a shorter retention gets the one of the settings, and one with a longer retention keeps it."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.client.service_client.config.target_host)
    before = await _read_days(server)

    await raise_retention(Settings(home=tmp_path, retention_days=before + 364))
    raised = await _read_days(server)
    await raise_retention(Settings(home=tmp_path, retention_days=before))

    assert (raised, await _read_days(server)) == (before + 364, before + 364)
