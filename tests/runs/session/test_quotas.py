"""Test the limit of a day: the next run gets the rest of the money, and after it none starts."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.run.control import BudgetBounds
from tenure.runs.errors import QuotaReached
from tenure.runs.messages import RepeatBody, StartRequest
from tenure.runs.session.connection import AGENT_WORKFLOW, Session
from tenure.runs.session.quotas import Quota
from tenure.runs.session.server_target import ServerTarget
from tenure.settings import Settings

DONE, CONTINUED = WorkflowExecutionStatus.COMPLETED, WorkflowExecutionStatus.CONTINUED_AS_NEW


@dataclass
class ListingClient:
    """Client of a server that has ended executions with costs."""

    costs: dict[str, float | None]
    continued: frozenset[str] = frozenset()
    read: list[str] = field(default_factory=list)

    async def list_workflows(self, query: str, limit: int | None = None) -> AsyncIterator[Any]:
        for name in tuple(self.costs) if "CloseTime" in query else ():
            status = CONTINUED if name in self.continued else DONE
            yield SimpleNamespace(id=name, run_id=f"{name}-1", status=status, workflow_type=AGENT_WORKFLOW)

    def get_workflow_handle(self, name: str, **_: Any) -> Any:
        async def result(*, follow_runs: bool) -> Any:
            self.read.append(name)
            return SimpleNamespace(usage=SimpleNamespace(cost_usd=self.costs[name]))

        async def describe() -> Any:
            raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")

        return SimpleNamespace(result=result, describe=describe)


def make_session(client: ListingClient, **settings: Any) -> Session:
    place = ServerTarget(Settings(**{"openai_api_key": "key"} | settings, _env_file=None), "", "ann", False, "")
    return Session(place, cast(Any, client))


@pytest.mark.parametrize(("asked", "given"), [(None, 6.5), (2.0, 2.0), (9.0, 6.5)])
async def test_a_run_gets_no_more_than_is_left_of_the_day(asked: float | None, given: float) -> None:
    """Costs of today's executions count once each, also without a price; those that continue are counted later."""
    client = ListingClient({"a": 2.5, "b": 1.0, "c": None, "d": 7.0}, frozenset("d"))
    session, quota = make_session(client), Quota(5, 10.0)
    for _ in range(2):
        async with quota.open_start(session, StartRequest(question="Why?", max_cost_usd=asked)) as admitted:
            assert admitted.max_cost_usd == given
            assert "max_cost_usd" in admitted.model_fields_set

    assert client.read == ["a", "b", "c"]


async def test_a_repeated_run_keeps_a_lower_limit_of_its_own() -> None:
    """The rest of the day is no limit of the request: that of the earlier run applies if it is lower."""
    session = make_session(ListingClient({"a": 2.5}), max_cost_usd=1.0)
    async with Quota(5, 10.0).open_start(session, RepeatBody()) as admitted:
        assert admitted.max_cost_usd == 7.5
        assert "max_cost_usd" not in admitted.model_fields_set


async def test_a_spent_day_refuses_starts_and_larger_budgets() -> None:
    """The message names the limit and when the next run may start."""
    spent, rest = make_session(ListingClient({"a": 10.0})), make_session(ListingClient({"a": 7.0}))
    with pytest.raises(QuotaReached, match="the 10 USD of a day: ask again after midnight"):
        async with Quota(5, 10.0).open_start(spent, StartRequest(question="Why?")):
            pass
    with pytest.raises(QuotaReached, match=r"3\.00 USD of today are left"):
        await Quota(5, 10.0).check_budget(rest, BudgetBounds(max_cost_usd=3.5))
    await Quota(5, 10.0).check_budget(rest, BudgetBounds(max_cost_usd=3.0))
    await Quota(5, 10.0).check_budget(rest, BudgetBounds(max_tokens=10_000))


async def test_without_a_limit_or_a_model_money_is_not_counted() -> None:
    """Nothing is read, and the request stays as it is."""
    client = ListingClient({"a": 10.0})
    for session, quota in (
        (make_session(client), Quota(5, None)),
        (make_session(client, openai_api_key=None), Quota(5, 10.0)),
    ):
        async with quota.open_start(session, StartRequest(question="Why?")) as admitted:
            assert admitted.max_cost_usd is None

    assert client.read == []


async def test_a_deleted_run_is_no_longer_under_way() -> None:
    """A run that was deleted before the server listed it leaves its place to the next one."""
    session, quota = make_session(ListingClient({})), Quota(1, None)
    quota.record_start("deleted")
    async with quota.open_start(session, StartRequest(question="Why?")) as admitted:
        assert admitted.question == "Why?"


async def test_a_deletion_gives_no_money_back() -> None:
    """The cost of a run counts on when the server no longer has it, until the next day."""
    client = ListingClient({"a": 7.0})
    session, quota = make_session(client), Quota(5, 10.0)
    await quota.record_costs(session)
    client.costs.clear()
    async with quota.open_start(session, StartRequest(question="Why?")) as admitted:
        assert admitted.max_cost_usd == 3.0
    quota._day -= timedelta(days=1)
    async with quota.open_start(session, StartRequest(question="Why?")) as admitted:
        assert admitted.max_cost_usd == 10.0
