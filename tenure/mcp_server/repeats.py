"""Start a run once for a call that a client repeats, after a timeout, a reconnect or a crash.

The id of a JSON-RPC request ends with its connection, and neither the protocol nor its extension for tasks has a key
by which a client marks a repetition. Two things are the same in a repeated call: the id that the client has chosen for
the run, and the tool with its arguments. The memo of a run holds a digest of the latter, and the id of a run without a
chosen one contains it. Temporal admits an id once, so simultaneous calls and other server processes find the same run.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass

from temporalio.client import WorkflowExecutionStatus

from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, UsedRunId
from tenure.runs.messages import StartRequest
from tenure.runs.run_ids import check_run
from tenure.runs.service import Service
from tenure.runs.session.connection import AGENT_WORKFLOW, explain_refusals
from tenure.runs.session.run_records import RunRecord, find_run, open_run
from tenure.runs.start import REQUEST_MEMO, make_id
from tenure.settings.home import ConnectionSettings

_ID_DIGITS = 12
"""Length of the part of a digest that an id contains."""


@dataclass(frozen=True)
class StartedRun:
    """Run of a call."""

    id: str
    is_joined: bool = False
    """Whether an earlier call has started it."""


async def start_or_join(service: Service, request: StartRequest, *, is_new: bool) -> StartedRun:
    """Start a run, or return the one that an earlier call with the same request has started.

    A chosen id returns its run also after the end; without one, only a running run is joined, and none if `is_new`.

    Raises:
        InvalidRequest: the chosen id belongs to a run with another request.
        TenureError: the run cannot be started.
    """
    digest = compute_digest(request, service.place.settings)
    if request.id is not None:
        return await _start_named(service, request, check_run(request.id), digest, is_new=is_new)
    return await _start_unnamed(service, request, digest, is_new=is_new)


def compute_digest(request: StartRequest, settings: ConnectionSettings) -> str:
    """Return the digest of a request without the id; fields that are not given or empty do not change it.

    Ids are never encrypted, so the secrets of the settings are the key: without them, no question can be tried.
    """
    values = request.model_dump(mode="json", exclude={"id"}, exclude_unset=True)
    content = {name: value for name, value in values.items() if value not in (None, "", [])}
    secrets = (settings.encryption_keys, settings.owner_token)
    key = "\n".join(secret.get_secret_value() for secret in secrets if secret is not None)
    return hmac.new(key.encode(), json.dumps(content, sort_keys=True).encode(), hashlib.sha256).hexdigest()


async def _start_named(service: Service, request: StartRequest, name: str, digest: str, *, is_new: bool) -> StartedRun:
    """Start or return the run with the id that the client has chosen."""
    # Looked for first: the documents of a run that has ended may be gone.
    record = await find_run(service, name)
    if record is None:
        try:
            return StartedRun((await service.start(request, digest=digest)).id)
        except UsedRunId:
            record = await open_run(service, name)
    if is_new:
        raise InvalidRequest(f"the id {name} is in use: leave out `new` to continue with its run, or choose another id")
    if not await _is_repeated(service, record, digest):
        raise InvalidRequest(
            f"the id {name} is in use by a run with another question or other arguments: choose another id, "
            f"or read that run with the tool status or `{PROGRAM} report {name}`"
        )
    return StartedRun(record.id, is_joined=True)


async def _start_unnamed(service: Service, request: StartRequest, digest: str, *, is_new: bool) -> StartedRun:
    """Start a run with an id made from its request, or join the running one."""
    name = make_id(request.question, request.mode, service.place.settings, suffix=digest[:_ID_DIGITS])
    running, number = await _find_latest(service, check_run(name))
    if running and not is_new and await _joins(service, running, digest):
        return StartedRun(running, is_joined=True)
    while True:
        number += 1
        chosen = f"{name}-{number}" if number > 1 else name
        try:
            return StartedRun((await service.start(request.model_copy(update={"id": chosen}), digest=digest)).id)
        except UsedRunId:
            # Another call was faster, or only the archive still has the run.
            if not is_new and await _joins(service, chosen, digest):
                return StartedRun(chosen, is_joined=True)


async def _find_latest(service: Service, name: str) -> tuple[str, int]:
    """Return the latest running run of a request, empty for none, and the highest number of its runs on the server."""
    form = re.compile(rf"{re.escape(name)}(?:-([1-9]\d*))?")
    running: dict[int, str] = {}
    highest = 0
    with explain_refusals(name):
        query = f"WorkflowType = '{AGENT_WORKFLOW}' AND WorkflowId STARTS_WITH '{name}'"
        async for execution in (await service.connect()).list_workflows(query):
            if match := form.fullmatch(execution.id):
                number = int(match[1] or 1)
                highest = max(highest, number)
                if execution.status == WorkflowExecutionStatus.RUNNING:
                    running[number] = execution.id
    return running[max(running)] if running else "", highest


async def _joins(service: Service, run_id: str, digest: str) -> bool:
    """Return whether a run has not ended, and has the same request."""
    record = await open_run(service, run_id)
    return record.is_running and await _is_repeated(service, record, digest)


async def _is_repeated(service: Service, record: RunRecord, digest: str) -> bool:
    """Return whether a run was started by the same request; never for one that was not started over MCP."""
    if record.is_archived:
        return False
    with explain_refusals(record.id):
        described = await (await service.connect()).get_workflow_handle(record.id).describe()
        return bool(await described.memo_value(REQUEST_MEMO, None) == digest)
