"""Prove the owner of a workflow to the activities, children and workflows that it calls, and refuse foreign messages.

A workflow never decides by a token: a replay must decide as before, and tokens change. Its activities check the proof
of the workflow's start when they are executed. Updates and queries are checked when they arrive, which is never
repeated by a replay. The check of a signal is a local activity, whose result is part of the history.

Signatures are computed outside the sandbox, by functions of the worker. They are part of headers only, which a replay
does not compare.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
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
        now, nonce = round(workflow.now().timestamp() * 1000), f"{self.start.run}:{self._signatures}"
        proof: Proof | None = workflow.extern_functions()[_SIGN](self.start, operation, now, nonce)
        return headers if proof is None else {**headers, HEADER: encode_proof(proof)}


class _OwnerInbound(WorkflowInboundInterceptor):
    """Interceptor of one workflow execution."""

    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        """Share the context with the outbound interceptor."""
        self._context = _OwnerContext()
        self._signals = asyncio.Lock()
        self._seen: set[str] = set()
        super().init(_OwnerOutbound(outbound, self._context))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """Keep the proof of the start, with the arguments that it has to fit."""
        if (proof := decode_proof(workflow.info().headers)) is not None and proof.is_start:
            info = workflow.info()
            target = get_start_target(proof, info.workflow_id)
            self._context.start = WorkflowStart(
                proof=proof,
                operation=_describe_operation(proof.kind, info.workflow_type, target, input.args),
                run=info.run_id,
                started=round(info.start_time.timestamp() * 1000),
            )
        return await super().execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:
        """Handle a signal if its sender is the owner of this workflow; signals stay in their order.

        A workflow that was started without a proof has no owner to protect.
        """
        if HEADER not in workflow.info().headers:
            return await super().handle_signal(input)
        proof = decode_proof(input.headers)
        async with self._signals:
            if proof is None or proof.nonce in self._seen or not await self._check_signal(proof, input):
                workflow.logger.warning("a signal %s without the proof of the owner was refused", input.signal)
                return None
            self._seen.add(proof.nonce)
        return await super().handle_signal(input)

    async def _check_signal(self, proof: Proof, input: HandleSignalInput) -> bool:
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
        self._check_message("update", input.update, input.args, input.headers)
        super().handle_update_validator(input)

    async def handle_query(self, input: HandleQueryInput) -> Any:
        """Refuse a query of anyone but the owner, also the queries of the SDK for stacks and details."""
        self._check_message("query", input.query, input.args, input.headers)
        return await super().handle_query(input)

    def _check_message(
        self, kind: OperationKind, name: str, arguments: Sequence[Any], headers: Mapping[str, Payload]
    ) -> None:
        operation = _describe_operation(kind, name, workflow.info().workflow_id, arguments)
        refusal: str = workflow.extern_functions()[_CHECK](decode_proof(headers), operation)
        if refusal:
            raise ApplicationError(refusal, type=OWNER_REFUSED, non_retryable=True)


class _OwnerOutbound(WorkflowOutboundInterceptor):
    """Interceptor that adds a proof to everything that a workflow calls."""

    def __init__(self, next: WorkflowOutboundInterceptor, context: _OwnerContext) -> None:
        super().__init__(next)
        self._context = context

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
        """Prove the start of the next execution."""
        info = workflow.info()
        name, arguments = input.workflow or info.workflow_type, input.args
        input.headers = self._context.add_proof(input.headers, "child", name, info.workflow_id, arguments)
        super().continue_as_new(input)

    async def start_child_workflow(self, input: StartChildWorkflowInput) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Prove the start of a child."""
        input.headers = self._context.add_proof(input.headers, "child", input.workflow, input.id, input.args)
        return await super().start_child_workflow(input)

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:
        """Prove the start of an activity."""
        run = workflow.info().run_id
        input.headers = self._context.add_proof(input.headers, "activity", input.activity, run, input.args)
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:
        """Prove the start of a local activity."""
        run = workflow.info().run_id
        input.headers = self._context.add_proof(input.headers, "activity", input.activity, run, input.args)
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


def encode_proof(proof: Proof) -> Payload:
    """Return a proof as the value of a header."""
    return Payload(metadata={"encoding": b"json/plain"}, data=proof.model_dump_json().encode())


def _describe_operation(kind: OperationKind, name: str, target: str, arguments: Sequence[Any]) -> Operation:
    return Operation(
        kind=kind, name=name, target=target, namespace=workflow.info().namespace, digest=compute_digest(arguments)
    )
