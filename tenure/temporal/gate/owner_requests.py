"""Decide which gRPC requests an owner may send to the Temporal server of a local stack.

The key of a request maps to the namespace of its owner. Every namespace that the request names, at any depth, must be
this one: a worker of an owner could otherwise start or signal workflows of another namespace by its commands. Requests
that name no namespace are refused, except those whose answers are the same for every client.
"""

import zlib
from collections.abc import Mapping
from functools import cache, lru_cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from temporalio.api.operatorservice.v1 import service_pb2 as operator_service
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.api.workflowservice.v1 import service_pb2 as workflow_service

from tenure.ownership import hash_key

MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""Maximum size of a request, which is that of the server (the default of gRPC)."""

_WORKFLOW_SERVICE = workflow_service.DESCRIPTOR.services_by_name["WorkflowService"]
_OPERATOR_SERVICE = operator_service.DESCRIPTOR.services_by_name["OperatorService"]

_OPEN_PATHS = frozenset(
    (
        *(f"/{_WORKFLOW_SERVICE.full_name}/{name}" for name in ("GetSystemInfo", "GetClusterInfo")),
        "/grpc.health.v1.Health/Check",
    )
)
"""Methods without a namespace whose answers are the same for everyone."""

_OPERATOR_METHODS = frozenset(("AddSearchAttributes", "ListSearchAttributes"))
"""Methods of operators that commands of an owner need; the others change the whole server."""

_MAX_PARTS = 50_000
"""Maximum number of parts of a request that could name a namespace; others cost no time.

A request of 4 MB can consist of two million empty commands, which took 5 s and now 0.4 s, most of it for their parsing.
The end of a workflow task with 2,000 activities has 2,000 parts.
"""

_PREFIX_BYTES = 5
"""Length of the prefix of a gRPC message: a flag for compression, and four bytes for the length."""


class ForeignRequest(Exception):
    """A request concerns another namespace than that of its sender, or cannot be read; the message says which."""


def find_namespace(namespaces: Mapping[str, str], authorization: str) -> str:
    """Return the namespace of the owner of the key in an authorization header, among those by the hashes of keys.

    Raises:
        ForeignRequest: the key is unknown.
    """
    scheme, _, key = authorization.partition(" ")
    namespace = namespaces.get(hash_key(key)) if scheme == "Bearer" else None
    if namespace is None:
        raise ForeignRequest("this server has owners: set TENURE_OWNER and TENURE_OWNER_TOKEN")
    return namespace


def check_request(path: str, body: bytes, encoding: str, namespace: str) -> None:
    """Check that a request concerns one namespace only.

    Args:
        path: path of the method.
        body: body of the request, a single message with its prefix.
        encoding: compression of a message whose prefix says that it is compressed.
        namespace: the namespace.

    Raises:
        ForeignRequest: it concerns another namespace, or the whole server, or cannot be read.
    """
    if path in _OPEN_PATHS:
        return
    request_type = _find_request_type(path)
    if request_type is None:
        raise ForeignRequest(f"{path} is not offered to owners")
    try:
        request = request_type.FromString(_read_message(body, encoding))
    except DecodeError:
        raise ForeignRequest("the request cannot be read") from None
    namespaces = {getattr(request, "namespace", ""), *_find_namespaces(request)}
    if namespaces != {namespace} or (isinstance(request, DescribeNamespaceRequest) and request.id):
        raise ForeignRequest(f"only the namespace {namespace!r} belongs to this owner")


@lru_cache(maxsize=256)  # a client may name any path
def _find_request_type(path: str) -> type[Message] | None:
    """Return the type of the request of a method, or None for a method that is not offered."""
    service, _, name = path.removeprefix("/").partition("/")
    if service == _WORKFLOW_SERVICE.full_name:
        method = _WORKFLOW_SERVICE.methods_by_name.get(name)
    elif service == _OPERATOR_SERVICE.full_name and name in _OPERATOR_METHODS:
        method = _OPERATOR_SERVICE.methods_by_name.get(name)
    else:
        method = None
    return GetMessageClass(method.input_type) if method else None


def _read_message(body: bytes, encoding: str) -> bytes:
    """Return the only message of a body."""
    message = body[_PREFIX_BYTES:]
    if len(body) < _PREFIX_BYTES or int.from_bytes(body[1:_PREFIX_BYTES], "big") != len(message) or body[0] > 1:
        raise ForeignRequest("the request is not one message")
    if not body[0]:
        return message
    if encoding != "gzip":
        raise ForeignRequest(f"the compression {encoding!r} is not offered to owners")
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # with the header of gzip
    try:
        plain = inflater.decompress(message, MAX_REQUEST_BYTES)
    except zlib.error:
        raise ForeignRequest("the request cannot be decompressed") from None
    # The server would read further members of the file as parts of the same message.
    if not inflater.eof or inflater.unused_data or inflater.unconsumed_tail:
        raise ForeignRequest("the request cannot be decompressed completely")
    return plain


def _find_namespaces(request: Message) -> set[str]:
    """Return all namespaces that a request names."""
    namespaces: set[str] = set()
    waiting, remaining = [request], _MAX_PARTS
    while waiting:
        for field, value in waiting.pop().ListFields():
            if _is_namespace(field):
                namespaces.add(value)
            elif field.message_type is not None and _may_name_namespace(field.message_type):
                remaining -= 1 if isinstance(value, Message) else len(value)
                if remaining < 0:
                    raise ForeignRequest(f"the request has more than {_MAX_PARTS:,} parts")
                if isinstance(value, Message):
                    waiting.append(value)
                else:  # several messages, or a mapping with messages as values
                    waiting += value.values() if isinstance(value, Mapping) else value
    return namespaces


def _is_namespace(field: FieldDescriptor) -> bool:
    return field.name == "namespace" and field.type == FieldDescriptor.TYPE_STRING


@cache
def _may_name_namespace(kind: Descriptor) -> bool:
    """Return whether a message of a type can name a namespace, at any depth."""
    visited, waiting = {kind}, [kind]
    while waiting:
        for field in waiting.pop().fields:
            if _is_namespace(field):
                return True
            if field.message_type is not None and field.message_type not in visited:
                visited.add(field.message_type)
                waiting.append(field.message_type)
    return False
