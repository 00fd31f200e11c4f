"""Validate plans and decide when to replan (Wang et al. 2023, "Plan-and-Solve Prompting").

The planner proposes actions. A valid plan is bounded, has no repeated query and stays within the outline. Every
rejected action has a reason, which the planner sees in its next turn.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from tenure.algorithms.control.feedback import match_headings
from tenure.algorithms.retrieval.evidence_selection import is_computed
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.cycle import ActionKind, PlannedAction
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import PlanStep, SpiralState, StepAlternative, TopicState
from tenure.contracts.run.run import Feedback, PlanStepKind, StepProgress

MAX_HEADING_LENGTH, MAX_QUERY_LENGTH, MAX_EXPECTED_OUTPUT_LENGTH, MAX_QUOTED_LENGTH = 160, 1000, 300, 80
"""Maximum characters of a heading, a query, a step's expected output, and a text quoted in a reason."""
MIN_SAME_QUERY_OVERLAP = 0.85
"""Jaccard similarity of word stems from which two queries are the same."""
MAX_USER_QUESTIONS = 3
ASSUMPTION_SEPARATOR = " Assumed until a user answers: "
"""Text between a question to the user and the assumption that replaces a missing answer."""
MAX_DEPENDENTS_OF_FAILED_STEP = 2
"""Number of dependent steps above which a failed step requires a new plan."""
MIN_FAILURES_TO_REPLAN = 2
"""Number of failed steps that requires a new plan."""
STEP_KINDS: Mapping[ActionKind, PlanStepKind] = {
    "SEARCH": "search",
    "READ": "read",
    "ANALYZE": "analyze",
    "COMPARE": "compare",
    "CALCULATE": "calculate",
}
"""Actions that become steps, with the type of the step."""
SEARCH_KINDS: frozenset[PlanStepKind] = frozenset(("search", "read"))
"""Steps that search; all others work on the results of earlier steps with a tool."""
MAX_RESULT_TASKS = 1
"""Maximum number of tasks of a cycle that analyze, compare or calculate: each asks the model once more, and the planner
and the writer read the passages anyway. Two of them took three of five runs by hand beyond 90,000 prompt tokens."""
NEEDED_RESULTS: Mapping[PlanStepKind, str] = {"analyze": "analyzed", "compare": "compared", "calculate": "calculated"}
"""Steps that need the results of others or a finding, each with the word for its rejection."""

N = TypeVar("N", bound=Hashable)


@dataclass
class ValidatedPlan:
    """Valid part of a plan, and the rejected rest."""

    steps: list[PlanStep] = field(default_factory=list)
    """Steps, in the order of their actions."""
    added_topics: list[Topic] = field(default_factory=list)
    dropped_topics: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    finish: bool = False
    """Whether the planner ends the research."""
    has_cycle: bool = False
    """Whether steps depended on each other."""
    rejections: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether the plan has no effect."""
        return not (self.steps or self.added_topics or self.dropped_topics or self.finish)


def validate_plan(
    actions: Sequence[PlannedAction],
    state: SpiralState,
    max_searches: int,
    max_topics: int,
    findings: Sequence[PassageRef] = (),
) -> ValidatedPlan:
    """Validate a plan for a cycle with a number of searches and an outline with a number of topics.

    READ and ANALYZE name a passage that the planner was shown, one of the findings, by its number from 1.
    """
    plan = ValidatedPlan(finish=any(action.action == "FINISH" for action in actions))
    for action in actions:
        if action.action == "DROP_TOPIC":
            _drop_topic(action, state, plan)
    for action in actions:
        if action.action == "ADD_TO_OUTLINE":
            _add_topic(action, state, max_topics, plan)
        elif action.action == "ASK_HUMAN":
            _add_question(action, state, plan)
    aims = [aim for aim in state.topics if aim.topic.heading not in plan.dropped_topics]
    aims += [TopicState(topic=topic) for topic in plan.added_topics]
    needed = _list_needed_searches(actions, state)
    for action in actions:
        if action.action in STEP_KINDS:
            _add_step(action, state, aims, max_searches, findings, needed, plan)
    _resolve_dependencies(plan)
    _reject_unusable_steps(plan, state, needed)
    return plan


def _list_needed_searches(actions: Sequence[PlannedAction], state: SpiralState) -> frozenset[str]:
    """Return the ids of the actions whose results the first calculation of a run needs.

    Their searches are made again even if an earlier run has made them, since only their results can be calculated with.
    """
    is_later = any(is_computed(passage) for passages in state.decisive.values() for passage in passages)
    calculations = [] if is_later else [action for action in actions if action.action == "CALCULATE"]
    return frozenset(name for action in calculations for name in action.depends_on)


def _add_topic(action: PlannedAction, state: SpiralState, max_topics: int, plan: ValidatedPlan) -> None:
    heading = _normalize_heading(action.target_outline_topic)
    outline = [aim.topic.heading for aim in state.topics if aim.topic.heading not in plan.dropped_topics]
    outline += [topic.heading for topic in plan.added_topics]
    refused = f"“{_shorten_quote(heading)}” was not added"
    if state.outline_number:
        plan.rejections.append(f"{refused}: a user has set the outline")
    elif not heading:
        plan.rejections.append("a topic without a heading was not added")
    elif any(is_same_query(heading, name) for name in (*outline, *state.dropped, *plan.dropped_topics)):
        plan.rejections.append(f"{refused}: the outline has or had it")
    elif len(outline) >= max_topics:
        plan.rejections.append(f"{refused}: the outline has {max_topics} topics and no room")
    else:
        plan.added_topics.append(
            Topic(heading=heading, question=shorten(action.query.strip() or heading, MAX_QUERY_LENGTH))
        )


def _drop_topic(action: PlannedAction, state: SpiralState, plan: ValidatedPlan) -> None:
    names = {aim.topic.heading.casefold(): aim.topic.heading for aim in state.topics}
    heading = names.get(_normalize_heading(action.target_outline_topic).casefold())
    refused = f"“{_shorten_quote(action.target_outline_topic)}” was not dropped"
    if state.outline_number:
        plan.rejections.append(f"{refused}: a user has set the outline")
    elif heading is None or heading in plan.dropped_topics:
        plan.rejections.append(f"{refused}: the outline has no such topic")
    elif len(names) - len(plan.dropped_topics) <= 1:
        plan.rejections.append(f"{refused}: it is the last topic")
    else:
        plan.dropped_topics.append(heading)


def _add_question(action: PlannedAction, state: SpiralState, plan: ValidatedPlan) -> None:
    question = shorten(" ".join(action.query.split()), MAX_EXPECTED_OUTPUT_LENGTH)
    assumed = shorten(" ".join(action.expected_output.split()), MAX_EXPECTED_OUTPUT_LENGTH)
    questions = [*state.questions_asked, *plan.questions]
    if not question or any(earlier.startswith(question) for earlier in questions):
        plan.rejections.append("a question to the user was not asked: it is empty or was asked before")
    elif len(questions) >= MAX_USER_QUESTIONS:
        plan.rejections.append(f"a question to the user was not asked: {MAX_USER_QUESTIONS} were asked already")
    else:
        plan.questions.append(f"{question}{ASSUMPTION_SEPARATOR}{assumed or 'nothing'}")


def _add_step(
    action: PlannedAction,
    state: SpiralState,
    aims: Sequence[TopicState],
    max_searches: int,
    findings: Sequence[PassageRef],
    needed: Collection[str],
    plan: ValidatedPlan,
) -> None:
    query, kind = shorten(" ".join(action.query.split()), MAX_QUERY_LENGTH), STEP_KINDS[action.action]
    quoted = f"“{_shorten_quote(query)}”"
    queries = [s.query for s in plan.steps if s.kind in SEARCH_KINDS]
    if action.id not in needed:
        queries += [executed.query for executed in state.executed]
    names_finding = kind == "read" or (kind == "analyze" and not action.depends_on)
    is_search = kind in SEARCH_KINDS
    of_same_kind = sum((step.kind in SEARCH_KINDS) == is_search for step in plan.steps)
    if not query:
        plan.rejections.append("a search without a query was not executed")
    elif not aims:
        plan.rejections.append(f"{quoted} was not searched: the outline has no topic for it")
    elif names_finding and not 1 <= action.passage <= len(findings):
        plan.rejections.append(f"finding {action.passage} was not read further: there is no such finding")
    elif kind == "search" and not action.depends_on and any(is_same_query(query, before) for before in queries):
        plan.rejections.append(f"{quoted} was not searched: it was searched before")
    elif of_same_kind >= (max_searches if is_search else MAX_RESULT_TASKS):
        limit = f"{max_searches} searches" if is_search else "one task with the results of searches"
        plan.rejections.append(f"{quoted} was not executed: a cycle has at most {limit}")
    else:
        used_ids = {step.id for step in plan.steps}
        names = (action.id.strip()[:40], *(f"s{n}" for n in range(len(used_ids) + 1, 2 * len(used_ids) + 2)))
        plan.steps.append(
            PlanStep(
                id=next(name for name in names if name and name not in used_ids),
                kind=kind,
                query=query,
                topic=_choose_topic(action.target_outline_topic, query, aims),
                read_passage=findings[action.passage - 1] if names_finding else None,
                depends_on=tuple(dict.fromkeys(name.strip()[:40] for name in action.depends_on)),
                expected_output=shorten(" ".join(action.expected_output.split()), MAX_EXPECTED_OUTPUT_LENGTH),
                strategy=action.strategy if kind == "search" else None,
                search_mode=action.search_mode if kind == "search" else None,
                alternative=_read_alternative(action, query),
            )
        )


def _read_alternative(action: PlannedAction, query: str) -> StepAlternative | None:
    """Return the alternative of an action; None if it has none, or if it would repeat the same search."""
    other = shorten(" ".join(action.alternative.split()), MAX_QUERY_LENGTH)
    strategy = action.alternative_strategy
    if action.action == "SEARCH" and is_same_query(other or query, query):
        return StepAlternative(query=query, strategy=strategy) if strategy and strategy != action.strategy else None
    return StepAlternative(query=other, strategy=strategy) if other else None


def _choose_topic(target: str, query: str, aims: Sequence[TopicState]) -> str:
    """Return the topic of a search: the named one, else the one its words match, else the least covered one."""
    headings = [aim.topic.heading for aim in aims]
    matching = match_headings(Feedback(text=query, topic=_normalize_heading(target) or None), headings)
    if matching and len(matching) < len(headings):
        return matching[0]
    return min(aims, key=lambda aim: aim.coverage).topic.heading


def is_same_query(a: str, b: str) -> bool:
    """Return whether two queries or headings ask for the same: nearly all of their words are common."""
    if a.casefold().strip() == b.casefold().strip():
        return True
    stems_a, stems_b = set(stem_words(a)), set(stem_words(b))
    return bool(stems_a and stems_b) and len(stems_a & stems_b) / len(stems_a | stems_b) >= MIN_SAME_QUERY_OVERLAP


def _resolve_dependencies(plan: ValidatedPlan) -> None:
    """Remove dependencies on rejected steps, and reject steps that depend on each other."""
    ids = {step.id for step in plan.steps}
    plan.steps = [
        step.model_copy(update={"depends_on": tuple(name for name in step.depends_on if name in ids)})
        for step in plan.steps
    ]
    while circle := find_cycle({step.id: step.depends_on for step in plan.steps}):
        plan.has_cycle = True
        plan.rejections.append(f"steps that depend on each other were not executed: {' → '.join(circle)}")
        plan.steps = [
            step.model_copy(update={"depends_on": tuple(name for name in step.depends_on if name not in circle)})
            for step in plan.steps
            if step.id not in circle
        ]


def find_cycle(needs: Mapping[N, Collection[N]]) -> tuple[N, ...]:
    """Return a cycle of dependencies by key, its first member repeated at the end; empty if there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def _reject_unusable_steps(plan: ValidatedPlan, state: SpiralState, needed: Collection[str]) -> None:
    """Reject steps that have lost the steps they need: work on results without any, and searches made before."""
    queries = [executed.query for executed in state.executed]
    reasons: dict[str, str] = {}
    for step in plan.steps:
        if step.kind in NEEDED_RESULTS and not step.depends_on and step.read_passage is None:
            reasons[step.id] = f"was not {NEEDED_RESULTS[step.kind]}: it depends on no step of this plan"
        elif step.kind == "search" and not step.depends_on:
            if step.id not in needed and any(is_same_query(step.query, before) for before in queries):
                reasons[step.id] = "was not searched: it was searched before"
            queries.append(step.query)
    if not reasons:
        return
    plan.rejections += [f"“{_shorten_quote(s.query)}” {reasons[s.id]}" for s in plan.steps if s.id in reasons]
    plan.steps = [
        step.model_copy(update={"depends_on": tuple(name for name in step.depends_on if name not in reasons)})
        for step in plan.steps
        if step.id not in reasons
    ]
    _reject_unusable_steps(plan, state, needed)


def find_ready_steps(steps: Iterable[PlanStep]) -> tuple[PlanStep, ...]:
    """Return the pending steps whose dependencies are completed, or were not needed because earlier results suffice."""
    by_id = {step.id: step for step in steps}
    return tuple(
        step
        for step in by_id.values()
        if step.status == "pending"
        and all(by_id[name].status == "completed" or by_id[name].is_answered for name in step.depends_on)
    )


def skip_remaining_steps(steps: Iterable[PlanStep], reason: str) -> tuple[PlanStep, ...]:
    """Mark all pending steps as skipped."""
    return tuple(
        step.model_copy(update={"status": "skipped", "note": reason}) if step.status == "pending" else step
        for step in steps
    )


def skip_blocked_steps(steps: Iterable[PlanStep]) -> tuple[PlanStep, ...]:
    """Mark pending steps as skipped if a step they depend on failed or was skipped."""
    current = list(steps)
    while True:
        failed = {step.id for step in current if step.status in ("failed", "skipped") and not step.is_answered}
        blocked = [n for n, s in enumerate(current) if s.status == "pending" and failed.intersection(s.depends_on)]
        if not blocked:
            return tuple(current)
        step = current[blocked[0]]
        reason = f"it needs {', '.join(sorted(failed.intersection(step.depends_on)))}, which failed or was skipped"
        current[blocked[0]] = step.model_copy(update={"status": "skipped", "note": reason})


def build_step_progress(steps: Iterable[PlanStep]) -> tuple[StepProgress, ...]:
    """Return the state of the steps as it is displayed."""
    return tuple(
        StepProgress(
            id=step.id,
            kind=step.kind,
            query=shorten(step.query, MAX_HEADING_LENGTH),
            status=step.status,
            depends_on=step.depends_on,
            inserted=tuple(
                shorten(f"{name.name} (from “{name.title}”)" if name.title else name.name, MAX_HEADING_LENGTH)
                for name in step.inserted
            ),
            alternative=shorten(step.alternative.query, MAX_HEADING_LENGTH) if step.alternative else "",
            note=shorten(step.note, MAX_EXPECTED_OUTPUT_LENGTH),
        )
        for step in steps
    )


def is_deadlocked(steps: Iterable[PlanStep]) -> bool:
    """Return whether steps are pending and none of them can ever start."""
    current = tuple(steps)
    waiting = any(step.status == "pending" for step in current)
    return waiting and not find_ready_steps(current) and not any(step.status == "in_progress" for step in current)


def find_replan_reason(plan: ValidatedPlan, steps: Sequence[PlanStep]) -> str:
    """Return the reason why a new plan is needed; empty if it is not."""
    failed = [step for step in steps if step.status == "failed"]
    needed = [
        step for step in failed if sum(step.id in other.depends_on for other in steps) > MAX_DEPENDENTS_OF_FAILED_STEP
    ]
    if plan.has_cycle:
        return "its steps depended on each other"
    if len(failed) >= MIN_FAILURES_TO_REPLAN:
        return f"{len(failed)} of its steps failed"
    if needed:
        return f"step {needed[0].id} failed, and more than {MAX_DEPENDENTS_OF_FAILED_STEP} others need it"
    return "it has no valid step" if plan.is_empty else ""


def _normalize_heading(text: str) -> str:
    return shorten(" ".join(text.split()), MAX_HEADING_LENGTH)


def _shorten_quote(text: str) -> str:
    return shorten(" ".join(text.split()), MAX_QUOTED_LENGTH)
