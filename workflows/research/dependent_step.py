"""Execute the parts of a plan step that use the results of earlier steps."""

from typing import NamedTuple

from temporalio import workflow

from workflows.research.search_session import SearchSession

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import SEARCH_KINDS, is_same_query
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.base import ChunkId
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.evidence.react import MAX_RECORDED_CHARS
    from tenure.contracts.research.spiral import EarlierResult, PlanStep, SubagentRequest
    from tenure.contracts.research.tools import Observation, ToolArguments
    from tenure.roles.research import calculation_writer, step_preparer
    from tenure.roles.research.calculation_writer import CalculationWriterInput
    from tenure.roles.research.step_preparer import EarlierStep, StepPreparerInput
    from workflows.research.tool_use import perform_call, record_call
    from workflows.research.tools.analyze_document import AnalyzeDocumentArguments
    from workflows.research.tools.calculate import CalculateArguments
    from workflows.research.tools.compare_documents import CompareDocumentsArguments
    from workflows.runtime.clients import ActivityClients

MAX_LABEL_CHARACTERS = 200
"""Characters of the description of a calculation."""
MIN_TASK_CHARACTERS = 60
"""Characters of the question in it, however long its figures are."""
MAX_QUESTION_CHARACTERS = 500
"""Characters of a question to a document and of the criteria of a comparison."""


async def prepare_step(clients: ActivityClients, request: SubagentRequest) -> PlanStep:
    """Return the step with names of earlier results in its query, or skipped if it is not needed any more."""
    step = request.step
    if not request.earlier or step.kind not in SEARCH_KINDS:
        return step
    earlier, passages = _collect_passages(request.earlier)
    needed = ", ".join(result.step for result in request.earlier)
    prepared = await clients.models.ask(
        step_preparer.ROLE,
        StepPreparerInput(question=request.question, query=step.query, earlier=earlier),
        passages,
        summary=step.query,
    )
    if prepared.names:
        changes = {"query": prepared.query, "planned_query": step.query, "inserted": prepared.names}
        step = step.model_copy(update=changes)
    else:
        step = step.model_copy(update={"note": f"no name of the results of {needed} fits: the query stays as planned"})
    if not step.read_passage and any(is_same_query(step.query, query) for query in request.made_queries):
        reason = f"“{shorten(step.query, 120)}” was searched before"
        return step.model_copy(update={"status": "skipped", "is_answered": True, "note": reason})
    if prepared.answered_by and all(result.topic == step.topic for result in request.earlier):
        reason = f"the results of {needed} suffice: “{prepared.title}” answers it"
        return step.model_copy(update={"status": "skipped", "is_answered": True, "note": reason})
    return step


def _collect_passages(earlier: tuple[EarlierResult, ...]) -> tuple[tuple[EarlierStep, ...], list[PassageRef]]:
    """Return the steps with the numbers of their passages, and all passages, each once, in the order of the steps."""
    by_chunk = dict[ChunkId, PassageRef]()
    steps = list[EarlierStep]()
    for result in earlier:
        count = len(by_chunk)
        for passage in result.passages:
            by_chunk.setdefault(passage.chunk, passage)
        steps.append(EarlierStep(query=result.query, passages=len(by_chunk) - count))
    return tuple(steps), list(by_chunk.values())


class StepCall(NamedTuple):
    """Call of a tool that a step makes with the results of earlier steps."""

    tool: str
    """Name of the tool."""
    arguments: ToolArguments | None = None
    """Its arguments; None if the results do not suffice."""
    thought: str = ""
    """Figures of a calculation with their sources."""
    problem: str = ""
    """Reason for missing arguments."""


async def use_results(session: SearchSession) -> str:
    """Execute a step that analyzes, compares or calculates; return its problem, or an empty text."""
    step, earlier = session.task.step, session.task.earlier
    session.tools.add_passages(passage for result in earlier for passage in result.passages)
    if step.kind == "calculate":
        call = await _prepare_calculation(session)
    else:
        call = _prepare_comparison(session) if step.kind == "compare" else _prepare_analysis(session)
    observation, new = Observation(problem=call.problem), 0
    if call.arguments:
        observation, new = await perform_call(session, call.tool, call.arguments, step.query)
    record_call(session, call.tool, call.arguments, observation, new, call.thought)
    session.answer = shorten(observation.text, MAX_RECORDED_CHARS)
    return observation.problem


async def _prepare_calculation(session: SearchSession) -> StepCall:
    """Calculate with figures of earlier results; the description of the result names their sources."""
    step = session.task.step
    earlier, passages = _collect_passages(session.task.earlier)
    calculation = await session.clients.models.ask(
        calculation_writer.ROLE,
        CalculationWriterInput(question=step.query, earlier=earlier),
        passages,
        summary=step.query,
    )
    if not calculation.expression:
        return StepCall("calculate", problem=calculation.problem)
    operands = ", ".join(f"{operand.label}: {operand.figure} in “{operand.title}”" for operand in calculation.operands)
    room = MAX_LABEL_CHARACTERS - len(operands) - len(" ()")
    label = f"{shorten(step.query.rstrip(' ?.!'), max(room, MIN_TASK_CHARACTERS))} ({operands})"[:MAX_LABEL_CHARACTERS]
    return StepCall("calculate", CalculateArguments(expression=calculation.expression, label=label), operands)


def _prepare_comparison(session: SearchSession) -> StepCall:
    """Compare the best document of the first step with the best other document of the following ones."""
    step, earlier = session.task.step, session.task.earlier
    first = next((passage for result in earlier for passage in result.passages), None)
    later = [passage for result in (*earlier[1:], *earlier) for passage in result.passages]
    second = next((passage for passage in later if first and passage.source != first.source), None)
    if first is None or second is None:
        problem = "the results of the earlier steps belong to one document, so there is nothing to compare it with"
        return StepCall("compare_documents", problem=problem)
    numbers, criteria = session.tools.get_passage_numbers((first, second)), shorten(step.query, MAX_QUESTION_CHARACTERS)
    return StepCall(
        "compare_documents",
        CompareDocumentsArguments(first=numbers[first.chunk], second=numbers[second.chunk], criteria=criteria),
    )


def _prepare_analysis(session: SearchSession) -> StepCall:
    """Ask the document of a finding, or the best one of the earlier steps, a question."""
    step = session.task.step
    passage = step.read_passage or next(iter(session.tools.passages.values()), None)
    if passage is None:
        return StepCall("analyze_document", problem="the earlier steps have found no document")
    number = session.tools.get_passage_numbers((passage,))[passage.chunk]
    question = shorten(step.query, MAX_QUESTION_CHARACTERS)
    return StepCall("analyze_document", AnalyzeDocumentArguments(passage=number, question=question))
