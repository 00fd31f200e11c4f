"""Use the results of earlier runs, and build the memories that a run saves for later ones.

Earlier results are advice only. Inherited passages are judged like others, and the retrieval strategy changes only if
records are strong or an earlier run has executed the same query.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.memory import known_facts
from tenure.algorithms.memory.scoring import MAX_SOURCES
from tenure.algorithms.research.effort import resolve_strategy
from tenure.algorithms.retrieval.query_type import classify_query
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.base import RunId
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.knowledge.memory import (
    EpisodeDetails,
    EpisodeOutcome,
    Memory,
    MemoryOrigin,
    NewMemory,
    ProcedureDetails,
    ProcedureTask,
    ScoredMemory,
    StrategyRecord,
)
from tenure.contracts.research.cycle import ResearchEffort
from tenure.contracts.research.learning import Experience, InheritReply, RelatedRun, StrategyOutcome
from tenure.contracts.research.spiral import AnalysisReply, CandidatePassage, ExecutedQuery, PlanStep
from tenure.contracts.result.result import Result
from tenure.contracts.run.limits import TOOL_STRATEGY
from tenure.contracts.run.run import QueryType, RunLimits

MIN_RELATED_RELEVANCE: Final = 0.45
"""Minimum normalized relevance of an earlier question or fact."""
MAX_RELATED_RUNS: Final = 5
"""Maximum number of related runs, found by their questions and by their facts each."""
MAX_SAME_QUESTIONS: Final = 20
"""Maximum number of runs on the same question whose memories are left out."""
MAX_EPISODE_QUESTION: Final = 4000
"""Maximum characters of a question in an episode."""
MAX_TITLE: Final = 1000
"""Maximum characters of a question in the text of an episode."""
MIN_QUERY_OVERLAP: Final = 0.75
"""Minimum share of a query's word stems in one earlier query, to count as already executed."""
MIN_INHERITED_PASSAGES: Final = 3
"""Minimum number of inherited passages for a run to start with less effort."""
MAX_INHERITED_QUERIES: Final = 40
MAX_SAVED_QUERIES: Final = 12
MAX_SAVED_PROCEDURES: Final = 100
"""Maximum number of critiques that a run saves; with its episodes and facts, they fit into one request."""
MAX_ADVICE: Final = 3
MIN_TRIALS: Final = 10
"""Minimum number of remembered tasks of a strategy, for a type of query, that count."""
MIN_LEAD: Final = 0.1
"""Minimum lead of the mean reward of another strategy over that of the suggested one."""
FULL_REWARD_PASSAGES: Final = 4
"""Number of accepted passages for which a task gets the full reward."""
SEARCH_PENALTY: Final = 0.05
"""Reward that each search after the first costs."""

_OUTCOMES: Final[Mapping[str, EpisodeOutcome]] = {"done": "answered", "no_evidence": "no_evidence", "failed": "failed"}
_CHANGED: Final = (" was written.", " was rewritten.")


class StrategyChoice(NamedTuple):
    """Strategy chosen for a task."""

    strategy: RetrievalStrategy
    reason: str
    """Reason for replacing the suggested strategy; empty if it was not replaced."""


def find_related_runs(memories: Iterable[ScoredMemory], run: RunId) -> tuple[RelatedRun, ...]:
    """Return earlier runs on related questions, most relevant first, without the run itself."""
    episodes = (scored for scored in memories if isinstance(scored.memory.details, EpisodeDetails))
    return _list_relevant_runs(episodes, {RunId(""), run})


def _list_relevant_runs(memories: Iterable[ScoredMemory], excluded: Collection[RunId]) -> tuple[RelatedRun, ...]:
    """Return the runs of relevant memories, most relevant first, without known ones."""
    runs: dict[RunId, RelatedRun] = {}
    for scored in sorted(memories, key=lambda scored: (-scored.relevance, scored.memory.id)):
        run = scored.memory.origin.run
        if run not in excluded and scored.relevance >= MIN_RELATED_RELEVANCE:
            runs.setdefault(run, _build_related_run(scored))
    return tuple(runs.values())[:MAX_RELATED_RUNS]


def _build_related_run(scored: ScoredMemory) -> RelatedRun:
    details = scored.memory.details
    return RelatedRun(
        run=scored.memory.origin.run,
        question=details.question if isinstance(details, EpisodeDetails) else "",
        ended_at=scored.memory.created_at,
        relevance=round(scored.relevance, 4),
    )


def find_same_questions(memories: Iterable[ScoredMemory], question: str, run: RunId) -> tuple[RelatedRun, ...]:
    """Return earlier runs on exactly the same question, without the run itself, each by the end of its episode."""
    episode_question = shorten(question, MAX_EPISODE_QUESTION)
    runs: dict[RunId, RelatedRun] = {}
    for earlier in map(_build_related_run, memories):
        if earlier.question == episode_question and earlier.run not in ("", run):
            runs.setdefault(earlier.run, earlier)
    return tuple(runs.values())[:MAX_SAME_QUESTIONS]


def find_runs_by_facts(
    memories: Iterable[ScoredMemory], related: Iterable[RelatedRun], run: RunId
) -> tuple[RelatedRun, ...]:
    """Return the runs of recalled facts, most relevant first, without this run and the `related` ones."""
    return _list_relevant_runs(memories, {RunId(""), run, *(earlier.run for earlier in related)})


def select_inherited_queries(
    memories: Iterable[ScoredMemory], related: Iterable[RelatedRun], inherited: InheritReply
) -> tuple[str, ...]:
    """Return the distinct queries of related runs that would find the same passages again.

    Runs of which no passage was inherited are ignored, because their findings were on another subject.
    """
    runs = {item.run for item in inherited.passages}.intersection(inherited.unchanged, (item.run for item in related))
    episodes = [item.memory.details for item in memories if item.memory.origin.run in runs]
    queries = (query for episode in episodes if isinstance(episode, EpisodeDetails) for query in episode.queries)
    return tuple(dict.fromkeys(queries))[:MAX_INHERITED_QUERIES]


def select_advice(memories: Iterable[ScoredMemory]) -> tuple[str, ...]:
    """Return advice on research: proven procedures and those of the owner, in order."""
    proven = [scored.memory for scored in memories if is_proven(scored.memory, "research")]
    advice = (
        f"{details.situation}: {details.advice}"
        if isinstance(details := memory.details, ProcedureDetails)
        else memory.text
        for memory in proven
    )
    return tuple(dict.fromkeys(advice))[:MAX_ADVICE]


def is_proven(memory: Memory, task: ProcedureTask) -> bool:
    """Return whether a memory is a procedure for a task with more successes than failures, or one of its owner."""
    procedure = memory.details
    if isinstance(procedure, ProcedureDetails):
        return procedure.task == task and procedure.successes > procedure.failures
    return memory.kind == "procedural" and not memory.origin.run


def choose_strategy(
    step: PlanStep,
    hops: int,
    requested: RetrievalStrategy | None,
    experience: Experience,
    strategies: Collection[RetrievalStrategy],
    number: int,
    *,
    is_planned: bool = False,
) -> StrategyChoice:
    """Choose the retrieval strategy of a task: `effort.resolve_strategy`, unless past outcomes suggest a better one.

    A choice of the user (`requested`) or of the plan is kept, as is a task that continues to read a source and an
    effort with one hop. Every other task ignores the records, which limits the cost of wrong ones. If a model plans the
    next searches with what this task finds (`is_planned`), one search is suggested.
    """
    suggested = resolve_strategy(step, 1 if is_planned else hops, requested)
    if step.read_passage or requested or step.strategy or hops == 1:
        return StrategyChoice(suggested, "")
    if suggested != "direct" and is_known_query(step.query, experience.queries):
        return StrategyChoice("direct", "earlier research executed this query, and its accepted passages are available")
    if number % 2 == 0:
        return StrategyChoice(suggested, "")
    known = [record for record in experience.records if record.strategy in strategies]
    return _choose_by_records(suggested, classify_query(step.query).primary, known)


def _choose_by_records(
    suggested: RetrievalStrategy, query_type: QueryType, records: Iterable[StrategyRecord]
) -> StrategyChoice:
    """Return the strategy that did best for a type of query, if it clearly did better than the suggested one."""
    rewards = {
        record.strategy: record.score / record.episodes
        for record in records
        if record.query_type == query_type and record.episodes >= MIN_TRIALS and record.strategy != TOOL_STRATEGY
    }
    best = max(sorted(rewards), key=lambda strategy: rewards[strategy], default=suggested)
    if suggested not in rewards or rewards[best] < rewards[suggested] + MIN_LEAD:
        return StrategyChoice(suggested, "")
    reason = (
        f"{best} succeeded in {rewards[best]:.0%} of what is remembered, "
        f"{suggested}, which was suggested, in {rewards[suggested]:.0%}"
    )
    return StrategyChoice(best, reason)


def has_enough_evidence(experience: Experience) -> bool:
    """Return whether enough passages were inherited from related questions to reduce the effort."""
    return _count_related_passages(experience) >= MIN_INHERITED_PASSAGES


def _count_related_passages(experience: Experience) -> int:
    """Return the number of passages of runs with related questions; those found through facts alone do not count."""
    related_runs = {passage.run for passage in experience.related}
    return sum(passage.run in related_runs for passage in experience.passages)


def reduce_effort(effort: ResearchEffort, limits: RunLimits, experience: Experience) -> ResearchEffort:
    """Return the effort of a run that continues earlier research: one cycle and one task per cycle less.

    Limits that a user has set are kept.
    """
    if not has_enough_evidence(experience):
        return effort
    cycles = effort.cycles if limits.max_cycles else max(1, effort.cycles - 1)
    subagents = effort.subagents if limits.subagents else max(1, effort.subagents - 1)
    searches = effort.outline_searches if limits.subagents else max(0, effort.outline_searches - 1)
    return effort.model_copy(update={"cycles": cycles, "subagents": subagents, "outline_searches": searches})


def is_known_query(query: str, previous: Iterable[str]) -> bool:
    """Return whether an earlier query contains nearly all words of a query."""
    stems = set(stem_words(query))
    return bool(stems) and any(
        len(stems & set(stem_words(other))) >= MIN_QUERY_OVERLAP * len(stems) for other in previous
    )


def build_inherited_candidates(
    experience: Experience, topic: str
) -> tuple[tuple[CandidatePassage, ...], tuple[ExecutedQuery, ...]]:
    """Return inherited passages as candidates for a topic, and inherited queries as executed ones."""
    candidates = tuple(
        CandidatePassage(topic=topic, query=inherited.query, passage=inherited.passage)
        for inherited in experience.passages
    )
    passages_by_query = Counter(inherited.query for inherited in experience.passages)
    executed = tuple(
        ExecutedQuery(query=query, topic=topic, cycle=0, found=passages_by_query[query]) for query in experience.queries
    )
    return candidates, executed


class CompletedTask(NamedTuple):
    """Completed search task."""

    query: str
    strategy: RetrievalStrategy
    follow_up_queries: tuple[str, ...]


def record_outcomes(
    previous: Sequence[StrategyOutcome], tasks: Iterable[CompletedTask], analysis: AnalysisReply
) -> tuple[StrategyOutcome, ...]:
    """Return the outcomes by query type and strategy, with the tasks of a cycle added."""
    outcomes = {(outcome.query_type, outcome.strategy): outcome for outcome in previous}
    for task in tasks:
        queries = {task.query, *task.follow_up_queries}
        accepted = sum(finding.query in queries for finding in analysis.accepted)
        kind = classify_query(task.query).primary
        outcome = outcomes.get((kind, task.strategy), StrategyOutcome(query_type=kind, strategy=task.strategy))
        outcomes[kind, task.strategy] = StrategyOutcome(
            query_type=kind,
            strategy=task.strategy,
            tasks=outcome.tasks + 1,
            searches=outcome.searches + len(queries),
            accepted=outcome.accepted + accepted,
            score=round(outcome.score + compute_reward(accepted, len(queries)), 4),
        )
    return tuple(outcomes.values())


def rank_productive_queries(executed: Sequence[ExecutedQuery]) -> tuple[str, ...]:
    """Return the queries that found passages, those with most accepted passages first."""
    productive = sorted((query for query in executed if query.found), key=lambda query: (-query.accepted, -query.found))
    return tuple(dict.fromkeys(query.query for query in productive))[:MAX_SAVED_QUERIES]


def describe_experience(experience: Experience) -> Iterator[str]:
    """Yield log lines on the results of earlier runs that a run starts with, or leaves out."""
    inherited = _count_related_passages(experience)
    if experience.repeated:
        yield (
            f"The same question was asked about the same documents before ({', '.join(experience.repeated)}). The "
            "memories of that are left out, so that answers of the model are used again."
        )
    if experience.related:
        runs = ", ".join(related.run for related in experience.related)
        query_count = len(experience.queries)
        yield (
            f"Recalled from earlier research on related questions ({runs}): {_format_passage_count(inherited)} "
            f"and {query_count} quer{'y' if query_count == 1 else 'ies'} with unchanged results"
            f"{'; the research continued from there with reduced effort' if has_enough_evidence(experience) else ''}."
        )
    if experience.facts:
        fact, many = experience.facts[0], len(experience.facts)
        others = len(experience.passages) - inherited
        yield (
            f"Recalled {many} fact{'' if many == 1 else 's'} of earlier runs or of the owner, the most relevant "
            f"“{fact.text}” ({known_facts.describe_origin(fact)})"
            f"{f'; inherited from these runs: {_format_passage_count(others)}' if others else ''}."
        )
    if experience.personal:
        many = len(experience.personal)
        statements = f"{many} statement{'' if many == 1 else 's'}"
        yield f"Recalled {statements} of a person, the most relevant “{experience.personal[0].text}”."


def _format_passage_count(number: int) -> str:
    return f"{number} accepted passage{'' if number == 1 else 's'}"


def compute_reward(accepted: int, searches: int) -> float:
    """Return the reward of a task, max(0, min(1, accepted/4) − 0.05·(searches − 1))."""
    return max(0.0, min(1.0, accepted / FULL_REWARD_PASSAGES) - SEARCH_PENALTY * (searches - 1))


def build_memories(
    result: Result, outcomes: Sequence[StrategyOutcome], executed: Sequence[str], corpora: Sequence[str]
) -> tuple[NewMemory, ...]:
    """Return the memories that a run saves: episodes with its best queries, procedures and facts.

    A run whose models have read instructions of an unknown author saves neither queries nor critiques, since models
    wrote both.
    """
    is_exposed = result.usage.exposed_calls > 0
    if is_exposed:
        executed = ()
    cited = tuple(source.id for source in result.sources)[:MAX_SOURCES]
    origin = MemoryOrigin(run=result.id, sources=cited, corpora=tuple(corpora))
    episodes = (
        _build_episode(result, outcome, executed, origin)
        for outcome in outcomes or (StrategyOutcome(query_type="factual", strategy="direct"),)
    )
    procedures = () if is_exposed else _build_procedures(result, origin)
    return (*episodes, *procedures, *known_facts.collect_facts(result, corpora))


def _build_episode(result: Result, entry: StrategyOutcome, executed: Sequence[str], origin: MemoryOrigin) -> NewMemory:
    outcome = _OUTCOMES.get(result.status, "partial")
    score = round(entry.score / entry.tasks, 3) if entry.tasks else 0.0
    is_answered = outcome == "answered" and not (result.evaluation and result.evaluation.missing)
    return NewMemory(
        text=(
            f"“{shorten(result.question, MAX_TITLE)}”: {entry.tasks} {entry.query_type} searches with strategy "
            f"{entry.strategy} found {_format_passage_count(entry.accepted)}; outcome: {outcome}."
        ),
        origin=origin,
        valence=1.0 if is_answered else -0.5,
        details=EpisodeDetails(
            question=shorten(result.question, MAX_EPISODE_QUESTION),
            query_type=entry.query_type,
            strategy=entry.strategy if entry.tasks else "",
            outcome=outcome,
            score=score,
            cost_usd=result.usage.cost_usd or 0.0,
            searches=entry.searches,
            queries=tuple(executed),
        ),
    )


def _build_procedures(result: Result, origin: MemoryOrigin) -> Iterator[NewMemory]:
    """Yield a procedure for each critique of the report; it succeeded if the report changed."""
    for critique in result.critiques[:MAX_SAVED_PROCEDURES]:
        situation = f"Research on “{shorten(result.question, 300)}”"
        helped = critique.outcome.endswith(_CHANGED)
        advice = shorten(critique.critique, 600)
        yield NewMemory(
            text=f"{situation}: {advice}",
            origin=origin,
            details=ProcedureDetails(
                situation=situation, advice=advice, successes=int(helped), failures=int(not helped)
            ),
        )
