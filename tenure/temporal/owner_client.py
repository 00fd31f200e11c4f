"""Prove the owner of every request of a client.

The name of every workflow and schedule that the client starts begins with its owner.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from pydantic_core import to_jsonable_python
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    CreateScheduleInput,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleUpdate,
    ScheduleUpdateInput,
    SignalWorkflowInput,
    StartWorkflowInput,
    StartWorkflowUpdateInput,
    UpdateScheduleInput,
    WorkflowHandle,
    WorkflowUpdateHandle,
)

from tenure.ownership import HEADER, Operation, OperationKind, compute_digest, qualify_name, sign_operation
from tenure.settings import Settings


class OwnerClientInterceptor(Interceptor):
    """Interceptor of a client that adds proofs.

    Args:
        owner: name of the owner.
        token: token of the owner; it never leaves this process.
        namespace: namespace of the client.
    """

    def __init__(self, owner: str, token: str, namespace: str) -> None:
        self._owner, self._token, self._namespace = owner, token, namespace

    @classmethod
    def from_settings(cls, settings: Settings, namespace: str) -> "list[OwnerClientInterceptor]":
        """Return the interceptor that the settings describe; none without an owner."""
        if not settings.owner or settings.owner_token is None:
            return []
        return [cls(settings.owner, settings.owner_token.get_secret_value(), namespace)]

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Add proofs to the requests of a client."""
        return _OwnerOutbound(next, self)

    def qualify(self, name: str) -> str:
        """Return a name with this owner."""
        return qualify_name(name, self._owner)

    def prove(self, kind: OperationKind, name: str, target: str, arguments: Sequence[Any]) -> Mapping[str, Payload]:
        """Return the header with the proof of an operation."""
        operation = Operation(
            kind=kind, name=name, target=target, namespace=self._namespace, digest=compute_digest(arguments)
        )
        proof = sign_operation(
            self._token, self._owner, operation, issued=round(time.time() * 1000), nonce=secrets.token_hex(16)
        )
        return {HEADER: Payload(metadata={"encoding": b"json/plain"}, data=proof.model_dump_json().encode())}

    def sign_schedule(self, schedule: Schedule) -> Schedule:
        """Return a schedule whose runs are proved, each of which has an id made from that of the action."""
        action = schedule.action
        if not isinstance(action, ScheduleActionStartWorkflow) or any(isinstance(arg, Payload) for arg in action.args):
            return schedule  # as the server described it, with the proof that it has
        signed = copy(action)
        signed.id = self.qualify(action.id)
        signed.headers = self.prove("schedule", signed.workflow, signed.id, signed.args)
        return replace(schedule, action=signed)


class _OwnerOutbound(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, owner: OwnerClientInterceptor) -> None:
        super().__init__(next)
        self._owner = owner

    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        """Start a workflow under the name of the owner."""
        input.id = self._owner.qualify(input.id)
        input.headers = {**input.headers, **self._owner.prove("start", input.workflow, input.id, input.args)}
        return await super().start_workflow(input)

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:
        """Prove the sender of a signal."""
        # The handlers of a run accept whatever a person types, so that they see plain values instead of models.
        arguments = [to_jsonable_python(argument) for argument in input.args]
        input.headers = {**input.headers, **self._owner.prove("signal", input.signal, input.id, arguments)}
        await super().signal_workflow(input)

    async def query_workflow(self, input: QueryWorkflowInput) -> Any:
        """Prove the sender of a query."""
        input.headers = {**input.headers, **self._owner.prove("query", input.query, input.id, input.args)}
        return await super().query_workflow(input)

    async def start_workflow_update(self, input: StartWorkflowUpdateInput) -> WorkflowUpdateHandle[Any]:
        """Prove the sender of an update."""
        input.update_id = input.update_id or secrets.token_hex(16)
        arguments = [*input.args, input.update_id]
        input.headers = {**input.headers, **self._owner.prove("update", input.update, input.id, arguments)}
        return await super().start_workflow_update(input)

    async def create_schedule(self, input: CreateScheduleInput) -> ScheduleHandle:
        """Prove the runs of a schedule."""
        input.id = self._owner.qualify(input.id)
        input.schedule = self._owner.sign_schedule(input.schedule)
        return await super().create_schedule(input)

    async def update_schedule(self, input: UpdateScheduleInput) -> None:
        """Prove the runs of a changed schedule."""
        updater = input.updater

        async def sign(found: ScheduleUpdateInput) -> ScheduleUpdate | None:
            changed = updater(found)
            update = await changed if isawaitable(changed) else changed
            return update and replace(update, schedule=self._owner.sign_schedule(update.schedule))

        input.updater = sign
        await super().update_schedule(input)
