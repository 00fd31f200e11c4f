"""Scorers of answers with known answers and known supporting passages."""

from collections import Counter

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from evals.answers import Answer, contains_answer, normalize_answer

FACTS = "facts"
"""Key of the facts that a report has to contain, in the metadata of a sample."""
SUPPORTING = "supporting"
"""Key of the file names of the supporting passages, in the metadata of a sample."""
CHOICES = "choices"
"""Key of the answers that are offered, in the metadata of a sample."""
INSUFFICIENT = "Insufficient information to answer"
"""The choice of an answer that the documents do not give, as LitQA words it."""
UNKNOWN = "unknown"
"""Verdict on a claim of which the documents say too little."""
_MEANS = [{"*": [mean(), stderr()]}]


@scorer(metrics=_MEANS)
def known_answer() -> Scorer:
    """Compare the short answer with the known ones: `exact` and `f1` as for SQuAD, `contained` as whole words.

    A known answer without text is right if no short answer is given.
    """

    async def score(state: TaskState, target: Target) -> Score:
        text = state.store_as(Answer).text
        return Score(
            value={
                "exact": float(normalize_answer(text) in map(normalize_answer, target)),
                "f1": max(compute_token_f1(text, answer) for answer in target) if target.text else float(not text),
                "contained": float(contains_answer(text, target) if target.text else not text),
                "answered": float(bool(text)),
            },
            answer=text,
        )

    return score


@scorer(metrics=_MEANS)
def verdict() -> Scorer:
    """Compare the first word of the short answer with `yes` or `no`; any other one, or none, decides nothing."""

    async def score(state: TaskState, target: Target) -> Score:
        text = state.store_as(Answer).text
        first = normalize_answer(text).partition(" ")[0]
        decided = first in ("yes", "no")
        correct = first == target.text if decided else target.text == UNKNOWN
        return Score(value={"correct": float(correct), "decided": float(decided)}, answer=text)

    return score


@scorer(metrics=_MEANS)
def choice() -> Scorer:
    """Compare the offered answer that the short answer names with the right one; none is insufficient information."""

    async def score(state: TaskState, target: Target) -> Score:
        text = state.store_as(Answer).text
        named = [one for one in state.metadata[CHOICES] if contains_answer(text, [one])]
        chosen = max(named, key=len) if named else INSUFFICIENT
        values = {"correct": float(chosen == target.text), "decided": float(chosen != INSUFFICIENT)}
        return Score(value=values, answer=chosen)

    return score


@scorer(metrics=_MEANS)
def known_facts() -> Scorer:
    """Find each fact in the sentences of the report, as whole words: `stated`, and `cited` if with its source."""

    async def score(state: TaskState, target: Target) -> Score:
        sentences, facts = state.store_as(Answer).sentences, state.metadata[FACTS]
        found = [[cited for text, cited in sentences if contains_answer(text, fact["any"])] for fact in facts]
        missed = [fact["any"][0] for fact, places in zip(facts, found, strict=True) if not places]
        cited = sum(any(fact["source"] in one for one in places) for fact, places in zip(facts, found, strict=True))
        values = {"stated": 1 - len(missed) / len(facts), "cited": cited / len(facts)}
        return Score(value=values, explanation=f"not stated: {', '.join(missed)}" if missed else None)

    return score


@scorer(metrics=_MEANS)
def supporting_passages() -> Scorer:
    """Compare the cited passages with the supporting ones: those of the short answer, and those of the report."""

    async def score(state: TaskState, target: Target) -> Score:
        answer, supporting = state.store_as(Answer), set(state.metadata[SUPPORTING])
        values = {}
        for part, names in (("answer", set(answer.cited)), ("report", set(answer.report_cited))):
            shared = len(names & supporting)
            values[f"{part}_recall"] = shared / len(supporting) if supporting else 1.0
            values[f"{part}_precision"] = shared / len(names) if names else float(not supporting)
        return Score(value=values)

    return score


@scorer(metrics=_MEANS)
def usage() -> Scorer:
    """Report the costs of an answer; US dollars only if every model that answered has a price."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.store_as(Answer)
        values = {
            "calls": float(answer.model_calls),
            "tokens": float(answer.tokens),
            "searches": float(answer.searches),
            "words": float(answer.words),
        }
        return Score(value=values if answer.cost_usd is None else values | {"usd": answer.cost_usd})

    return score


def compute_token_f1(text: str, answer: str) -> float:
    """Return the harmonic mean of the precision and recall of the words of an answer."""
    words, wanted = normalize_answer(text).split(), normalize_answer(answer).split()
    shared = (Counter(words) & Counter(wanted)).total()
    return 2 * shared / (len(words) + len(wanted)) if shared else 0.0
