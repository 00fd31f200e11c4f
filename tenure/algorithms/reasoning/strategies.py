"""Choose reasoning strategies, count votes and apply verification to lines of reasoning."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.factoid_questions import is_factoid_question
from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.retrieval.query_type import classify_query
from tenure.algorithms.text.sentences import normalize_sentence, split_words, stem_words
from tenure.contracts.base import SourceId
from tenure.contracts.choices import Complexity, ReasoningChoice, ReasoningStrategy
from tenure.contracts.evidence.passages import Block, Claim, Draft, PassageRef
from tenure.contracts.evidence.reasoning import MAX_REASONING_STEPS, Reasoning, ReasoningStep, RejectedThought
from tenure.contracts.run.run import QueryType

STRATEGY_BY_QUERY_TYPE: Final[Mapping[QueryType, ReasoningStrategy]] = {
    "analytical": "chain",
    "comparative": "analogical",
    "procedural": "chain",
    "evaluative": "tree",
    "hypothetical": "counterfactual",
    "causal": "causal",
    "temporal": "chain",
}
"""Reasoning strategy by query type; for factual questions the wording decides."""

MIN_SENTENCES: Final = 2
MAX_REPEATED_SHARE: Final = 0.6
"""Maximum share of its sentences that the report may already contain."""
_NEGATIONS: Final = frozenset(("no", "not", "never", "none", "neither", "cannot", "without"))
_MIN_OVERLAP: Final = 0.5  # "in Lyon, France" and "Lyon" share half of their words.
_WHY: Final = re.compile(r"\bwhy\b", re.IGNORECASE)  # A question that asks why in a later clause.
_ASKS_WHY: Final = re.compile(r"\s*why\b", re.IGNORECASE)  # A question that begins with "why".


def choose_reasoning_strategy(
    question: str, query_type: QueryType | None, complexity: Complexity, requested: ReasoningChoice | None = None
) -> ReasoningChoice:
    """Choose the reasoning strategy: the requested one, none for a simple question, else by the question's type."""
    if requested or complexity == "simple":
        return requested or "none"
    resolved_type = query_type or classify_query(question).primary
    if resolved_type == "factual" and any(part.needs for part in decompose_question(question)):
        return "multi_hop"
    if resolved_type == "factual":
        return "self_consistency" if is_factoid_question(question) else "none"
    asks_why = _ASKS_WHY.match(question) or (resolved_type == "analytical" and _WHY.search(question))
    return "causal" if asks_why else STRATEGY_BY_QUERY_TYPE[resolved_type]


def describe_chain(steps: Iterable[tuple[str, str]], answer: str) -> str:
    """Return the names of a chain of facts in one line, the answer last, by kind and link of each step; else empty."""
    names = [link for kind, link in steps if kind == "hop" and link]
    chain = tuple(dict.fromkeys((*names, answer.strip().rstrip("."))))
    return " → ".join(chain) if names and all(chain) and len(chain) > 1 else ""


def partition_by_source(passages: Sequence[PassageRef], number: int) -> list[tuple[int, ...]]:
    """Partition the numbers of passages, from 1, into at most `number` samples without a common source."""
    source_indexes: dict[SourceId, int] = {}
    for passage in passages:
        source_indexes.setdefault(passage.source, len(source_indexes))
    samples = [
        tuple(n for n, passage in enumerate(passages, 1) if source_indexes[passage.source] % number == sample)
        for sample in range(number)
    ]
    return [sample for sample in samples if sample]


def group_numbers(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges: "1-4, 7"."""
    ranges: list[list[int]] = []
    for n in numbers:
        if ranges and n == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], n]
        else:
            ranges.append([n])
    return ", ".join("-".join(map(str, bounds)) for bounds in ranges)


class AnswerVotes(NamedTuple):
    """Lines of reasoning with the same answer."""

    members: tuple[int, ...]
    """Indexes of the lines."""
    share: float
    """Share of all lines with an answer."""


def count_votes(answers: Sequence[str]) -> list[AnswerVotes]:
    """Group equivalent answers, most votes first, then in order of appearance; empty answers do not count."""
    groups: dict[int, list[int]] = {}
    voters = [n for n, answer in enumerate(answers) if answer.strip()]
    for n in voters:
        first = next((first for first in groups if is_same_answer(answers[first], answers[n])), n)
        groups.setdefault(first, []).append(n)
    ranked = sorted(groups.values(), key=lambda group: -len(group))
    return [AnswerVotes(tuple(group), len(group) / len(voters)) for group in ranked]


def is_same_answer(first: str, second: str) -> bool:
    """Return whether two short answers agree: same negation, compatible numbers and enough common words."""
    if normalize_sentence(first) == normalize_sentence(second):
        return True
    a, b = set(stem_words(first)), set(stem_words(second))
    numbers = [{stem for stem in stem_set if stem.isdigit()} for stem_set in (a, b)]
    negated = [bool(_NEGATIONS.intersection(split_words(text))) for text in (first, second)]
    if not a or not b or negated[0] != negated[1] or not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
        return False
    return a <= b or b <= a or len(a & b) / len(a | b) >= _MIN_OVERLAP


def select_new_thoughts(thoughts: Iterable[ReasoningStep], known: Iterable[str]) -> list[ReasoningStep]:
    """Return the thoughts with new text, without repetitions."""
    known_texts = {normalize_sentence(text) for text in known}
    new = {normalize_sentence(thought.claim.text): thought for thought in reversed(list(thoughts))}
    return [thought for text, thought in reversed(new.items()) if text not in known_texts]


def select_majority(lines: Sequence[Reasoning]) -> Reasoning | None:
    """Return the line of reasoning with the most frequent answer, and the outvoted answers; None without any answer."""
    votes_by_answer = count_votes([line.answer for line in lines])
    if not votes_by_answer:
        return None
    majority, *others = votes_by_answer
    best = max(majority.members, key=lambda n: (lines[n].confidence, -n))
    conclusion = lines[best].conclusion
    agreeing = select_new_thoughts(
        [step for n in majority.members if n != best and (step := lines[n].conclusion)],
        [conclusion.claim.text] if conclusion else [],
    )
    votes = sum(len(group.members) for group in votes_by_answer)
    rejected = [
        RejectedThought(
            text=lines[group.members[0]].answer,
            score=round(group.share, 3),
            reason=f"{len(group.members)} of {votes} lines of reasoning gave this answer",
        )
        for group in others
    ]
    steps = (*lines[best].steps, *(step.model_copy(update={"kind": "answer", "follows": ()}) for step in agreeing))
    return lines[best].model_copy(update={"steps": steps[:MAX_REASONING_STEPS], "rejected": tuple(rejected)})


def to_drafts(reasoning: Reasoning) -> tuple[Draft, ...]:
    """Return each sentence of a line of reasoning as a draft of its own, the conclusion last."""
    steps = [*reasoning.steps, *([reasoning.conclusion] if reasoning.conclusion else [])]
    return tuple(Draft(blocks=(Block(claims=(step.claim,)),)) for step in steps)


def apply_verification(reasoning: Reasoning, checked: Sequence[Draft]) -> Reasoning | None:
    """Return a line of reasoning with its sentences after verification; None if too few of them remain.

    A removed sentence is an empty draft, and a step that follows from it is removed as well.
    """
    claims = [next((claim for claim in draft.claims[:1] if claim.citations), None) for draft in checked]
    numbers: dict[int, int] = {}
    steps: list[ReasoningStep] = []
    for n, (step, claim) in enumerate(zip(reasoning.steps, claims, strict=False), 1):
        if claim and all(earlier in numbers for earlier in step.follows):
            numbers[n] = len(steps) + 1
            steps.append(_renumber_step(step, claim, numbers))
    old_conclusion, claim = reasoning.conclusion, claims[-1] if claims else None
    conclusion: ReasoningStep | None = None
    if old_conclusion and claim and all(earlier in numbers for earlier in old_conclusion.follows):
        conclusion = _renumber_step(old_conclusion, claim, numbers)
    if len(steps) + bool(conclusion) < MIN_SENTENCES:
        return None
    return reasoning.model_copy(update={"steps": tuple(steps), "conclusion": conclusion})


def _renumber_step(step: ReasoningStep, claim: Claim, numbers: Mapping[int, int]) -> ReasoningStep:
    return step.model_copy(update={"claim": claim, "follows": tuple(numbers[n] for n in step.follows)})


def discard_if_repeated(reasoning: Reasoning | None, report: Sequence[Draft]) -> Reasoning | None:
    """Return a line of reasoning, or None if the report already contains most of its sentences."""
    if reasoning is None:
        return None
    report_text = "\n".join(f" {normalize_sentence(claim.text)} " for draft in report for claim in draft.claims)
    claims = [draft.claims[0] for draft in to_drafts(reasoning)]
    repeated = sum(f" {normalize_sentence(claim.text)} " in report_text for claim in claims)
    return None if repeated > MAX_REPEATED_SHARE * len(claims) else reasoning
