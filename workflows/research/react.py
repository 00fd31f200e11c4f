"""The strategy that thinks, acts and observes, step by step, with the tools that a run has (document 003, ReAct).

A model proposes each step; what is done is decided by `algorithms/acting.py`. A step that cannot be done is told why
and counts as one, and three of them in a row end the loop. It ends besides with an answer, at the bound of its steps,
or when a person or a budget says stop. Whatever ended it, the passages that were seen are what it brings back, those
of its best answer first.
"""

from temporalio import workflow

from workflows.research.search_session import Query, Searching
from workflows.research.toolbox import Toolbox
from workflows.research.tools import available, use

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.research.action_validation import (
        MISTAKES,
        Judged,
        cited,
        fault_of,
        judged,
        mark,
        steps_of,
        sure,
    )
    from tenure.algorithms.research.transcript import remembered
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.evidence.react import LONGEST_RECORD, ReactStep, Transcript
    from tenure.contracts.evidence.retrieval import Ending
    from tenure.contracts.research.tools import Arguments, Observation, ToolName
    from tenure.roles.reasoning.react import ReactInput, ReactOutput

SHOWN = 12
"""Passages that a twin reads."""

SEARCHES: frozenset[ToolName] = frozenset({"vector_search", "hybrid_search", "graph_search", "web_search"})
"""Tools whose use is a query like any other."""


async def react(searching: Searching) -> Ending:
    """Think, act and observe until the task is answered or the loop has to end."""
    loop = Loop(searching)
    ending = await loop.run()
    await loop.close(ending)
    return ending


class Loop:
    """The steps of one task and what is remembered of them."""

    def __init__(self, searching: Searching) -> None:
        """Begin with nothing seen."""
        self.searching = searching
        self.toolbox = Toolbox(searching.calls, searching.task, searching.stopped)
        self.offered: tuple[ToolName, ...] = ()
        self.transcript = Transcript()
        self.taken: list[tuple[str, str]] = []
        self.done: dict[str, int] = {}
        self.mistakes = 0
        self.sureness = 0.0

    async def run(self) -> Ending:
        """Go from step to step; return why there was no further one."""
        await self.toolbox.open()
        self.offered = tuple(available(self.toolbox))
        most = steps_of(self.searching.task.hops)
        for number in range(1, most + 1):
            if self.searching.stopped():
                return "stopped"
            said = await self._said(most - number + 1)
            found = judged(said.move, self.offered, self.done, len(self.toolbox.found))
            self._answered(said)
            await self._step(number, said, found)
            if found.ends:
                return "complete"
            if self.mistakes == MISTAKES:
                return "astray"
        return "bound"

    async def close(self, ending: Ending) -> None:
        """See that the task is searched for at least once, and let the passages of its best answer come first."""
        searching = self.searching
        if not searching.found:
            await searching.look(Query(searching.task.step.query))
        elif not searching.answer and ending != "stopped":
            said = await self._said(1, closing=True)
            self._answered(said)
        seen = list(self.toolbox.found.values())
        if named := cited(searching.answer):
            searching.prefer([seen[number - 1] for number in named])

    async def _said(self, left: int, *, closing: bool = False) -> ReactOutput:
        """Ask what the next step is."""
        searching = self.searching
        step = searching.task.step
        return await searching.calls.role(
            RoleActivities.react,
            ReactInput(
                question=searching.task.question,
                task=step.query,
                tools=self.offered,
                resources=self.toolbox.described(),
                transcript=self.transcript,
                taken=tuple(self.taken),
                seen=tuple(self.toolbox.found),
                left=left,
                closing=closing,
            ),
            [one.passage for one in searching.best()[:SHOWN]],
            summary=f"{step.query}, step {len(searching.steps) + 1}",
        )

    def _answered(self, said: ReactOutput) -> None:
        """Keep an answer that names only what was seen, unless there is one that is more sure."""
        if fault_of(said.answer, len(self.toolbox.found)):
            return
        if said.action == "finish" or sure(said.confidence) >= self.sureness:
            self.sureness = sure(said.confidence)
            self.searching.answer = said.answer

    async def _step(self, number: int, said: ReactOutput, found: Judged) -> None:
        """Do what was decided about a step, and remember it."""
        tool, written = said.action, said.arguments
        observation, new = Observation(text=found.wrong), 0
        if found.tool and found.arguments:
            tool, written = found.tool, found.arguments.model_dump_json(exclude_defaults=True)
            observation, new = await self._used(found.tool, found.arguments, number)
        elif found.ends:
            observation = Observation(text=said.answer)
        self.mistakes = self.mistakes + 1 if found.wrong else 0
        step = ReactStep(
            n=number,
            thought=said.thought,
            tool=tool,
            arguments=written,
            observation="\n".join(filter(None, (observation.text, observation.problem, found.remark))),
            confidence=sure(said.confidence),
            reliability=observation.reliability,
            passages=new,
            corrected=bool(found.wrong),
        )
        self.transcript = remembered(self.transcript, step, self.searching.task.step.query)
        self.searching.steps.append(_brief(step))

    async def _used(self, tool: ToolName, arguments: Arguments, number: int) -> tuple[Observation, int]:
        """Use a tool; return what came of it, and how many passages are new."""
        self.done[mark(tool, arguments)] = number
        self.taken.append((tool, arguments.model_dump_json(exclude_defaults=True)))
        observation = await use(self.toolbox, tool, arguments)
        self.searching.artifacts += observation.artifacts
        if not observation.passages:
            return observation, 0
        return observation, self.searching.gain(observation.passages, _query(tool, arguments), number)


def _query(tool: ToolName, arguments: Arguments) -> str:
    """Return a use of a tool as a query."""
    texts = [value for value in dict(arguments).values() if isinstance(value, str) and value]
    asked = " ".join(texts[:2]) if tool == "graph_search" else texts[0] if texts else ""
    return asked if tool in SEARCHES else shorten(f"{tool}: {asked}", LONGEST_RECORD)


def _brief(step: ReactStep) -> ReactStep:
    """Return a step as it is recorded."""
    texts = {field: shorten(getattr(step, field), LONGEST_RECORD) for field in ("thought", "arguments", "observation")}
    return step.model_copy(update=texts)
