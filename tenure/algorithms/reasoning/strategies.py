"""Reasoning without its words: which strategy a question gets, how answers are counted, what is pruned and kept."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.reasoning import short_answers as answers
from tenure.algorithms.retrieval.decomposition import decompose
from tenure.algorithms.retrieval.query_type import classify
from tenure.algorithms.text.sentences import fingerprint, stems, words
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Claim, Draft, PassageRef
from tenure.contracts.evidence.reasoning import (
    MOST_STEPS,
    Considered,
    Reasoning,
    ReasoningChoice,
    ReasoningStep,
    ReasoningStrategy,
)
from tenure.contracts.run.run import Complexity, QueryType

BY_TYPE: Final[Mapping[QueryType, ReasoningStrategy]] = {
    "analytical": "chain",
    "comparative": "analogical",
    "procedural": "chain",
    "evaluative": "tree",
    "hypothetical": "counterfactual",
    "causal": "causal",
    "temporal": "chain",
}
"""How questions of a type are reasoned about; what a factual one gets depends on its words."""

LEAST_SAID: Final = 2
"""Sentences of a line of thought at the least; fewer are no reasoning."""
MOST_REPEATED: Final = 0.6
"""Share of its sentences that may stand in the report already."""
LEAST_SCORE: Final = 0.3
"""Score that a thought needs to be followed."""
_DENIALS: Final = frozenset(("no", "not", "never", "none", "neither", "cannot", "without"))
_ALIKE: Final = 0.5
_WHY: Final = re.compile(r"\bwhy\b", re.IGNORECASE)
_ASKS_WHY: Final = re.compile(r"\s*why\b", re.IGNORECASE)


def chosen(
    question: str, kind: QueryType | None, complexity: Complexity, wished: ReasoningChoice | None = None
) -> ReasoningChoice:
    """Return how a question is reasoned about: as a person wishes, else by its type; a simple one is not.

    Args:
        question: the question.
        kind: the answer it wants; None where nobody has said.
        complexity: how much work it is worth.
        wished: what a person chose.
    """
    if wished or complexity == "simple":
        return wished or "none"
    found = kind or classify(question).primary
    if found == "factual":
        return _factual(question)
    why = _ASKS_WHY.match(question) or (found == "analytical" and _WHY.search(question))
    return "causal" if why else BY_TYPE[found]


def _factual(question: str) -> ReasoningChoice:
    if any(part.needs for part in decompose(question)):
        return "multi_hop"
    return "self_consistency" if answers.wanted(question) else "none"


def samples(passages: Sequence[PassageRef], number: int) -> list[tuple[PassageRef, ...]]:
    """Deal passages out to samples so that no two of them share a source; a sample without any is left out."""
    places: dict[SourceId, int] = {}
    for passage in passages:
        places.setdefault(passage.source, len(places))
    dealt = [tuple(p for p in passages if places[p.source] % number == n) for n in range(number)]
    return [sample for sample in dealt if sample]


class Votes(NamedTuple):
    """Lines of thought that come to the same answer."""

    members: tuple[int, ...]
    """Their positions."""
    share: float
    """Their share of all that came to an answer."""


def vote(given: Sequence[str]) -> list[Votes]:
    """Group answers that say the same, most votes first, then the one that was given first; empty ones do not count."""
    groups: list[list[int]] = []
    cast = [n for n, answer in enumerate(given) if answer.strip()]
    for n in cast:
        for group in groups:
            if agree(given[group[0]], given[n]):
                group.append(n)
                break
        else:
            groups.append([n])
    ordered = sorted(groups, key=lambda group: (-len(group), group[0]))
    return [Votes(tuple(group), len(group) / len(cast)) for group in ordered]


def agree(one: str, other: str) -> bool:
    """Tell whether two short answers say the same: neither denies the other, and their numbers do not differ."""
    if fingerprint(one) == fingerprint(other):
        return True
    a, b = set(stems(one)), set(stems(other))
    figures = [{stem for stem in said if stem.isdigit()} for said in (a, b)]
    denies = [bool(_DENIALS.intersection(words(text))) for text in (one, other)]
    if not a or not b or denies[0] != denies[1] or not (figures[0] <= figures[1] or figures[1] <= figures[0]):
        return False
    return a <= b or b <= a or len(a & b) / len(a | b) >= _ALIKE


class Pruned(NamedTuple):
    """Positions of thoughts that are followed and that are not, the best first."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]


def pruned(scores: Sequence[float], breadth: int) -> Pruned:
    """Keep the best thoughts, as many as the tree is broad; one below the least score is never followed."""
    ranked = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
    kept = [n for n in ranked if scores[n] >= LEAST_SCORE][:breadth]
    return Pruned(tuple(kept), tuple(n for n in ranked if n not in kept))


class Score(NamedTuple):
    """What a thought was found to be worth, and why."""

    score: float
    why: str


def scores(given: Iterable[tuple[int, float, str]], number: int) -> list[Score]:
    """Return what each of so many thoughts is worth, from verdicts by number; what nobody judged is worth nothing."""
    known = {n: Score(score, " ".join(why.split())) for n, score, why in given}
    return [known.get(n, Score(0.0, "it was not judged")) for n in range(1, number + 1)]


def fresh(thoughts: Iterable[ReasoningStep], known: Iterable[str]) -> list[ReasoningStep]:
    """Return the thoughts that say something new, each once."""
    said = {fingerprint(text) for text in known}
    found = {fingerprint(one.claim.text): one for one in reversed(list(thoughts))}
    return [one for text, one in reversed(found.items()) if text not in said]


def path(grown: Sequence[ReasoningStep], tip: int) -> tuple[str, ...]:
    """Return the thoughts that lead to one of a tree, by its number, it last; none for 0."""
    line: list[str] = []
    while tip:
        step = grown[tip - 1]
        line.append(step.claim.text)
        tip = step.follows[0] if step.follows else 0
    return tuple(reversed(line))


def ordered(grown: Sequence[ReasoningStep]) -> tuple[ReasoningStep, ...]:
    """Return a tree of thoughts as it is read: every thought before those that follow it, branch by branch."""
    found: list[ReasoningStep] = []

    def read(tip: int, number: int) -> None:
        for n, step in enumerate(grown, 1):
            if (step.follows or (0,))[0] == tip:
                found.append(step.model_copy(update={"follows": (number,) if number else ()}))
                read(n, len(found))

    read(0, 0)
    return tuple(found)


def outvoted(lines: Sequence[Reasoning]) -> Reasoning | None:
    """Return the line of thought whose answer most others come to as well, with what was outvoted; None without any.

    Its confidence is the share of its votes; where one line alone came to an answer, it is that line's own.
    """
    counted = vote([line.answer for line in lines])
    if not counted:
        return None
    won, *others = counted
    best = max(won.members, key=lambda n: (lines[n].confidence, -n))
    said = lines[best].conclusion
    agreeing = fresh(
        [step for n in won.members if n != best and (step := lines[n].conclusion)],
        [said.claim.text] if said else [],
    )
    votes = sum(len(group.members) for group in counted)
    considered = [
        Considered(
            text=lines[group.members[0]].answer,
            score=round(group.share, 3),
            why=f"{len(group.members)} of {votes} lines of thought came to it",
        )
        for group in others
    ]
    steps = (*lines[best].steps, *(step.model_copy(update={"kind": "answer", "follows": ()}) for step in agreeing))
    confidence = round(won.share, 3) if votes > 1 else lines[best].confidence
    return lines[best].model_copy(
        update={"steps": steps[:MOST_STEPS], "confidence": confidence, "considered": tuple(considered)}
    )


def drafts(reasoning: Reasoning) -> tuple[Draft, ...]:
    """Return the sentences of a line of thought, each as a text of its own, the conclusion last."""
    said = [*reasoning.steps, *([reasoning.conclusion] if reasoning.conclusion else [])]
    return tuple(Draft(blocks=(Block(claims=(step.claim,)),)) for step in said)


def held(reasoning: Reasoning, checked: Sequence[Draft]) -> Reasoning | None:
    """Return a line of thought with what was found of its sentences; None where too little of it is left.

    A step that rests on one that was taken out is taken out with it. The confidence counts only as far as what is
    left is supported.

    Args:
        reasoning: the line of thought.
        checked: its sentences after the check, empty where one was taken out.
    """
    found = [draft.claims[0] if draft.claims else None for draft in checked]
    claims = [claim if claim and claim.citations else None for claim in found]
    numbers: dict[int, int] = {}
    steps: list[ReasoningStep] = []
    for n, (step, claim) in enumerate(zip(reasoning.steps, claims, strict=False), 1):
        if claim and all(before in numbers for before in step.follows):
            numbers[n] = len(steps) + 1
            steps.append(_renumbered(step, claim, numbers))
    last, claim = reasoning.conclusion, claims[-1] if claims else None
    stays = last is not None and claim is not None and all(before in numbers for before in last.follows)
    conclusion = _renumbered(last, claim, numbers) if stays and last and claim else None
    left = [step.claim for step in (*steps, *([conclusion] if conclusion else []))]
    if len(left) < LEAST_SAID:
        return None
    share = sum(one.status == "supported" for one in left) / len(claims)
    return reasoning.model_copy(
        update={
            "steps": tuple(steps),
            "conclusion": conclusion,
            "confidence": round(reasoning.confidence * share, 3),
        }
    )


def _renumbered(step: ReasoningStep, claim: Claim, numbers: Mapping[int, int]) -> ReasoningStep:
    return step.model_copy(update={"claim": claim, "follows": tuple(numbers[n] for n in step.follows)})


def beside(reasoning: Reasoning | None, written: Sequence[Draft]) -> Reasoning | None:
    """Return a line of thought, unless most of its sentences stand in the report already, whole or within others."""
    if reasoning is None:
        return None
    known = "\n".join(f" {fingerprint(claim.text)} " for draft in written for claim in draft.claims)
    said = [draft.claims[0] for draft in drafts(reasoning)]
    repeated = sum(f" {fingerprint(claim.text)} " in known for claim in said)
    return None if repeated > MOST_REPEATED * len(said) else reasoning


def cited(reasoning: Reasoning | None, passages: Sequence[PassageRef]) -> tuple[PassageRef, ...]:
    """Return those passages that a line of thought cites."""
    claims = [draft.claims[0] for draft in drafts(reasoning)] if reasoning else []
    chunks = {citation.chunk for claim in claims for citation in claim.citations}
    return tuple(passage for passage in passages if passage.chunk in chunks)


def as_text(reasoning: Reasoning | None) -> str:
    """Render a line of thought for a writer; empty for none."""
    if reasoning is None:
        return ""
    lines = [f"{n}. ({step.kind}) {step.claim.text}" for n, step in enumerate(reasoning.steps, 1)]
    if reasoning.conclusion:
        lines.append(f"Conclusion: {reasoning.conclusion.claim.text}")
    return "\n".join([*lines, f"Confidence: {reasoning.confidence:.0%}"])
