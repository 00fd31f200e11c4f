"""Tests of the validation of plans and of replanning."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.research.planning import (
    MAX_EXPECTED_OUTPUT_LENGTH,
    MAX_HEADING_LENGTH,
    MAX_QUERY_LENGTH,
    NEEDED_RESULTS,
    SEARCH_KINDS,
    ValidatedPlan,
    build_step_progress,
    find_ready_steps,
    find_replan_reason,
    is_deadlocked,
    is_same_query,
    skip_blocked_steps,
    skip_remaining_steps,
    validate_plan,
)
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.cycle import PlannedAction
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import (
    ExecutedQuery,
    InsertedName,
    PlanStep,
    SpiralState,
    StepAlternative,
    TopicState,
)
from tenure.contracts.run.run import StepProgress, StepStatus
from tests.support.passages import reference
from tests.support.tiers import slow

MAX_SEARCHES = 3
BREAD = TopicState(topic=Topic(heading="Making bread", question="How is bread made?"), coverage=0.6)
CHEESE = TopicState(topic=Topic(heading="Ripening of cheese", question="How does cheese ripen?"), coverage=0.2)
STATE = SpiralState(
    cycle=2,
    topics=(BREAD, CHEESE),
    executed=(ExecutedQuery(query="Which flour does rye bread need?", topic="Making bread", cycle=1),),
    dropped=("History of butter",),
)


def action(kind: str, query: str = "", topic: str = "", **others: Any) -> PlannedAction:
    blank = {"id": "", "passage": 0, "depends_on": (), "expected_output": ""}
    return PlannedAction(**{**blank, "action": kind, "query": query, "target_outline_topic": topic, **others})


def search(query: str, topic: str = "", **others: Any) -> PlannedAction:
    return action("SEARCH", query, topic, **others)


def planned(*actions: PlannedAction, state: SpiralState = STATE, max_topics: int = 3) -> ValidatedPlan:
    return validate_plan(actions, state, MAX_SEARCHES, max_topics, (reference(0.5, "bread"), reference(0.4, "cheese")))


def steps(*found: tuple[str, StepStatus, tuple[str, ...]]) -> list[PlanStep]:
    return [
        PlanStep(id=name, query=name, topic="Making bread", status=status, depends_on=needs)
        for name, status, needs in found
    ]


def test_search_becomes_a_step() -> None:
    """Query, topic and dependencies are kept, with normalized white space."""
    plan = planned(
        search("Where do  cellars\nhelp cheese?", "ripening of CHEESE", id="a", expected_output="  cool\ncellars "),
        search("How hot is an oven for bread?", "Making bread", id="b", depends_on=(" a ", "a", "gone")),
    )

    first, second = plan.steps
    assert (first.id, first.query, first.topic) == ("a", "Where do cellars help cheese?", "Ripening of cheese")
    assert (first.expected_output, first.status, first.read_passage) == ("cool cellars", "pending", None)
    assert second.depends_on == ("a",)
    assert not plan.rejections and not plan.finish and not plan.is_empty


def test_read_names_a_finding_by_number() -> None:
    """The same query may be read in one source and searched in all."""
    plan = planned(action("READ", "Which flour does rye bread need?", passage=2))

    assert plan.steps[0].read_passage == reference(0.4, "cheese")


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_unknown_finding_is_rejected(number: int) -> None:
    """Unknown finding is rejected."""
    assert planned(action("READ", "What else?", passage=number)).rejections == [
        f"finding {number} was not read further: there is no such finding"
    ]


@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        (search(" \n"), "a search without a query was not executed"),
        (
            search("which flour does RYE bread need? "),
            "“which flour does RYE bread need?” was not searched: it was searched",
        ),
        (
            search("What flour is needed for rye bread?"),
            "“What flour is needed for rye bread?” was not searched: it was",
        ),
        (action("ADD_TO_OUTLINE", "x", " "), "a topic without a heading was not added"),
        (action("ADD_TO_OUTLINE", "x", "The making of bread"), "“The making of bread” was not added: the outline has"),
        (action("ADD_TO_OUTLINE", "x", "Butter's history"), "“Butter's history” was not added: the outline has or had"),
        (action("DROP_TOPIC", topic="Wine"), "“Wine” was not dropped: the outline has no such topic"),
        (action("ASK_HUMAN", " "), "a question to the user was not asked: it is empty or was asked before"),
    ],
)
def test_invalid_actions_are_rejected_with_a_reason(proposed: PlannedAction, why: str) -> None:
    """Empty, repeated and impossible actions only leave a reason."""
    plan = planned(proposed)

    assert plan.is_empty and not plan.questions
    assert [reason[: len(why)] for reason in plan.rejections] == [why]


def test_query_is_not_repeated_in_one_plan() -> None:
    """Two wordings of one query are one search."""
    plan = planned(search("How does rye dough rise?"), search("How is rye dough rising?"))

    assert len(plan.steps) == len(plan.rejections) == 1


def test_searches_for_a_calculation_are_made_again() -> None:
    """Queries of an earlier run are repeated if a calculation needs their results, until it has been calculated."""
    known = STATE.model_copy(update={"executed": (ExecutedQuery(query="price of rye", topic="Bread", cycle=0),)})
    done = known.model_copy(update={"decisive": {"Bread": (reference(0.5, "s", "c"),)}})
    plan = (
        search("price of rye", id="s1"),
        action("CALCULATE", "price of two loaves", id="s2", depends_on=("s1",)),
        search("price of rye", id="s3"),
    )

    assert [step.id for step in planned(*plan, state=known).steps] == ["s1", "s2"]
    assert planned(*plan, state=done).steps == []


def test_effort_limits_the_tasks_of_a_cycle() -> None:
    """The first searches are accepted, the others rejected."""
    plan = planned(*(search(f"What is bread number {name}?") for name in ("one", "two", "three", "four")))

    assert [step.id for step in plan.steps] == ["s1", "s2", "s3"]
    assert plan.rejections == ["“What is bread number four?” was not executed: a cycle has at most 3 searches"]


def test_steps_with_results_of_searches_have_a_limit_of_their_own() -> None:
    """Comparisons and calculations do not take the places of searches, and are limited as well."""
    searches = [search(f"What is bread number {name}?", id=name) for name in ("one", "two", "three")]
    compared = [action("COMPARE", f"price {n}", depends_on=("one", "two")) for n in range(4)]
    plan = planned(*searches, *compared)

    assert [step.kind for step in plan.steps] == ["search"] * 3 + ["compare"]
    assert plan.rejections == [
        f"“price {n}” was not executed: a cycle has at most one task with the results of searches" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(("kind", "word"), [("COMPARE", "compared"), ("CALCULATE", "calculated")])
def test_a_step_on_results_needs_a_step(kind: str, word: str) -> None:
    """A comparison or calculation without an earlier step is rejected, as is one whose steps were rejected."""
    alone = planned(action(kind, "price of bread"))
    lost = planned(search(" ", id="a"), action(kind, "price of bread", depends_on=("a",)))

    for plan in (alone, lost):
        assert not plan.steps
        assert f"“price of bread” was not {word}: it depends on no step of this plan" in plan.rejections


def test_analyze_names_a_finding_or_a_step() -> None:
    """The document to analyze belongs to a finding, or to the result of an earlier step."""
    found = planned(action("ANALYZE", "Why does it rise?", passage=2))
    step = planned(search("What is dough?", id="a"), action("ANALYZE", "Why does it rise?", depends_on=("a",)))
    neither = planned(action("ANALYZE", "Why does it rise?", passage=9))

    assert found.steps[0].kind == "analyze" and found.steps[0].read_passage
    assert step.steps[1].depends_on == ("a",) and step.steps[1].read_passage is None
    assert not neither.steps and "there is no such finding" in neither.rejections[0]


def test_a_dependent_search_may_repeat_words_of_an_executed_one() -> None:
    """Its query gets names later; without its dependency it is a repetition and is rejected."""
    again = "Which flour does rye bread need?"
    plan = planned(search("Who bakes rye bread?", id="a"), search(again, id="b", depends_on=("a",)))
    lost = planned(search(again, id="b", depends_on=("x",)))

    assert [step.id for step in plan.steps] == ["a", "b"]
    assert not lost.steps and "it was searched before" in lost.rejections[0]


def test_an_alternative_asks_something_else() -> None:
    """An alternative has another query or another strategy; a repetition of the step itself is none."""
    other = planned(search("Which sour bread is old?", alternative="Which bread is old?")).steps[0].alternative
    deeper = planned(search("Which bread is old?", alternative_strategy="iterative")).steps[0].alternative
    same = planned(search("Which bread is old?", alternative="Which old bread is it?")).steps[0].alternative

    assert other and (other.query, other.strategy) == ("Which bread is old?", None)
    assert deeper and (deeper.query, deeper.strategy) == ("Which bread is old?", "iterative")
    assert same is None


def test_remaining_steps_are_skipped_with_a_reason() -> None:
    """Only pending steps are skipped; the displayed steps have state, names and alternative."""
    first, second = steps(("a", "completed", ()), ("b", "pending", ("a",)))
    second = second.model_copy(
        update={
            "inserted": (InsertedName(name="Rye", title="Flour"),),
            "alternative": StepAlternative(query="Which bread?"),
        }
    )
    done = skip_remaining_steps((first, second), "enough is known")

    assert [(step.status, step.note) for step in done] == [("completed", ""), ("skipped", "enough is known")]
    assert build_step_progress(done)[1] == StepProgress(
        id="b",
        query="b",
        status="skipped",
        depends_on=("a",),
        inserted=("Rye (from “Flour”)",),
        alternative="Which bread?",
        note="enough is known",
    )


def test_ids_are_unique() -> None:
    """A missing or duplicate id is replaced."""
    plan = planned(search("Bread?", id="s2"), search("Cheese?"), search("Salt?", id="s2"))

    assert [step.id for step in plan.steps] == ["s2", "s3", "s4"]


@pytest.mark.parametrize(
    ("wanted", "query", "served"),
    [
        ("Making bread", "What is yeast?", "Making bread"),
        ("", "How is bread baked?", "Making bread"),
        ("", "What is yeast?", "Ripening of cheese"),
        ("Wine", "What is yeast?", "Ripening of cheese"),
        ("Salt", "Making bread of cheese?", "Ripening of cheese"),
        ("Salt", "How hot is the oven?", "Salt"),
    ],
)
def test_search_is_assigned_to_a_topic(wanted: str, query: str, served: str) -> None:
    """The named topic, the one the query matches, or the least covered, including new topics of the same plan."""
    added = (action("ADD_TO_OUTLINE", "Which salt?", "Salt"),) if served == "Salt" else ()

    assert [step.topic for step in planned(*added, search(query, wanted)).steps] == [served]


def test_search_needs_a_topic() -> None:
    """Search needs a topic."""
    assert planned(search("Bread?"), state=SpiralState()).rejections == [
        "“Bread?” was not searched: the outline has no topic for it"
    ]


def test_topic_is_added_while_there_is_room() -> None:
    """Without a question the heading is the question."""
    plan = planned(action("ADD_TO_OUTLINE", " ", "Rye\n  dough"), action("ADD_TO_OUTLINE", "Which salt?", "Salt"))

    assert plan.added_topics == [Topic(heading="Rye dough", question="Rye dough")]
    assert plan.rejections == ["“Salt” was not added: the outline has 3 topics and no room"]


def test_last_topic_cannot_be_dropped() -> None:
    """Last topic cannot be dropped."""
    plan = planned(
        *(action("DROP_TOPIC", topic=name) for name in (" making BREAD", "Making bread", CHEESE.topic.heading))
    )

    assert plan.dropped_topics == ["Making bread"]
    assert plan.rejections == [
        "“Making bread” was not dropped: the outline has no such topic",
        "“Ripening of cheese” was not dropped: it is the last topic",
    ]


def test_dropped_topic_makes_room_and_cannot_return() -> None:
    """A full outline can replace a topic in one plan, in any order of the actions."""
    plan = planned(
        action("ADD_TO_OUTLINE", "Which salt?", "Salt"),
        action("ADD_TO_OUTLINE", "Bread?", "The making of bread"),
        action("DROP_TOPIC", topic="Making bread"),
        max_topics=2,
    )

    assert ([topic.heading for topic in plan.added_topics], plan.dropped_topics) == (["Salt"], ["Making bread"])
    assert plan.rejections == ["“The making of bread” was not added: the outline has or had it"]


def test_long_heading_can_be_dropped_by_its_full_name() -> None:
    """Headings are truncated in the same way in all plans."""
    long = "rye bread " * 1_000
    added = planned(action("ADD_TO_OUTLINE", "Rye?", long)).added_topics
    state = STATE.model_copy(update={"topics": (*STATE.topics, TopicState(topic=added[0]))})

    assert planned(action("DROP_TOPIC", topic=long), state=state).dropped_topics == [added[0].heading]
    assert planned(search("Which flour?", long), state=state).steps[0].topic == added[0].heading


def test_search_for_a_dropped_topic_is_reassigned() -> None:
    """Search for a dropped topic is reassigned."""
    plan = planned(action("DROP_TOPIC", topic="Making bread"), search("How is bread baked?", "Making bread"))

    assert [step.topic for step in plan.steps] == ["Ripening of cheese"]


def test_user_questions_are_limited_and_unique() -> None:
    """A question contains its assumption."""
    state = STATE.model_copy(update={"questions_asked": ("Which town? Assumed until a user answers: Vienna",)})
    plan = planned(
        action("ASK_HUMAN", "Which town?"),
        action("ASK_HUMAN", "Which year?", expected_output="this one"),
        action("ASK_HUMAN", "Which oven?"),
        action("ASK_HUMAN", "Which salt?"),
        state=state,
    )

    assert plan.questions == [
        "Which year? Assumed until a user answers: this one",
        "Which oven? Assumed until a user answers: nothing",
    ]
    assert plan.rejections == [
        "a question to the user was not asked: it is empty or was asked before",
        "a question to the user was not asked: 3 were asked already",
    ]


def test_finish_is_not_empty() -> None:
    """Finish is not empty."""
    plan = planned(action("FINISH"))

    assert plan.finish and not plan.is_empty and not plan.rejections


def test_dependency_cycle_is_rejected() -> None:
    """The whole cycle is rejected; steps that depend on it no longer wait."""
    plan = planned(
        search("Bread?", id="a", depends_on=("b",)),
        search("Cheese?", id="b", depends_on=("a",)),
        search("Salt?", id="c", depends_on=("a",)),
    )

    assert [(step.id, step.depends_on) for step in plan.steps] == [("c", ())]
    assert plan.has_cycle
    assert plan.rejections[0].startswith("steps that depend on each other were not executed: ")
    assert find_replan_reason(plan, plan.steps) == "its steps depended on each other"


def test_self_dependency_is_rejected() -> None:
    """Self dependency is rejected."""
    assert planned(search("Bread?", id="a", depends_on=("a",))).rejections == [
        "steps that depend on each other were not executed: a → a"
    ]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (" Rye Bread", "rye bread ", True),
        ("How is rye bread made?", "Making of rye breads", True),
        ("rye bread", "wheat bread", False),
        ("what is it", "how was it", False),
        ("", "bread", False),
        ("黑麦面包", "黑麦面包", True),
    ],
)
def test_same_words_are_the_same_query(a: str, b: str, expected: bool) -> None:
    """Case, inflection and stop words do not matter."""
    assert is_same_query(a, b) is is_same_query(b, a) is expected


def test_step_is_ready_when_its_dependencies_are_completed() -> None:
    """Step is ready when its dependencies are completed."""
    found = steps(
        ("a", "completed", ()),
        ("b", "pending", ("a",)),
        ("c", "pending", ("a", "d")),
        ("d", "in_progress", ()),
        ("e", "failed", ()),
        ("f", "pending", ()),
    )

    assert [step.id for step in find_ready_steps(found)] == ["b", "f"]


def test_dependents_of_a_failed_step_are_skipped() -> None:
    """Skipping is transitive, and each step has a reason."""
    found = skip_blocked_steps(
        steps(("a", "failed", ()), ("b", "pending", ("a",)), ("c", "pending", ("b",)), ("d", "pending", ()))
    )

    assert [step.status for step in found] == ["failed", "skipped", "skipped", "pending"]
    assert [step.note for step in found[1:3]] == [
        "it needs a, which failed or was skipped",
        "it needs b, which failed or was skipped",
    ]


def test_deadlock_needs_pending_steps_and_no_progress() -> None:
    """Deadlock needs pending steps and no progress."""
    circle = steps(("a", "pending", ("b",)), ("b", "pending", ("a",)))

    assert is_deadlocked(circle)
    assert not is_deadlocked([*circle, *steps(("c", "in_progress", ()))])
    assert not is_deadlocked([*circle, *steps(("c", "pending", ()))])
    assert not is_deadlocked(steps(("a", "completed", ())))


def test_failures_require_replanning() -> None:
    """Two failed steps do, and one with more than two dependents."""
    needed = steps(("a", "failed", ()), *((name, "skipped", ("a",)) for name in "bcd"))
    plan = ValidatedPlan(steps=needed)

    assert find_replan_reason(plan, needed) == "step a failed, and more than 2 others need it"
    assert find_replan_reason(plan, needed[:3]) == ""
    assert find_replan_reason(plan, steps(("a", "failed", ()), ("b", "failed", ()))) == "2 of its steps failed"


def test_empty_plan_requires_replanning() -> None:
    """Empty plan requires replanning."""
    assert find_replan_reason(ValidatedPlan(), ()) == "it has no valid step"
    assert find_replan_reason(ValidatedPlan(finish=True), ()) == ""


KINDS = st.sampled_from(
    ("SEARCH", "READ", "ANALYZE", "COMPARE", "CALCULATE", "ADD_TO_OUTLINE", "DROP_TOPIC", "ASK_HUMAN", "FINISH")
)
WORDS = st.lists(st.sampled_from("bread cheese rye salt oven milk cellar ripen the of how?".split()), max_size=5)
TEXTS = st.one_of(
    WORDS.map(" ".join), st.text(max_size=12), st.sampled_from(("x" * 10_000, "rye bread " * 1_000, "ü\n\t" * 4_000))
)
IDS = st.sampled_from(("", "a", "b", "c", "d", "a" * 10_000))
ACTIONS = st.builds(
    PlannedAction,
    id=IDS,
    action=KINDS,
    query=TEXTS,
    target_outline_topic=TEXTS,
    passage=st.integers(-2, 4),
    depends_on=st.lists(IDS, max_size=4).map(tuple),
    expected_output=TEXTS,
)
HEADINGS = st.lists(WORDS.map(" ".join).filter(bool), max_size=5, unique_by=str.casefold)
STATES = st.builds(
    lambda headings, asked, dropped: SpiralState(
        topics=tuple(TopicState(topic=Topic(heading=h, question=h)) for h in headings),
        executed=tuple(ExecutedQuery(query=query, topic="", cycle=1) for query in asked),
        dropped=tuple(dropped),
    ),
    HEADINGS,
    st.lists(WORDS.map(" ".join), max_size=4),
    HEADINGS,
)
FINDINGS = (reference(0.5, "bread"), reference(0.4, "cheese"))


@slow
@given(st.lists(ACTIONS, max_size=8), STATES, st.integers(1, 8), st.integers(5, 8))
@settings(deadline=None, max_examples=60)
def test_any_valid_plan_is_bounded_and_new(
    actions: Sequence[PlannedAction], state: SpiralState, subagents: int, max_topics: int
) -> None:
    """Tasks, topics and texts respect their limits, no query is repeated, no step depends on itself."""
    plan = validate_plan(actions, state, subagents, max_topics, FINDINGS)
    outline = {aim.topic.heading for aim in state.topics} - set(plan.dropped_topics) | {
        t.heading for t in plan.added_topics
    }

    assert sum(step.kind in SEARCH_KINDS for step in plan.steps) <= subagents
    assert len(plan.steps) <= 2 * subagents
    assert len(state.topics) - len(plan.dropped_topics) + len(plan.added_topics) <= max(max_topics, len(state.topics))
    assert not state.topics or outline
    assert len({step.id for step in plan.steps}) == len(plan.steps)
    assert all(
        len(topic.heading) <= MAX_HEADING_LENGTH and len(topic.question) <= MAX_QUERY_LENGTH
        for topic in plan.added_topics
    )
    assert (MAX_HEADING_LENGTH, MAX_QUERY_LENGTH) == (160, 1000)
    asked = [executed.query for executed in state.executed]
    for step in plan.steps:
        assert 1 <= len(step.query) <= MAX_QUERY_LENGTH and len(step.expected_output) <= MAX_EXPECTED_OUTPUT_LENGTH
        assert step.topic in outline
        if step.kind == "search" and not step.depends_on:
            assert not any(is_same_query(step.query, before) for before in asked)
            asked.append(step.query)
        assert step.kind not in NEEDED_RESULTS or step.depends_on or step.read_passage
    assert all(len(reason) <= 600 for reason in plan.rejections)
    assert _runs_to_its_end(plan.steps)


@given(st.lists(ACTIONS, max_size=8), STATES)
@settings(deadline=None, max_examples=60)
def test_any_action_is_accepted_or_rejected(actions: Sequence[PlannedAction], state: SpiralState) -> None:
    """Every rejected action has a reason; a cycle has one reason."""
    plan = validate_plan(actions, state, MAX_SEARCHES, 6, FINDINGS)
    proposed = sum(action.action != "FINISH" for action in actions)
    told = (
        len(plan.steps) + len(plan.added_topics) + len(plan.dropped_topics) + len(plan.questions) + len(plan.rejections)
    )

    assert told == proposed if not plan.has_cycle else told > 0
    assert plan.finish is any(action.action == "FINISH" for action in actions)


def _runs_to_its_end(proposed: Sequence[PlanStep]) -> bool:
    """Execute steps as far as possible and return whether none is left pending."""
    now = tuple(proposed)
    while begin := find_ready_steps(now):
        done = {step.id: step.model_copy(update={"status": "completed"}) for step in begin}
        now = skip_blocked_steps(done.get(step.id, step) for step in now)
    return not is_deadlocked(now) and all(step.status == "completed" for step in now)


OUTCOMES = st.lists(st.sampled_from(("completed", "failed")), min_size=8, max_size=8)
NEEDS = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8)


@given(NEEDS, OUTCOMES)
@settings(deadline=None)
def test_acyclic_plans_terminate(needs: list[list[int]], outcomes: list[StepStatus]) -> None:
    """No step starts before its dependencies are completed, and finally no step is pending."""
    now: tuple[PlanStep, ...] = tuple(
        PlanStep(id=str(n), query="q", topic="t", depends_on=tuple(str(i) for i in needed if i < n))
        for n, needed in enumerate(needs)
    )
    for _ in now:
        completed = {step.id for step in now if step.status == "completed"}
        begin = find_ready_steps(now)
        assert all(completed.issuperset(step.depends_on) for step in begin)
        done = {step.id: step.model_copy(update={"status": outcomes[int(step.id)]}) for step in begin}
        now = skip_blocked_steps(done.get(step.id, step) for step in now)

    failed = {step.id for step in now if step.status in ("failed", "skipped")}
    assert all(step.status != "pending" for step in now) and not is_deadlocked(now)
    assert all((step.status == "skipped") == bool(failed.intersection(step.depends_on)) for step in now)


def test_findings_are_numbered_from_one() -> None:
    """Findings are numbered from one."""
    found: tuple[PassageRef, ...] = (reference(0.5, "bread"),)
    actions = [action("READ", "More?", passage=1)]

    assert validate_plan(actions, STATE, MAX_SEARCHES, 3, found).steps[0].read_passage == found[0]
    assert validate_plan(actions, STATE, MAX_SEARCHES, 3).steps == []


def test_outline_of_a_user_is_not_changed() -> None:
    """The planner cannot add or drop topics, and the plan has the reason."""
    plan = planned(
        action("ADD_TO_OUTLINE", "How is wine made?", "Wine"),
        action("DROP_TOPIC", topic="Making bread"),
        state=STATE.model_copy(update={"outline_number": 1}),
    )

    assert (plan.added_topics, plan.dropped_topics) == ([], [])
    assert plan.rejections == [
        "“Making bread” was not dropped: a user has set the outline",
        "“Wine” was not added: a user has set the outline",
    ]
