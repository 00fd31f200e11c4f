"""The strategy `react`: think, act with a tool, observe, step by step (Yao et al. 2022, ReAct).

A model proposes each step; `tenure.algorithms.research.action_validation` decides what is carried out. A step that
cannot be carried out is answered with a correction and counts as a step; three of them in a row end the loop. It also
ends with an answer, at the limit of its steps or of its model answers, or when a person or a budget says stop. In every
case the result is the passages that were seen, those of the best answer first.
"""

from typing import Any

from tenure.algorithms.control.usage import count_answers
from tenure.algorithms.research.action_validation import (
    FINISH,
    MAX_CONSECUTIVE_ERRORS,
    MAX_STEPS,
    ActionVerdict,
    build_call_key,
    extract_citations,
    find_answer_fault,
    validate_action,
)
from tenure.algorithms.research.transcript import append_step
from tenure.contracts.evidence.react import ReactStep, Transcript
from tenure.contracts.research.tools import Observation, ToolDescription
from tenure.contracts.run.limits import TOOL_STRATEGY
from tenure.roles.reasoning import react as react_role
from tenure.roles.reasoning.react import NO_ACTION, ReactInput, ReactOutput
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy
from workflows.research.tool import Tool
from workflows.research.tool_registry import list_available_tools
from workflows.research.tool_use import perform_call, shorten_step


async def act_step_by_step(session: SearchSession) -> None:
    """Run the loop until the task is answered or a limit is reached."""
    loop = ReActLoop(session)
    await loop.run()
    await loop.close()


class ReActLoop:
    """The steps of one task."""

    def __init__(self, session: SearchSession) -> None:
        self.session = session
        self.context = session.tools
        self.tools: dict[str, Tool[Any]] = {}
        self.descriptions: tuple[ToolDescription, ...] = ()
        self.transcript = Transcript()
        self.steps_by_call: dict[str, int] = {}
        self.mistakes = 0
        self.confidence = 0.0

    async def run(self) -> None:
        """Perform steps until there is an answer, or no further step is possible."""
        await self.context.discover()
        self.tools = list_available_tools(self.context)
        self.descriptions = tuple(tool.describe() for tool in self.tools.values())
        models = {name: tool.arguments for name, tool in self.tools.items()}
        for number in range(1, MAX_STEPS + 1):
            if self.session.is_stopped() or (remaining := self._count_steps_left(number)) < 1:
                return
            proposal = await self._propose_step(remaining)
            if proposal == NO_ACTION:
                return
            decision = validate_action(proposal.proposed_action, models, self.steps_by_call, len(self.context.passages))
            self._keep_better_answer(proposal)
            await self._perform_step(number, proposal, decision)
            if decision.is_final or self.mistakes == MAX_CONSECUTIVE_ERRORS:
                return

    async def close(self) -> None:
        """Search at least once, and rank the passages of the answer first."""
        session = self.session
        if not session.found:
            await session.search(session.task.step.query)
        passages = list(self.context.passages.values())
        if numbers := extract_citations(session.answer):
            session.add_ranking([passages[number - 1] for number in numbers])

    def _count_steps_left(self, number: int) -> int:
        """Return the number of possible steps from step `number` on; a tool that asks a model uses answers as well."""
        steps, max_answers = MAX_STEPS + 1 - number, self.session.task.max_answers
        if max_answers is None:
            return steps
        return min(steps, max_answers - count_answers(self.session.clients.record.usage))

    async def _propose_step(self, remaining: int) -> ReactOutput:
        """Ask the role for the next step."""
        session = self.session
        step = session.task.step
        return await session.clients.models.ask(
            react_role.ROLE,
            ReactInput(
                question=session.task.question,
                task=step.query,
                tools=self.descriptions,
                resources=self.context.describe_resources(),
                transcript=self.transcript,
                steps_left=remaining,
            ),
            summary=f"{step.query}, step {len(session.steps) + 1}",
        )

    def _keep_better_answer(self, proposal: ReactOutput) -> None:
        """Keep an answer that cites only passages that were seen, unless an earlier one is more confident."""
        if find_answer_fault(proposal.answer, len(self.context.passages)):
            return
        if proposal.action == FINISH or proposal.confidence >= self.confidence:
            self.confidence = proposal.confidence
            self.session.answer = proposal.answer

    async def _perform_step(self, number: int, proposal: ReactOutput, decision: ActionVerdict) -> None:
        """Carry out what was decided about a step and record it."""
        tool, arguments = proposal.action, proposal.arguments
        observation, new = Observation(text=decision.error), 0
        if decision.tool and decision.arguments:
            tool, arguments = decision.tool, decision.arguments.model_dump_json(exclude_defaults=True)
            self.steps_by_call[build_call_key(tool, decision.arguments)] = number
            observation, new = await perform_call(self.session, tool, decision.arguments)
        elif decision.is_final:
            observation = Observation(text=proposal.answer)
        self.mistakes = self.mistakes + 1 if decision.error else 0
        step = ReactStep(
            n=number,
            thought=proposal.thought,
            tool=tool,
            arguments=arguments,
            observation="\n".join(filter(None, (observation.text, observation.problem))),
            confidence=proposal.confidence,
            reliability=observation.reliability,
            passages=new,
            corrected=bool(decision.error),
        )
        self.transcript = append_step(self.transcript, step, self.session.task.step.query)
        self.session.steps.append(shorten_step(step))


STRATEGY = Strategy(
    TOOL_STRATEGY,
    "step by step with tools: for what has to be computed, a span between dates, a figure of a table, or what a tool "
    "of another server knows",
    act_step_by_step,
)
