"""Resources and passages that the tools of one task share.

Passages are numbered from 1 in the order in which they were first seen and keep their number: a model names them by it.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final, Literal, TypeVar, get_args

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.table_questions import SANDBOX_WAIT_SECONDS, TableQuestions
from workflows.runtime.clients import ActivityClients
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from activities.tools import ToolActivities
    from tenure.algorithms.research.observations import format_claim, list_cited_chunks
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.base import ChunkId, RunId, SourceId
    from tenure.contracts.choices import SearchMode
    from tenure.contracts.evidence.filters import Filter
    from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, PassageRef, SearchRequest
    from tenure.contracts.evidence.tables import ColumnInfo, TableInfo
    from tenure.contracts.evidence.web import WebScope
    from tenure.contracts.research.spiral import SubagentRequest
    from tenure.contracts.research.tools import (
        MAX_OBSERVATION_LENGTH,
        ExcerptsRequest,
        McpResource,
        McpTool,
        Observation,
        PassageWithNumber,
    )
    from tenure.contracts.run.run import MAX_QUESTION_CHARACTERS, RunRequest
    from tenure.roles.writing import answerer
    from tenure.roles.writing.answerer import AnswererInput

T = TypeVar("T")

ToolRequirement = Literal["web", "tables", "sandbox", "mcp", "mcp_resources"]
"""Resource of a run that a tool needs: permission to read the web, tables, tables and a sandbox, or tools or resources
of MCP servers."""

TOOL_REQUIREMENTS: Final[tuple[ToolRequirement, ...]] = get_args(ToolRequirement)
"""All resources that tools may need."""

QUOTED_RELIABILITY = 0.95
"""Reliability of words of sources."""
COMPUTED_RELIABILITY = 0.9
"""Reliability of what a program printed."""
JUDGED_RELIABILITY = 0.7
"""Reliability of what a role concludes from passages."""
FOREIGN_RELIABILITY = 0.5
"""Reliability of an answer of a foreign server."""
SUSPICIOUS_RELIABILITY = 0.1
"""Reliability of an answer of a foreign server that contains instructions for its reader."""

PASSAGES_PER_WEB_SEARCH = 8
"""Passages that a search of web pages returns."""


class UnknownPassageError(Exception):
    """A passage number that does not exist; the message, written for the model, says which numbers exist."""


class ToolContext:
    """Resources and memory that the tools of one task share."""

    def __init__(self, clients: ActivityClients, task: SubagentRequest, stopped: Callable[[], bool]) -> None:
        """Create a context without passages; `stopped` returns whether no further step is wanted."""
        self.clients = clients
        self.task = task
        self.is_stopped = stopped
        self.passages: dict[ChunkId, PassageRef] = {}
        self.tables: tuple[TableInfo, ...] = ()
        self.mcp_tools: tuple[McpTool, ...] = ()
        self.mcp_resources: tuple[McpResource, ...] = ()
        self.mcp_problems: tuple[str, ...] = ()
        self.resources: frozenset[ToolRequirement] = frozenset()
        self._discovered: set[ToolRequirement] = set()
        self._programs = 0

    def create_program_id(self) -> RunId:
        """Return a new identifier, under which the files of one program of this task are kept."""
        self._programs += 1
        return RunId(f"{workflow.info().workflow_id}/program-{self._programs}")

    async def discover(self, needs: Collection[ToolRequirement] = TOOL_REQUIREMENTS) -> None:
        """Find out which resources the run has, each once; one whose lookup fails counts as absent."""
        new = set(needs) - self._discovered
        self._discovered |= new
        if "web" in new and self.task.limits.web:
            self.resources |= {"web"}
        if new & {"tables", "sandbox"} and not self.tables:
            self.tables = await _try_lookup(self.create_table_questions(self.task.step.query).find_tables()) or ()
            self.resources |= {"tables"} if self.tables else set()
        if "sandbox" in new and self.tables:
            box = await _try_lookup(self.clients.sandbox.check(SANDBOX_WAIT_SECONDS))
            self.resources |= {"sandbox"} if box and box.usable else set()
        if new & {"mcp", "mcp_resources"} and not (self.mcp_tools or self.mcp_resources):
            await self._discover_mcp()

    async def _discover_mcp(self) -> None:
        """Ask the servers of the run for their tools and resources."""
        offered = await _try_lookup(self.clients.mcp.list_tools())
        if offered is None:
            return
        self.mcp_tools, self.mcp_resources, self.mcp_problems = offered.tools, offered.resources, offered.problems
        self.resources |= {"mcp"} if offered.tools else set()
        self.resources |= {"mcp_resources"} if offered.resources else set()

    @property
    def corpus(self) -> str:
        """Corpus in which results of tools are kept."""
        return self.task.corpora[0]

    @property
    def web_scope(self) -> WebScope:
        """Permission to read the web; tools that need the web are offered only if there is one."""
        assert self.task.limits.web
        return self.task.limits.web

    def describe_resources(self) -> str:
        """Describe the tables, MCP tools and MCP resources of the run for the model."""
        tables = [f"Table {table.name}: {', '.join(map(_column, table.columns))}" for table in self.tables]
        servers = [
            f"Tool {tool.name} of the server {tool.server}: {tool.description} Arguments: {json.dumps(tool.parameters)}"
            for tool in self.mcp_tools
        ]
        documents = [
            f"Resource {resource.uri} of the server {resource.server}: {resource.title} {resource.description}".rstrip()
            for resource in self.mcp_resources
        ]
        return "\n".join((*tables, *servers, *documents))

    def create_table_questions(self, question: str) -> TableQuestions:
        """Return a client that answers a question from the run's tables."""
        task = self.task
        request = RunRequest(
            # The answer of a person may have made a question longer than one that starts a run.
            question=shorten(question, MAX_QUESTION_CHARACTERS),
            corpora=task.corpora,
            databases=task.databases,
            limits=task.limits,
        )
        # The tables were asked the question of the run at its start.
        earlier = task.question if task.question != question else ""
        return TableQuestions(self.clients, request, self.is_stopped, earlier_question=earlier)

    def add_passages(self, passages: Iterable[PassageRef]) -> None:
        """Number passages that were not seen before."""
        for passage in passages:
            self.passages.setdefault(passage.chunk, passage)

    def number_passages(self, passages: Sequence[PassageRef]) -> tuple[PassageWithNumber, ...]:
        """Return passages with their numbers; new ones get the next numbers."""
        self.add_passages(passages)
        numbers = {chunk: number for number, chunk in enumerate(self.passages, 1)}
        return tuple(PassageWithNumber(number=numbers[passage.chunk], passage=passage) for passage in passages)

    def get_passage_numbers(self, passages: Sequence[PassageRef]) -> dict[ChunkId, int]:
        """Return the numbers of passages by chunk; new ones get the next numbers."""
        return {numbered.passage.chunk: numbered.number for numbered in self.number_passages(passages)}

    def get_passage(self, number: int) -> PassageRef:
        """Return the passage with a number.

        Raises:
            UnknownPassageError: no passage has the number.
        """
        passages = list(self.passages.values())
        if number > len(passages):
            numbers = f"passages have the numbers 1 to {len(passages)}"
            reason = numbers if passages else "no passage was seen yet; search first"
            raise UnknownPassageError(f"there is no passage {number}: {reason}")
        return passages[number - 1]

    def select_passages(self, numbers: Sequence[int], limit: int) -> tuple[PassageRef, ...]:
        """Return the passages with the given numbers or, without numbers, the most relevant ones.

        Raises:
            UnknownPassageError: no passage has a number, or none was seen.
        """
        if numbers:
            return tuple(self.get_passage(number) for number in dict.fromkeys(numbers))[:limit]
        if not self.passages:
            self.get_passage(1)
        return tuple(sorted(self.passages.values(), key=lambda passage: -passage.relevance)[:limit])

    async def search(
        self,
        query: str,
        k: int,
        mode: SearchMode | None = None,
        *,
        preface: str = "",
        corpora: tuple[str, ...] = (),
        sources: tuple[SourceId, ...] = (),
        browse: bool = False,
    ) -> Observation:
        """Search the knowledge base and return the passages after a preface as an observation.

        Without a mode, the search has that of the run; without corpora, those of the task. With `browse`, new web pages
        on the query are read first.
        """
        request = SearchRequest(
            query=query,
            corpora=corpora or self.task.corpora,
            k=k,
            max_per_source=None if sources else self.task.limits.max_per_source,
            mode=mode or DEFAULT_SEARCH_MODE,
            sources=sources,
        )
        passages = await self.clients.knowledge.search(request, browse=browse, keep_mode=mode is not None)
        return await self.observe_passages(passages, query, preface=preface)

    async def find_document(self, title: str) -> PassageRef | None:
        """Return the best passage of the document with a title, else of the one most like it; None if none is."""
        for filters, minimum in (((Filter(field="title", equals=title),), -1.0), ((), None)):
            request = SearchRequest(query=title, corpora=self.task.corpora, k=1, filters=filters)
            if passages := await self.clients.knowledge.search(request, min_relevance=minimum, browse=False):
                return passages[0]
        return None

    async def search_document(self, passage: PassageRef, query: str, k: int) -> tuple[PassageRef, ...]:
        """Search the document of a passage; return the passage itself if nothing else is relevant."""
        request = SearchRequest(query=query, corpora=self.task.corpora, k=k, sources=(passage.source,))
        passages = await self.clients.knowledge.search(request)
        return passages or (passage,)

    async def answer_from(self, passages: tuple[PassageRef, ...], question: str) -> Observation:
        """Answer a question from passages alone, by a role."""
        draft = await self.clients.models.ask(
            answerer.ROLE, AnswererInput(topic=self.task.question, question=question), passages, summary=question
        )
        supported = sum(claim.status == "supported" for claim in draft.claims) / max(len(draft.claims), 1)
        reliability = JUDGED_RELIABILITY + (QUOTED_RELIABILITY - JUDGED_RELIABILITY) * supported
        numbers = self.get_passage_numbers(passages)
        lines = [format_claim(claim, numbers) for claim in draft.claims]
        nothing = "no answer was found in these passages"
        return observe_lines(lines, passages, reliability, nothing, list_cited_chunks(draft.claims))

    async def observe_passages(
        self, passages: Sequence[PassageRef], topic: str, reliability: float | None = None, preface: str = ""
    ) -> Observation:
        """Return passages after a preface as an observation; no passages are a problem.

        Sentences on the topic are shown. Without a reliability, it is the relevance of the best passage.
        """
        if not passages:
            problem = f"nothing on “{topic}” was found: try other words, or another tool"
            return Observation(text=preface, problem=problem)
        room = MAX_OBSERVATION_LENGTH - (len(preface) + 1 if preface else 0)
        request = ExcerptsRequest(passages=self.number_passages(passages), topic=topic, max_length=room)
        excerpts = await self.clients.execute_activity(ToolActivities.build_excerpts, request, summary=topic)
        best = max(passage.relevance for passage in passages)
        return Observation(
            text="\n".join(filter(None, (preface, excerpts))),
            passages=tuple(passages),
            reliability=max(0.0, min(1.0, best)) if reliability is None else reliability,
        )


async def _try_lookup(lookup: Awaitable[T]) -> T | None:
    """Return the result of a lookup, or None if it fails; a cancellation is raised."""
    try:
        return await lookup
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.warning("a tool is left out: %s", describe_failure(error))
        return None


def observe_lines(
    lines: Sequence[str],
    passages: Sequence[PassageRef],
    reliability: float,
    nothing: str = "",
    cited: Sequence[ChunkId] = (),
) -> Observation:
    """Return lines as an observation; without lines, `nothing` is the problem, and the passages stay evidence."""
    if not lines:
        return Observation(passages=tuple(passages), problem=nothing)
    return Observation(
        text=shorten("\n".join(lines), MAX_OBSERVATION_LENGTH),
        passages=tuple(passages),
        cited=tuple(cited),
        reliability=reliability,
    )


def _column(column: ColumnInfo) -> str:
    examples = f" such as {', '.join(column.examples[:3])}" if column.examples else ""
    return f"{column.name} ({column.kind}{examples})"
