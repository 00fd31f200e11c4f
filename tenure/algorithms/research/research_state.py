"""State transitions of the research loop: pure functions (reducers) from a research state to the next one.

Every list that accumulates over cycles is bounded here, so that the state stays small enough for workflow payloads.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TypeVar

from tenure.algorithms.research.coverage import compute_coverage, select_covering_passages
from tenure.algorithms.research.information_gain import (
    classify_trend,
    compute_information_gain,
    has_diminishing_returns,
)
from tenure.algorithms.research.outline_edits import OutlineChange
from tenure.algorithms.research.planning import ASSUMPTION_SEPARATOR, MAX_HEADING_LENGTH, ValidatedPlan, is_same_query
from tenure.algorithms.retrieval.evidence_selection import MIN_SUPPORTING_SHARE, is_computed, is_linked
from tenure.algorithms.retrieval.rrf import interleave_rankings
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.evidence.disputes import PositionEvidence
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.cycle import Finding, ResearchEffort
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import (
    AnalysisReply,
    ExecutedQuery,
    LatentTopic,
    PlanStep,
    SpiralState,
    SubagentResult,
    TopicState,
)
from tenure.contracts.run.run import FallbackRecord, Feedback, RunLimits, SectionPhase, TopicProgress

MAX_FALLBACK_REASONS = 40
"""Maximum number of fallback records, each of a role and a reason."""
MAX_PASSAGES, MAX_PASSAGES_PER_TOPIC = 264, 48
"""Maximum number of passages of all topics together, and of one topic; the fewer topics, the more passages of each."""
REQUESTED_PASSAGES = 2
"""Best passages of each task that a model has requested which the dossier receives before those of the outline."""
MAX_LINKED_SHARE = 0.5
"""Maximum share of a topic's passages that are reserved for passages reached through links."""
MAX_NEW_FINDINGS = 8
"""Maximum number of findings that wait for a plan of rules; the most relevant ones are kept."""
MAX_LATENT_TOPICS = 6
MAX_TEXT_LENGTH = 600
"""Maximum characters of a critique."""
MAX_NOTES, MAX_NOTE_LENGTH = 40, 400
"""Maximum number of log lines (the first and the last ones are kept), and characters of each."""
MAX_HYPOTHETICAL_LENGTH = 1000
"""Maximum characters of a topic's hypothetical passage (HyDE); embedding models read little more."""
MAX_DROPPED_TOPICS = 24
"""Maximum number of dropped topics; the latest ones are kept."""
MAX_QUERY_HISTORY_LENGTH, MAX_FEEDBACK_HISTORY_LENGTH = 34_000, 12_000
"""Maximum characters of executed queries, and of feedback with its queries; the newest ones are kept."""
MAX_QUERIES_PER_FEEDBACK = 8
MAX_POSITIONS, MAX_PASSAGES_PER_SIDE = 4, 8
"""Maximum number of positions, and of passages for each side of a position."""
MIN_TOOL_ANSWERS, MIN_TASK_ANSWERS = 2, 4
"""Model answers below which a task with tools is pointless (a call, the end), and those that one usually needs: a
search, a query of a table, a calculation, the end."""
ENTRY_OVERHEAD = 80
"""Characters that a list entry takes in addition to its texts."""
COVERED_THRESHOLD = 0.97
"""Coverage from which a topic is complete."""

E = TypeVar("E")


def create_initial_state(outline: Sequence[Topic], outline_number: int = 0) -> SpiralState:
    """Return the state before the first cycle; `outline_number` is the revision of an outline set by the user."""
    return SpiralState(topics=tuple(TopicState(topic=topic) for topic in outline), outline_number=outline_number)


def apply_outline_change(state: SpiralState, change: OutlineChange, number: int) -> SpiralState:
    """Return the state with an outline that a user has set; topics keep their findings."""
    return state.model_copy(
        update={
            "topics": align_topics(state.topics, change),
            "dropped": (*state.dropped, *change.dropped)[-MAX_DROPPED_TOPICS:],
            "outline_number": number,
        }
    )


def align_topics(topics: Sequence[TopicState], change: OutlineChange) -> tuple[TopicState, ...]:
    """Return topic states for the topics of an outline, with the findings of existing topics."""
    aim_by_heading = {aim.topic.heading: aim for aim in topics}
    aligned: list[TopicState] = []
    for topic in change.topics:
        aim = aim_by_heading.get(change.previous_headings.get(topic.heading, ""), TopicState(topic=topic))
        # A new question has parts of its own.
        open_parts = aim.open_parts if aim.topic.question == topic.question else None
        aligned.append(aim.model_copy(update={"topic": topic, "open_parts": open_parts}))
    return tuple(aligned)


def add_hypothetical_passages(state: SpiralState, hypothetical: Mapping[str, str]) -> SpiralState:
    """Return the state with hypothetical passages by heading (HyDE, Gao et al. 2022)."""
    aims = []
    for aim in state.topics:
        answer = shorten(hypothetical.get(aim.topic.heading, aim.topic.hypothetical_answer), MAX_HYPOTHETICAL_LENGTH)
        topic = aim.topic.model_copy(update={"hypothetical_answer": answer})
        aims.append(aim.model_copy(update={"topic": topic}))
    return state.model_copy(update={"topics": tuple(aims)})


def apply_plan(state: SpiralState, plan: ValidatedPlan, critique: str, feedback_count: int) -> SpiralState:
    """Return the state after the valid part of a plan, whose planner has seen a number of feedback entries."""
    stay = [aim for aim in state.topics if aim.topic.heading not in plan.dropped_topics]
    added = {topic.heading for topic in plan.added_topics}
    return state.model_copy(
        update={
            "topics": (*stay, *(TopicState(topic=topic) for topic in plan.added_topics)),
            "dropped": (*state.dropped, *plan.dropped_topics)[-MAX_DROPPED_TOPICS:],
            "latent_topics": tuple(
                t for t in state.latent_topics if not any(is_same_query(t.heading, heading) for heading in added)
            ),
            "critique": shorten(critique, MAX_TEXT_LENGTH),
            "refused_actions": tuple(plan.rejections[:8]),
            "unplanned": (),
            "questions_asked": (*state.questions_asked, *plan.questions),
            "planner_feedback_count": feedback_count,
        }
    )


def record_queries(state: SpiralState, executed: Sequence[ExecutedQuery]) -> SpiralState:
    """Return the state with executed queries."""
    return state.model_copy(update={"executed": (*state.executed, *executed)})


def rename_query(state: SpiralState, planned: str, query: str) -> SpiralState:
    """Return the state with the query of a step of this cycle as it was executed, with inserted names."""
    executed = list(state.executed)
    planned_at = [n for n, item in enumerate(executed) if (item.cycle, item.query) == (state.cycle, planned)]
    if planned_at:
        last = planned_at[-1]
        executed[last] = executed[last].model_copy(update={"query": query})
    return state.model_copy(update={"executed": tuple(executed)})


def record_decisive(state: SpiralState, topic: str, result: SubagentResult, *, is_requested: bool) -> SpiralState:
    """Add the decisive passages of a task to those of its topic: computed and cited ones, and the best.

    The best are those of a task that a model has requested since it missed them. Their relevance to the topic as a
    whole is often low: in a run by hand the answers to four such requests did not reach the writer.
    """
    best = result.candidates[:REQUESTED_PASSAGES] if is_requested else ()
    used = (item for item in result.candidates if item.is_cited or is_computed(item.passage))
    passages = {item.passage.chunk: item.passage for item in (*used, *best)}
    if not passages:
        return state
    earlier = {passage.chunk: passage for passage in state.decisive.get(topic, ())}
    return state.model_copy(update={"decisive": {**state.decisive, topic: tuple((earlier | passages).values())}})


def compute_tool_share(state: SpiralState, effort: ResearchEffort) -> int | None:
    """Return the model answers that the next task with tools may use; 0 if too few are left, None for no limit.

    Half of what is left remains for other tasks, if that is enough for one.
    """
    if effort.tool_answers is None:
        return None
    remaining = effort.tool_answers - state.tool_answers
    return max(remaining // 2, min(remaining, MIN_TASK_ANSWERS)) if remaining >= MIN_TOOL_ANSWERS else 0


def record_result_counts(state: SpiralState, result: SubagentResult) -> SpiralState:
    """Return the state with the number of passages that each query found, and with the evidence on positions."""
    passage_counts = Counter(candidate.query for candidate in result.candidates)
    executed = (
        query.model_copy(update={"found": passage_counts[query.query]})
        if query.cycle == state.cycle and query.query in passage_counts
        else query
        for query in state.executed
    )
    positions = merge_positions(state.positions, result.positions)
    return state.model_copy(update={"executed": tuple(executed), "positions": positions})


def merge_positions(old: Sequence[PositionEvidence], new: Sequence[PositionEvidence]) -> tuple[PositionEvidence, ...]:
    """Return the evidence on each position once, with the passages of all tasks that searched for it."""
    merged: dict[str, PositionEvidence] = {}
    for evidence in (*old, *new):
        before = merged.get(evidence.position)
        merged[evidence.position] = _merge_sides(before, evidence) if before else evidence
    return tuple(merged.values())[:MAX_POSITIONS]


def _merge_sides(a: PositionEvidence, b: PositionEvidence) -> PositionEvidence:
    """Return the evidence of two searches for one position; a passage keeps the side that it was given first."""
    sided = {item.passage.chunk for item in (*a.supporting, *a.contradicting)}
    return a.model_copy(
        update={
            side: (*ours, *(item for item in theirs if item.passage.chunk not in sided))[:MAX_PASSAGES_PER_SIDE]
            for side, ours, theirs in (
                ("supporting", a.supporting, b.supporting),
                ("contradicting", a.contradicting, b.contradicting),
            )
        }
        | {"neutral": max(a.neutral, b.neutral)}
    )


def describe_positions(positions: Sequence[PositionEvidence]) -> tuple[str, ...]:
    """Return for each position the number of passages for it and against it, in words."""
    return tuple(
        f"“{item.position}”: {len(item.supporting)} for, {len(item.contradicting)} against, {item.neutral} neutral"
        for item in positions
    )


def apply_analysis(state: SpiralState, analysis: AnalysisReply, *, has_model: bool = False) -> SpiralState:
    """Return the state after the analysis of a cycle's findings; findings before the first cycle are not a gain.

    With a model, the passages of a topic alternate between queries instead of being the most relevant ones: the
    question of a topic with several subjects resembles one of them most, whose passages would take all places.
    """
    accepted = Counter(finding.query for finding in analysis.accepted)
    limit = min(MAX_PASSAGES_PER_TOPIC, MAX_PASSAGES // max(1, len(state.topics)))
    extend = partial(_alternate_topic, executed=state.executed, cycle=state.cycle) if has_model else _extend_topic
    aims = tuple(extend(aim, analysis, limit) for aim in state.topics)
    before = {aim.topic.heading: aim.coverage for aim in state.topics}
    gain = compute_information_gain(
        before, {aim.topic.heading: aim.coverage for aim in aims}, [finding.novelty for finding in analysis.accepted]
    )
    executed = (
        query.model_copy(update={"accepted": accepted[query.query]}) if query.cycle == state.cycle else query
        for query in state.executed
    )
    return state.model_copy(
        update={
            "topics": aims,
            "executed": _keep_newest(
                tuple(executed), lambda entry: len(entry.query) + len(entry.topic), MAX_QUERY_HISTORY_LENGTH
            ),
            "information_gains": (*state.information_gains, round(gain, 4)) if state.cycle else (),
            "unplanned": tuple(
                _deduplicate((*state.unplanned, *(finding.passage for finding in analysis.accepted)))[:MAX_NEW_FINDINGS]
            ),
        }
    )


def _extend_topic(state: TopicState, analysis: AnalysisReply, limit: int) -> TopicState:
    """Add accepted passages to a topic, within its limit, and what remains open of its question.

    Coverage favours passages that resemble the topic. Passages reached through links need not resemble it, so a share
    of the places is reserved for them. Earlier ones come first, because later searches lead further from the question.
    """
    heading = state.topic.heading
    state = state.model_copy(update={"open_parts": analysis.open_parts.get(heading, state.open_parts)})
    new = [finding.passage for finding in analysis.accepted if finding.topic == heading]
    if not new:
        return state
    merged = _deduplicate((*state.passages, *new))
    before = {p.chunk for p in state.passages}
    led = sorted((p for p in merged if is_linked(p)), key=lambda p: (p.chunk not in before, p.graph_rank or 0, p.chunk))
    chosen = {p.chunk for p in led[: int(limit * MAX_LINKED_SHARE)]}
    covering = select_covering_passages(merged, len(merged))
    chosen.update([p.chunk for p in covering if p.chunk not in chosen][: limit - len(chosen)])
    selected = tuple(p for p in covering if p.chunk in chosen)
    return state.model_copy(update={"passages": selected, "coverage": round(compute_coverage(selected), 4)})


def _alternate_topic(
    state: TopicState, analysis: AnalysisReply, limit: int, executed: Sequence[ExecutedQuery], cycle: int
) -> TopicState:
    """Add accepted passages to a topic, in which its queries take turns, and what remains open of its question."""
    heading = state.topic.heading
    findings = [finding for finding in analysis.accepted if finding.topic == heading]
    earlier = sum(query.cycle < cycle and query.topic == heading for query in executed)
    selected = _alternate_queries(state.passages, findings, limit, earlier)
    return state.model_copy(
        update={
            "open_parts": analysis.open_parts.get(heading, state.open_parts),
            "passages": selected,
            "coverage": round(compute_coverage(selected), 4),
        }
    )


def _alternate_queries(
    waiting: Sequence[PassageRef], findings: Sequence[Finding], limit: int, earlier: int
) -> tuple[PassageRef, ...]:
    """Return the findings of all queries in turn, the best result of each query first.

    Those of earlier cycles are `waiting` in this order already, and their queries have as many turns together.
    """
    earlier = max(1, earlier)
    by_query: dict[str, list[PassageRef]] = {}
    for finding in findings:
        by_query.setdefault(finding.query, []).append(finding.passage)
    new = [sorted(passages, key=lambda p: (-p.score, p.chunk)) for passages in by_query.values()]
    turns = interleave_rankings([*new, *(waiting[n::earlier] for n in range(earlier))])
    best = {passage.chunk: passage for passage in _deduplicate(turns)}
    return tuple(best[chunk] for chunk in dict.fromkeys(passage.chunk for passage in turns))[:limit]


def _deduplicate(passages: Iterable[PassageRef]) -> list[PassageRef]:
    """Return each passage once, most relevant first; of two judgements the better one counts."""
    first: dict[str, PassageRef] = {}
    for passage in sorted(passages, key=lambda p: (-p.relevance, p.chunk)):
        first.setdefault(passage.chunk, passage)
    return list(first.values())


def _keep_newest(entries: Sequence[E], size: Callable[[E], int], max_length: int) -> tuple[E, ...]:
    """Return the last entries whose total size does not exceed `max_length`."""
    sums = accumulate(size(entry) + ENTRY_OVERHEAD for entry in reversed(entries))
    count = sum(1 for total in sums if total <= max_length)
    return tuple(entries[len(entries) - count :])


def add_latent_topics(state: SpiralState, topics: Sequence[LatentTopic]) -> SpiralState:
    """Return the state with topics that sources suggest and that the outline does not contain."""
    headings = [*(aim.topic.heading for aim in state.topics), *state.dropped]
    latent: list[LatentTopic] = []
    for topic in (*state.latent_topics, *topics):
        if not any(is_same_query(topic.heading, name) for name in [*headings, *(t.heading for t in latent)]):
            latent.append(topic)
    return state.model_copy(update={"latent_topics": tuple(latent[-MAX_LATENT_TOPICS:])})


def format_new_feedback(feedback: Sequence[Feedback], known_count: int) -> tuple[str, ...]:
    """Return the texts of feedback after the first `known_count` entries, each with the topic it names."""
    return tuple(
        entry.text if entry.topic is None else f"{entry.topic}: {entry.text}" for entry in feedback[known_count:]
    )


def record_feedback_queries(state: SpiralState, feedback: Sequence[Feedback], steps: Sequence[PlanStep]) -> SpiralState:
    """Return the state with the queries of a plan that share words with feedback."""
    queries_by_feedback = dict(state.feedback_queries)
    stems = {step.query: frozenset(stem_words(step.query)) for step in steps}
    for entry in feedback:
        words = set(stem_words(entry.text))
        if new := [shorten(step.query, MAX_HEADING_LENGTH) for step in steps if words & stems[step.query]]:
            queries = dict.fromkeys((*queries_by_feedback.get(entry.text, ()), *new))
            queries_by_feedback[entry.text] = tuple(queries)[-MAX_QUERIES_PER_FEEDBACK:]
    newest = _keep_newest(
        tuple(queries_by_feedback.items()),
        lambda item: sum(map(len, (item[0], *item[1]))),
        MAX_FEEDBACK_HISTORY_LENGTH,
    )
    return state.model_copy(update={"feedback_queries": dict(newest)})


def count_cycles(count: int) -> str:
    """Return a number of cycles in words."""
    return f"{count} cycle{'' if count == 1 else 's'}"


def find_stop_reason(state: SpiralState, effort: ResearchEffort) -> str:
    """Return the reason why the research ends after this cycle; empty if it may continue."""
    cycles = count_cycles(state.cycle)
    if has_diminishing_returns(state.information_gains):
        return f"Ended after {cycles}: the last cycles had diminishing returns."
    if state.topics and all(aim.coverage >= COVERED_THRESHOLD for aim in state.topics):
        return f"Ended after {cycles}: every topic is covered."
    return f"Ended after {cycles}: the limit of cycles is reached." if state.cycle >= effort.cycles else ""


def compute_min_relevance(limits: RunLimits) -> float:
    """Return τ_r, the minimum relevance of a passage that counts as evidence for a topic."""
    return MIN_SUPPORTING_SHARE * limits.min_relevance


def mark_questions_answered(state: SpiralState, questions: Sequence[str]) -> SpiralState:
    """Return the state after a user has answered questions."""
    answered = {question: f"{question.partition(ASSUMPTION_SEPARATOR)[0]} A user answered." for question in questions}
    return state.model_copy(
        update={"questions_asked": tuple(answered.get(question, question) for question in state.questions_asked)}
    )


def list_open_points(state: SpiralState) -> tuple[str, ...]:
    """Return points that the report does not cover: questions to the user and topics left out."""
    aside = ", ".join(f"“{topic.heading}”" for topic in state.latent_topics)
    offered = (f"The sources also cover these topics, which are not part of the report: {aside}.",) if aside else ()
    return (*(f"Question to the user: {question}" for question in state.questions_asked), *offered)


def append_log(lines: Sequence[str], line: str) -> tuple[str, ...]:
    """Append a line to a log; a long log keeps its beginning and its end."""
    log = [*lines, shorten(line, MAX_NOTE_LENGTH)]
    half = MAX_NOTES // 2
    return tuple(log if len(log) <= MAX_NOTES else [*log[:half], *log[-half:]])


def merge_fallbacks(records: Iterable[FallbackRecord]) -> tuple[FallbackRecord, ...]:
    """Merge fallback records by role and reason; rare reasons of a long list become "other reasons"."""
    times = Counter[tuple[str, str]]()
    for call in records:
        times[call.role, shorten(call.reason, MAX_NOTE_LENGTH)] += call.times
    merged = Counter[tuple[str, str]]()
    for n, ((role, reason), count) in enumerate(times.most_common()):
        merged[role, reason if n < MAX_FALLBACK_REASONS else "other reasons"] += count
    return tuple(FallbackRecord(role=role, reason=reason, times=count) for (role, reason), count in merged.items())


def build_topic_progress(state: TopicState, phase: SectionPhase = "waiting") -> TopicProgress:
    """Return the progress of a topic without a section."""
    return TopicProgress(
        topic=state.topic.heading,
        phase=phase,
        coverage=round(state.coverage, 3),
        sources=len({passage.source for passage in state.passages}),
    )


def describe_cycle(state: SpiralState) -> str:
    """Return the results of the last cycle in one line."""
    mean = sum(aim.coverage for aim in state.topics) / max(1, len(state.topics))
    gain = state.information_gains[-1] if state.information_gains else 0.0
    new = sum(query.accepted for query in state.executed if query.cycle == state.cycle)
    passages = f"{new} new passage{'' if new == 1 else 's'}"
    return (
        f"cycle {state.cycle} brought {passages}: coverage {mean:.0%} on average, "
        f"information gain {gain:.2f} ({classify_trend(state.information_gains).lower()})"
    )
