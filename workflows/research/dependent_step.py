"""Execute the parts of a plan step that use the results of earlier steps.

A search that depends on others gets the names that they found. A step that analyzes, compares or calculates calls a
tool of the registry with the passages of the steps it depends on.
"""

from temporalio import workflow

from workflows.research.search_session import SearchSession

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import SEARCH_KINDS, is_same_query
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.base import ChunkId
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.evidence.react import MAX_RECORDED_CHARS, ReactStep
    from tenure.contracts.research.spiral import EarlierResult, PlanStep, PreparedCalculation, SubagentRequest
    from tenure.contracts.research.tools import Observation, ToolArguments
    from tenure.roles.research import calculation_writer, step_preparer
    from tenure.roles.research.calculation_writer import CalculationWriterInput
    from tenure.roles.research.step_preparer import EarlierStep, StepPreparerInput
    from workflows.research.tool_context import ToolContext
    from workflows.research.tool_registry import use_tool
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
    if not step.read_passage and any(is_same_query(step.query, made) for made in request.made_queries):
        reason = f"“{shorten(step.query, 120)}” was searched before"
        return step.model_copy(update={"status": "skipped", "is_answered": True, "note": reason})
    if prepared.answered_by and all(result.topic == step.topic for result in request.earlier):
        reason = f"the results of {needed} suffice: “{prepared.title}” answers it"
        return step.model_copy(update={"status": "skipped", "is_answered": True, "note": reason})
    return step


def _collect_passages(earlier: tuple[EarlierResult, ...]) -> tuple[tuple[EarlierStep, ...], list[PassageRef]]:
    """Return the steps with the numbers of their passages, and all passages, each once, in the order of the steps."""
    seen = dict[ChunkId, PassageRef]()
    steps = list[EarlierStep]()
    for result in earlier:
        known = len(seen)
        for passage in result.passages:
            seen.setdefault(passage.chunk, passage)
        steps.append(EarlierStep(query=result.query, passages=len(seen) - known))
    return tuple(steps), list(seen.values())


async def use_results(session: SearchSession, context: ToolContext) -> str:
    """Execute a step that analyzes, compares or calculates; return its problem, or an empty text."""
    step, earlier = session.task.step, session.task.earlier
    context.add_passages(passage for result in earlier for passage in result.passages)
    if step.kind == "calculate":
        observation = await _calculate(session, context)
    elif step.kind == "compare":
        observation = await _compare(session, context)
    else:
        observation = await _analyze(session, context)
    session.add_results(observation.passages, step.query, observation.cited)
    session.answer = shorten(observation.text, MAX_RECORDED_CHARS)
    return observation.problem


async def _calculate(session: SearchSession, context: ToolContext) -> Observation:
    """Calculate with figures of earlier results; the description of the result names their sources."""
    step = session.task.step
    earlier, passages = _collect_passages(session.task.earlier)
    written = await session.clients.models.ask(
        calculation_writer.ROLE,
        CalculationWriterInput(question=step.query, earlier=earlier),
        passages,
        summary=step.query,
    )
    if not written.expression:
        return _record(session, "calculate", "", Observation(problem=written.problem))
    operands = describe_operands(written)
    room = MAX_LABEL_CHARACTERS - len(operands) - len(" ()")
    label = f"{shorten(step.query.rstrip(' ?.!'), max(room, MIN_TASK_CHARACTERS))} ({operands})"[:MAX_LABEL_CHARACTERS]
    arguments = CalculateArguments(expression=written.expression, label=label)
    return await _call(session, context, "calculate", arguments, operands)


def describe_operands(written: PreparedCalculation) -> str:
    """Return the figures of a calculation with their sources in one line."""
    return ", ".join(f"{operand.label}: {operand.figure} in “{operand.title}”" for operand in written.operands)


async def _compare(session: SearchSession, context: ToolContext) -> Observation:
    """Compare the best document of the first step with the best other document of the following ones."""
    step, earlier = session.task.step, session.task.earlier
    passages = list(context.passages.values())
    first = next((passage for result in earlier for passage in result.passages), None)
    later = [passage for result in (*earlier[1:], *earlier) for passage in result.passages]
    second = next((passage for passage in later if first and passage.source != first.source), None)
    if first is None or second is None:
        problem = "the results of the earlier steps belong to one document, so there is nothing to compare it with"
        return _record(session, "compare_documents", "", Observation(problem=problem))
    numbers = {passage.chunk: number for number, passage in enumerate(passages, 1)}
    arguments = CompareDocumentsArguments(
        first=numbers[first.chunk],
        second=numbers[second.chunk],
        criteria=shorten(step.query, MAX_QUESTION_CHARACTERS),
    )
    return await _call(session, context, "compare_documents", arguments)


async def _analyze(session: SearchSession, context: ToolContext) -> Observation:
    """Ask the document of a finding, or the best one of the earlier steps, a question."""
    step = session.task.step
    if step.read_passage:
        context.add_passages((step.read_passage,))
    wanted = step.read_passage or next(iter(context.passages.values()), None)
    if wanted is None:
        return _record(session, "analyze_document", "", Observation(problem="the earlier steps have found no document"))
    number = list(context.passages).index(wanted.chunk) + 1
    arguments = AnalyzeDocumentArguments(passage=number, question=shorten(step.query, MAX_QUESTION_CHARACTERS))
    return await _call(session, context, "analyze_document", arguments)


async def _call(
    session: SearchSession, context: ToolContext, tool: str, arguments: ToolArguments, thought: str = ""
) -> Observation:
    observation = await use_tool(context, tool, arguments)
    session.artifacts += observation.artifacts
    return _record(session, tool, arguments.model_dump_json(exclude_defaults=True), observation, thought)


def _record(
    session: SearchSession, tool: str, arguments: str, observation: Observation, thought: str = ""
) -> Observation:
    """Record the call of a tool as a step of the task; return its observation."""
    session.steps.append(
        ReactStep(
            n=len(session.steps) + 1,
            thought=shorten(thought, MAX_RECORDED_CHARS),
            tool=tool,
            arguments=shorten(arguments, MAX_RECORDED_CHARS),
            observation=shorten(observation.text or observation.problem, MAX_RECORDED_CHARS),
            reliability=observation.reliability,
            passages=len(observation.passages),
        )
    )
    return observation
