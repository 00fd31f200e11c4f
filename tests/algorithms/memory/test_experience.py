"""Tests of experience: results of earlier runs, and memories of a run."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tenure.algorithms.memory.experience import (
    MAX_RELATED_RUNS,
    MAX_SAVED_QUERIES,
    MIN_RELATED_RELEVANCE,
    MIN_TRIALS,
    CompletedTask,
    build_inherited_candidates,
    build_memories,
    choose_strategy,
    compute_reward,
    describe_experience,
    find_related_runs,
    find_runs_by_facts,
    find_same_questions,
    is_known_query,
    rank_productive_queries,
    record_outcomes,
    reduce_effort,
    select_advice,
    select_inherited_queries,
)
from tenure.algorithms.research.effort import EFFORT_WITHOUT_MODEL
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.memory import (
    EpisodeDetails,
    Memory,
    MemoryDetails,
    MemoryOrigin,
    NewMemory,
    ProcedureDetails,
    RememberRequest,
    ScoredMemory,
    StrategyRecord,
)
from tenure.contracts.research.cycle import Finding
from tenure.contracts.research.learning import (
    Experience,
    InheritedPassage,
    InheritReply,
    KnownFact,
    RelatedRun,
    StrategyOutcome,
)
from tenure.contracts.research.spiral import AnalysisReply, ExecutedQuery, PlanStep
from tenure.contracts.result.result import CritiqueRecord, EvaluatedPart, Evaluation, Result, ResultStatus, SourceEntry
from tenure.contracts.run.run import RunLimits, Usage
from tests.support.passages import reference

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = "Which cheese do monks of the valley ripen in their cellars?"
ARMS = ("direct", "iterative", "multi_hop", "hierarchical", "contrastive", "memory")
"""Strategies of a run."""
MULTI_HOP = PlanStep(
    id="s1", query="Who was the composer of the opera that the last king of the valley ordered?", topic="t"
)


def record(strategy: str, share: float, episodes: int = 40) -> StrategyRecord:
    return StrategyRecord(query_type="factual", strategy=strategy, episodes=episodes, score=share * episodes)


def recalled(run: str, details: MemoryDetails | None, relevance: float = 0.9) -> ScoredMemory:
    """Return a recalled memory of a run."""
    memory = Memory(
        id=f"{run}/{relevance}",
        kind="episodic",
        text="t",
        created_at=NOW,
        origin=MemoryOrigin(run=RunId(run)),
        details=details,
    )
    return ScoredMemory(memory=memory, score=1, relevance=relevance)


def episode(run: str, relevance: float = 0.9, *asked: str) -> ScoredMemory:
    """Return the memory of an episode."""
    return recalled(run, EpisodeDetails(question=f"asked by {run}", queries=asked), relevance)


def inheritance(chunk: str, query: str = "bread", run: str = "one") -> InheritedPassage:
    """Return an inherited passage."""
    return InheritedPassage(passage=reference(0.5, chunk=chunk), query=query, run=RunId(run))


def experienced(passages: int, *made: str, records: Sequence[StrategyRecord] = ()) -> Experience:
    """Return the experience of one earlier run with a number of passages."""
    return Experience(
        related=(RelatedRun(run=RunId("one"), question="q", ended_at=NOW, relevance=0.9),),
        passages=tuple(inheritance(str(number)) for number in range(passages)),
        queries=made,
        records=tuple(records),
    )


def test_related_runs_are_ordered_by_relevance() -> None:
    """The run itself, other memories and irrelevant ones do not count."""
    memories = [
        episode("far", MIN_RELATED_RELEVANCE - 0.01),
        episode("one", 0.6),
        episode("two", 0.8),
        episode("one", 0.7),
        episode("this"),
        episode(""),
        recalled("three", ProcedureDetails(situation="s", advice="a")),
    ]

    found = find_related_runs(memories, RunId("this"))

    assert [(one.run, one.relevance) for one in found] == [("two", 0.8), ("one", 0.7)]
    assert len(find_related_runs([episode(f"run-{n}") for n in range(20)], RunId("this"))) == MAX_RELATED_RUNS


def test_runs_on_the_same_question_are_found_by_its_exact_words() -> None:
    """Similar questions, the run itself and memories of no run do not count, and each run counts once."""
    asked = EpisodeDetails(question=QUERY)
    memories = [
        episode("similar"),
        *(recalled(run, asked) for run in ("one", "two", "one", "this", "")),
        recalled("three", ProcedureDetails(situation="s", advice="a")),
    ]

    found = find_same_questions(memories, QUERY, RunId("this"))

    assert [(one.run, one.ended_at) for one in found] == [("one", NOW), ("two", NOW)]
    [note] = describe_experience(Experience(repeated=tuple(one.run for one in found)))
    assert "before (one, two)." in note


def test_runs_are_related_by_facts() -> None:
    """Runs with related questions, the run itself and irrelevant ones do not count."""
    asked = (RelatedRun(run=RunId("asked"), question="q", ended_at=NOW, relevance=0.9),)
    facts = [
        recalled("far", None, MIN_RELATED_RELEVANCE - 0.01),
        *(recalled(run, None, 0.5) for run in ("two", "asked", "this", "")),
        recalled("one", None, 0.6),
        recalled("two", None, 0.8),
    ]

    assert [(one.run, one.relevance, one.question) for one in find_runs_by_facts(facts, asked, RunId("this"))] == [
        ("two", 0.8, ""),
        ("one", 0.6, ""),
    ]
    assert (
        len(find_runs_by_facts([recalled(f"run-{n}", None) for n in range(20)], asked, RunId("this")))
        == MAX_RELATED_RUNS
    )


def test_queries_of_runs_with_passages_are_inherited() -> None:
    """The question must be related and the corpora unchanged."""
    memories = [episode("one", 0.9, "a", "b"), episode("two", 0.9, "c"), episode("three", 0.9, "d", "b")]
    left = InheritReply(
        passages=(inheritance("x", run="one"), inheritance("y", run="two")),
        unchanged=(RunId("one"), RunId("three")),
    )
    asked = find_related_runs(memories, RunId("this"))

    assert select_inherited_queries(memories, asked, left) == ("a", "b")
    assert (
        select_inherited_queries(memories, asked[1:], left)
        == select_inherited_queries([recalled("one", None)], asked, left)
        == ()
    )


def test_advice_needs_more_successes_than_failures() -> None:
    """Advice needs more successes than failures."""
    good = ProcedureDetails(situation="Research on bread", advice="ask for rye", successes=2, failures=1)
    bad = ProcedureDetails(situation="Research on bread", advice="ask for salt", successes=1, failures=1)

    assert select_advice([recalled("one", bad), recalled("two", good), episode("three")]) == (
        "Research on bread: ask for rye",
    )


def test_known_query_is_searched_directly() -> None:
    """Known query is searched directly."""
    step = PlanStep(id="s1", query=QUERY, topic="t")
    experience = experienced(3, "cellars where monks of the valley ripen cheese")

    assert choose_strategy(step, 3, None, Experience(), ARMS, 1).strategy == "multi_hop"
    assert choose_strategy(step, 3, None, experience, ARMS, 1).strategy == "direct"
    assert "earlier research executed this query" in choose_strategy(step, 3, None, experience, ARMS, 1).reason


def test_requested_strategies_are_kept() -> None:
    """A choice of the user or the plan, a read and an effort with one hop are not changed."""
    step = PlanStep(id="s1", query=QUERY, topic="t")
    experience = experienced(3, QUERY)

    assert choose_strategy(step, 3, "contrastive", experience, ARMS, 1) == ("contrastive", "")
    assert choose_strategy(step.model_copy(update={"strategy": "iterative"}), 3, None, experience, ARMS, 1) == (
        "iterative",
        "",
    )
    assert choose_strategy(step.model_copy(update={"read_passage": reference(0.5)}), 3, None, experience, ARMS, 1) == (
        "direct",
        "",
    )
    assert choose_strategy(step, 1, None, experience, ARMS, 1) == ("direct", "")


def test_planned_task_makes_one_search() -> None:
    """If a model plans further searches, only a choice of the user, the plan or the records makes more."""
    chosen = MULTI_HOP.model_copy(update={"strategy": "iterative"})
    experience = experienced(0, records=[record("direct", 0.05), record("multi_hop", 0.95)])

    assert choose_strategy(MULTI_HOP, 3, None, Experience(), ARMS, 1).strategy != "direct"
    assert choose_strategy(MULTI_HOP, 3, None, Experience(), ARMS, 1, is_planned=True) == ("direct", "")
    assert choose_strategy(chosen, 3, None, Experience(), ARMS, 1, is_planned=True).strategy == "iterative"
    assert choose_strategy(MULTI_HOP, 3, None, experience, ARMS, 1, is_planned=True).strategy == "multi_hop"


def test_strong_records_change_the_strategy() -> None:
    """Only for every second task, and with both strategies in the reason."""
    records = [record("multi_hop", 0.05), record("hierarchical", 0.95)]
    picked = [choose_strategy(MULTI_HOP, 3, None, experienced(0, records=records), ARMS, n) for n in range(4)]

    assert [choice.strategy for choice in picked] == ["multi_hop", "hierarchical"] * 2
    assert picked[1].reason == (
        "hierarchical succeeded in 95% of what is remembered, multi_hop, which was suggested, in 5%"
    )


@pytest.mark.parametrize(
    "records",
    [
        [record("hierarchical", 0.95)],
        [record("multi_hop", 0.3), record("hierarchical", 0.35)],
        [record("multi_hop", 0.3), record("hierarchical", 0.95, episodes=MIN_TRIALS - 1)],
        [record("multi_hop", 0.3), record("react", 0.95)],
        [record("multi_hop", 0.3), record("removed", 0.95)],
    ],
    ids=["nothing on the suggestion", "a small lead", "few tasks", "tools", "a strategy that is gone"],
)
def test_weak_records_change_nothing(records: list[StrategyRecord]) -> None:
    """A strategy is replaced by an existing one that searches and was clearly better in enough tasks."""
    choice = choose_strategy(MULTI_HOP, 3, None, experienced(0, records=records), [*ARMS, "react"], 1)

    assert choice == ("multi_hop", "")


@pytest.mark.parametrize(
    ("query", "earlier", "known"),
    [("rye bread", ["bread of rye flour"], True), ("rye bread", ["bread"], False), ("of the", ["of the"], False)],
)
def test_known_queries_share_most_words(query: str, earlier: list[str], known: bool) -> None:
    """Known queries share most words."""
    assert is_known_query(query, earlier) is known


def test_inherited_passages_reduce_the_effort() -> None:
    """Limits of the user are kept, and at least one cycle and one task remain."""
    complex_, simple = EFFORT_WITHOUT_MODEL["complex"], EFFORT_WITHOUT_MODEL["simple"]
    less = reduce_effort(complex_, RunLimits(), experienced(3))

    assert (less.cycles, less.subagents) == (complex_.cycles - 1, complex_.subagents - 1)
    assert reduce_effort(complex_, RunLimits(max_cycles=6, subagents=4), experienced(3)) == complex_
    assert reduce_effort(simple, RunLimits(), experienced(3)) == simple.model_copy(update={"subagents": 1})
    assert reduce_effort(complex_, RunLimits(), experienced(2)) == complex_


def test_facts_do_not_reduce_the_effort() -> None:
    """Facts do not reduce the effort."""
    told = experienced(9).model_copy(update={"related": ()})

    assert reduce_effort(EFFORT_WITHOUT_MODEL["complex"], RunLimits(), told) == EFFORT_WITHOUT_MODEL["complex"]
    assert len(build_inherited_candidates(told, "Bread")[0]) == 9


def test_inherited_passages_become_candidates() -> None:
    """Inherited queries count as executed."""
    candidates, executed = build_inherited_candidates(experienced(2, "bread", "rye"), "Bread")

    assert [(one.topic, one.query) for one in candidates] == [("Bread", "bread")] * 2
    assert [(one.query, one.cycle, one.found) for one in executed] == [("bread", 0, 2), ("rye", 0, 0)]


def test_outcomes_are_summed_by_type_and_strategy() -> None:
    """Follow-up queries count for their task."""
    found = [Finding(topic="t", query=query, passage=reference(0.5), novelty=1) for query in ("a", "b", "b", "z")]
    before = (StrategyOutcome(query_type="factual", strategy="direct", tasks=1, searches=1, accepted=0, score=0.0),)
    tasks = [CompletedTask("a", "direct", ()), CompletedTask("Why does b rise?", "iterative", ("b",))]

    direct, iterative = record_outcomes(before, tasks, AnalysisReply(accepted=tuple(found)))

    assert (direct.tasks, direct.searches, direct.accepted, direct.score) == (2, 2, 1, compute_reward(1, 1))
    assert (iterative.query_type, iterative.searches, iterative.accepted) == ("analytical", 2, 2)


def test_reward() -> None:
    """Passages count up to a maximum, each further search costs, and the reward is not negative."""
    assert compute_reward(0, 1) == compute_reward(0, 5) == 0
    assert compute_reward(4, 1) == compute_reward(40, 1) == 1
    assert 0 < compute_reward(2, 3) < compute_reward(2, 1) < compute_reward(4, 3)


def test_productive_queries_are_ranked() -> None:
    """Queries without results are left out."""
    executed = [
        ExecutedQuery(query="c", topic="t", cycle=1, found=9, accepted=0),
        ExecutedQuery(query="a", topic="t", cycle=1, found=3, accepted=2),
        ExecutedQuery(query="nothing", topic="t", cycle=1),
        *(ExecutedQuery(query=f"q{n}", topic="t", cycle=2, found=1) for n in range(30)),
    ]

    assert rank_productive_queries(executed)[:2] == ("a", "c")
    assert "nothing" not in rank_productive_queries(executed)
    assert len(rank_productive_queries(executed)) == MAX_SAVED_QUERIES


def test_related_runs_are_described() -> None:
    """Related runs are described."""
    [few] = describe_experience(experienced(1, "a"))
    [many] = describe_experience(experienced(3))

    assert tuple(describe_experience(Experience())) == ()
    assert few.endswith("(one): 1 accepted passage and 1 query with unchanged results.")
    assert "3 accepted passages and 0 queries" in many
    assert "reduced effort" in many


def test_known_facts_are_described() -> None:
    """Known facts are described."""
    fact = KnownFact(text="Rye is a grass.", run=RunId("two"), relevance=0.7)
    [one] = describe_experience(Experience(facts=(fact,)))
    [_, more] = describe_experience(
        experienced(1).model_copy(update={"facts": (fact, fact), "passages": (inheritance("x", run="two"),)})
    )

    assert one.endswith(
        "Recalled 1 fact of earlier runs or of the owner, the most relevant “Rye is a grass.” (two, from the web)."
    )
    assert more.endswith(
        "2 facts of earlier runs or of the owner, the most relevant “Rye is a grass.” (two, from the web); "
        "inherited from these runs: 1 accepted passage."
    )


def result(status: ResultStatus = "done", *critiques: CritiqueRecord) -> Result:
    """Return the result of a run."""
    return Result(
        id=RunId("this"),
        mode="RESEARCH",
        question="How is bread made?",
        title="Bread",
        abstract="",
        sources=(SourceEntry(n=1, id=SourceId("s1"), uri="u", title="t", accessed="2026"),),
        evaluation=Evaluation(parts=(EvaluatedPart(part="How is bread made?", answered="yes"),)),
        critiques=critiques,
        usage=Usage(searches=4),
        status=status,
    )


def details(impression: NewMemory) -> MemoryDetails:
    """Return the details of a memory."""
    assert impression.details is not None
    return impression.details


def test_run_saves_an_episode_per_strategy() -> None:
    """An episode has question, strategy, mean score, queries and cited sources."""
    ways = [
        StrategyOutcome(query_type="factual", strategy="direct", tasks=4, searches=4, accepted=8, score=2.0),
        StrategyOutcome(query_type="causal", strategy="iterative", tasks=1, searches=3, accepted=0, score=0.0),
    ]

    first, second = build_memories(result(), ways, ("bread",), ("c",))

    assert first.origin == MemoryOrigin(run=RunId("this"), sources=(SourceId("s1"),), corpora=("c",))
    assert first.valence == 1.0
    assert details(first) == EpisodeDetails(
        question="How is bread made?", strategy="direct", score=0.5, searches=4, queries=("bread",)
    )
    assert second.text != first.text


def test_a_report_without_an_answer_is_no_success() -> None:
    """The verdict that a part of the question is not answered makes the episode a failure; no verdict does not."""
    missing = Evaluation(parts=(EvaluatedPart(part="How is bread made?", answered="no"),))
    [failed] = build_memories(result().model_copy(update={"evaluation": missing}), (), (), ("c",))
    [unjudged] = build_memories(result().model_copy(update={"evaluation": None}), (), (), ("c",))

    assert (failed.valence, unjudged.valence) == (-0.5, 1.0)


@pytest.mark.parametrize(
    ("status", "outcome"), [("no_evidence", "no_evidence"), ("finished_early", "partial"), ("failed", "failed")]
)
def test_failed_run_saves_an_episode(status: ResultStatus, outcome: str) -> None:
    """Without a search the episode has no strategy."""
    [only] = build_memories(result(status).model_copy(update={"evaluation": None}), (), (), ("c",))
    known = details(only)

    assert isinstance(known, EpisodeDetails)
    assert (known.outcome, known.strategy, known.score) == (outcome, "", 0.0)
    assert only.valence == -0.5


def test_a_run_that_read_instructions_saves_nothing_that_models_wrote() -> None:
    """After a prompt with instructions of an unknown author neither critiques nor queries are saved."""
    critique = CritiqueRecord(topic="Bread", critique="Say stone.", outcome="The section “Bread” was rewritten.")
    exposed = result("done", critique).model_copy(update={"usage": Usage(exposed_calls=1)})
    (only,) = build_memories(exposed, (), ("bread of stone",), ("c",))
    known = details(only)

    assert isinstance(known, EpisodeDetails) and known.queries == ()


def test_critiques_become_procedures() -> None:
    """A critique that changed the report is a success, another one a failure."""
    helped = CritiqueRecord(topic="Bread", critique="Rye is missing.", outcome="The section “Bread” was rewritten.")
    idle = CritiqueRecord(topic="Bread", critique="Salt is missing.", outcome="Nothing more was found on it.")

    _, first, second = build_memories(result("done", helped, idle), (), (), ("c",))

    assert details(first) == ProcedureDetails(
        situation="Research on “How is bread made?”", advice="Rye is missing.", successes=1, failures=0
    )
    assert details(second) == ProcedureDetails(
        situation="Research on “How is bread made?”", advice="Salt is missing.", successes=0, failures=1
    )


def test_memories_of_a_long_question_with_many_critiques_can_be_stored() -> None:
    """Question and critiques are limited, so that the memories of any run fit into one request."""
    critique = CritiqueRecord(topic="Bread", critique="Rye is missing.", outcome="Nothing was found on it.")
    long = result("done", *[critique] * 300).model_copy(update={"question": "How is bread made? " * 1_000})
    memories = build_memories(long, (), (), ("c",))

    assert RememberRequest(memories=memories, now=datetime(2026, 1, 1, tzinfo=UTC)).memories == memories
