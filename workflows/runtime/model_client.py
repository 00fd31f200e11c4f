"""Ask roles: reserve the budget of each call, execute the role's activity, and account for its reply.

When a budget of the model is exhausted, fallbacks decide, which costs nothing; the record names every such decision,
so that the report can say so.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows.runtime.activity_options import MODEL_CALL
from workflows.runtime.call_record import ActivityClient
from workflows.runtime.failures import describe_failure
from workflows.runtime.optional_step import limit_by_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control import budget
    from tenure.algorithms.control.usage import add_call, record_call
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.run.budget import BudgetAmounts, CallBudget
    from tenure.contracts.run.role_calls import RoleReply, RoleRequest
    from tenure.contracts.run.run import FallbackRecord, RunLimits, Usage
    from tenure.roles.base import BaseRole, Evidence, I, R

# Annotations with generic models are quoted: pydantic would build a class of each for every workflow that starts.

MODEL_BUDGETS = ("tokens", "money", "calls")
"""Budgets of the model alone: when one is exhausted, the run continues with fallbacks."""


class ModelClient(ActivityClient):
    """Client for the roles."""

    async def ask(
        self,
        role: "BaseRole[I, Any, R]",
        input: I,
        evidence: Sequence[PassageRef] = (),
        *,
        summary: str,
        for_writing: bool = False,
        by_rule: bool = False,
    ) -> R:
        """Execute a role and return its reply, as soon as the run is not paused.

        A call `for_writing` may use the part of the budget that is held back for the report. With `by_rule`, the
        fallback decides because a model would add nothing; it costs no budget.
        """
        await self._workflow.wait_while_paused()
        if by_rule and not role.reads_evidence:
            return role.build_reply(input, role.fallback(input, Evidence()), Evidence())
        limits = self._workflow.apply_budget_revision(self._limits)
        prompt = input.model_dump_json() if limits.has_model_budget else ""
        images = len(role.list_pictures(input)) if role.list_pictures else 0

        def call_budget(answers: int) -> CallBudget:
            return budget.compute_call_budget(limits, prompt, len(evidence), answers, images)

        expected = (
            budget.compute_expected_amounts(budget.count_shown_bytes(input.model_dump()), len(evidence), images)
            if limits.has_model_budget
            else BudgetAmounts()
        )
        answers, reserved = (
            (0, BudgetAmounts())
            if by_rule
            else await self._reserve(limits, call_budget, expected, for_writing=for_writing)
        )
        revision = self._lease.revision
        await self._workflow.wait_while_paused()
        request = role.request_type(
            input=input,
            evidence=tuple(evidence),
            budget=call_budget(answers) if answers else None,
            budget_exhausted=reserved is None,
            by_rule=by_rule,
            language=self._limits.language,
            chat_model=self._limits.chat_model,
            fresh=self._limits.fresh,
        )
        with nullcontext() if by_rule else self._progress.track_long_step():
            reply = await self._execute(role, request, summary)
        if reserved is not None and limits.has_model_budget:
            self._lease.release(reserved, budget.compute_used_amounts(add_call(Usage(), "", reply)), revision)
        return reply.output

    async def _reserve(
        self,
        limits: RunLimits,
        call_budget: Callable[[int], CallBudget],
        expected: BudgetAmounts,
        *,
        for_writing: bool,
    ) -> tuple[int, BudgetAmounts | None]:
        """Return the number of answers a call may take, 0 for any number, and the reserved amounts.

        The amounts are None if nothing could be reserved, so that the fallback has to decide. Limits of people are
        never exceeded, so the most that a call can use is reserved. Those of an effort are about as high as a run
        needs: with what a call is expected to use, they end a run that needs more and no other.
        """
        control = self._workflow.control
        if control.deadline_exceeded:
            return 0, None
        if not limits.has_model_budget:
            return 0, BudgetAmounts()
        if control.exhausted in MODEL_BUDGETS and not for_writing:
            return 0, None
        if control.budget_revision.by_effort:
            return 0, await self._lease.reserve_expected(expected, for_writing=for_writing)
        maximum, minimum = (
            budget.compute_reservation(limits, call_budget(answers)) for answers in (budget.MAX_ANSWERS_PER_CALL, 1)
        )
        reserved = await self._lease.reserve(maximum, minimum, for_writing=for_writing)
        return (0 if reserved is None else budget.MAX_ANSWERS_PER_CALL if reserved == maximum else 1), reserved

    async def _execute(self, role: "BaseRole[I, Any, R]", request: "RoleRequest[I]", summary: str) -> "RoleReply[R]":
        """Execute the role's activity; when the run's deadline is exceeded, cancel it and use the fallback."""
        options = limit_by_step(MODEL_CALL).copy()
        options["summary"] = summary[:200]
        started = workflow.now()
        handle = workflow.start_activity(role.name, request, result_type=role.reply_type, **options)
        try:
            await workflow.wait_condition(
                lambda: handle.done() or (self._workflow.control.deadline_exceeded and not request.budget_exhausted)
            )
        except asyncio.CancelledError:
            await self._cancel(role, handle, started)
            raise
        if not handle.done():
            await self._cancel(role, handle, started)
            without_model = request.model_copy(update={"budget_exhausted": True, "budget": None})
            return await self._execute(role, without_model, summary)
        try:
            reply: RoleReply[R] = await handle
        except ActivityError as error:
            self._workflow.log.add_call(role.name, "model", started, failure=describe_failure(error))
            raise
        self._record_reply(role, reply, started)
        return reply

    async def _cancel(
        self, role: "BaseRole[I, Any, R]", handle: workflow.ActivityHandle[Any], started: datetime
    ) -> None:
        """Cancel a call and wait for its end; a reply that arrived together with the cancellation is paid."""
        handle.cancel()
        with suppress(ActivityError, asyncio.CancelledError):
            self._record_reply(role, await handle, started)

    def _record_reply(self, role: "BaseRole[I, Any, R]", reply: "RoleReply[R]", started: datetime) -> None:
        """Record what a call used, and whether a fallback decided."""
        span = (round(started.timestamp() * 1000), round(workflow.now().timestamp() * 1000))
        self._record.usage = record_call(self._record.usage, role.name, reply, span)
        self._workflow.log.add_call(
            role.name,
            "model",
            started,
            model_calls=reply.model_calls,
            tokens=reply.tokens_in + reply.tokens_out,
            cost_usd=reply.cost_usd,
            failure=reply.fallback_reason or "",
        )
        if reply.fallback_reason:
            self._record.fallbacks.append(FallbackRecord(role=role.name, reason=reply.fallback_reason))
