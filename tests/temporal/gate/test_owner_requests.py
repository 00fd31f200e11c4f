"""Test which requests the gate passes on for the owner of a namespace."""

import gzip

import pytest
from google.protobuf.message import Message
from temporalio.api.cloud.cloudservice.v1 import GetUsersRequest
from temporalio.api.command.v1 import Command
from temporalio.api.common.v1 import Payload
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, DeleteNamespaceRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    ExecuteMultiOperationRequest,
    GetSystemInfoRequest,
    ListNamespacesRequest,
    PollWorkflowTaskQueueRequest,
    RespondWorkflowTaskCompletedRequest,
    StartWorkflowExecutionRequest,
)

from tenure.ownership import derive_gate_key, hash_key
from tenure.temporal.gate.owner_requests import MAX_REQUEST_BYTES, ForeignRequest, check_request, find_namespace

WORKFLOWS = "/temporal.api.workflowservice.v1.WorkflowService/"
OPERATOR = "/temporal.api.operatorservice.v1.OperatorService/"


def frame(message: Message | bytes, flag: int = 0) -> bytes:
    """Return the body of a gRPC request with one message."""
    content = message if isinstance(message, bytes) else message.SerializeToString()
    return bytes([flag]) + len(content).to_bytes(4, "big") + content


def commanding(namespace: str) -> RespondWorkflowTaskCompletedRequest:
    """Return the end of a workflow task that starts a child in a namespace."""
    command = Command()
    command.start_child_workflow_execution_command_attributes.namespace = namespace
    return RespondWorkflowTaskCompletedRequest(namespace="ann", commands=[command])


def starting(namespace: str) -> ExecuteMultiOperationRequest:
    """Return an update with the start of its workflow, in a namespace."""
    operation = ExecuteMultiOperationRequest.Operation(
        start_workflow=StartWorkflowExecutionRequest(namespace=namespace)
    )
    return ExecuteMultiOperationRequest(namespace="ann", operations=[operation])


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        (f"{WORKFLOWS}GetSystemInfo", GetSystemInfoRequest()),
        (f"{WORKFLOWS}PollWorkflowTaskQueue", PollWorkflowTaskQueueRequest(namespace="ann")),
        (f"{WORKFLOWS}DescribeNamespace", DescribeNamespaceRequest(namespace="ann")),
        (f"{WORKFLOWS}RespondWorkflowTaskCompleted", commanding("ann")),
        (f"{WORKFLOWS}RespondWorkflowTaskCompleted", commanding("")),
        (f"{WORKFLOWS}ExecuteMultiOperation", starting("ann")),
        (f"{OPERATOR}AddSearchAttributes", AddSearchAttributesRequest(namespace="ann")),
    ],
    ids=lambda value: value.rpartition("/")[2] if isinstance(value, str) else "",
)
def test_a_request_about_the_own_namespace_is_passed_on(path: str, request_: Message) -> None:
    """Plain and compressed requests are passed on; a request about nothing is the same for everyone."""
    check_request(path, frame(request_), "", "ann")
    check_request(path, frame(gzip.compress(request_.SerializeToString()), 1), "gzip", "ann")


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        (f"{WORKFLOWS}PollWorkflowTaskQueue", PollWorkflowTaskQueueRequest(namespace="bob")),
        (f"{WORKFLOWS}PollWorkflowTaskQueue", PollWorkflowTaskQueueRequest()),
        (f"{WORKFLOWS}ListNamespaces", ListNamespacesRequest()),
        (f"{WORKFLOWS}DescribeNamespace", DescribeNamespaceRequest(id="4f6c")),
        (f"{WORKFLOWS}DescribeNamespace", DescribeNamespaceRequest(namespace="ann", id="4f6c")),
        (f"{WORKFLOWS}RespondWorkflowTaskCompleted", commanding("bob")),
        (f"{WORKFLOWS}ExecuteMultiOperation", starting("bob")),
        (f"{WORKFLOWS}NoSuchMethod", PollWorkflowTaskQueueRequest(namespace="ann")),
        (f"{OPERATOR}AddSearchAttributes", AddSearchAttributesRequest(namespace="bob")),
        (f"{OPERATOR}DeleteNamespace", DeleteNamespaceRequest(namespace="ann")),
        ("/temporal.server.api.adminservice.v1.AdminService/GetShard", GetSystemInfoRequest()),
        ("/temporal.api.cloud.cloudservice.v1.CloudService/GetUsers", GetUsersRequest()),
        ("", GetSystemInfoRequest()),
    ],
    ids=lambda value: value.rpartition("/")[2] if isinstance(value, str) else "",
)
def test_every_other_request_is_refused(path: str, request_: Message) -> None:
    """Requests about other namespaces, by name, by id or in a command, and about the server are refused."""
    for body, encoding in ((frame(request_), ""), (frame(gzip.compress(request_.SerializeToString()), 1), "gzip")):
        with pytest.raises(ForeignRequest):
            check_request(path, body, encoding, "ann")


PLAIN = PollWorkflowTaskQueueRequest(namespace="ann").SerializeToString()
OTHER = PollWorkflowTaskQueueRequest(namespace="bob").SerializeToString()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"", ""),
        (frame(PLAIN)[:-1], ""),
        (frame(PLAIN) + frame(OTHER), ""),
        (frame(PLAIN) + b"x", ""),
        (frame(b"\xff\xff"), ""),
        (frame(PLAIN + OTHER), ""),
        (frame(PLAIN, 1), "gzip"),
        (frame(PLAIN, 1), "snappy"),
        (frame(PLAIN, 2), "gzip"),
        (frame(gzip.compress(PLAIN, mtime=0)[:-4], 1), "gzip"),
        (frame(gzip.compress(PLAIN, mtime=0) + gzip.compress(OTHER, mtime=0), 1), "gzip"),
        (frame(gzip.compress(PLAIN + bytes(MAX_REQUEST_BYTES), mtime=0), 1), "gzip"),
    ],
)
def test_a_body_that_is_not_one_request_is_refused(body: bytes, encoding: str) -> None:
    """A body that server and gate could read differently is not passed on."""
    with pytest.raises(ForeignRequest):
        check_request(f"{WORKFLOWS}PollWorkflowTaskQueue", body, encoding, "ann")


def test_a_request_of_very_many_parts_is_refused() -> None:
    """Millions of empty commands fit into one request; the parts without a namespace of a large one do not count."""
    path = f"{WORKFLOWS}RespondWorkflowTaskCompleted"
    command = Command()
    command.schedule_activity_task_command_attributes.input.payloads.extend([Payload(data=b"x")] * 20)
    large = RespondWorkflowTaskCompletedRequest(namespace="ann", commands=[command] * 20_000)
    check_request(path, frame(large), "", "ann")
    large.commands.extend([Command()] * 30_001)
    with pytest.raises(ForeignRequest, match="more than 50,000 parts"):
        check_request(path, frame(large), "", "ann")


def test_a_key_opens_the_namespace_of_its_owner() -> None:
    """The header holds a key derived from the token; neither the token nor the stored hash is one."""
    namespaces = {hash_key(derive_gate_key("a" * 32)): "ann"}

    assert find_namespace(namespaces, f"Bearer {derive_gate_key('a' * 32)}") == "ann"
    for header in (
        "",
        "Bearer",
        f"Bearer {'a' * 32}",
        f"Basic {derive_gate_key('a' * 32)}",
        f"Bearer {next(iter(namespaces))}",
    ):
        with pytest.raises(ForeignRequest, match="TENURE_OWNER_TOKEN"):
            find_namespace(namespaces, header)
