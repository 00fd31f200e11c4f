"""Runs and their reports as resources."""

import json
import re
from urllib.parse import unquote

from mcp.types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from tenure.mcp_server.replies import RUNS_URI, build_report_uri
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import RunFilter
from tenure.runs.service import Service

MARKDOWN, JSON = "text/markdown", "application/json"

MAX_REPORTS = 50
"""Maximum number of reports in the list of resources; templates reach every run."""

TEMPLATES = (
    ("", "state", "State of a run: phase, topics, usage, and what it waits for", JSON),
    ("/report", "report", "Report of a finished run", MARKDOWN),
    ("/result", "result", "Result document of a finished run, with every claim and quote", JSON),
    ("/trace", "trace", "Trace of a run: plans, searches and decisions", JSON),
    ("/questions", "questions", "Follow-up questions about a run, with the latest answer", JSON),
)
"""Suffix, name, meaning and media type of the resources of a run."""

_WITH_REPORT = ("done", "finished_early", "cancelled", "no_evidence", "failing_tests")
# "…/RUN" and "…/RUN/trace".
_RUN = re.compile(rf"{re.escape(RUNS_URI)}/([^/?#]+)(/[a-z]+)?")


def list_templates() -> ListResourceTemplatesResult:
    """Return the templates of the URIs of all runs."""
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                uri_template=f"{RUNS_URI}/{{run}}{suffix}", name=name, description=meaning, mime_type=media
            )
            for suffix, name, meaning, media in TEMPLATES
        ]
    )


async def list_resources(service: Service) -> ListResourcesResult:
    """Return the list of runs and the reports of the latest ones that have ended.

    Raises:
        TenureError: the runs cannot be listed.
    """
    runs = [run for run in (await service.list_runs(RunFilter(limit=MAX_REPORTS))).runs if run.status in _WITH_REPORT]
    return ListResourcesResult(
        resources=[
            Resource(uri=RUNS_URI, name="runs", description="Latest runs", mime_type=JSON),
            *(
                Resource(uri=build_report_uri(run.id), name=run.id, description=run.question, mime_type=MARKDOWN)
                for run in runs
            ),
        ]
    )


async def read_resource(service: Service, uri: str) -> ReadResourceResult:
    """Return a resource.

    Raises:
        TenureError: there is no such resource, or it cannot be read.
    """
    text, media = await _read(service, uri)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=media, text=text)])


async def read_version(service: Service, uri: str) -> str:
    """Return a text that changes when a resource changes in a way that its subscribers are notified of.

    A run changes with its phase, its cycle, what it waits for, its failures and its end, but not with every call.

    Raises:
        TenureError: there is no such resource, or it cannot be read.
    """
    if uri == RUNS_URI:
        return repr([(run.id, run.status) for run in (await service.list_runs(RunFilter(limit=MAX_REPORTS))).runs])
    run_id, part = _parse_uri(uri)
    if part == "/questions":
        return (await service.read_conversation(run_id)).model_dump_json()
    details = await service.describe(run_id)
    ending = (details.is_running, details.is_completed, details.failure)
    if part in ("/report", "/result"):
        return repr(ending)
    progress = details.progress
    phase = progress and (progress.status, progress.phase, progress.cycle, progress.revision, progress.input_request)
    return repr((*ending, details.status, bool(details.pending_failures), details.note, phase))


def _parse_uri(uri: str) -> tuple[str, str]:
    """Return the run of a URI, and the suffix of a part of it, which is empty for its state."""
    match = _RUN.fullmatch(uri)
    part = (match[2] or "") if match else ""
    if match is None or all(part != suffix for suffix, *_ in TEMPLATES):
        raise InvalidRequest(f"there is no resource {uri[:200]}")
    return unquote(match[1]), part


async def _read(service: Service, uri: str) -> tuple[str, str]:
    if uri == RUNS_URI:
        return (await service.list_runs(RunFilter())).model_dump_json(), JSON
    run_id, part = _parse_uri(uri)
    match part:
        case "":
            return (await service.describe(run_id)).model_dump_json(), JSON
        case "/report":
            return (await service.render_report(run_id, "md", "numeric")).decode(), MARKDOWN
        case "/result":
            return json.dumps((await service.read_result(run_id)).model_dump(mode="json")), JSON
        case "/trace":
            return (await service.read_trace(run_id)).model_dump_json(), JSON
        case _:
            return (await service.read_conversation(run_id)).model_dump_json(), JSON
