"""Test that owner and priority of the command line reach everything that a run starts."""

from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.common.v1 import Priority as SentPriority
from temporalio.client import WorkflowQueryFailedError
from temporalio.common import Priority
from temporalio.envconfig import ClientConfigProfile

from tenure.cli import main as client
from tenure.contracts.result.batch import BatchItem
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.runs.automation.batches import PlannedBatch, start_or_continue
from tenure.runs.automation.schedules import build_schedule, plan_schedule
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import ForkBody, ScheduleBody, StartRequest
from tenure.runs.session.connection import Session, explain_refusals
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.start import PlannedRun, build_priority
from tenure.settings import Settings, describe_settings_error
from tenure.temporal.connection import get_namespace
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.encryption import DecryptionError, EncryptionCodec
from tenure.temporal.stack.fingerprint import build_worker_environment
from tests.conftest import Serving
from tests.runs.command_lines import parse
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge
from workflows.runtime.search_attributes import OWNER

ASKED = ["start", "Why?", "--owner", "ann", "--priority", "2"]


def test_an_owner_is_a_fairness_key() -> None:
    """An owner is a fairness key; without arguments the server's defaults apply."""
    assert build_priority(parse(StartRequest, *ASKED)) == Priority(priority_key=2, fairness_key="ann")
    assert build_priority(parse(StartRequest, "start", "Why?")) == Priority()


def test_a_fork_overrides_owner_and_priority() -> None:
    """Arguments of a fork override the owner and priority of its origin; the others are kept."""
    before = Priority(priority_key=2, fairness_key="ann")
    told = parse(ForkBody, "fork", "r", "--cycle", "1", "--owner", "bob")

    assert build_priority(told, before) == Priority(priority_key=2, fairness_key="bob")
    assert build_priority(parse(ForkBody, "fork", "r", "--cycle", "1"), before) == before
    assert build_priority(told, Priority()) == Priority(fairness_key="bob")


def test_a_name_that_the_server_does_not_take_is_refused() -> None:
    """Sixty-four bytes are the most, and letters may have several."""
    with pytest.raises(InvalidRequest, match="64 bytes"):
        build_priority(parse(StartRequest, "start", "Why?", "--owner", "ä" * 33))


def test_a_scheduled_question_has_an_owner() -> None:
    """Its runs are started with owner and priority."""
    body = parse(ScheduleBody, "schedule", "add", "Why?", "--cron", "@daily", *ASKED[2:])
    wanted = build_schedule(body, plan_schedule(body, Settings(_env_file=None)))

    assert getattr(wanted.action, "priority", None) == Priority(priority_key=2, fairness_key="ann")


@slow
async def test_everything_that_a_run_begins_has_its_owner(serving: Serving) -> None:
    """Runs of a batch, their parts and their activities are queued under the owner of the batch."""
    shared = RunRequest(
        question="?",
        corpora=("kitchen",),
        limits=RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0),
    )
    items = (BatchItem(key="1", question="How is bread made?"),)
    name = f"test-batch-{uuid4().hex[:8]}"
    planned = PlannedRun(name, True, shared, Priority(priority_key=2, fairness_key="ann"), ())
    place = ServerTarget(Settings(_env_file=None), "", "default", False, "")
    found: list[SentPriority] = []
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        batch, _ = await start_or_continue(Session(place, stage.client), PlannedBatch(planned, items, 1))
        await batch.result()
        for run in (name, f"{name}-1", f"{name}-1/research"):
            history = await stage.client.get_workflow_handle(run).fetch_history()
            found.append(history.events[0].workflow_execution_started_event_attributes.priority)
        described = await stage.client.get_workflow_handle(f"{name}-1").describe()

    assert [(one.priority_key, one.fairness_key) for one in found] == [(2, "ann")] * 3
    assert described.typed_search_attributes[OWNER] == "ann"


def with_owner(**changes: object) -> Settings:
    """Return the settings of an owner."""
    values = {"owner": "ann", "owner_token": "a" * 32, **changes}
    return Settings(_env_file=None, **values)  # type: ignore[arg-type]


def test_each_owner_has_a_place_of_their_own() -> None:
    """Knowledge base, folder and namespace follow from the owner; the owner without a name has those of the home."""
    owners = with_owner(home=Path("/srv/home"), owners={"ann": "a" * 32}).list_owners()
    stored = with_owner(lancedb_uri="s3://bucket/base/", owner_namespace="tenure-{owner}.a1b2c")

    assert [(one.owner, one.knowledge_uri) for one in owners] == [
        ("", "/srv/home/knowledge"),
        ("ann", "/srv/home/owner-ann/knowledge"),
    ]
    assert stored.knowledge_uri == "s3://bucket/base/owner-ann"
    assert [get_namespace(one, ClientConfigProfile(namespace="team")) for one in (*owners, stored)] == [
        *("team", "ann", "tenure-ann.a1b2c"),
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"owner_token": None}, "belong together"),
        ({"owner": ""}, "belong together"),
        ({"owners": {"ann": "short-secret"}}, "at least 32 characters"),
        ({"owners": {"ann": "a" * 32, "bob": "a" * 32}}, "same token"),
        ({"owner_namespace": "everyone"}, "pattern"),
        ({"owners": {"ann~bob": "a" * 32}}, "pattern"),
    ],
)
def test_unusable_owners_are_refused(changes: dict[str, object], said: str) -> None:
    """The message says what is wrong and repeats no token."""
    with pytest.raises(ValidationError) as caught:
        with_owner(**changes)

    line = describe_settings_error(caught.value)
    assert said in line and "\n" not in line
    assert "short-secret" not in line and "a" * 32 not in line


def test_a_worker_is_not_given_the_token_of_a_client() -> None:
    """The settings of a command neither reach the worker of the stack nor restart it."""
    settings = with_owner(owners={"ann": "a" * 32, "bob": "b" * 32})

    environment = build_worker_environment(settings)

    assert (environment["TENURE_OWNER"], environment["TENURE_OWNER_TOKEN"]) == (None, None)
    assert "b" * 32 in str(environment["TENURE_OWNERS"])
    assert "a" * 32 not in repr(settings) and "b" * 32 not in repr(settings)


def test_what_belongs_to_another_owner_is_one_line() -> None:
    """A history that cannot be decrypted, an encrypted refusal and a client without keys each end in one line."""
    with pytest.raises(TenureError, match="belongs to the owner 'ann'"), explain_refusals("run"):
        raise DecryptionError("this belongs to the owner 'ann'")
    with pytest.raises(TenureError, match="keys of this client are not those of its worker"), explain_refusals("run"):
        raise WorkflowQueryFailedError("Encoded failure")
    sealed = EncryptionCodec({"new": bytes(32)}).encrypt(Payload(data=b"1"))
    with pytest.raises(DecryptionError) as refused:
        DATA_CONVERTER.payload_converter.from_payloads([sealed])
    code, line = client._explain(refused.value)
    assert code == 1 and "TENURE_OWNER_TOKEN" in line and "\n" not in line
