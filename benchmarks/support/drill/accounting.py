"""Compare a disturbed run with an undisturbed one: model calls, history, and rows of the knowledge base."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from temporalio.client import Client

from tenure.knowledge.store.schema import is_knowledge_table
from tenure.knowledge.store.store import Store
from tenure.roles.registry import list_role_names
from tests.model_server.request import Request, read_messages

_VOLATILE = frozenset({"fetched_at", "updated_at", "at", "fresh_until", "version"})
"""Columns with times and with random versions, which differ between runs."""
_EXCERPT = 80
"""Characters of a prompt that a difference shows."""
_TOLERANCE = 1e-3
"""Difference of two vectors or scores that other batches of the embedding model explain."""


class Prompt(NamedTuple):
    """Role and messages of a model call."""

    role: str
    messages: tuple[str, ...]

    @classmethod
    def of(cls, request: Request) -> "Prompt":
        """Return the prompt of a request."""
        messages = (json.dumps(message, sort_keys=True) for message in read_messages(request.json))
        return cls(request.schema_name, tuple(messages))

    def find_base(self, known: "Counter[Prompt]") -> "Prompt":
        """Return the known prompt that this one continues, as the request for a correction does, or itself."""
        for length in range(len(self.messages), 0, -1):
            base = Prompt(self.role, self.messages[:length])
            if base in known:
                return base
        return self


class RecordedCall(NamedTuple):
    """Activity of a role in the history of a run; times in seconds since 1970."""

    role: str
    scheduled: float
    completed: float


class Completion(NamedTuple):
    """Completed step of a worker."""

    at: float
    identity: str
    """Process of the worker, as `pid@host`."""


@dataclass
class RunHistory:
    """Calls and steps in the history of a run and its children."""

    calls: list[RecordedCall] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)

    def measure_resume(self, since: float, until: float, ended: int | None = None) -> float | None:
        """Return the seconds until the next completed step, or None if there was none.

        Args:
            since: end of a fault, in seconds since 1970.
            until: start of the next fault.
            ended: process of the worker that the fault has ended; its steps do not count.
        """
        later = [
            one.at - since
            for one in self.completions
            if since < one.at < until and (ended is None or one.identity.partition("@")[0] != str(ended))
        ]
        return min(later, default=None)


async def load_history(client: Client, run: str) -> RunHistory:
    """Return the history of a run with its children and continuations."""
    found, roles = RunHistory(), {*list_role_names()}
    pending: list[tuple[str, str | None]] = [(run, None)]
    while pending:
        workflow, execution = pending.pop()
        scheduled: dict[int, tuple[str, float]] = {}
        async for event in client.get_workflow_handle(workflow, run_id=execution).fetch_history_events():
            at = event.event_time.ToDatetime(tzinfo=UTC).timestamp()
            if event.HasField("activity_task_scheduled_event_attributes"):
                name = event.activity_task_scheduled_event_attributes.activity_type.name
                scheduled[event.event_id] = name, at
            elif event.HasField("activity_task_completed_event_attributes"):
                completed = event.activity_task_completed_event_attributes
                name, since = scheduled[completed.scheduled_event_id]
                found.completions.append(Completion(at, completed.identity))
                if name in roles:
                    found.calls.append(RecordedCall(name, since, at))
            elif event.HasField("workflow_task_completed_event_attributes"):
                found.completions.append(Completion(at, event.workflow_task_completed_event_attributes.identity))
            elif event.HasField("child_workflow_execution_started_event_attributes"):
                child = event.child_workflow_execution_started_event_attributes.workflow_execution
                pending.append((child.workflow_id, child.run_id))
            elif event.HasField("workflow_execution_continued_as_new_event_attributes"):
                later = event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
                pending.append((workflow, later))
    return found


class AskedCall(NamedTuple):
    """Request of a role as the model server has received it."""

    prompt: Prompt
    at: float


def list_asked(requests: Sequence[Request]) -> list[AskedCall]:
    """Return the requests of roles, in order of arrival."""
    return [AskedCall(Prompt.of(request), request.arrived) for request in requests if request.schema_name]


def count_repeated(asked: Sequence[AskedCall], history: RunHistory, known: "Counter[Prompt]") -> int:
    """Return the number of requests for answers that the history had recorded already.

    All requests with one prompt belong to one activity, which is open from its scheduling to its recorded completion.
    Prompts and activities of a role are matched; a request that no open activity explains is a repetition.

    Args:
        asked: requests of the run.
        history: its history.
        known: prompts of the undisturbed run.
    """
    groups: dict[Prompt, list[float]] = defaultdict(list)
    for call in asked:
        groups[call.prompt.find_base(known)].append(call.at)
    repeated = 0
    for role in {prompt.role for prompt in groups}:
        of_role = {prompt: times for prompt, times in groups.items() if prompt.role == role}
        repeated += _count_unexplained(of_role, [call for call in history.calls if call.role == role], known)
    return repeated


def _count_unexplained(
    groups: Mapping[Prompt, Sequence[float]], calls: Sequence[RecordedCall], known: "Counter[Prompt]"
) -> int:
    """Match the prompts of one role to its activities; return the number of requests outside of them."""
    owner: dict[int, Prompt] = {}

    def covers(call: RecordedCall, times: Sequence[float]) -> bool:
        return all(call.scheduled <= at <= call.completed for at in times)

    def assign(prompt: Prompt, tried: set[int]) -> bool:
        for number, call in enumerate(calls):
            if number in tried or not covers(call, groups[prompt]):
                continue
            tried.add(number)
            if number not in owner or assign(owner[number], tried):
                owner[number] = prompt
                return True
        return False

    unexplained = 0
    for prompt, times in groups.items():
        if known[prompt] != 1:  # the workflow may ask this more than once: every request needs an open activity
            unexplained += sum(not any(covers(call, [at]) for call in calls) for at in times)
        elif not assign(prompt, set()):
            inside = max((sum(covers(call, [at]) for at in times) for call in calls), default=0)
            unexplained += max(1, len(times) - inside)
    return unexplained


def find_difference(prompt: Prompt, known: "Counter[Prompt]") -> str:
    """Return the text from the place on at which a prompt differs from the most similar known one of its role."""
    text = " ".join(prompt.messages)
    others = [" ".join(one.messages) for one in known if one.role == prompt.role]
    same = max((_count_equal(text, other) for other in others), default=0)
    return repr(text[max(0, same - _EXCERPT // 2) : same + _EXCERPT])


def _count_equal(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class RowDifferences(NamedTuple):
    """Differences of the rows of two knowledge bases."""

    lost: int = 0
    doubled: int = 0
    wrong: int = 0


Rows = dict[tuple[str, str], list[dict[str, Any]]]
"""Rows by table and key."""


def load_rows(uri: str) -> Rows:
    """Return all rows of a knowledge base."""
    store, rows = Store(uri), Rows()
    for table in store.list_table_names():
        # Cached vectors and answers are compared where they are used, as chunks and as sentences; which texts are
        # cached, and what an answer has cost, depends on interruptions. The archive of finished runs has one row for
        # each execution, whose id is another one in every world.
        if not is_knowledge_table(table) or table in ("embedding_cache", "answers", "runs"):
            continue
        schema = store.open_table(table).schema
        key = schema.names[0]
        for row in store.read_rows(table, schema.names).to_pylist():
            rows.setdefault((table, str(row[key])), []).append(
                {name: value for name, value in row.items() if name not in _VOLATILE}
            )
    return rows


def compare_rows(expected: Rows, found: Rows) -> RowDifferences:
    """Return the rows that a knowledge base lacks, has more than once or in addition, or has with other values."""
    lost = sum(key not in found for key in expected)
    doubled = sum(len(rows) - 1 for rows in found.values()) + sum(key not in expected for key in found)
    wrong = sum(not _is_equal(expected[key][0], found[key][0]) for key in expected.keys() & found.keys())
    return RowDifferences(lost, doubled, wrong)


def _is_equal(one: object, other: object) -> bool:
    """Return whether two values are equal, numbers within a tolerance."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_equal(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        if one and isinstance(one[0], float):
            return len(one) == len(other) and bool(np.allclose(one, other, atol=_TOLERANCE))
        return len(one) == len(other) and all(map(_is_equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= _TOLERANCE
    return one == other


def utc_now() -> float:
    """Return the time in seconds since 1970."""
    return datetime.now(UTC).timestamp()
