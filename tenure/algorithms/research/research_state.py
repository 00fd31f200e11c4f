"""The research state: what each phase of a cycle makes of it (001 §3.2; 004, reducers).

Every function takes the state and returns the next one. What accumulates is bounded here, so that the
state stays small enough to travel whatever the sources hold.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from tenure.algorithms.research.coverage import coverage, most_covering
from tenure.algorithms.research.information_gain import diminishing, information_gain, trend
from tenure.algorithms.research.outline_edits import Edited
from tenure.algorithms.research.planning import ASSUMED, MAX_HEADING, Admitted, same
from tenure.algorithms.retrieval.acceptance import BESIDE, linked
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stems
from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import Draft, PassageRef, SynthesisDraft
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import (
    Aim,
    Analysis,
    Effort,
    Executed,
    LatentTopic,
    Reflection,
    SpiralState,
    Step,
    SubagentResult,
)
from tenure.contracts.run.role_calls import Turn
from tenure.contracts.run.run import Degraded, Feedback, Limits, SectionPhase, TopicProgress

PLANNER, SYNTHESIZER = "planner", "synthesizer"
"""The roles that have a conversation over the whole run."""
MAX_REASONS = 40
"""Kinds of degraded calls that are told apart, by role and reason."""
KEPT_IN_ALL, KEPT = 288, 48
"""Passages kept of all topics together, and of one at the most; the fewer topics, the more of each."""
LINKED_SHARE = 0.5
"""Share of the passages kept of a topic that may be there because links lead to them."""
MAX_FRESH, MAX_UNPROCESSED = 8, 48
"""Findings that wait for the planner, and for the synthesizer, at the most; the most relevant ones."""
AT_ONCE = 12
"""Findings that the synthesizer is given in one turn."""
MAX_LATENT = 6
"""Latent topics that are remembered."""
MAX_TEXT = 600
"""Characters of a critique, a reasoning or an assessment that are carried on."""
MAX_NOTES, MAX_NOTE = 40, 400
"""Decisions and notes that are carried on, the first and the last ones, and characters of each."""
MAX_IMAGINED = 1000
"""Characters of a topic's imagined passage that are carried on; embedding models hardly read more."""
MAX_DROPPED = 24
"""Topics that were given up and are remembered, the last ones."""
MAX_EXECUTED, MAX_TAKEN = 40_000, 12_000
"""Characters of executed queries, and of wishes with what was asked for them, that are carried on; the newest."""
MAX_QUERIES = 8
"""Queries of one wish that are carried on."""
WINDOW, MAX_NUMBERED = 10, 72
"""Turns of a conversation, and passages in it, after which it begins anew: no model reads for ever."""
ENTRY = 80
"""Characters that an entry of a list takes beside its texts."""
COVERED = 0.97
"""Coverage from which a topic needs nothing more."""

E = TypeVar("E")


def begun(run: RunId, outline: Sequence[Topic], outlined: int = 0) -> SpiralState:
    """Return the state before the first cycle; `outlined` is the number of the outline where a person set it."""
    turns = {role: Turn(run=run, number=0) for role in (PLANNER, SYNTHESIZER)}
    return SpiralState(aims=tuple(Aim(topic=topic) for topic in outline), turns=turns, outlined=outlined)


def reoutlined(state: SpiralState, wanted: Edited, number: int) -> SpiralState:
    """Return the state with the outline of a number that a person has set; what was found stays with its topic."""
    return state.model_copy(
        update={
            "aims": realigned(state.aims, wanted),
            "dropped": (*state.dropped, *wanted.dropped)[-MAX_DROPPED:],
            "outlined": number,
        }
    )


def realigned(aims: Sequence[Aim], wanted: Edited) -> tuple[Aim, ...]:
    """Return aims for the topics of an outline, with what was known of those that stay."""
    known = {aim.topic.heading: aim for aim in aims}
    kept = ((topic, known.get(wanted.before.get(topic.heading, ""))) for topic in wanted.topics)
    return tuple(aim.model_copy(update={"topic": topic}) if aim else Aim(topic=topic) for topic, aim in kept)


def imagined(state: SpiralState, hypothetical: Mapping[str, str]) -> SpiralState:
    """Return the state with the imagined passages of topics, by heading."""
    known = {heading: shorten(text, MAX_IMAGINED) for heading, text in hypothetical.items()}
    aims = [
        aim.model_copy(update={"hypothetical": known.get(aim.topic.heading, aim.hypothetical)}) for aim in state.aims
    ]
    return state.model_copy(update={"aims": tuple(aims)})


def planned(state: SpiralState, plan: Admitted, critique: str, heard: int) -> SpiralState:
    """Return the state after a plan; `heard` is the number of wishes the planner knows."""
    stay = [aim for aim in state.aims if aim.topic.heading not in plan.dropped]
    added = {topic.heading for topic in plan.added}
    return state.model_copy(
        update={
            "aims": (*stay, *(Aim(topic=topic) for topic in plan.added)),
            "dropped": (*state.dropped, *plan.dropped)[-MAX_DROPPED:],
            "latent": tuple(t for t in state.latent if not any(same(t.heading, heading) for heading in added)),
            "critique": shorten(critique, MAX_TEXT),
            "refused": tuple(plan.refused[:8]),
            "fresh": (),
            "asked": (*state.asked, *plan.asked),
            "planned": heard,
        }
    )


def asked(state: SpiralState, executed: Sequence[Executed]) -> SpiralState:
    """Return the state with queries that were put to the sources."""
    return state.model_copy(update={"executed": (*state.executed, *executed)})


def counted(state: SpiralState, result: SubagentResult) -> SpiralState:
    """Return the state with how many passages each query of a task has found."""
    found = Counter(candidate.query for candidate in result.candidates)
    executed = (
        query.model_copy(update={"found": found[query.query]})
        if query.cycle == state.cycle and query.query in found
        else query
        for query in state.executed
    )
    return state.model_copy(update={"executed": tuple(executed)})


def learned(state: SpiralState, analysis: Analysis) -> SpiralState:
    """Return the state after a cycle's findings were judged; what was at hand before the first one is no gain."""
    accepted = Counter(finding.query for finding in analysis.accepted)
    most = min(KEPT, KEPT_IN_ALL // max(1, len(state.aims)))
    aims = tuple(_recorded(_grown(aim, analysis, most), state.cycle) for aim in state.aims)
    before = {aim.topic.heading: aim.coverage for aim in state.aims}
    gain = information_gain(
        before, {aim.topic.heading: aim.coverage for aim in aims}, [finding.novelty for finding in analysis.accepted]
    )
    found = [finding.passage for finding in analysis.accepted]
    executed = (
        query.model_copy(update={"accepted": accepted[query.query]}) if query.cycle == state.cycle else query
        for query in state.executed
    )
    return state.model_copy(
        update={
            "aims": aims,
            "executed": _newest(tuple(executed), _characters, MAX_EXECUTED),
            "gains": (*state.gains, round(gain, 4)) if state.cycle else (),
            "fresh": _best((*state.fresh, *found), MAX_FRESH),
            "unprocessed": _best((*state.unprocessed, *found), MAX_UNPROCESSED),
        }
    )


def _grown(aim: Aim, analysis: Analysis, most: int) -> Aim:
    """Return a topic with what was accepted for it, as much as can be carried on.

    Coverage counts what resembles the topic. What links lead to need not, so it has places of its own, the earlier
    ones first: later searches lead further from the question.
    """
    new = [finding.passage for finding in analysis.accepted if finding.topic == aim.topic.heading]
    if not new:
        return aim
    together = _distinct((*aim.passages, *new))
    before = {p.chunk for p in aim.passages}
    led = sorted((p for p in together if linked(p)), key=lambda p: (p.chunk not in before, p.graph_rank or 0, p.chunk))
    places = {p.chunk for p in led[: int(most * LINKED_SHARE)]}
    covering = most_covering(together, len(together))
    places.update([p.chunk for p in covering if p.chunk not in places][: most - len(places)])
    kept = tuple(p for p in covering if p.chunk in places)
    return aim.model_copy(update={"passages": kept, "coverage": round(coverage(kept), 4)})


def _recorded(aim: Aim, cycle: int) -> Aim:
    """Return a topic with its coverage written down as that of a cycle; 0 is what was at hand before the first."""
    before = aim.course[:cycle]
    missing = (before[-1] if before else 0.0,) * (cycle - len(before))
    return aim.model_copy(update={"course": (*before, *missing, aim.coverage)})


def _best(passages: Iterable[PassageRef], most: int) -> tuple[PassageRef, ...]:
    return tuple(_distinct(passages)[:most])


def _distinct(passages: Iterable[PassageRef]) -> list[PassageRef]:
    """Return every passage once, most relevant first; one that was judged twice with the better judgement."""
    first: dict[str, PassageRef] = {}
    for passage in sorted(passages, key=lambda p: (-p.relevance, p.chunk)):
        first.setdefault(passage.chunk, passage)
    return list(first.values())


def _characters(query: Executed) -> int:
    return len(query.query) + len(query.topic) + ENTRY


def _newest(entries: Sequence[E], size: Callable[[E], int], most: int) -> tuple[E, ...]:
    """Return the last entries, as many as have no more than so many characters together."""
    sums = accumulate(size(entry) for entry in reversed(entries))
    kept = sum(1 for total in sums if total <= most)
    return tuple(entries[len(entries) - kept :])


def offered(state: SpiralState, named: Sequence[LatentTopic]) -> SpiralState:
    """Return the state with topics that the sources offer, none that the outline or the offers have already."""
    known = [*(aim.topic.heading for aim in state.aims), *state.dropped]
    kept: list[LatentTopic] = []
    for topic in (*state.latent, *named):
        if not any(same(topic.heading, name) for name in [*known, *(t.heading for t in kept)]):
            kept.append(topic)
    return state.model_copy(update={"latent": tuple(kept[-MAX_LATENT:])})


def before_synthesis(state: SpiralState) -> tuple[SpiralState, int]:
    """Return the state with the next findings numbered for the synthesizer, and how many it knows already.

    Numbers never change within a conversation. A new one begins with what the synthesis cites, as far as there is room.
    """
    turn = state.turns[SYNTHESIZER]
    known = state.numbered
    if turn.number == turn.first:
        cited = {c.chunk for draft in parts(state.synthesis) for claim in draft.claims for c in claim.citations}
        known = tuple(passage for passage in known if passage.chunk in cited)[: MAX_NUMBERED - AT_ONCE]
    have = {passage.chunk for passage in known}
    waiting = [passage for passage in state.unprocessed if passage.chunk not in have]
    numbered = (*known, *waiting[:AT_ONCE])
    return state.model_copy(update={"numbered": numbered, "unprocessed": tuple(waiting[AT_ONCE:])}), len(known)


def next_turn(state: SpiralState, role: str) -> Turn:
    """Return the next turn of a conversation, the first of a new one where the present one has become long."""
    turn = state.turns[role]
    full = role == SYNTHESIZER and len(state.numbered) >= MAX_NUMBERED
    return turn.anew() if full or turn.number - turn.first >= WINDOW else turn


def parts(synthesis: SynthesisDraft) -> tuple[Draft, Draft, Draft]:
    """Return situation, complication and resolution."""
    return synthesis.situation, synthesis.complication, synthesis.resolution


def heard_since(wishes: Sequence[Feedback], known: int) -> tuple[str, ...]:
    """Return what people said since `known` wishes, each with the topic it names."""
    return tuple(wish.text if wish.topic is None else f"{wish.topic}: {wish.text}" for wish in wishes[known:])


def taken_up(state: SpiralState, wishes: Sequence[Feedback], steps: Sequence[Step]) -> SpiralState:
    """Return the state with what a plan asks the sources because of people's wishes, by the words they share."""
    taken = dict(state.taken)
    for wish in wishes:
        wanted = set(stems(wish.text))
        queries = tuple(step.query for step in steps if wanted & set(stems(step.query)))
        if queries:
            new = (shorten(query, MAX_HEADING) for query in queries)
            taken[wish.text] = tuple(dict.fromkeys((*taken.get(wish.text, ()), *new)))[-MAX_QUERIES:]
    kept = _newest(tuple(taken.items()), lambda item: sum(map(len, (item[0], *item[1]))) + ENTRY, MAX_TAKEN)
    return state.model_copy(update={"taken": dict(kept)})


def why_end(state: SpiralState, effort: Effort) -> str:
    """Return why the research ends after this cycle, whatever anybody decides; empty where it may go on."""
    cycles = f"{state.cycle} cycle{'' if state.cycle == 1 else 's'}"
    if diminishing(state.gains):
        return f"Ended after {cycles}: the last ones brought little that was new."
    if state.aims and all(aim.coverage >= COVERED for aim in state.aims):
        return f"Ended after {cycles}: every topic is covered."
    return f"Ended after {cycles}: the limit of cycles is reached." if state.cycle >= effort.cycles else ""


def decided(state: SpiralState, reasoning: str, key_factors: Sequence[str]) -> SpiralState:
    """Return the state with what a decision tells the next plan and the next synthesis."""
    factors = tuple(shorten(factor, MAX_HEADING) for factor in key_factors[:5])
    return state.model_copy(update={"reasoning": shorten(reasoning, MAX_TEXT), "key_factors": factors})


def brief(reflection: Reflection) -> Reflection:
    """Return a reflection at a length that can be carried on."""

    def cut(lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(shorten(line, MAX_NOTE) for line in lines[:5])

    return Reflection(
        overall_quality=reflection.overall_quality,
        depth_assessment=shorten(reflection.depth_assessment, MAX_TEXT),
        missing_core_insights=cut(reflection.missing_core_insights),
        logic_issues=cut(reflection.logic_issues),
        improvement_suggestions=cut(reflection.improvement_suggestions),
    )


def least_relevance(limits: Limits) -> float:
    """Return τ_r: what a passage beside the best one needs to count as evidence for a topic."""
    return BESIDE * limits.min_relevance


def clarified(state: SpiralState, questions: Sequence[str]) -> SpiralState:
    """Return the state after a person has answered questions."""
    told = {question: f"{question.partition(ASSUMED)[0]} A person answered." for question in questions}
    return state.model_copy(update={"asked": tuple(told.get(question, question) for question in state.asked)})


def left_open(state: SpiralState) -> tuple[str, ...]:
    """Return what a reader should know that the report does not take up: questions to people, topics left aside."""
    aside = ", ".join(f"“{topic.heading}”" for topic in state.latent)
    offered = (f"The sources also have much on these topics, which the report leaves aside: {aside}.",) if aside else ()
    return (*(f"Asked of people: {question}" for question in state.asked), *offered)


def told(lines: Sequence[str], line: str) -> tuple[str, ...]:
    """Return a log with one more line; a long one keeps its beginning and its end."""
    whole = [*lines, shorten(line, MAX_NOTE)]
    half = MAX_NOTES // 2
    return tuple(whole if len(whole) <= MAX_NOTES else [*whole[:half], *whole[-half:]])


def stood_in(calls: Iterable[Degraded]) -> tuple[Degraded, ...]:
    """Return degraded calls, those of one role and reason as one; rare reasons of a long list are not told apart."""
    times = Counter[tuple[str, str]]()
    for call in calls:
        times[call.role, shorten(call.reason, MAX_NOTE)] += call.times
    kept = dict(times.most_common(MAX_REASONS))
    rest = Counter[str]()
    for (role, reason), count in times.items():
        if (role, reason) not in kept:
            rest[role] += count
    others = {(role, "other reasons"): count for role, count in rest.items()}
    return tuple(
        Degraded(role=role, reason=reason, times=count) for (role, reason), count in (*kept.items(), *others.items())
    )


def gathered(aim: Aim, phase: SectionPhase = "waiting") -> TopicProgress:
    """Return how far a topic is for which no section is written yet."""
    return TopicProgress(
        topic=aim.topic.heading,
        phase=phase,
        coverage=round(aim.coverage, 3),
        sources=len({passage.source for passage in aim.passages}),
    )


def in_words(state: SpiralState) -> str:
    """Return what the last cycle brought, in one line."""
    covered = [aim.coverage for aim in state.aims]
    mean = sum(covered) / len(covered) if covered else 0.0
    gain = state.gains[-1] if state.gains else 0.0
    new = sum(query.accepted for query in state.executed if query.cycle == state.cycle)
    passages = f"{new} new passage{'' if new == 1 else 's'}"
    return (
        f"cycle {state.cycle} brought {passages}: coverage {mean:.0%} on average, "
        f"information gain {gain:.2f} ({trend(state.gains).lower()})"
    )
