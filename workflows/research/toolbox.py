"""The toolbox of one task: what its run has for tools to work with, and the passages that they have seen.

Passages are numbered from 1 in the order in which they were first seen, and keep their number: a model names them by
it, and who shows it passages as evidence shows them in the same order.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.table_questions import BRIEFLY, Tables
from workflows.runtime.calls import Calls
from workflows.runtime.failures import cause

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.observations import fitted
    from tenure.contracts.base import ChunkId, RunId
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.evidence.tables import ColumnInfo, TableInfo
    from tenure.contracts.research.spiral import SubagentRequest
    from tenure.contracts.research.tools import LONGEST_OBSERVATION, McpTool, NumberedPassage, Observation, ShowRequest
    from tenure.contracts.run.run import RunRequest

T = TypeVar("T")

Need = Literal["", "web", "tables", "sandbox", "mcp"]


QUOTED, COMPUTED, JUDGED, FOREIGN, SUSPICIOUS = 0.95, 0.9, 0.7, 0.5, 0.1
"""How far can be relied on: words of sources; what a program printed; what a role made of passages; what a program of
others answered; and such an answer that gives orders to who reads it."""


class UnknownPassage(Exception):
    """A number that no passage has; the message says which there are."""


class Toolbox:
    """What the tools of one task share."""

    def __init__(self, calls: Calls, task: SubagentRequest, stopped: Callable[[], bool]) -> None:
        """Work on `task`; `stopped` tells whether a person or a budget wants no further step."""
        self.calls = calls
        self.task = task
        self.stopped = stopped
        self.found: dict[ChunkId, PassageRef] = {}
        self.tables: tuple[TableInfo, ...] = ()
        self.servers: tuple[McpTool, ...] = ()
        self._has: set[Need] = {""}
        self._programs = 0

    def program(self) -> RunId:
        """Return what the files of one more program of this task are kept under: those of no other one are."""
        self._programs += 1
        return RunId(f"{workflow.info().workflow_id}/program-{self._programs}")

    async def open(self) -> None:
        """Look what the run has; what cannot be looked at is not there."""
        if self.task.limits.web:
            self._has.add("web")
        self.tables = await _there(self.asking(self.task.step.query).look()) or ()
        if self.tables:
            self._has.add("tables")
            box = await _there(self.calls.look_at_sandbox(BRIEFLY))
            if box and box.usable:
                self._has.add("sandbox")
        offered = await _there(self.calls.mcp_tools())
        if offered and offered.tools:
            self.servers = offered.tools
            self._has.add("mcp")

    def has(self, need: Need) -> bool:
        """Tell whether the run has what a tool needs."""
        return need in self._has

    @property
    def corpus(self) -> str:
        """Return the corpus that results of tools go with."""
        return self.task.corpora[0]

    def described(self) -> str:
        """Return what a model has to know of this run's tables and servers to use the tools on them."""
        tables = [f"Table {table.name}: {', '.join(map(_column, table.columns))}" for table in self.tables]
        servers = [
            f"Tool {one.name} of the server {one.server}: {one.description} Arguments: {json.dumps(one.parameters)}"
            for one in self.servers
        ]
        return "\n".join((*tables, *servers))

    def asking(self, question: str) -> Tables:
        """Return the run's tables for a question."""
        task = self.task
        request = RunRequest(question=question, corpora=task.corpora, databases=task.databases, limits=task.limits)
        return Tables(self.calls, request, self.stopped)

    def take(self, passages: Iterable[PassageRef]) -> None:
        """Number passages that were not seen before."""
        for passage in passages:
            self.found.setdefault(passage.chunk, passage)

    def numbered(self, passages: Sequence[PassageRef]) -> tuple[NumberedPassage, ...]:
        """Return passages with their numbers; those that have none get theirs."""
        self.take(passages)
        numbers = {chunk: number for number, chunk in enumerate(self.found, 1)}
        return tuple(NumberedPassage(number=numbers[passage.chunk], passage=passage) for passage in passages)

    def numbers(self, passages: Sequence[PassageRef]) -> dict[ChunkId, int]:
        """Return the numbers of passages by their chunks; those that have none get theirs."""
        return {one.passage.chunk: one.number for one in self.numbered(passages)}

    def passage(self, number: int) -> PassageRef:
        """Return the passage of a number.

        Raises:
            UnknownPassage: there is none.
        """
        there = list(self.found.values())
        if number > len(there):
            known = f"passages have the numbers 1 to {len(there)}" if there else "no passage was seen yet; search first"
            raise UnknownPassage(f"there is no passage {number}: {known}")
        return there[number - 1]

    def chosen(self, numbers: Sequence[int], most: int) -> tuple[PassageRef, ...]:
        """Return the passages of some numbers; of none, the most relevant that were seen.

        Raises:
            UnknownPassage: a number has none, or none was seen.
        """
        if numbers:
            return tuple(self.passage(number) for number in dict.fromkeys(numbers))[:most]
        if not self.found:
            self.passage(1)
        return tuple(sorted(self.found.values(), key=lambda one: -one.relevance)[:most])

    async def told(
        self, passages: Sequence[PassageRef], about: str, reliability: float | None = None, before: str = ""
    ) -> Observation:
        """Return what was found as an observation; nothing found is a problem.

        Args:
            passages: what was found, best first.
            about: what it was looked for.
            reliability: how far it can be relied on; None for the relevance of the best.
            before: what is said before the passages.
        """
        if not passages:
            return Observation(text=before, problem=f"nothing on “{about}” was found: try other words, or another tool")
        request = ShowRequest(passages=self.numbered(passages), about=about, most=_left(before))
        shown = await self.calls.show(request, summary=about)
        best = max(passage.relevance for passage in passages)
        return Observation(
            text="\n".join(filter(None, (before, shown.text))),
            passages=tuple(passages),
            reliability=max(0.0, min(1.0, best)) if reliability is None else reliability,
        )


async def _there(looking: Awaitable[T]) -> T | None:
    """Return what looking at something finds, None where it fails; a cancellation goes through."""
    try:
        return await looking
    except ActivityError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.warning("a tool is left out: %s", cause(error))
        return None


def observed(
    lines: Sequence[str], passages: Sequence[PassageRef], reliability: float, nothing: str = ""
) -> Observation:
    """Return lines as an observation; no line is a problem, and its passages are evidence all the same."""
    if not lines:
        return Observation(passages=tuple(passages), problem=nothing)
    return Observation(text=fitted(lines, LONGEST_OBSERVATION), passages=tuple(passages), reliability=reliability)


def _column(column: ColumnInfo) -> str:
    examples = f" such as {', '.join(column.examples[:3])}" if column.examples else ""
    return f"{column.name} ({column.kind}{examples})"


def _left(before: str) -> int:
    """Return how many characters passages may take after what is said before them."""
    return LONGEST_OBSERVATION - (len(before) + 1 if before else 0)
