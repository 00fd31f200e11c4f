"""Experience: what a run makes of earlier ones, and what it leaves (document 003, Memory-Enhanced Retrieval).

All of it is advice. Passages are judged like any others, and a way of searching is changed only where records are
strong, or where earlier research has asked the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.memory import known_facts
from tenure.algorithms.memory.bandit import Choice, choose
from tenure.algorithms.research.effort import strategy
from tenure.algorithms.retrieval.query_type import classify
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stems
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.knowledge.memory import Episode, Impression, Origin, Outcome, Procedure, Recollected
from tenure.contracts.research.learning import Experience, Inheritance, Inherited, Practised, Related
from tenure.contracts.research.spiral import Analysis, Candidate, Effort, Executed, Step
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Limits

ARMS: Final[tuple[Strategy, ...]] = ("direct", "iterative", "multi_hop", "hierarchical", "contrastive", "memory")
"""Strategies that records may choose among."""
RELATED: Final = 0.45
"""Normalised relevance from which an earlier question, or what an earlier run has found, is related to a question."""
MOST_RELATED: Final = 5
"""Related runs that are taken into account, by their questions and by what they have found."""
ASKED: Final = 0.75
"""Share of a query's words that one earlier query has to have, so that it counts as asked."""
GROUND: Final = 3
"""Passages taken over from which a run goes on from where related ones have ended."""
MOST_QUERIES: Final = 40
"""Queries of earlier runs that are taken into account."""
LEFT_QUERIES: Final = 12
"""Queries that a run leaves."""
MOST_ADVICE: Final = 3
"""Pieces of advice that are taken into account."""
USEFUL: Final = 4
"""Accepted passages with which a task has gone well in full."""
PRICE: Final = 0.05
"""What each search beyond the first takes off a task's score."""

_OUTCOMES: Final[Mapping[str, Outcome]] = {"done": "answered", "no_evidence": "no_evidence", "failed": "failed"}
_CHANGED: Final = (" was written.", " was rewritten.")


def related(recollected: Iterable[Recollected], run: RunId) -> tuple[Related, ...]:
    """Return the runs on related questions that memories tell of, the nearest first; never the run itself."""
    found: dict[RunId, Related] = {}
    for one in sorted(recollected, key=lambda one: (-one.relevance, one.memory.id)):
        origin, episode = one.memory.origin, one.memory.details
        if isinstance(episode, Episode) and origin.run not in ("", run) and one.relevance >= RELATED:
            earlier = Related(
                run=origin.run, question=episode.question, at=one.memory.made, relevance=round(one.relevance, 4)
            )
            found.setdefault(origin.run, earlier)
    return tuple(found.values())[:MOST_RELATED]


def telling(recollected: Iterable[Recollected], asked: Iterable[Related], run: RunId) -> tuple[Related, ...]:
    """Return further runs, of whose facts some are related to the question, the nearest first.

    Args:
        recollected: facts that came to mind.
        asked: the runs whose questions are related.
        run: the run itself.
    """
    known = {RunId(""), run, *(one.run for one in asked)}
    found: dict[RunId, Related] = {}
    for one in sorted(recollected, key=lambda one: (-one.relevance, one.memory.id)):
        earlier = one.memory.origin.run
        if earlier not in known and one.relevance >= RELATED:
            told = Related(run=earlier, question="", at=one.memory.made, relevance=round(one.relevance, 4))
            found.setdefault(earlier, told)
    return tuple(found.values())[:MOST_RELATED]


def queries(recollected: Iterable[Recollected], asked: Iterable[Related], left: Inherited) -> tuple[str, ...]:
    """Return the queries of runs on related questions which would find the same again, each once.

    Runs that have left no passage are not believed: what they found was on something else.
    """
    runs = {one.run for one in left.passages}.intersection(left.unchanged, (one.run for one in asked))
    episodes = [one.memory.details for one in recollected if one.memory.origin.run in runs]
    made = (query for episode in episodes if isinstance(episode, Episode) for query in episode.queries)
    return tuple(dict.fromkeys(made))[:MOST_QUERIES]


def advice(recollected: Iterable[Recollected]) -> tuple[str, ...]:
    """Return what procedures advise that have gone well more often than not, the best first."""
    procedures = [one.memory.details for one in recollected]
    proven = (one for one in procedures if isinstance(one, Procedure) and one.successes > one.failures)
    return tuple(dict.fromkeys(f"{one.situation}: {one.advice}" for one in proven))[:MOST_ADVICE]


def way(step: Step, hops: int, chosen: Strategy | None, experience: Experience, seed: str, number: int) -> Choice:
    """Return how a task searches: as `effort.strategy` says, unless experience knows better.

    What a person or a plan has said stands, and so does reading on in a source; an effort without hops stays so.
    Every other task keeps what its words suggest whatever records say, which bounds what wrong ones can cost.

    Args:
        step: the task.
        hops: searches that the effort gives a task.
        chosen: what a person chose for the whole run.
        experience: what earlier runs have left.
        seed: of the run's draws.
        number: of the task.
    """
    suggested = strategy(step, hops, chosen)
    if step.reads or chosen or step.strategy or hops == 1:
        return Choice(suggested, "")
    if suggested != "direct" and asked(step.query, experience.queries):
        return Choice("direct", "earlier research has asked this, and what it accepted is at hand")
    records = experience.records if number % 2 else ()
    return choose(suggested, classify(step.query).primary, records, ARMS, f"{seed}/{number}")


def grounded(experience: Experience) -> bool:
    """Tell whether a run begins with enough of what was accepted on related questions to have less before it."""
    return len(_answering(experience)) >= GROUND


def _answering(experience: Experience) -> list[Inheritance]:
    """Return the passages of runs whose questions are related; what a fact alone leads to answers no question yet."""
    asked = {one.run for one in experience.related}
    return [one for one in experience.passages if one.run in asked]


def lessened(effort: Effort, limits: Limits, experience: Experience) -> Effort:
    """Return the effort of a run that goes on where one on a related question ended: a cycle and a task a cycle less.

    What a person has asked for stays.
    """
    if not grounded(experience):
        return effort
    cycles = effort.cycles if limits.max_cycles else max(1, effort.cycles - 1)
    subagents = effort.subagents if limits.subagents else max(1, effort.subagents - 1)
    return effort.model_copy(update={"cycles": cycles, "subagents": subagents})


def asked(query: str, earlier: Iterable[str]) -> bool:
    """Tell whether an earlier query has nearly all words of this one."""
    wanted = set(stems(query))
    return bool(wanted) and any(len(wanted & set(stems(one))) >= ASKED * len(wanted) for one in earlier)


def taken_over(experience: Experience, topic: str) -> tuple[tuple[Candidate, ...], tuple[Executed, ...]]:
    """Return what earlier runs have accepted as candidates for a topic, and their queries as executed ones."""
    candidates = tuple(
        Candidate(topic=topic, query=one.query, passage=one.passage, remembered=True) for one in experience.passages
    )
    executed = tuple(
        Executed(query=query, topic=topic, cycle=0, found=_found(experience.passages, query))
        for query in experience.queries
    )
    return candidates, executed


def _found(passages: Iterable[Inheritance], query: str) -> int:
    return sum(one.query == query for one in passages)


class Sent(NamedTuple):
    """A task that was sent out and has come back."""

    query: str
    """What it looked for."""
    strategy: Strategy
    """How."""
    more: tuple[str, ...]
    """Further queries it has made."""


def practised(before: Sequence[Practised], tasks: Iterable[Sent], analysis: Analysis) -> tuple[Practised, ...]:
    """Return how strategies did, with the tasks of a cycle, of whose findings some were accepted."""
    done = {(one.kind, one.strategy): one for one in before}
    for task in tasks:
        made = {task.query, *task.more}
        accepted = sum(finding.query in made for finding in analysis.accepted)
        kind = classify(task.query).primary
        one = done.get((kind, task.strategy), Practised(kind=kind, strategy=task.strategy))
        done[kind, task.strategy] = Practised(
            kind=kind,
            strategy=task.strategy,
            tasks=one.tasks + 1,
            searches=one.searches + len(made),
            accepted=one.accepted + accepted,
            score=round(one.score + went(accepted, len(made)), 4),
        )
    return tuple(done.values())


def found_most(executed: Sequence[Executed]) -> tuple[str, ...]:
    """Return the queries that found something, the one of which most was accepted first."""
    found = sorted((one for one in executed if one.found), key=lambda one: (-one.accepted, -one.found))
    return tuple(dict.fromkeys(one.query for one in found))[:LEFT_QUERIES]


def in_words(experience: Experience) -> tuple[str, ...]:
    """Say for the run's log what of earlier runs it begins with."""
    return (*_questions_in_words(experience), *_facts_in_words(experience))


def _questions_in_words(experience: Experience) -> Iterator[str]:
    if experience.related:
        runs = ", ".join(one.run for one in experience.related)
        made = len(experience.queries)
        yield (
            f"Remembered of earlier research on related questions ({runs}): {_passages(len(_answering(experience)))} "
            f"and {made} quer{'y' if made == 1 else 'ies'} that would find the same again"
            f"{'; the research went on from there, with less before it' if grounded(experience) else ''}."
        )


def _facts_in_words(experience: Experience) -> Iterator[str]:
    if experience.facts:
        first, many = experience.facts[0], len(experience.facts)
        beside = len(experience.passages) - len(_answering(experience))
        yield (
            f"Remembered of what earlier research has found: {many} fact{'' if many == 1 else 's'}, first of all "
            f"“{first.text}” ({first.run})"
            f"{f'; {_passages(beside)} of the research that found them came along' if beside else ''}."
        )


def _passages(number: int) -> str:
    return f"{number} accepted passage{'' if number == 1 else 's'}"


def went(accepted: int, searches: int) -> float:
    """Return how well a task went, from 0 to 1: what it brought, less what it took."""
    return max(0.0, min(1.0, accepted / USEFUL) - PRICE * (searches - 1))


def impressions(result: Result, ways: Sequence[Practised], executed: Sequence[str]) -> tuple[Impression, ...]:
    """Return what a run leaves to later ones.

    Args:
        result: what it delivers.
        ways: how its strategies did.
        executed: queries that would find the same again, the best first.
    """
    episodes = (_episode(result, one, executed) for one in ways or (Practised(kind="factual", strategy="direct"),))
    return (*episodes, *_procedures(result), *known_facts.left(result))


def _episode(result: Result, one: Practised, executed: Sequence[str]) -> Impression:
    outcome = _OUTCOMES.get(result.status, "partial")
    score = round(one.score / one.tasks, 3) if one.tasks else 0.0
    overall = result.evaluation.overall if result.evaluation else 0.0
    return Impression(
        text=(
            f"“{result.question}”: {one.accepted} passages were accepted of {one.tasks} {one.kind} searches by "
            f"{one.strategy}; the run ended {outcome}."
        ),
        origin=Origin(run=result.id, sources=_cited(result)),
        valence=round(2 * overall - 1, 3) if outcome == "answered" else -0.5,
        details=Episode(
            question=shorten(result.question, 4000),
            query_type=one.kind,
            strategy=one.strategy if one.tasks else "",
            outcome=outcome,
            score=score,
            cost_usd=result.usage.cost_usd or 0.0,
            searches=one.searches,
            queries=tuple(executed),
        ),
    )


def _cited(result: Result) -> tuple[SourceId, ...]:
    return tuple(SourceId(source.id) for source in result.sources)[:200]


def _procedures(result: Result) -> Iterator[Impression]:
    """Yield what critiques of the report teach: those that changed something have gone well."""
    for critique in result.critiques:
        situation = f"Research on “{shorten(result.question, 300)}”"
        helped = critique.outcome.endswith(_CHANGED)
        advice = shorten(critique.critique, 600)
        yield Impression(
            text=f"{situation}: {advice}",
            origin=Origin(run=result.id, sources=_cited(result)),
            details=Procedure(situation=situation, advice=advice, successes=int(helped), failures=int(not helped)),
        )
