"""Owners of a worker, their proofs, and the resources in requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError

from activities.mcp import McpActivities
from activities.ownership import (
    OPEN_ACTIVITIES,
    OWNER_REFUSED,
    OwnerActivities,
    Owners,
    SignalCheck,
    decode_proof,
    iterate_resources,
)
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.corpora import CorpusRequest
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.knowledge.memory import MemoriesRequest
from tenure.contracts.result.ask import AskRequest, Thread
from tenure.ownership import Operation, Proof, WorkflowStart, compute_digest, get_owner, qualify_name, sign_operation
from worker import (
    build_activities,
    build_archive_activities,
    build_browser_activities,
    build_sandbox_activities,
    build_web_activities,
)
from workflows.run.agent import AgentWorkflow

TOKENS = {"ann": "a" * 32, "bob": "b" * 32}
NOW = 1_900_000_000.0
START = Operation(kind="start", name="AgentWorkflow", target="ann~run", namespace="default", digest="d")


def owners(default: str = "") -> Owners:
    """Return two owners at a fixed time."""
    return Owners(TOKENS, default, ("sales",), clock=lambda: NOW)


def prove(operation: Operation, owner: str = "ann", *, token: str = "", age: float = 0, nonce: str = "n") -> Proof:
    """Return a proof of a certain age in seconds."""
    return sign_operation(token or TOKENS[owner], owner, operation, round((NOW - age) * 1000), nonce)


def start(proof: Proof, operation: Operation = START, run: str = "r") -> WorkflowStart:
    """Return a start now."""
    return WorkflowStart(proof=proof, operation=operation, run=run, started=round(NOW * 1000))


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("ann~run", "ann"),
        ("ann~run/research", "ann"),
        ("web/ann~run", "ann"),
        ("embed-ann~docs", "ann"),
        ("ann~bob~run", "ann"),
        ("ann~docs (results)", "ann"),
        ("run", None),
        ("~run", None),
        ("", None),
        ("run-~x", None),
        ("a\nann~x", "ann"),
        ("1ann~x", None),
        ("a" * 41 + "~x", None),
    ],
)
def test_a_name_contains_its_owner(name: str, owner: str | None) -> None:
    """The word before the first tilde is the owner."""
    assert get_owner(name) == owner


def test_a_name_is_completed_once() -> None:
    """A name that has an owner keeps it, and a leading tilde is a name without one."""
    assert [qualify_name(name, "ann") for name in ("x", "ann~x", "bob~x", "~x")] == ["ann~x", "ann~x", "bob~x", "x"]
    assert qualify_name("x", "") == "x"


def test_a_proof_covers_everything_that_it_names() -> None:
    """A proof of another namespace, kind, name, target, arguments, owner, time or nonce is not genuine."""
    called = Operation(kind="activity", name="query_tables", target="r", namespace="default", digest="e")
    proof = prove(START)

    assert owners().sign(start(proof), called, 1, "s") is not None
    for field, value in (
        ("namespace", "x"),
        ("name", "x"),
        ("target", "ann~other"),
        ("digest", "x"),
        ("kind", "child"),
    ):
        changed = START.model_copy(update={field: value})
        assert owners().sign(start(proof, changed), called, 1, "s") is None, field
    changes: tuple[dict[str, Any], ...] = (
        {"owner": "bob"},
        {"kind": "schedule"},
        {"issued": proof.issued + 1},
        {"nonce": "x"},
        {"mac": ""},
    )
    for change in changes:
        assert owners().sign(start(proof.model_copy(update=change)), called, 1, "s") is None, change
    assert owners().sign(start(prove(START, token="x" * 32)), called, 1, "s") is None
    assert owners().sign(start(prove(START, "bob")), called, 1, "s") is None
    assert Owners({}).sign(start(proof), called, 1, "s") is None


@pytest.mark.parametrize("age", [301, -301, 10**9])
def test_a_start_needs_a_recent_proof(age: float) -> None:
    """The proof of a start is as old as the start; the clocks may differ by five minutes."""
    assert owners().sign(start(prove(START, age=age)), START, 1, "s") is None
    assert owners().sign(start(prove(START, age=299)), START, 1, "s") is not None


def test_a_proof_starts_one_execution() -> None:
    """A second execution with the same proof is refused; the first one continues."""
    known = owners()

    assert known.sign(start(prove(START)), START, 1, "s") is not None
    assert known.sign(start(prove(START), run="other"), START, 1, "s") is None
    assert known.sign(start(prove(START)), START, 1, "s") is not None


def test_a_message_needs_a_proof_of_its_time() -> None:
    """A query has to be recent, and an update later than the begin of its workflow; clocks may differ."""
    known, begun = owners(), NOW - 3600
    update = Operation(kind="update", name="steer", target="ann~run", namespace="default", digest="d")
    query = update.model_copy(update={"kind": "query"})

    assert [known.check_message(prove(update, age=age), update, begun) == "" for age in (0, 3899, 3901, -301)] == [
        *(True, True, False, False)
    ]
    assert [known.check_message(prove(query, age=age), query, begun) == "" for age in (0, 299, 301)] == [
        *(True, True, False)
    ]
    assert known.check_message(None, query, begun) != ""
    assert "another owner" in known.check_message(prove(query, "bob"), query, begun)
    assert Owners({}).check_message(None, query, begun) == ""


async def test_a_signal_is_checked_for_its_workflow() -> None:
    """Only the owner of the workflow may send it; a proof of another kind of operation is none."""
    signal = Operation(kind="signal", name="pause", target="ann~run", namespace="default", digest="d")
    update = signal.model_copy(update={"kind": "update"})
    for proof, operation, accepted in (
        (prove(signal), signal, True),
        (prove(signal, "bob"), signal, False),
        (prove(update), signal, False),
        (prove(update), update, False),
    ):
        check = SignalCheck(proof=proof, operation=operation)
        assert await OwnerActivities(owners()).check_signal(check) is accepted


def test_resources_without_an_owner_belong_to_the_default_owner() -> None:
    """Earlier runs, corpora and memories belong to no owner, or to the owner of the setting."""
    for known, allowed in ((owners(), False), (owners("ann"), True)):
        assert known.may_read("old", "ann") is known.may_use("run", "ann") is known.is_owner("", "ann") is allowed
        assert not known.may_read("old", "bob")
    assert all(owners().may_read(name, "bob") for name in ("manual", "database-sales", "manual (results)"))
    assert not owners().may_read("database-other", "bob")
    assert not owners().may_use("manual", "bob")


def test_resources_are_found_at_any_depth() -> None:
    """Runs, corpora, passages, sources and owners are found in requests and in collections of them."""
    passage = PassageRef(chunk=ChunkId("c"), source=SourceId("s"), score=1.0, relevance=1.0)
    request = AskRequest(
        run=RunId("r"), topic="t", question="q", corpora=("k",), thread=Thread(sources=(SourceId("s"),))
    )
    found = set(
        iterate_resources(
            {
                "request": [
                    SearchRequest(query="q", corpora=("k",), sources=(SourceId("t"),)),
                    {"x": request, "y": {"z": (passage,)}},
                ],
                "corpus": "plain",
                "search": CorpusRequest(action="search", search=SearchRequest(query="q", corpora=("m",))),
                "page": MemoriesRequest(owner="ann"),
            }
        )
    )

    assert found == {
        *(("corpus", "k"), ("corpus", "m"), ("corpus", "plain"), ("source", "t"), ("source", "s"), ("chunk", "c")),
        *(("run", "r"), ("owner", "ann")),
    }


def all_activities() -> list[Any]:
    """Return the activities of all queues."""
    mcp = McpActivities(None, None)  # type: ignore[arg-type]
    return [
        *(method for methods in build_activities(None, None).values() for method in methods),  # type: ignore[arg-type]
        *build_sandbox_activities(None, Path("x")),  # type: ignore[arg-type]
        *build_web_activities(None, None, mcp),  # type: ignore[arg-type]
        *build_browser_activities(None),
        *build_archive_activities(None),  # type: ignore[arg-type]
    ]


def find_models(annotation: Any, seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """Yield the models in a type, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in seen:
        seen.add(annotation)
        yield annotation
        for field in annotation.model_fields.values():
            yield from find_models(field.annotation, seen)
    for part in get_args(annotation):
        yield from find_models(part, seen)


def test_every_name_of_a_resource_in_a_request_is_checked() -> None:
    """A field of a request that is named like a resource is known to the check, or listed here as harmless."""
    harmless = {
        ("ForgetRequest", "run"),  # restricts the memories of the owner
        ("ForgetRequest", "source"),
        ("MemorySearchRequest", "used_by"),
    }
    words = ("run", "corpus", "corpora", "chunk", "source", "owner", "origin", "passages", "evidence")
    seen: set[type[BaseModel]] = set()
    unknown = []
    for method in all_activities():
        for name, annotation in get_type_hints(method).items():
            for model in find_models(annotation, seen) if name != "return" else ():
                for field, info in model.model_fields.items():
                    texts = str(info.annotation)
                    plain = "str" in texts and "Id" not in texts and not texts.startswith("dict")
                    if plain and field in words and field not in ("corpus", "corpora", "owner"):
                        unknown.append((model.__name__, field))

    assert set(unknown) <= harmless


def test_open_activities_exist_and_return_no_text_of_documents() -> None:
    """Activities without a proof are the upkeep of the worker and the check itself."""
    names = {method.__temporal_activity_definition.name for method in all_activities()}

    assert names >= OPEN_ACTIVITIES - {"check_signal"}


def test_every_update_has_a_validator() -> None:
    """A proof is checked where a replay does not repeat it, which is the validator."""
    updates = [
        definition
        for definition in (
            getattr(getattr(AgentWorkflow, name), "_defn", None) for name in dir(AgentWorkflow) if name[:2] != "__"
        )
        if definition is not None
    ]

    assert [definition.name for definition in updates if definition.validator is None] == []
    assert [definition.name for definition in updates] == ["steer"]


def test_the_digest_ignores_fields_with_defaults() -> None:
    """A client that knows fewer fields makes the same proof; other values make another one."""
    written = SearchRequest(query="q", corpora=("k",))

    assert compute_digest([written]) == compute_digest([{"query": "q", "corpora": ["k"]}])
    assert compute_digest([written]) != compute_digest([written.model_copy(update={"k": 3})])
    assert compute_digest([]) != compute_digest([None])
    assert compute_digest(["a", "b"]) != compute_digest(["ab"])


def test_a_malformed_header_is_no_proof() -> None:
    """Headers are hostile input."""
    assert decode_proof({}) is None
    with pytest.raises(ApplicationError) as caught:
        owners().check_activity(None, START)
    assert (caught.value.type, caught.value.non_retryable) == (OWNER_REFUSED, True)
