"""A namespace is bound to one knowledge base."""

import asyncio
import base64
import shutil
import socket
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import (
    Client,
    CreateScheduleInput,
    DescribeScheduleInput,
    Interceptor,
    OutboundInterceptor,
    ScheduleActionStartWorkflow,
    ScheduleDescription,
    ScheduleHandle,
)
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment

from tenure.knowledge.store.identity import ensure_identity, read_identities
from tenure.knowledge.store.stored_files import StoredFiles
from tenure.settings import Settings
from tenure.temporal.connection import ServerUnreachable
from tenure.temporal.converter import make_data_converter
from tenure.temporal.namespace_binding import (
    BINDING,
    NamespaceTaken,
    bind_namespace,
    check_namespace,
    describe_other_base,
)
from tenure.temporal.stack.backup import create_backup, restore_backup
from tests.support.servers.object_store import object_store
from tests.support.servers.temporal_server import run_temporal_server
from tests.support.tiers import slow
from tests.support.waiting import wait_until


def settings_of(home: Path, **changes: Any) -> Settings:
    """Return the settings of a home."""
    return Settings(home=home, _env_file=None, **changes)


def changed(client: Client, **changes: Any) -> Client:
    """Return a client of the same server with other options."""
    options: Any = client.config() | changes
    return Client(**options)


async def test_the_second_base_is_refused_and_the_first_goes_on(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The refusal is one line that names both bases, the variables that choose them, and the schedule."""
    first, second = settings_of(tmp_path / "first"), settings_of(tmp_path / "second")
    await bind_namespace(server.client, first)
    with pytest.raises(NamespaceTaken) as refused:
        await bind_namespace(server.client, second)
    await bind_namespace(server.client, first)

    line = str(refused.value)
    assert f"({first.knowledge_uri} on {socket.gethostname()})" in line
    for words in (second.knowledge_uri, "TENURE_HOME", "TENURE_LANCEDB_URI", "TEMPORAL_NAMESPACE", f"{BINDING!r}"):
        assert words in line
    assert "\n" not in line


async def test_workers_that_open_a_new_base_together_are_all_accepted(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Each may store an identity of the base, and the namespace remembers one of them."""
    homes = [settings_of(tmp_path / str(n), lancedb_uri=str(tmp_path / "shared")) for n in range(8)]
    await asyncio.gather(*(bind_namespace(server.client, settings) for settings in homes))
    bound = await server.client.get_schedule_handle(BINDING).describe()

    assert isinstance(bound.schedule.action, ScheduleActionStartWorkflow)
    assert bound.schedule.action.id in read_identities(str(tmp_path / "shared"))


async def test_any_identity_of_a_base_is_accepted(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A worker whose identity was recorded is not refused because another worker has stored a smaller one."""
    settings = settings_of(tmp_path / "home")
    ensure_identity(settings.knowledge_uri)
    await bind_namespace(server.client, settings)
    StoredFiles(settings.knowledge_uri).write("identity/00000000000000000000000000000000", b"0")

    await bind_namespace(server.client, settings)


async def test_a_moved_and_a_restored_home_keep_their_namespace(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The identity is part of the base: it is in a backup, and a rename changes nothing."""
    await bind_namespace(server.client, settings_of(tmp_path / "home"))
    create_backup(tmp_path / "home", tmp_path / "backup")
    (tmp_path / "home").rename(tmp_path / "moved")
    await bind_namespace(server.client, settings_of(tmp_path / "moved"))
    shutil.rmtree(tmp_path / "moved")
    restore_backup(tmp_path / "backup", tmp_path / "restored")

    await bind_namespace(server.client, settings_of(tmp_path / "restored"))


async def test_two_namespaces_of_a_server_have_a_base_each(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The base of one namespace says nothing about another one."""
    name = f"n{uuid4().hex[:8]}"
    request = RegisterNamespaceRequest(namespace=name)
    request.workflow_execution_retention_period.FromSeconds(86_400)
    await server.client.workflow_service.register_namespace(request)
    other = changed(server.client, namespace=name)
    # The server knows a new namespace after a moment.
    await wait_until("the new namespace", other.count_workflows, lambda count: True, ignored=RPCError)
    await bind_namespace(server.client, settings_of(tmp_path / "first"))
    await bind_namespace(other, settings_of(tmp_path / "second"))

    with pytest.raises(NamespaceTaken, match=name):
        await bind_namespace(other, settings_of(tmp_path / "first"))


@slow
async def test_workers_share_a_base_in_an_object_store(
    server: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Homes of their own with one URI are one base; another folder of the same bucket is another base."""
    with object_store("fleet") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        homes = [settings_of(tmp_path / str(n), lancedb_uri="s3://fleet/knowledge") for n in range(2)]
        for settings in homes:
            await bind_namespace(server.client, settings)
        with pytest.raises(NamespaceTaken, match=r"\(s3://fleet/knowledge\) than s3://fleet/other"):
            await bind_namespace(server.client, settings_of(tmp_path, lancedb_uri="s3://fleet/other"))

        assert len(read_identities("s3://fleet/knowledge")) == 1
        assert read_identities("s3://fleet/empty") == frozenset()


async def test_a_client_hears_only_about_another_base(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A client without a base, with the bound one, or of an unbound namespace hears nothing."""
    first, second = settings_of(tmp_path / "first"), settings_of(tmp_path / "second")
    ensure_identity(second.knowledge_uri)
    unbound = await describe_other_base(server.client, second)
    await bind_namespace(server.client, first)
    lines = [await describe_other_base(server.client, one) for one in (settings_of(tmp_path / "none"), first, second)]

    assert [unbound, *lines[:2]] == ["", "", ""]
    assert first.knowledge_uri in lines[2]
    assert not (tmp_path / "none").exists()


async def test_a_base_that_is_given_up_is_replaced(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After the deletion of the schedule the next worker binds the namespace."""
    await bind_namespace(server.client, settings_of(tmp_path / "first"))
    await server.client.get_schedule_handle(BINDING).delete()
    await bind_namespace(server.client, settings_of(tmp_path / "second"))

    with pytest.raises(NamespaceTaken):
        await bind_namespace(server.client, settings_of(tmp_path / "first"))


async def test_the_place_of_a_base_is_encrypted(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """With keys the server stores no path, and a client without them sees the identity in its place."""
    first = settings_of(tmp_path / "first", encryption_keys=SecretStr(f"k:{base64.b64encode(bytes(32)).decode()}"))
    encrypted = changed(server.client, data_converter=make_data_converter(first))
    await bind_namespace(encrypted, first)
    bound = (await server.client.get_schedule_handle(BINDING).describe()).schedule.action
    assert isinstance(bound, ScheduleActionStartWorkflow)
    with pytest.raises(NamespaceTaken, match=str(first.knowledge_uri)):
        await check_namespace(encrypted, settings_of(tmp_path / "second"))
    with pytest.raises(NamespaceTaken, match=rf"\({bound.id}\)"):
        await check_namespace(server.client, settings_of(tmp_path / "second"))

    assert isinstance(bound.static_summary, Payload)
    assert str(tmp_path).encode() not in bound.static_summary.SerializeToString()


class Refusing(Interceptor, OutboundInterceptor):
    """Login that may read and create no schedules."""

    def __init__(self, reads: bool = False) -> None:
        self._reads = reads

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        self.next = next
        return self

    async def create_schedule(self, input: CreateScheduleInput) -> ScheduleHandle:
        raise RPCError("not allowed", RPCStatusCode.PERMISSION_DENIED, b"")

    async def describe_schedule(self, input: DescribeScheduleInput) -> ScheduleDescription:
        if self._reads:
            return await self.next.describe_schedule(input)
        raise RPCError("not allowed", RPCStatusCode.PERMISSION_DENIED, b"")


async def test_a_login_without_schedules_is_not_checked(
    server: WorkflowEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for the upkeep, the worker starts with a warning, unless it may read a record of another base."""
    await bind_namespace(server.client, settings_of(tmp_path / "first"))
    capsys.readouterr()
    await bind_namespace(changed(server.client, interceptors=[Refusing()]), settings_of(tmp_path / "second"))
    warned = capsys.readouterr().out
    with pytest.raises(NamespaceTaken):
        reading = changed(server.client, interceptors=[Refusing(reads=True)])
        await bind_namespace(reading, settings_of(tmp_path / "second"))

    assert "it is unknown whether" in warned and "not allowed" in warned


@slow
async def test_a_server_that_goes_away_is_an_outage(tmp_path: Path) -> None:
    """The error is that of a server that cannot be reached, and not a refusal of the base."""
    async with run_temporal_server() as own:
        client = own.client
    address = client.service_client.config.target_host
    settings = settings_of(tmp_path / "home")
    for ask in (bind_namespace, check_namespace):
        with pytest.raises(ServerUnreachable, match=address):
            await ask(client, settings)


async def test_an_unknown_namespace_is_an_error_of_one_line(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The worker does not start, and the line names the namespace."""
    with pytest.raises(ServerUnreachable, match=r"Namespace nowhere is not found") as refused:
        await bind_namespace(changed(server.client, namespace="nowhere"), settings_of(tmp_path))

    assert "\n" not in str(refused.value)
