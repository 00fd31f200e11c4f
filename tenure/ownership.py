"""Name the owner of a resource, and prove who asks for an operation.

The name of a run or a corpus contains its owner: `ann~how-is-bread-made-1f3a`. It therefore cannot be separated from
its owner, and needs no table that could be wrong.

A proof is an HMAC-SHA256 with the owner's token as the key (RFC 2104). It covers one operation: namespace, kind, name,
target and arguments. Everyone who reaches a Temporal server can read the headers of a history, so the token itself is
never sent, and a copied proof fits no other operation.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

HEADER = "tenure-owner"
"""Temporal header that holds a proof."""

SEPARATOR = "~"
"""Character between an owner and the name of a resource."""

MIN_TOKEN_LENGTH = 32
"""Minimum length of a token: a proof is public, so that a short token could be guessed from it."""

MAX_PROOF_AGE_SECONDS = 300
"""Maximum difference between the time of a proof and the time at which the server received its operation."""

MAX_FAIRNESS_KEY_BYTES = 64
"""Maximum length of the server for a fairness key, which is the owner or, without one, the run."""

_OWNED = re.compile(rf"(?:.*[^a-z0-9_])?([a-z][a-z0-9_]{{0,39}}){SEPARATOR}", re.DOTALL)
_SCHEDULE_SUFFIX = re.compile(r"-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

OperationKind = Literal["start", "schedule", "child", "activity", "signal", "update", "query"]


class Operation(BaseModel):
    """An operation that an owner asks for, as the worker observes it."""

    model_config = ConfigDict(frozen=True)

    kind: OperationKind
    """Kind of the operation; `child` is the start of a workflow by a workflow."""
    name: str
    """Name of the workflow type, activity, signal, update or query."""
    target: str
    """Id of the workflow."""
    namespace: str
    """Namespace of the workflow."""
    digest: str
    """Hash of the arguments."""


class Proof(BaseModel):
    """Proof that an owner asks for an operation."""

    model_config = ConfigDict(frozen=True)

    owner: str
    """Name of the owner."""
    kind: OperationKind
    """Kind of the operation."""
    issued: int
    """Time of the proof in milliseconds since the epoch."""
    nonce: str
    """Text that no other proof contains."""
    mac: str
    """Message authentication code in hexadecimal digits."""

    @property
    def is_start(self) -> bool:
        """Whether it proves the start of a workflow."""
        return self.kind in ("start", "schedule", "child")


class WorkflowStart(BaseModel):
    """Start of a workflow, with the proof of its header."""

    model_config = ConfigDict(frozen=True)

    proof: Proof
    """Proof of the header."""
    operation: Operation
    """Start as the worker observes it."""
    run: str
    """Id of the first execution, which a reset keeps."""
    started: int
    """Time at which the server started it, in milliseconds since the epoch."""


def get_owner(name: str) -> str | None:
    """Return the owner of a run, corpus or workflow, or None if the name contains none."""
    head, separator, _ = name.partition(SEPARATOR)
    found = _OWNED.fullmatch(head + separator) if separator else None
    return found[1] if found else None


def qualify_name(name: str, owner: str) -> str:
    """Return a name with its owner; a leading `~` marks a name without an owner."""
    if name.startswith(SEPARATOR):
        return name[1:]
    return name if not owner or get_owner(name) else f"{owner}{SEPARATOR}{name}"


def compute_digest(arguments: Sequence[Any]) -> str:
    """Return the hash of arguments; fields with their default values do not change it.

    Client and worker may have different versions, of which one knows more fields.
    """
    plain = [
        argument.model_dump(mode="json", exclude_defaults=True)
        if isinstance(argument, BaseModel)
        else to_jsonable_python(argument)
        for argument in arguments
    ]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def sign_operation(token: str, owner: str, operation: Operation, issued: int, nonce: str) -> Proof:
    """Return the proof of an operation."""
    mac = _compute_mac(token, owner, operation, issued, nonce)
    return Proof(owner=owner, kind=operation.kind, issued=issued, nonce=nonce, mac=mac)


def is_genuine(token: str, proof: Proof, operation: Operation) -> bool:
    """Return whether a proof was made with a token for exactly this operation; takes the same time for every proof."""
    expected = _compute_mac(token, proof.owner, operation, proof.issued, proof.nonce)
    return hmac.compare_digest(expected.encode(), proof.mac.encode())


def get_start_target(proof: Proof, workflow_id: str) -> str:
    """Return the id that the proof of a start covers: a schedule adds the time of each start to its id."""
    return _SCHEDULE_SUFFIX.sub("", workflow_id) if proof.kind == "schedule" else workflow_id


def _compute_mac(token: str, owner: str, operation: Operation, issued: int, nonce: str) -> str:
    message = json.dumps(
        [
            *("tenure-owner-1", operation.namespace, owner, operation.kind, operation.name),
            *(operation.target, operation.digest, issued, nonce),
        ]
    )
    return hmac.new(token.encode(), message.encode(), hashlib.sha256).hexdigest()
