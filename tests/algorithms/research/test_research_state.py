"""Tests of the research state and its limits."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.research import research_state
from tenure.algorithms.research.coverage import compute_coverage
from tenure.algorithms.research.outline_edits import OutlineChange, apply_outline, revise_outline
from tenure.algorithms.research.planning import (
    ASSUMPTION_SEPARATOR,
    MAX_HEADING_LENGTH,
    MAX_QUERY_LENGTH,
    ValidatedPlan,
    validate_plan,
)
from tenure.algorithms.retrieval.evidence_selection import MIN_SUPPORTING_SHARE
from tenure.algorithms.text.questions import shorten
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.cycle import Finding, PlannedAction, ResearchEffort
from tenure.contracts.research.dossier import Dossier
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import (
    AnalysisReply,
    CandidatePassage,
    ExecutedQuery,
    LatentTopic,
    PlanStep,
    SpiralState,
    SubagentResult,
    TopicState,
)
from tenure.contracts.run.control import OutlineTopic
from tenure.contracts.run.run import FallbackRecord, Feedback, RunLimits
from tests.support.passages import held, passage, reference
from tests.support.tiers import slow

RUN = RunId("run-1")
BREAD = Topic(heading="Making bread", question="How is bread made?")
CHEESE = Topic(heading="Ripening of cheese", question="How does cheese ripen?")
BEGUN = research_state.create_initial_state((BREAD, CHEESE)).model_copy(update={"cycle": 1})


def finding(passage: PassageRef, topic: str = "Making bread", query: str = "q", novelty: float = 1.0) -> Finding:
    return Finding(topic=topic, query=query, passage=passage, novelty=novelty)


def executed(query: str, cycle: int = 1, **counts: int) -> ExecutedQuery:
    return ExecutedQuery(query=query, topic="Making bread", cycle=cycle, **counts)


def latent(heading: str, cycle: int = 1) -> LatentTopic:
    return LatentTopic(heading=heading, question=f"{heading}?", passages=3, cycle=cycle)


def chunks(passages: Sequence[PassageRef]) -> list[str]:
    return [passage.chunk for passage in passages]


def test_initial_state() -> None:
    """Before the first cycle no topic is covered."""
    begun = research_state.create_initial_state((BREAD, CHEESE))
    assert begun.topics == (TopicState(topic=BREAD), TopicState(topic=CHEESE))
    assert (begun.cycle, begun.information_gains) == (0, ())


def test_hypothetical_passages_are_added() -> None:
    """A topic without a new passage keeps its own; a long passage is truncated."""
    first = research_state.add_hypothetical_passages(BEGUN, {"Making bread": "Dough rises."})
    second = research_state.add_hypothetical_passages(first, {"Ripening of cheese": "word " * 1_000})

    assert [aim.topic.hypothetical_answer for aim in first.topics] == ["Dough rises.", ""]
    assert second.topics[0].topic.hypothetical_answer == "Dough rises."
    assert 900 < len(second.topics[1].topic.hypothetical_answer) <= research_state.MAX_HYPOTHETICAL_LENGTH


def test_plan_changes_the_outline() -> None:
    """Dropped topics are removed, new ones are appended, and an adopted topic is no longer latent."""
    state = BEGUN.model_copy(
        update={
            "latent_topics": (latent("Sourdough"), latent("Salt")),
            "unplanned": (reference(0.5),),
            "questions_asked": ("A?",),
        }
    )
    plan = ValidatedPlan(
        added_topics=[Topic(heading="sourdoughs", question="?")],
        dropped_topics=["Making bread"],
        questions=["B?"],
        rejections=[f"reason {n}" for n in range(9)],
    )
    after = research_state.apply_plan(state, plan, "critique " * 100, 3)

    assert [aim.topic.heading for aim in after.topics] == ["Ripening of cheese", "sourdoughs"]
    assert after.dropped == ("Making bread",)
    assert [topic.heading for topic in after.latent_topics] == ["Salt"]
    assert (after.unplanned, after.questions_asked, after.planner_feedback_count) == ((), ("A?", "B?"), 3)
    assert len(after.refused_actions) == 8
    assert len(after.critique) <= research_state.MAX_TEXT_LENGTH


def test_dropped_topics_are_limited() -> None:
    """Dropped topics are limited."""
    state = BEGUN
    for n in range(40):
        state = research_state.apply_plan(state, ValidatedPlan(dropped_topics=[f"topic {n}"]), "", 0)

    assert len(state.dropped) == research_state.MAX_DROPPED_TOPICS
    assert state.dropped[-1] == "topic 39"


def test_results_are_counted_per_cycle() -> None:
    """An equal query of an earlier cycle keeps its count."""
    state = BEGUN.model_copy(update={"cycle": 2, "executed": (executed("q", 1, found=7),)})
    state = research_state.record_queries(state, [executed("q", 2), executed("r", 2)])
    found = tuple(CandidatePassage(topic="Making bread", query="q", passage=reference(0.5, chunk=c)) for c in "ab")
    after = research_state.record_result_counts(state, SubagentResult(step="s1", candidates=found))

    assert [(e.query, e.cycle, e.found) for e in after.executed] == [("q", 1, 7), ("q", 2, 2), ("r", 2, 0)]


def test_decisive_passages_belong_to_their_topic() -> None:
    """Computed passages are kept by the heading of their topic; others if an answer cites or a model requests them."""
    first, second = (CandidatePassage(passage=reference(0.5, "s", name), query="q", topic="Bread") for name in "ab")
    found = first.model_copy(update={"passage": reference(0.5, "s", "c").model_copy(update={"dense_rank": 1})})
    state = BEGUN
    for one in (first, found, second):
        result = SubagentResult(step="s1", candidates=(one,))
        state = research_state.record_decisive(state, "Bread", result, is_requested=False)

    assert state.decisive == {"Bread": (first.passage, second.passage)}
    for result, is_requested in (
        (SubagentResult(step="s2", candidates=(found,)), True),
        (SubagentResult(step="s2", candidates=(found.model_copy(update={"is_cited": True}),)), False),
    ):
        after = research_state.record_decisive(state, "Bread", result, is_requested=is_requested)
        assert after.decisive == {"Bread": (first.passage, second.passage, found.passage)}


@pytest.mark.parametrize(
    ("allowed", "used", "share"),
    [(None, 9, None), (4, 0, 4), (10, 0, 5), (10, 5, 4), (10, 8, 2), (10, 9, 0), (0, 0, 0)],
)
def test_tasks_share_the_answers_for_tools(allowed: int | None, used: int, share: int | None) -> None:
    """A task gets half of what is left, at least four if there are as many, and none below two."""
    effort = ResearchEffort(cycles=2, subagents=2, hops=2, sections=2, tool_answers=allowed)

    assert research_state.compute_tool_share(BEGUN.model_copy(update={"tool_answers": used}), effort) == share


def test_analysis_updates_coverage_and_gain() -> None:
    """Computed by hand: 0.6·0.5 on one of two topics, novelty 0.5."""
    state = BEGUN.model_copy(update={"cycle": 1, "executed": (executed("q"), executed("r"))})
    after = research_state.apply_analysis(state, AnalysisReply(accepted=(finding(reference(0.5), novelty=0.5),)))

    assert [aim.coverage for aim in after.topics] == pytest.approx([0.3, 0.0])
    assert after.information_gains == pytest.approx((0.3 / 2 + 0.2 * 0.5,))
    assert [e.accepted for e in after.executed] == [1, 0]
    assert after.topics[0].passages == after.unplanned == (reference(0.5),)


def test_empty_analysis_has_no_gain() -> None:
    """Only gains change."""
    assert research_state.apply_analysis(BEGUN, AnalysisReply()) == BEGUN.model_copy(
        update={"information_gains": (0.0,)}
    )


def test_findings_before_the_first_cycle_are_no_gain() -> None:
    """Findings before the first cycle are no gain."""
    at_hand = research_state.apply_analysis(
        research_state.create_initial_state((BREAD, CHEESE)), AnalysisReply(accepted=(finding(reference(0.9)),))
    )

    assert (at_hand.information_gains, at_hand.unplanned) == ((), (reference(0.9),))
    assert at_hand.topics[0].coverage > 0


def test_better_judgement_of_a_passage_counts() -> None:
    """Better judgement of a passage counts."""
    first = research_state.apply_analysis(BEGUN, AnalysisReply(accepted=(finding(reference(0.9, chunk="c")),)))
    second = research_state.apply_analysis(
        first, AnalysisReply(accepted=(finding(reference(0.4, chunk="c"), novelty=0.0),))
    )

    assert second.topics == first.topics
    assert second.unplanned == (reference(0.9, chunk="c"),)


def test_most_relevant_findings_wait() -> None:
    """Each finding waits once, best first."""
    found = [finding(reference(n / 100, chunk=f"c{n:02}")) for n in range(1, 61)]
    after = research_state.apply_analysis(BEGUN, AnalysisReply(accepted=(*found, finding(reference(0.6, chunk="c60")))))

    assert chunks(after.unplanned) == [f"c{n}" for n in range(60, 52, -1)]
    assert len(after.topics[0].passages) == research_state.MAX_PASSAGES_PER_TOPIC


def test_with_a_model_every_query_has_passages_of_a_topic() -> None:
    """Passages of a query that are less relevant than all others have places too, and the newest come first."""
    rye = [finding(reference(0.9 - n / 100, chunk=f"rye{n:02}")) for n in range(40)]
    wheat = [
        finding(reference(0.3 - n / 100, chunk=f"wheat{n}")).model_copy(update={"query": "wheat"}) for n in range(3)
    ]
    spelt = finding(reference(0.1, chunk="spelt")).model_copy(update={"query": "spelt"})
    first = research_state.apply_analysis(BEGUN, AnalysisReply(accepted=(*rye, *wheat)), has_model=True)
    better = finding(reference(0.95, chunk="rye01"))
    second = research_state.apply_analysis(first, AnalysisReply(accepted=(spelt, better)), has_model=True)

    assert chunks(first.topics[0].passages)[:7] == ["rye00", "wheat0", "rye01", "wheat1", "rye02", "wheat2", "rye03"]
    assert chunks(second.topics[0].passages)[:4] == ["spelt", "rye01", "rye00", "wheat0"]
    assert second.topics[0].passages[1].relevance == 0.95


def test_linked_passages_have_reserved_places() -> None:
    """Earlier ones come first; the fewer topics, the more places."""
    many = [finding(reference(0.5 + n / 1000, chunk=f"c{n:02}")) for n in range(60)]
    linked = [
        finding(reference(0.01, chunk=f"l{n:02}").model_copy(update={"graph_rank": 1 + n % 8})) for n in range(60)
    ]
    state = research_state.apply_analysis(BEGUN, AnalysisReply(accepted=(linked[7],)))
    state = research_state.apply_analysis(state, AnalysisReply(accepted=(*many, *linked)))
    kept = chunks(state.topics[0].passages)
    eleven = BEGUN.model_copy(update={"topics": (*BEGUN.topics, *BEGUN.topics[1:] * 10)})

    assert len(kept) == research_state.MAX_PASSAGES_PER_TOPIC
    assert sum(chunk.startswith("l") for chunk in kept) == research_state.MAX_PASSAGES_PER_TOPIC // 2
    assert "l07" in kept and "l15" not in kept
    most = research_state.MAX_PASSAGES // len(eleven.topics)
    assert len(research_state.apply_analysis(eleven, AnalysisReply(accepted=tuple(many))).topics[0].passages) == most


def test_oldest_queries_are_removed_between_cycles() -> None:
    """Within a cycle all queries stay, since tasks refer to them by number."""
    state = BEGUN.model_copy(update={"cycle": 9})
    for n in range(100):
        state = research_state.record_queries(state, [executed(f"{n} {'q' * 990}", 9)])
    after = research_state.apply_analysis(state, AnalysisReply())

    assert len(state.executed) == 100
    assert 30 <= len(after.executed) < 40
    assert after.executed[-1] == state.executed[-1]


def test_latent_topics_are_new() -> None:
    """Topics that the outline has or had are left out; the last few stay."""
    state = BEGUN.model_copy(update={"dropped": ("Butter",), "latent_topics": (latent("Salt"),)})
    names = ("making breads", "Butter", "salts", "Sourdough", "sourdoughs", "Yeast", "Rye", "Milk", "Rennet", "Mould")
    after = research_state.add_latent_topics(state, [latent(name, 2) for name in names])

    assert [topic.heading for topic in after.latent_topics] == ["Sourdough", "Yeast", "Rye", "Milk", "Rennet", "Mould"]
    assert research_state.add_latent_topics(BEGUN, []).latent_topics == ()


def waiting(count: int, first: int = 0) -> tuple[PassageRef, ...]:
    return tuple(reference(0.5, chunk=f"c{n:03}") for n in range(first, first + count))


def test_only_new_feedback_is_formatted() -> None:
    """Only new feedback is formatted."""
    wishes = (Feedback(text="Be short."), Feedback(text="More rye.", topic="Bread"), Feedback(text="Less salt."))

    assert research_state.format_new_feedback(wishes, 1) == ("Bread: More rye.", "Less salt.")
    assert research_state.format_new_feedback(wishes, 3) == ()


def test_queries_are_recorded_for_feedback() -> None:
    """A query that shares words with feedback is recorded for it."""
    steps = [
        PlanStep(id="s1", query="Which flour does rye need?", topic="t"),
        PlanStep(id="s2", query="Ovens?", topic="t"),
    ]
    wishes = [Feedback(text="More on rye."), Feedback(text="Be short."), Feedback(text="More on rye.")]
    after = research_state.record_feedback_queries(BEGUN, wishes, steps)

    assert after.feedback_queries == {"More on rye.": ("Which flour does rye need?",)}
    again = research_state.record_feedback_queries(
        after, wishes[:1], [PlanStep(id="s1", query="Rye from where?", topic="t")]
    )
    assert again.feedback_queries == {"More on rye.": ("Which flour does rye need?", "Rye from where?")}


def test_open_points_are_listed() -> None:
    """Questions to the user and latent topics are listed."""
    latent = (LatentTopic(heading="Rye", question="What is rye?", passages=3, cycle=1),)
    state = research_state.create_initial_state([]).model_copy(
        update={"questions_asked": ("Which oven? Assumed: any",), "latent_topics": latent}
    )

    assert research_state.list_open_points(research_state.create_initial_state([])) == ()
    assert research_state.list_open_points(state) == (
        "Question to the user: Which oven? Assumed: any",
        "The sources also cover these topics, which are not part of the report: “Rye”.",
    )


def covered(*shares: float, **others: object) -> SpiralState:
    aims = tuple(TopicState(topic=topic, coverage=share) for topic, share in zip((BREAD, CHEESE), shares, strict=False))
    return BEGUN.model_copy(update={"topics": aims, "cycle": 2, **others})


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (covered(0.98, 0.96), ""),
        (covered(0.98, 0.97), "Ended after 2 cycles: every topic is covered."),
        (covered(cycle=1), ""),
        (covered(0.98, cycle=1), "Ended after 1 cycle: every topic is covered."),
        (
            covered(0.1, information_gains=(0.5, 0.01, 0.02)),
            "Ended after 2 cycles: the last cycles had diminishing returns.",
        ),
        (covered(0.1, cycle=3), "Ended after 3 cycles: the limit of cycles is reached."),
    ],
)
def test_stop_reasons(state: SpiralState, why: str) -> None:
    """Diminishing returns, coverage and the limit of cycles end the research."""
    assert research_state.find_stop_reason(state, ResearchEffort(cycles=3, subagents=2, hops=1, sections=2)) == why


def test_min_relevance_of_a_finding() -> None:
    """τ_r is a share of the minimum relevance of a search."""
    assert research_state.compute_min_relevance(RunLimits(min_relevance=0.4)) == pytest.approx(
        MIN_SUPPORTING_SHARE * 0.4
    )


def test_log_keeps_beginning_and_end() -> None:
    """Long lines are truncated."""
    log: tuple[str, ...] = ()
    for n in range(100):
        log = research_state.append_log(log, f"{n} {'word ' * 200}")

    assert len(log) == research_state.MAX_NOTES
    assert [line.split()[0] for line in (log[0], log[19], log[20], log[-1])] == ["0", "19", "80", "99"]
    assert all(len(line) <= research_state.MAX_NOTE_LENGTH for line in log)


def test_cycle_is_described_in_one_line() -> None:
    """New passages of this cycle, mean coverage, gain and trend."""
    aims = tuple(
        TopicState(topic=Topic(heading=name, question="?"), coverage=share) for name, share in (("A", 0.5), ("B", 1))
    )
    executed = tuple(ExecutedQuery(query=f"q{n}", topic="A", cycle=n, accepted=n) for n in (1, 2))
    state = SpiralState(cycle=2, topics=aims, executed=executed, information_gains=(0.5, 0.2))

    said = "cycle 2 brought 2 new passages: coverage 75% on average, information gain 0.20 (stalling)"
    assert research_state.describe_cycle(state) == said


def test_empty_cycle_is_described() -> None:
    """Empty cycle is described."""
    one = SpiralState(cycle=1, executed=(ExecutedQuery(query="q", topic="A", cycle=1, accepted=1),))

    assert research_state.describe_cycle(one).startswith(
        "cycle 1 brought 1 new passage: coverage 0% on average, information gain 0.00"
    )


FOUND = st.builds(
    finding,
    # A chunk always belongs to the same source.
    st.builds(lambda r, n: reference(r, "abcd"[n % 4], str(n)), st.floats(-1, 1), st.integers(0, 29)),
    st.sampled_from(("Making bread", "Ripening of cheese", "Gone")),
    novelty=st.floats(0, 1),
)


@given(st.lists(st.lists(FOUND, max_size=40), max_size=5))
@settings(deadline=None, max_examples=60)
def test_coverage_and_gain_never_fall(cycles: list[list[Finding]]) -> None:
    """Coverage and gain never fall."""
    state = BEGUN
    for found in cycles:
        after = research_state.apply_analysis(state, AnalysisReply(accepted=tuple(found)))
        assert all(now.coverage >= before.coverage for before, now in zip(state.topics, after.topics, strict=True))
        assert all(aim.coverage == pytest.approx(compute_coverage(aim.passages), abs=1e-4) for aim in after.topics)
        assert after.information_gains[-1] >= 0.0
        state = after


LIMIT = 256 * 1024
"""Maximum bytes of a payload."""
LONG = 10_000
"""Characters of a very long text."""


def distinct(n: int, name: str) -> str:
    """Return a unique text of maximum length; one word, so that truncation keeps as many characters as possible."""
    return f"{name}{n}{'x' * LONG}"


def hostile(cycle: int) -> list[PlannedAction]:
    """Return the largest possible plan."""
    kinds = ["DROP_TOPIC", "ADD_TO_OUTLINE", "ASK_HUMAN", *["SEARCH"] * 4]
    return [
        PlannedAction(
            id=distinct(n, "id"),
            action=kind,  # type: ignore[arg-type]
            query=distinct(cycle * 100 + n, "query"),
            target_outline_topic=distinct(cycle - 1 if kind == "DROP_TOPIC" else cycle, "topic"),
            passage=0,
            depends_on=(distinct(n - 1, "id"),),
            expected_output=distinct(n, "expected"),
        )
        for n, kind in enumerate(kinds)
    ]


def found_by(state: SpiralState, number: int) -> SubagentResult:
    """Return the maximum result of a task with two hops, with the longest ids and scores."""
    query = state.executed[-1].query
    passages = (
        PassageRef(
            chunk=ChunkId(f"{state.cycle:012}{number:06}{n:06}"),
            source=SourceId(f"{state.cycle:012}{number:012}"),
            score=0.016393442622950821,
            relevance=0.8123 + n / 1e4,
            dense_rank=100 + n,
            sparse_rank=100 + n,
        )
        for n in range(24)
    )
    found = (CandidatePassage(topic=state.executed[-1].topic, query=query, passage=passage) for passage in passages)
    return SubagentResult(
        step="s", candidates=tuple(found), queries=(distinct(number, f"hop{state.cycle}")[:MAX_QUERY_LENGTH],)
    )


def cycle_of(state: SpiralState, effort: ResearchEffort) -> SpiralState:
    """Apply the largest possible cycle to a state."""
    state = state.model_copy(update={"cycle": state.cycle + 1})
    actions = hostile(state.cycle)
    wishes = [Feedback(text=" ".join(action.query[: MAX_QUERY_LENGTH - 1] for action in actions[-3:]))]
    plan = validate_plan(actions, state, effort.subagents, 12, state.unplanned)
    state = research_state.apply_plan(state, plan, distinct(state.cycle, "critique"), state.cycle)
    state = research_state.record_feedback_queries(state, wishes, plan.steps)
    state = research_state.add_hypothetical_passages(state, {aim.topic.heading: "h" * 4_000 for aim in state.topics})
    found: list[CandidatePassage] = []
    for number, step in enumerate(plan.steps):
        state = research_state.record_queries(
            state, [ExecutedQuery(query=step.query, topic=step.topic, cycle=state.cycle)]
        )
        result = found_by(state, number)
        hops = [ExecutedQuery(query=query, topic=step.topic, cycle=state.cycle) for query in result.queries]
        state = research_state.record_result_counts(research_state.record_queries(state, hops), result)
        found += result.candidates
    headings = [aim.topic.heading for aim in state.topics]
    accepted = tuple(
        Finding(topic=headings[n % len(headings)], query=c.query, passage=c.passage, novelty=0.1234)
        for n, c in enumerate(found)
    )
    state = research_state.apply_analysis(state, AnalysisReply(accepted=accepted))
    named = [
        LatentTopic(
            heading=distinct(state.cycle * 10 + n, "latent")[:MAX_HEADING_LENGTH],
            question=distinct(n, "why")[:MAX_QUERY_LENGTH],
            passages=5,
            cycle=state.cycle,
        )
        for n in range(3)
    ]
    state = research_state.add_latent_topics(state, named)
    # Neighbours of the three strongest passages of each topic join those of the topics.
    passages = (tuple(candidate.passage for candidate in found) * 4)[: research_state.MAX_PASSAGES + 6 * len(headings)]
    numbers = tuple(range(1, research_state.MAX_PASSAGES_PER_TOPIC + 7))
    line = distinct(state.cycle, "line")
    return state.model_copy(
        update={
            # Of a dossier that is full of short passages.
            "dossier": Dossier(
                passages=passages,
                parts=dict.fromkeys(headings, numbers),
                tokens=10**6,
                omitted=tuple(passage.chunk for passage in passages[: research_state.MAX_PASSAGES]),
            ),
            "decisions": research_state.append_log(state.decisions, line),
            "notes": research_state.append_log(research_state.append_log(state.notes, line), line),
        }
    )


@slow
def test_state_size_is_bounded() -> None:
    """Fifty cycles of maximum size leave a state within the payload limit."""
    outline = [
        Topic(heading=shorten(distinct(-n, "topic"), MAX_HEADING_LENGTH), question="q" * MAX_QUERY_LENGTH)
        for n in range(12)
    ]
    effort = ResearchEffort(cycles=100, subagents=4, hops=2, sections=12)
    state = research_state.create_initial_state(outline)
    sizes = []
    for _ in range(50):
        state = cycle_of(state, effort)
        sizes.append(len(state.model_dump_json().encode()))

    assert (state.cycle, len(state.topics), len(state.dropped)) == (50, 12, research_state.MAX_DROPPED_TOPICS)
    assert max(sizes) < LIMIT


def test_fallbacks_are_merged_by_role_and_reason() -> None:
    """Beyond the limit the other reasons of a role are merged, and no call is lost."""
    often = [
        FallbackRecord(role="planner", reason="no JSON"),
        FallbackRecord(role="planner", reason="no JSON", times=2),
    ]
    rare = [
        FallbackRecord(role="decider", reason=f"reason {n}") for n in range(research_state.MAX_FALLBACK_REASONS + 4)
    ]
    counted = research_state.merge_fallbacks([*rare, *often])

    assert counted[0] == FallbackRecord(role="planner", reason="no JSON", times=3)
    assert counted[-1] == FallbackRecord(role="decider", reason="other reasons", times=5)
    assert len(counted) == research_state.MAX_FALLBACK_REASONS + 1
    assert sum(call.times for call in counted) == len(rare) + 3


def test_findings_stay_with_topics_of_a_users_outline() -> None:
    """A renamed topic keeps its passages, a dropped one cannot return, a new one is empty."""
    outline = (Topic(heading="Bread", question="?"), Topic(heading="Cheese", question="?"))
    state = research_state.create_initial_state(outline)
    known = state.topics[0].model_copy(update={"coverage": 0.5, "passages": (reference(0.5, "bread"),)})
    state = state.model_copy(update={"topics": (known, state.topics[1])})
    lines = (OutlineTopic(heading="Wine"), OutlineTopic(heading="Loaves", renamed_from="Bread"))
    after = research_state.apply_outline_change(state, apply_outline(outline, revise_outline(None, lines)), 1)

    assert [(aim.topic.heading, aim.coverage) for aim in after.topics] == [("Wine", 0.0), ("Loaves", 0.5)]
    assert after.topics[1].passages == known.passages
    assert (after.dropped, after.outline_number) == (("Cheese",), 1)


def test_answered_question_loses_its_assumption() -> None:
    """Answered question loses its assumption."""
    state = research_state.create_initial_state(()).model_copy(
        update={"questions_asked": (f"Which?{ASSUMPTION_SEPARATOR}any", f"Whose?{ASSUMPTION_SEPARATOR}ours")}
    )

    assert research_state.mark_questions_answered(state, [f"Whose?{ASSUMPTION_SEPARATOR}ours"]).questions_asked == (
        f"Which?{ASSUMPTION_SEPARATOR}any",
        "Whose? A user answered.",
    )


def test_positions_of_tasks_are_merged() -> None:
    """A position is kept once, with the passages of all tasks; a passage keeps its first side."""
    pro, con, more = passage("Yes.", "a"), passage("No.", "b"), passage("Indeed.", "c")
    first, second = held("Should we?", [pro], [con]), held("Should we?", [con, more], [])

    state = research_state.record_result_counts(BEGUN, SubagentResult(step="s1", positions=(first,)))
    state = research_state.record_result_counts(state, SubagentResult(step="s2", positions=(second,)))

    (merged,) = state.positions
    assert [one.citation.quote for one in merged.supporting] == ["Yes.", "Indeed."]
    assert [one.citation.quote for one in merged.contradicting] == ["No."]
    assert research_state.describe_positions(state.positions) == ("“Should we?”: 2 for, 1 against, 1 neutral",)


def test_positions_are_limited() -> None:
    """The first positions are kept, and the first passages of each side."""
    many = [held(f"Is {n} good?", [passage("Yes.", f"s{n}")], []) for n in range(9)]
    long = held("Is 0 good?", [passage("Yes.", f"t{n}") for n in range(40)], [])

    merged = research_state.merge_positions(many, [long])

    assert [one.position for one in merged] == [f"Is {n} good?" for n in range(research_state.MAX_POSITIONS)]
    assert len(merged[0].supporting) == research_state.MAX_PASSAGES_PER_SIDE


def test_open_parts_follow_the_analysis() -> None:
    """A topic has the open parts of the last analysis; a new question has none yet."""
    first = BEGUN.topics[0].topic
    after = research_state.apply_analysis(BEGUN, AnalysisReply(open_parts={first.heading: ("rye",)}))
    asked_anew = OutlineChange(
        topics=(first.model_copy(update={"question": "Anything else?"}),),
        previous_headings={first.heading: first.heading},
        dropped=(),
    )
    same = OutlineChange(topics=(first,), previous_headings={first.heading: first.heading}, dropped=())

    assert [topic.open_parts for topic in after.topics][:2] == [("rye",), None]
    assert research_state.align_topics(after.topics, asked_anew)[0].open_parts is None
    assert research_state.align_topics(after.topics, same)[0].open_parts == ("rye",)
