"""Use tools for a question as a whole, before it is decided whether there is evidence."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue
from temporalio import workflow

from workflows.research.tool_context import ToolContext
from workflows.runtime.clients import ActivityClients

with workflow.unsafe.imports_passed_through():
    from activities.tools import ToolActivities
    from tenure.algorithms.research.tool_choice import is_figure_question, list_resources
    from tenure.algorithms.text.questions import format_heading, shorten
    from tenure.algorithms.writing.trace_records import describe_task
    from tenure.contracts.evidence.passages import Block, Draft, PassageRef
    from tenure.contracts.evidence.tables import TableInfo
    from tenure.contracts.research.report import ReportDraft, SectionDraft
    from tenure.contracts.research.spiral import PlanStep, SubagentRequest
    from tenure.contracts.research.tools import CiteRequest
    from tenure.contracts.run.run import RunLimits
    from tenure.contracts.sandbox import Artifact
    from tenure.roles.research import tool_selector
    from tenure.roles.research.tool_selector import ToolSelectorInput, ToolSelectorOutput
    from workflows.research.search_session import SearchSession
    from workflows.research.tool_use import ToolUse, make_call, make_calls

MAX_LABEL_LENGTH, MAX_QUERY_LENGTH = 200, 500
"""Characters of a question that name its calculation, and that are asked of tables."""


@dataclass(frozen=True)
class ToolEvidence:
    """Results of the tools for a question."""

    results: tuple[PassageRef, ...] = ()
    """Passages of results that no search finds: calculations, queries, answers and resources of servers."""
    notes: tuple[str, ...] = ()
    """Notes for readers on calls that failed."""
    artifacts: tuple[Artifact, ...] = ()
    """Files that programs of tools have written."""
    calculation: str = ""
    """Expression and result of the question's calculation; empty if there is none."""


class QuestionTools:
    """The tools of one question."""

    def __init__(self, clients: ActivityClients, task: SubagentRequest, is_stopped: Callable[[], bool]) -> None:
        """Use tools for `task`, whose step asks the question."""
        self._clients = clients
        self._session = SearchSession(clients, task, is_stopped)

    async def use(
        self, evidence: tuple[PassageRef, ...], *, calculation: str = "", queries_tables: bool = False
    ) -> ToolEvidence:
        """Use the tools that the question calls for, among them a calculation that it contains."""
        session = self._session
        question = session.task.step.query
        session.add_results(evidence, question)
        used: list[ToolUse] = []
        if calculation:
            arguments = {"expression": calculation, "label": shorten(question.rstrip(" ?.!"), MAX_LABEL_LENGTH)}
            call = ToolUse("calculate", arguments, "The question contains a calculation.")
            used.append(await make_call(session, call))
        if queries_tables and is_figure_question(question):
            query = {"question": shorten(question, MAX_QUERY_LENGTH)}
            used += await make_calls(session, [ToolUse("sql", query, "The question asks for a figure.")])
        used += await make_calls(session, await self._select_server_calls())
        if session.steps:
            record = describe_task(session.task, session.task.step, session.build_result(session.task.step), 0, 0)
            self._clients.log.add(record)
        calculated = (use.observation for use in used if use.name == "calculate" and use.observation.passages)
        return ToolEvidence(
            results=tuple({p.chunk: p for made_call in used for p in made_call.observation.passages}.values()),
            notes=(
                *(_describe_failure(call) for call in used if call.observation.problem),
                *(f"A server was not used: {problem.rstrip('.')}." for problem in session.tools.mcp_problems),
            ),
            artifacts=session.artifacts,
            calculation=next((result.text.partition("] ")[2] for result in calculated), ""),
        )

    async def _select_server_calls(self) -> tuple[ToolUse, ...]:
        """Have tools and resources of the run's MCP servers selected for the question."""
        session, context = self._session, self._session.tools
        if not session.task.limits.mcp or session.is_stopped():
            return ()
        await context.discover(("mcp", "mcp_resources"))
        if not (context.mcp_tools or context.mcp_resources):
            return ()
        question = session.task.step.query
        selected = await self._clients.models.ask(
            tool_selector.ROLE,
            ToolSelectorInput(question=question, tools=context.mcp_tools, resources=context.mcp_resources),
            summary=question,
        )
        return tuple(_read_selection(selected, context))

    def list_resources(self, tables: Iterable[TableInfo]) -> tuple[str, ...]:
        """Return the tables and the offers of the run's MCP servers, as a plan reads them."""
        return list_resources(tables, self._session.tools.mcp_tools, self._session.tools.mcp_resources)

    async def report_calculation(self, evidence: ToolEvidence) -> ReportDraft:
        """Return a report that consists of the calculation."""
        task = self._session.task
        answer = await self.write_calculation(evidence)
        section = SectionDraft(topic=format_heading(task.question), draft=answer, coverage=1.0)
        result = evidence.calculation.rpartition(" = ")[2]
        stated = next(iter(answer.claims), None)
        return ReportDraft(
            id=task.run,
            mode="RESEARCH",
            question=task.question,
            title=section.topic,
            short_answer=stated.model_copy(update={"text": result}) if stated and result else None,
            sections=(section,),
            decisions=("The question is a calculation, so nothing was researched.",),
        )

    async def write_calculation(self, evidence: ToolEvidence) -> Draft:
        """Return the sentence of the calculator that states the result, as a quote."""
        question = self._session.task.step.query
        sought = f"The calculator answers “{question}” with a result, which it computed from the given numbers alone."
        cited = await self._clients.execute_activity(
            ToolActivities.cite_claim,
            CiteRequest(claim=sought, passages=evidence.results[:1]),
            summary="the calculation is the answer",
        )
        # A quote of the calculator needs no verification.
        quotes = [
            cited.claim.model_copy(update={"text": citation.quote, "status": "supported", "confidence": 1.0})
            for citation in cited.claim.citations
        ]
        return Draft(blocks=(Block(claims=tuple(quotes)),))


def build_question_task(
    question: str, run: str, corpora: tuple[str, ...], databases: tuple[str, ...], limits: RunLimits
) -> SubagentRequest:
    """Return a question as a task."""
    return SubagentRequest.model_validate(
        {
            "run": run,
            "question": question,
            "step": PlanStep(id="question", query=question, topic=question),
            "strategy": "direct",
            "corpora": corpora,
            "databases": databases,
            "limits": limits,
        }
    )


def _read_selection(selected: ToolSelectorOutput, context: ToolContext) -> Iterator[ToolUse]:
    """Yield the calls of a selection; numbers that nothing has are ignored."""
    for call in selected.calls:
        if call.tool <= len(context.mcp_tools):
            tool = context.mcp_tools[call.tool - 1]
            arguments = {"server": tool.server, "tool": tool.name, "arguments": _parse_object(call.arguments)}
            yield ToolUse("mcp", arguments, "A server's tool fits.")
    for number in selected.resources:
        if 1 <= number <= len(context.mcp_resources):
            resource = context.mcp_resources[number - 1]
            resource_id = {"server": resource.server, "uri": resource.uri}
            yield ToolUse("read_resource", resource_id, "A server's resource fits.")


def _parse_object(text: str) -> JsonValue:
    """Return the value of a JSON text, or the text itself, which no tool accepts as its arguments."""
    try:
        value: JsonValue = json.loads(text or "{}")
    except ValueError:
        return text
    return value


def _describe_failure(call: ToolUse) -> str:
    """Return a note on a call that failed."""
    called = call.arguments.get("tool") or call.arguments.get("uri")
    problem = call.observation.problem.rstrip(".")
    return f"{called} of the server {call.arguments['server']} was of no use: {problem}." if called else f"{problem}."
