"""Describe runs and their results for clients: a text for the model, and structured content for programs."""

from collections.abc import Sequence
from urllib.parse import quote

from mcp.types import CallToolResult, ContentBlock, ResourceLink, TextContent

from tenure.contracts.base import Contract
from tenure.contracts.run.run import RunProgress
from tenure.mcp_server.messages import RunReply, StatusReply
from tenure.runs.messages import RunDetails
from tenure.runs.service import Service
from tenure.runs.session.progress_lines import describe_state

RUNS_URI = "tenure://runs"
"""URI of the list of runs; a run is below it."""

UNSUCCESSFUL = ("failed", "unsupported")
"""Statuses of ended runs whose result is an error."""


def build_report_uri(run_id: str) -> str:
    """Return the URI of the report of a run."""
    return f"{RUNS_URI}/{quote(run_id, safe='')}/report"


def build_result(
    reply: Contract, text: str, links: Sequence[ResourceLink] = (), *, failed: bool = False
) -> CallToolResult:
    """Return the result of a tool."""
    content: list[ContentBlock] = [TextContent(text=text), *links]
    return CallToolResult(content=content, structured_content=reply.model_dump(mode="json"), is_error=failed)


def build_error(message: str) -> CallToolResult:
    """Return the result of a tool that was refused or failed."""
    return CallToolResult(content=[TextContent(text=message)], is_error=True)


async def build_run_result(service: Service, details: RunDetails) -> CallToolResult:
    """Return the present result of a run: its report if it has ended, and else its state."""
    reply = StatusReply(run=build_run_reply(service, details))
    if details.is_running:
        return build_result(reply, _describe_running(details))
    if not details.is_completed:
        return build_result(reply, f"Run {details.id} has no result: {details.failure}", failed=True)
    report = (await service.render_report(details.id, "md", "numeric")).decode()
    link = ResourceLink(uri=build_report_uri(details.id), name=f"report of {details.id}", mime_type="text/markdown")
    return build_result(reply, report, [link], failed=details.status in UNSUCCESSFUL)


def build_run_reply(service: Service, details: RunDetails) -> RunReply:
    """Return the state of a run."""
    return RunReply(
        id=details.id,
        question=details.question,
        status=details.status,
        state=describe_state(details),
        is_running=details.is_running,
        waits_for=details.progress.input_request if details.is_running and details.progress else None,
        report=build_report_uri(details.id) if details.is_completed else "",
        url=service.place.build_run_url(details.id),
    )


def describe_request(progress: RunProgress) -> str:
    """Return the question that a run waits for, with the outline that it concerns; empty if it waits for nothing."""
    request = progress.input_request
    if request is None:
        return ""
    topics = "".join(f"\n- {topic.topic}" for topic in progress.topics) if request.kind == "plan" else ""
    return f"{request.text}{topics}\nWithout an answer by {request.deadline}: {request.assumption}."


def _describe_running(details: RunDetails) -> str:
    """Return the text for a run that has not ended: its state, and the tools that continue with it."""
    progress = details.progress
    lines = [f"Run {details.id} has not ended: {describe_state(details)}."]
    if progress is not None and progress.input_request is not None:
        command = "approve" if progress.input_request.kind == "plan" else "answer"
        lines.append(
            f"It waits for a person: {describe_request(progress)}\nReply with the tool steer, command {command}."
        )
    lines.append(f'It continues without this call. The tool status with run "{details.id}" returns its report.')
    return "\n".join(lines)
