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

from tenure.cli.errors import UsageError
from tenure.mcp_server.replies import RUNS_URI, build_report_uri
from tenure.site.messages import RunList
from tenure.site.service import Service

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
        CommandError: the runs cannot be listed.
    """
    runs = [run for run in await service.list_runs(limit=MAX_REPORTS) if run.status in _WITH_REPORT]
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
        CommandError: there is no such resource, or it cannot be read.
    """
    text, media = await _read(service, uri)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=media, text=text)])


async def _read(service: Service, uri: str) -> tuple[str, str]:
    if uri == RUNS_URI:
        return RunList(runs=await service.list_runs()).model_dump_json(), JSON
    found = _RUN.fullmatch(uri)
    if found is None:
        raise UsageError(f"there is no resource {uri[:200]}")
    run_id = unquote(found[1])
    match found[2]:
        case None:
            return (await service.describe(run_id)).model_dump_json(), JSON
        case "/report":
            return (await service.render_report(run_id, "md", "numeric")).decode(), MARKDOWN
        case "/result":
            return json.dumps((await service.read_result(run_id)).model_dump(mode="json")), JSON
        case "/trace":
            return (await service.read_trace(run_id)).model_dump_json(), JSON
        case "/questions":
            return (await service.read_conversation(run_id)).model_dump_json(), JSON
    raise UsageError(f"there is no resource {uri[:200]}")
