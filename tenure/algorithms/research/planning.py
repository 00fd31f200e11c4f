"""Plans: which actions of a planner are carried out, in what order, and when to plan anew (003, Plan-and-Execute).

A planner proposes; what is admitted here is bounded, new and about the outline. Nothing is dropped
without a reason that the planner hears next time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from tenure.algorithms.control.feedback import concerned
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stems
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import Aim, Effort, PlannedAction, SpiralState, Step
from tenure.contracts.run.run import Feedback

MAX_HEADING, MAX_QUERY, MAX_EXPECTED, SHOWN = 160, 1000, 300, 80
"""Characters of a heading, a query, what a step should bring, and of a text that a reason repeats."""
SAME = 0.85
"""Share of common words from which two queries are the same."""
MAX_QUESTIONS = 3
"""Questions to people in one run."""
ASSUMED = " Assumed until somebody answers: "
"""What stands between a question to people and what is assumed."""
NEEDED = 2
"""A failed step that more others than this need makes the plan worthless."""
FAILURES = 2
"""So many failed steps make the plan worthless."""


@dataclass
class Admitted:
    """What is carried out of a plan."""

    steps: list[Step] = field(default_factory=list)
    """Questions to the sources."""
    added: list[Topic] = field(default_factory=list)
    """New topics."""
    dropped: list[str] = field(default_factory=list)
    """Topics to give up."""
    asked: list[str] = field(default_factory=list)
    """Questions to people."""
    finish: bool = False
    """Whether the planner wants no more."""
    cyclic: bool = False
    """Whether steps depended on each other in a circle."""
    refused: list[str] = field(default_factory=list)
    """What is not carried out, and why."""

    @property
    def empty(self) -> bool:
        """Whether nothing would happen."""
        return not (self.steps or self.added or self.dropped or self.finish)


def admitted(
    actions: Sequence[PlannedAction],
    state: SpiralState,
    effort: Effort,
    max_topics: int,
    findings: Sequence[PassageRef] = (),
) -> Admitted:
    """Return what of a plan is carried out.

    Args:
        actions: the plan as proposed.
        state: where the research is.
        effort: how many tasks a cycle may have.
        max_topics: topics an outline may have.
        findings: passages the planner was shown; a READ names them by number, from 1.
    """
    plan = Admitted(finish=any(action.action == "FINISH" for action in actions))
    for action in actions:
        if action.action == "DROP_TOPIC":
            _drop(action, state, plan)
    for action in actions:
        if action.action == "ADD_TO_OUTLINE":
            _add(action, state, max_topics, plan)
        elif action.action == "ASK_HUMAN":
            _ask(action, state, plan)
    aims = [aim for aim in state.aims if aim.topic.heading not in plan.dropped]
    aims += [Aim(topic=topic) for topic in plan.added]
    for action in actions:
        if action.action in ("SEARCH", "READ"):
            _search(action, state, aims, effort, findings, plan)
    _untangle(plan)
    return plan


def _add(action: PlannedAction, state: SpiralState, max_topics: int, plan: Admitted) -> None:
    heading = _heading(action.target_outline_topic)
    outline = [aim.topic.heading for aim in state.aims if aim.topic.heading not in plan.dropped]
    outline += [topic.heading for topic in plan.added]
    if state.outlined:
        plan.refused.append(f"“{_brief(heading)}” was not added: a person has set the outline")
    elif not heading:
        plan.refused.append("a topic without a heading was not added")
    elif any(same(heading, known) for known in (*outline, *state.dropped, *plan.dropped)):
        plan.refused.append(f"“{_brief(heading)}” was not added: the outline has or had it")
    elif len(outline) >= max_topics:
        plan.refused.append(f"“{_brief(heading)}” was not added: the outline has {max_topics} topics and no room")
    else:
        plan.added.append(Topic(heading=heading, question=shorten(action.query.strip() or heading, MAX_QUERY)))


def _drop(action: PlannedAction, state: SpiralState, plan: Admitted) -> None:
    names = {aim.topic.heading.casefold(): aim.topic.heading for aim in state.aims}
    heading = names.get(_heading(action.target_outline_topic).casefold())
    left = len(names) - len(plan.dropped)
    if state.outlined:
        name = _brief(action.target_outline_topic)
        plan.refused.append(f"“{name}” was not dropped: a person has set the outline")
    elif heading is None or heading in plan.dropped:
        plan.refused.append(f"“{_brief(action.target_outline_topic)}” was not dropped: the outline has no such topic")
    elif left <= 1:
        plan.refused.append(f"“{_brief(heading)}” was not dropped: it is the last topic")
    else:
        plan.dropped.append(heading)


def _ask(action: PlannedAction, state: SpiralState, plan: Admitted) -> None:
    question = shorten(" ".join(action.query.split()), MAX_EXPECTED)
    assumed = shorten(" ".join(action.expected_output.split()), MAX_EXPECTED)
    known = [*state.asked, *plan.asked]
    if not question or any(asked.startswith(question) for asked in known):
        plan.refused.append("a question to people was not put: it is empty or was put before")
    elif len(known) >= MAX_QUESTIONS:
        plan.refused.append(f"a question to people was not put: {MAX_QUESTIONS} were put already")
    else:
        plan.asked.append(f"{question}{ASSUMED}{assumed or 'nothing'}")


def _search(
    action: PlannedAction,
    state: SpiralState,
    aims: Sequence[Aim],
    effort: Effort,
    findings: Sequence[PassageRef],
    plan: Admitted,
) -> None:
    query = shorten(" ".join(action.query.split()), MAX_QUERY)
    reading = action.action == "READ"
    known = [*(executed.query for executed in state.executed), *(step.query for step in plan.steps)]
    if not query:
        plan.refused.append("a search without a query was not made")
    elif not aims:
        plan.refused.append(f"“{_brief(query)}” was not asked: there is no topic it could serve")
    elif reading and not 1 <= action.passage <= len(findings):
        plan.refused.append(f"finding {action.passage} was not read further: there is no such finding")
    elif not reading and any(same(query, before) for before in known):
        plan.refused.append(f"“{_brief(query)}” was not asked: it was asked before")
    elif len(plan.steps) >= effort.subagents:
        plan.refused.append(f"“{_brief(query)}” was not asked: a cycle has {effort.subagents} tasks")
    else:
        number = len(plan.steps) + 1
        plan.steps.append(
            Step(
                id=_free(action.id.strip()[:40], [step.id for step in plan.steps], number),
                query=query,
                topic=_served(action.target_outline_topic, query, aims),
                reads=findings[action.passage - 1] if reading else None,
                depends_on=tuple(dict.fromkeys(name.strip()[:40] for name in action.depends_on)),
                expected=shorten(" ".join(action.expected_output.split()), MAX_EXPECTED),
                strategy=None if reading else action.strategy,
            )
        )


def _free(wanted: str, taken: Sequence[str], number: int) -> str:
    """Return an id no other step has."""
    candidates = [wanted] if wanted else []
    return next(name for name in [*candidates, *(f"s{n}" for n in range(number, number + 100))] if name not in taken)


def _served(wanted: str, query: str, aims: Sequence[Aim]) -> str:
    """Return the heading a search serves: the one it names, the one it is about, or the least covered."""
    headings = [aim.topic.heading for aim in aims]
    found = concerned(Feedback(text=query, topic=_heading(wanted) or None), headings)
    if found and len(found) < len(headings):
        return found[0]
    return min(aims, key=lambda aim: aim.coverage).topic.heading


def same(a: str, b: str) -> bool:
    """Tell whether two queries or headings ask for the same: nearly all of their words are common."""
    if a.casefold().strip() == b.casefold().strip():
        return True
    one, other = set(stems(a)), set(stems(b))
    return bool(one and other) and len(one & other) / len(one | other) >= SAME


def _untangle(plan: Admitted) -> None:
    """Forget dependencies on what is not carried out; refuse steps that wait for each other in a circle."""
    ids = {step.id for step in plan.steps}
    plan.steps = [
        step.model_copy(update={"depends_on": tuple(name for name in step.depends_on if name in ids)})
        for step in plan.steps
    ]
    while circle := _circle(plan.steps):
        plan.cyclic = True
        plan.refused.append(f"steps that wait for each other were not carried out: {' → '.join(circle)}")
        plan.steps = [
            step.model_copy(update={"depends_on": tuple(name for name in step.depends_on if name not in circle)})
            for step in plan.steps
            if step.id not in circle
        ]


def _circle(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the ids of steps that depend on each other, the first one again at the end; empty where none do."""
    sorter = TopologicalSorter({step.id: step.depends_on for step in steps})
    try:
        sorter.prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def ready(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps that can begin: all they depend on is completed."""
    by_id = {step.id: step for step in steps}
    return tuple(
        step
        for step in by_id.values()
        if step.status == "pending" and all(by_id[name].status == "completed" for name in step.depends_on)
    )


def settled(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with those skipped that can never begin, since one they depend on failed or was skipped."""
    now = list(steps)
    while True:
        lost = {step.id for step in now if step.status in ("failed", "skipped")}
        stuck = [step for step in now if step.status == "pending" and lost.intersection(step.depends_on)]
        if not stuck:
            return tuple(now)
        why = f"it needs {', '.join(sorted(lost.intersection(stuck[0].depends_on)))}, which brought nothing"
        now = [step.model_copy(update={"status": "skipped", "note": why}) if step is stuck[0] else step for step in now]


def deadlocked(steps: Iterable[Step]) -> bool:
    """Tell whether steps wait and none of them can ever begin."""
    now = tuple(steps)
    waiting = any(step.status == "pending" for step in now)
    return waiting and not ready(now) and not any(step.status == "in_progress" for step in now)


def why_replan(plan: Admitted, steps: Sequence[Step]) -> str:
    """Return why a plan has to be made anew; empty where it need not."""
    failed = [step for step in steps if step.status == "failed"]
    needed = [step for step in failed if sum(step.id in other.depends_on for other in steps) > NEEDED]
    if plan.cyclic:
        return "its steps waited for each other"
    if len(failed) >= FAILURES:
        return f"{len(failed)} of its steps failed"
    if needed:
        return f"step {needed[0].id} failed, and more than {NEEDED} others need it"
    return "no step was left of it" if plan.empty else ""


def _heading(text: str) -> str:
    """Return a heading as the outline has it."""
    return shorten(" ".join(text.split()), MAX_HEADING)


def _brief(text: str) -> str:
    return shorten(" ".join(text.split()), SHOWN)
