"""What a run makes of earlier ones, and what it leaves to later ones."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tenure.algorithms.memory.experience import (
    ARMS,
    LEFT_QUERIES,
    MOST_RELATED,
    RELATED,
    Sent,
    advice,
    asked,
    found_most,
    impressions,
    in_words,
    lessened,
    practised,
    queries,
    related,
    taken_over,
    telling,
    way,
    went,
)
from tenure.algorithms.research.effort import EFFORTS
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.memory import (
    Details,
    Episode,
    Impression,
    Memory,
    Origin,
    Procedure,
    Recollected,
    StrategyRecord,
)
from tenure.contracts.research.learning import Experience, Inheritance, Inherited, KnownFact, Practised, Related
from tenure.contracts.research.spiral import Analysis, Executed, Finding, Step
from tenure.contracts.result.result import CritiqueRecord, Evaluation, Result, ResultStatus, SourceEntry
from tenure.contracts.run.run import Limits, Usage
from tests.passages import reference

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUERY = "Which cheese do monks of the valley ripen in their cellars?"


def recalled(run: str, details: Details | None, relevance: float = 0.9) -> Recollected:
    """Return a memory of a run that came to mind."""
    memory = Memory(
        id=f"{run}/{relevance}", kind="episodic", text="t", made=NOW, origin=Origin(run=RunId(run)), details=details
    )
    return Recollected(memory=memory, score=1, relevance=relevance, freshness=1, weight=1, practice=1)


def episode(run: str, relevance: float = 0.9, *asked: str) -> Recollected:
    """Return the memory of an episode."""
    return recalled(run, Episode(question=f"asked by {run}", queries=asked), relevance)


def inheritance(chunk: str, query: str = "bread", run: str = "one") -> Inheritance:
    """Return a passage that a run has left."""
    return Inheritance(passage=reference(0.5, chunk=chunk), query=query, run=RunId(run))


def experienced(passages: int, *made: str, records: Sequence[StrategyRecord] = ()) -> Experience:
    """Return an experience of one earlier run with so many passages."""
    return Experience(
        related=(Related(run=RunId("one"), question="q", at=NOW, relevance=0.9),),
        passages=tuple(inheritance(str(number)) for number in range(passages)),
        queries=made,
        records=tuple(records),
    )


def test_runs_on_related_questions_come_nearest_first() -> None:
    """Each run counts once; the run itself, other memories and what is far off do not count."""
    memories = [
        episode("far", RELATED - 0.01),
        episode("one", 0.6),
        episode("two", 0.8),
        episode("one", 0.7),
        episode("this"),
        episode(""),
        recalled("three", Procedure(situation="s", advice="a")),
    ]

    found = related(memories, RunId("this"))

    assert [(one.run, one.relevance) for one in found] == [("two", 0.8), ("one", 0.7)]
    assert len(related([episode(f"run-{n}") for n in range(20)], RunId("this"))) == MOST_RELATED


def test_runs_are_related_by_what_they_have_found_too() -> None:
    """They come beside those whose questions are related; the run itself and what is far off do not count."""
    asked = (Related(run=RunId("asked"), question="q", at=NOW, relevance=0.9),)
    facts = [
        recalled("far", None, RELATED - 0.01),
        *(recalled(run, None, 0.5) for run in ("two", "asked", "this", "")),
        recalled("one", None, 0.6),
        recalled("two", None, 0.8),
    ]

    assert [(one.run, one.relevance, one.question) for one in telling(facts, asked, RunId("this"))] == [
        ("two", 0.8, ""),
        ("one", 0.6, ""),
    ]
    assert len(telling([recalled(f"run-{n}", None) for n in range(20)], asked, RunId("this"))) == MOST_RELATED


def test_queries_are_believed_of_runs_that_left_something() -> None:
    """A run must have left a passage and its question be related, and nothing may have come into the corpora since."""
    memories = [episode("one", 0.9, "a", "b"), episode("two", 0.9, "c"), episode("three", 0.9, "d", "b")]
    left = Inherited(
        passages=(inheritance("x", run="one"), inheritance("y", run="two")),
        unchanged=(RunId("one"), RunId("three")),
    )
    asked = related(memories, RunId("this"))

    assert queries(memories, asked, left) == ("a", "b")
    assert queries(memories, asked[1:], left) == queries([recalled("one", None)], asked, left) == ()


def test_advice_has_to_have_gone_well() -> None:
    """What failed as often as it went well is not advised."""
    good = Procedure(situation="Research on bread", advice="ask for rye", successes=2, failures=1)
    bad = Procedure(situation="Research on bread", advice="ask for salt", successes=1, failures=1)

    assert advice([recalled("one", bad), recalled("two", good), episode("three")]) == (
        "Research on bread: ask for rye",
    )


def test_what_was_asked_is_asked_once() -> None:
    """A task that earlier research has asked in nearly these words makes one search."""
    step = Step(id="s1", query=QUERY, topic="t")
    experience = experienced(3, "cellars where monks of the valley ripen cheese")

    assert way(step, 3, None, Experience(), "seed", 1).strategy == "multi_hop"
    assert way(step, 3, None, experience, "seed", 1).strategy == "direct"
    assert "earlier research has asked this" in way(step, 3, None, experience, "seed", 1).why


def test_what_people_and_plans_say_stands() -> None:
    """Neither a strategy that somebody chose, nor reading on, nor an effort without hops is changed by experience."""
    step = Step(id="s1", query=QUERY, topic="t")
    experience = experienced(3, QUERY)

    assert way(step, 3, "contrastive", experience, "seed", 1) == ("contrastive", "")
    assert way(step.model_copy(update={"strategy": "iterative"}), 3, None, experience, "seed", 1) == ("iterative", "")
    assert way(step.model_copy(update={"reads": reference(0.5)}), 3, None, experience, "seed", 1) == ("direct", "")
    assert way(step, 1, None, experience, "seed", 1) == ("direct", "")


def test_strong_records_choose_the_strategy() -> None:
    """Where nothing was asked before, the bandit chooses by how strategies did, for every other task."""
    records = [
        StrategyRecord(query_type="factual", strategy=strategy, episodes=40, score=score)
        for strategy, score in (("multi_hop", 2.0), ("hierarchical", 39.0))
    ]
    step = Step(id="s1", query="Who was the composer of the opera that the last king of the valley ordered?", topic="t")
    picked = [way(step, 3, None, experienced(0, records=records), "run", n).strategy for n in range(60)]

    assert set(picked) <= set(ARMS)
    assert set(picked[::2]) == {"multi_hop"}
    assert picked[1::2].count("hierarchical") > 25


@pytest.mark.parametrize(
    ("query", "earlier", "known"),
    [("rye bread", ["bread of rye flour"], True), ("rye bread", ["bread"], False), ("of the", ["of the"], False)],
)
def test_a_query_counts_as_asked_by_its_words(query: str, earlier: list[str], known: bool) -> None:
    """One earlier query has to have nearly all words; a query without a word asks nothing."""
    assert asked(query, earlier) is known


def test_a_grounded_run_has_less_before_it() -> None:
    """A cycle and a task a cycle are saved, unless a person has said how many there are to be; one stays of each."""
    complex_, simple = EFFORTS["complex"], EFFORTS["simple"]
    less = lessened(complex_, Limits(), experienced(3))

    assert (less.cycles, less.subagents) == (complex_.cycles - 1, complex_.subagents - 1)
    assert lessened(complex_, Limits(max_cycles=6, subagents=4), experienced(3)) == complex_
    assert lessened(simple, Limits(), experienced(3)) == simple.model_copy(update={"subagents": 1})
    assert lessened(complex_, Limits(), experienced(2)) == complex_


def test_facts_do_not_cut_research_short() -> None:
    """What runs have accepted of which only facts are related comes along, and takes nothing off the effort."""
    told = experienced(9).model_copy(update={"related": ()})

    assert lessened(EFFORTS["complex"], Limits(), told) == EFFORTS["complex"]
    assert len(taken_over(told, "Bread")[0]) == 9


def test_what_was_accepted_is_taken_over_with_its_query() -> None:
    """Passages become candidates that are judged like others, and queries count as made."""
    candidates, executed = taken_over(experienced(2, "bread", "rye"), "Bread")

    assert [(one.topic, one.query, one.remembered) for one in candidates] == [("Bread", "bread", True)] * 2
    assert [(one.query, one.cycle, one.found) for one in executed] == [("bread", 0, 2), ("rye", 0, 0)]


def test_strategies_are_credited_with_what_their_queries_brought() -> None:
    """What each strategy did is summed by the type of its queries, with what further queries brought."""
    found = [Finding(topic="t", query=query, passage=reference(0.5), novelty=1) for query in ("a", "b", "b", "z")]
    before = (Practised(kind="factual", strategy="direct", tasks=1, searches=1, accepted=0, score=0.0),)
    tasks = [Sent("a", "direct", ()), Sent("Why does b rise?", "iterative", ("b",))]

    direct, iterative = practised(before, tasks, Analysis(accepted=tuple(found)))

    assert (direct.tasks, direct.searches, direct.accepted, direct.score) == (2, 2, 1, went(1, 1))
    assert (iterative.kind, iterative.searches, iterative.accepted) == ("analytical", 2, 2)


def test_a_task_goes_well_by_what_it_brings_and_takes() -> None:
    """Passages count up to a number, each further search takes something off, and nothing goes below nothing."""
    assert went(0, 1) == went(0, 5) == 0
    assert went(4, 1) == went(40, 1) == 1
    assert 0 < went(2, 3) < went(2, 1) < went(4, 3)


def test_queries_that_found_something_are_left() -> None:
    """The one of which most was accepted comes first; those that found nothing are not left."""
    executed = [
        Executed(query="c", topic="t", cycle=1, found=9, accepted=0),
        Executed(query="a", topic="t", cycle=1, found=3, accepted=2),
        Executed(query="nothing", topic="t", cycle=1),
        *(Executed(query=f"q{n}", topic="t", cycle=2, found=1) for n in range(30)),
    ]

    assert found_most(executed)[:2] == ("a", "c")
    assert "nothing" not in found_most(executed)
    assert len(found_most(executed)) == LEFT_QUERIES


def test_the_log_says_what_was_remembered() -> None:
    """A run without related ones says nothing; others say which they were, and whether they have less before them."""
    [few] = in_words(experienced(1, "a"))
    [many] = in_words(experienced(3))

    assert in_words(Experience()) == ()
    assert few.endswith("(one): 1 accepted passage and 1 query that would find the same again.")
    assert "3 accepted passages and 0 queries" in many
    assert "less before it" in many


def test_the_log_says_which_facts_came_to_mind() -> None:
    """The first is told in its words, and what else came along of the research that found them."""
    fact = KnownFact(text="Rye is a grass.", run=RunId("two"), relevance=0.7)
    [one] = in_words(Experience(facts=(fact,)))
    [_, more] = in_words(
        experienced(1).model_copy(update={"facts": (fact, fact), "passages": (inheritance("x", run="two"),)})
    )

    assert one.endswith("found: 1 fact, first of all “Rye is a grass.” (two).")
    assert more.endswith(
        "2 facts, first of all “Rye is a grass.” (two); 1 accepted passage of the research that found them came along."
    )


def result(status: ResultStatus = "done", *critiques: CritiqueRecord) -> Result:
    """Return the result of a run."""
    return Result(
        id=RunId("this"),
        mode="RESEARCH",
        question="How is bread made?",
        title="Bread",
        abstract="",
        sources=(SourceEntry(n=1, id="s1", uri="u", title="t", accessed="2026"),),
        evaluation=Evaluation(consistency=1, completeness=1, factuality=1, overall=0.9),
        critiques=critiques,
        usage=Usage(searches=4),
        status=status,
    )


def details(impression: Impression) -> Details:
    """Return what is known of an impression besides its words."""
    assert impression.details is not None
    return impression.details


def test_a_run_leaves_an_episode_for_each_strategy() -> None:
    """An episode tells question, strategy, mean score and queries, and is borne by the sources that were cited."""
    ways = [
        Practised(kind="factual", strategy="direct", tasks=4, searches=4, accepted=8, score=2.0),
        Practised(kind="causal", strategy="iterative", tasks=1, searches=3, accepted=0, score=0.0),
    ]

    first, second = impressions(result(), ways, ("bread",))

    assert first.origin == Origin(run=RunId("this"), sources=(SourceId("s1"),))
    assert first.valence == 0.8
    assert details(first) == Episode(
        question="How is bread made?", strategy="direct", score=0.5, searches=4, queries=("bread",)
    )
    assert second.text != first.text


@pytest.mark.parametrize(
    ("status", "outcome"), [("no_evidence", "no_evidence"), ("finished_early", "partial"), ("failed", "failed")]
)
def test_a_run_that_came_to_nothing_is_remembered_so(status: ResultStatus, outcome: str) -> None:
    """Without a search there is still an episode, which went badly and praises no strategy."""
    [only] = impressions(result(status).model_copy(update={"evaluation": None}), (), ())
    known = details(only)

    assert isinstance(known, Episode)
    assert (known.outcome, known.strategy, known.score) == (outcome, "", 0.0)
    assert only.valence == -0.5


def test_critiques_that_changed_something_become_procedures() -> None:
    """One that helped counts as a success, one that brought nothing as a failure."""
    helped = CritiqueRecord(topic="Bread", critique="Rye is missing.", outcome="The section “Bread” was rewritten.")
    idle = CritiqueRecord(topic="Bread", critique="Salt is missing.", outcome="Nothing more was found on it.")

    _, first, second = impressions(result("done", helped, idle), (), ())

    assert details(first) == Procedure(
        situation="Research on “How is bread made?”", advice="Rye is missing.", successes=1, failures=0
    )
    assert details(second) == Procedure(
        situation="Research on “How is bread made?”", advice="Salt is missing.", successes=0, failures=1
    )
