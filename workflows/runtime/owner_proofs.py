"""Prove the owner of a workflow to the activities, children and workflows that it calls, and refuse foreign messages.

A workflow never decides by a token: a replay must decide as before, and tokens change. Its activities check the proof
of the workflow's start when they are executed. Updates and queries are checked when they arrive, which is never
repeated by a replay. The check of a signal is a local activity, whose result is part of the history.

Signatures are computed outside the sandbox, by functions of the worker. They are part of headers only, which a replay
does not compare.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NoReturn

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ContinueAsNewInput,
    ExecuteWorkflowInput,
    HandleQueryInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    SignalChildWorkflowInput,
    SignalExternalWorkflowInput,
    StartActivityInput,
    StartChildWorkflowInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

with workflow.unsafe.imports_passed_through():
    from activities.ownership import (
        OWNER_REFUSED,
        FindCorpora,
        OwnerActivityInterceptor,
        Owners,
        SignalCheck,
        decode_proof,
    )
    from tenure.ownership import (
        HEADER,
        MAX_PROOF_AGE_SECONDS,
        Operation,
        OperationKind,
        Proof,
        WorkflowStart,
        compute_digest,
        get_start_target,
    )

_SIGN = "sign_owner_operation"
_CHECK = "check_owner_message"
_CHECK_TIMEOUT = timedelta(seconds=30)
_SIGNALS_HEADER = "tenure-owner-signals"
"""Header of a continued execution with the signals that the one before it has accepted."""


class OwnerInterceptor(Interceptor):
    """Interceptor of a worker that checks and makes proofs of owners."""

    def __init__(self, owners: Owners, find_corpora: FindCorpora) -> None:
        """Check proofs with the tokens of `owners`; without tokens everything is allowed."""
        self._owners, self._find_corpora = owners, find_corpora

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Check every activity."""
        return OwnerActivityInterceptor(next, self._owners, self._find_corpora)

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        """Return the interceptor of workflows, and register the functions that need tokens."""
        input.unsafe_extern_functions.update({_SIGN: self._owners.sign, _CHECK: self._owners.check_message})
        return _OwnerInbound


class _OwnerContext:
    """Start of a workflow with its proof, shared by the interceptors of one execution."""

    def __init__(self) -> None:
        self.start: WorkflowStart | None = None
        self._signatures = 0

    @cached_property
    def accepted_signals(self) -> dict[str, int]:
        """Times of accepted signals by their nonces, with the recent ones of the execution before."""
        known = workflow.info().headers.get(_SIGNALS_HEADER)
        return json.loads(known.data) if known else {}

    def add_proof(
        self, headers: Mapping[str, Payload], kind: OperationKind, name: str, target: str, arguments: Sequence[Any]
    ) -> Mapping[str, Payload]:
        """Return headers with a proof by the owner of this workflow, if its own start is proved."""
        if self.start is None:
            return headers
        self._signatures += 1
        if workflow.unsafe.is_replaying():
            return headers  # the command was sent by the first execution
        operation = _describe_operation(kind, name, target, arguments)
        now, nonce = round(workflow.now().timestamp() * 1000), f"{workflow.info().run_id}:{self._signatures}"
        proof: Proof | None = workflow.extern_functions()[_SIGN](self.start, operation, now, nonce)
        return headers if proof is None else {**headers, HEADER: encode_proof(proof)}


class _OwnerInbound(WorkflowInboundInterceptor):
    """Interceptor of one workflow execution."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        """Share the context with the outbound interceptor."""
        self._context = _OwnerContext()
        self._signals = asyncio.Lock()
        super().init(_OwnerOutbound(outbound, self._context))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """Keep the proof of the start, with the arguments that it has to fit."""
        if (proof := decode_proof(workflow.info().headers)) is not None and proof.is_start:
            info = workflow.info()
            target = get_start_target(proof, info.workflow_id)
            self._context.start = WorkflowStart(
                proof=proof,
                operation=_describe_operation(proof.kind, info.workflow_type, target, input.args),
                run=info.first_execution_run_id,
                started=round(info.workflow_start_time.timestamp() * 1000),
            )
        return await super().execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:
        """Handle a signal if its sender is the owner of this workflow; signals stay in their order.

        A workflow that was started without a proof has no owner to protect.
        """
        if HEADER not in workflow.info().headers:
            return await super().handle_signal(input)
        proof, accepted = decode_proof(input.headers), self._context.accepted_signals
        async with self._signals:
            if proof is None or proof.nonce in accepted or not await self._check_signal(proof, input):
                workflow.logger.warning("a signal %s without the proof of the owner was refused", input.signal)
                return None
            accepted[proof.nonce] = proof.issued
        return await super().handle_signal(input)

    async def _check_signal(self, proof: Proof, input: HandleSignalInput) -> bool:
        """Return whether a signal is that of the owner, and not one that an earlier execution may have accepted."""
        if proof.issued < _get_oldest(workflow.info().workflow_start_time):
            return False
        operation = _describe_operation("signal", input.signal, workflow.info().workflow_id, input.args)
        accepted: bool = await workflow.execute_local_activity(
            "check_signal",
            SignalCheck(proof=proof, operation=operation),
            result_type=bool,
            start_to_close_timeout=_CHECK_TIMEOUT,
        )
        return accepted

    def handle_update_validator(self, input: HandleUpdateInput) -> None:
        """Refuse an update of anyone but the owner."""
        self._check_message("update", input.update, [*input.args, input.id], input.headers)
        super().handle_update_validator(input)

    async def handle_query(self, input: HandleQueryInput) -> Any:
        """Refuse a query of anyone but the owner, also the queries of the SDK for stacks and details."""
        self._check_message("query", input.query, input.args, input.headers)
        return await super().handle_query(input)

    def _check_message(
        self, kind: OperationKind, name: str, arguments: Sequence[Any], headers: Mapping[str, Payload]
    ) -> None:
        operation = _describe_operation(kind, name, workflow.info().workflow_id, arguments)
        started = workflow.info().workflow_start_time.timestamp()
        refusal: str = workflow.extern_functions()[_CHECK](decode_proof(headers), operation, started)
        if refusal:
            raise ApplicationError(refusal, type=OWNER_REFUSED, non_retryable=True)


class _OwnerOutbound(WorkflowOutboundInterceptor):
    """Interceptor that adds a proof to everything that a workflow calls."""

    def __init__(self, next: WorkflowOutboundInterceptor, context: _OwnerContext) -> None:
        super().__init__(next)
        self._context = context

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
        """Prove the start of the next execution, and name the signals that it must not accept again."""
        info = workflow.info()
        name, arguments = input.workflow or info.workflow_type, input.args
        oldest, signals = _get_oldest(workflow.now()), self._context.accepted_signals
        recent = {nonce: issued for nonce, issued in signals.items() if issued >= oldest}
        headers = {**input.headers, _SIGNALS_HEADER: Payload(data=json.dumps(recent).encode())}
        input.headers = self._context.add_proof(headers, "child", name, info.workflow_id, arguments)
        super().continue_as_new(input)

    async def start_child_workflow(self, input: StartChildWorkflowInput) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Prove the start of a child."""
        input.headers = self._context.add_proof(input.headers, "child", input.workflow, input.id, input.args)
        return await super().start_child_workflow(input)

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Prove the start of an activity."""
        target = workflow.info().workflow_id
        input.headers = self._context.add_proof(input.headers, "activity", input.activity, target, input.args)
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        """Prove the start of a local activity."""
        target = workflow.info().workflow_id
        input.headers = self._context.add_proof(input.headers, "activity", input.activity, target, input.args)
        return super().start_local_activity(input)

    async def signal_child_workflow(self, input: SignalChildWorkflowInput) -> None:
        """Prove the sender of a signal."""
        target = input.child_workflow_id
        input.headers = self._context.add_proof(input.headers, "signal", input.signal, target, input.args)
        await super().signal_child_workflow(input)

    async def signal_external_workflow(self, input: SignalExternalWorkflowInput) -> None:
        """Prove the sender of a signal."""
        target = input.workflow_id
        input.headers = self._context.add_proof(input.headers, "signal", input.signal, target, input.args)
        await super().signal_external_workflow(input)


def _get_oldest(started: datetime) -> int:
    """Return the time in milliseconds from which proofs belong to an execution that started then."""
    return round((started.timestamp() - MAX_PROOF_AGE_SECONDS) * 1000)


def encode_proof(proof: Proof) -> Payload:
    """Return a proof as the value of a header."""
    return Payload(metadata={"encoding": b"json/plain"}, data=proof.model_dump_json().encode())


def _describe_operation(kind: OperationKind, name: str, target: str, arguments: Sequence[Any]) -> Operation:
    return Operation(
        kind=kind, name=name, target=target, namespace=workflow.info().namespace, digest=compute_digest(arguments)
    )
