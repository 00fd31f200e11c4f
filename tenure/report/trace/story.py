"""Build the trace of a run from the records that the run has written of itself."""

from collections.abc import Iterator
from typing import TypeVar

from tenure.contracts.base import Contract
from tenure.contracts.research.cycle import Rejection
from tenure.contracts.research.trace import (
    ControlRecord,
    RunHead,
    Story,
    Trace,
    TracedAnswer,
    TracedCall,
    TracedCycle,
    TracedDecision,
    TracedOutline,
    TracedPlan,
    TracedProgram,
    TracedQuery,
    TracedReflection,
    TracedSection,
    TracedTask,
    TracedTestRun,
    TracedThought,
    TracedVerification,
)
from tenure.contracts.result.result import Result

R = TypeVar("R", bound=Contract)


def build_trace(head: RunHead, story: Story, result: Result | None) -> Trace:
    """Build the trace of a run from what its server or archive knows, its records, and its result if it has one."""
    outline = next(iter(_select(story, TracedOutline)), None)
    cycles = _build_cycles(story)
    return Trace(
        **dict(head),
        **{name: getattr(result or story, name) for name in ("attempts", "feedback", "notes")},
        **{name: getattr(story, name) for name in ("mode", "complexity", "memory", "omitted")},
        effort=outline.effort if outline else None,
        outline=outline.headings if outline else (),
        programs=_select(story, TracedProgram),
        work=tuple(
            record for record in story.records if isinstance(record, TracedAnswer | TracedTestRun | TracedVerification)
        ),
        initial_findings=cycles[0].accepted if cycles and cycles[0].number == 0 else (),
        cycles=tuple(cycle for cycle in cycles if cycle.number),
        thoughts=_select(story, TracedThought),
        sections=_select(story, TracedSection),
        reflections=_select(story, TracedReflection),
        web=result.web if result else None,
        commands=_select(story, ControlRecord),
        decisions=result.decisions if result else (),
        calls=tuple(sorted(_select(story, TracedCall), key=lambda call: call.at)),
    )


def _select(story: Story, kind: type[R]) -> tuple[R, ...]:
    return tuple(record for record in story.records if isinstance(record, kind))


def _build_cycles(story: Story) -> list[TracedCycle]:
    """Return the cycles with their plans and decisions; the last one may not have been analyzed yet."""
    plans = {(plan.cycle, plan.number): plan for plan in _select(story, TracedPlan)}
    analyzed = {cycle.number: cycle for cycle in _select(story, TracedCycle)}
    # The first plan after a cycle judges it; a plan that was made again has read the same findings.
    decisions = {decision.cycle: decision for decision in reversed(_select(story, TracedDecision))}
    return [
        analyzed.get(number, TracedCycle(number=number)).model_copy(
            update={
                "plans": tuple(
                    plan.model_copy(update={"tasks": tuple(_list_tasks(story, plan, analyzed.get(number)))})
                    for plan in plans.values()
                    if plan.cycle == number
                ),
                "decision": decisions.get(number),
            }
        )
        for number in sorted({*analyzed, *(plan.cycle for plan in plans.values())})
    ]


def _list_tasks(story: Story, plan: TracedPlan, cycle: TracedCycle | None) -> Iterator[TracedTask]:
    """Yield the tasks of a plan in the order of its steps, with the fate of their passages."""
    order = [step.id for step in plan.steps]
    tasks = [task for task in _select(story, TracedTask) if (task.cycle, task.plan) == (plan.cycle, plan.number)]
    for task in sorted(tasks, key=lambda task: order.index(task.step) if task.step in order else len(order)):
        queries = tuple(_judge(query, cycle) for query in task.queries) if cycle else task.queries
        yield task.model_copy(update={"queries": queries})


def _judge(query: TracedQuery, cycle: TracedCycle) -> TracedQuery:
    """Return a query with what the analysis of its cycle says of its passages."""
    accepted = sum(finding.query == query.query for finding in cycle.accepted)
    rejections = {rejection.query: rejection for rejection in reversed(cycle.rejected)}
    no = rejections.get(query.query, Rejection(query=query.query))
    elsewhere = max(0, query.found - accepted - no.irrelevant - no.known)
    return query.model_copy(
        update={
            "judged": True,
            "accepted": accepted,
            "irrelevant": no.irrelevant,
            "known": no.known,
            "elsewhere": elsewhere,
        }
    )
