"""Inferences and courses of events: what sources say follows from what, and what they date.

A conclusion is recognised by the word that opens it ("therefore", "this means that"), and the sentence before it is
what it is drawn from; a sentence that draws one by itself is taken apart into the two. Events are sentences with a year
in them, in the order of the years.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.arguments import (
    NOTHING,
    Argument,
    Step,
    floor,
    nearness,
    prose,
    stands,
    statements,
    subject,
    touches,
    weakest,
)
from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.clauses import drawn
from tenure.algorithms.text.excerpts import presentable, standing
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import words

INFERENCES: Final = 3
"""Conclusions of a chain of thought."""
CLOSE: Final = 0.75
"""Share of the best conclusion's cosine that another one needs: what is merely on the subject answers nothing."""
EVENTS, LEAST_EVENTS, LEAST_YEARS = 8, 3, 2
"""Events of a course at the most and at the least, and years that they have to lie in."""
_LEAST_WORDS = 6

_FOLLOWS = re.compile(
    r"^(?:therefore|thus|hence|consequently|accordingly|as a (?:result|consequence)|it follows that|"
    r"so(?:,|\s+(?:an?|the|any|every|each|no|all)\s)|for (?:this|that) reason|"
    r"(?:this|that|which) (?:means|implies|ensures|allows|makes|prevents|requires|leads|is why)\b|"
    r"(?!(?:it|they|he|she|this|these|those)\b)(?:(?!and\b|or\b|but\b)[^\s,;:]+\s+){1,5}"
    r"(?:therefore|thus|hence|consequently)\s)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\w.-])(?:1[89]|20)\d\d(?![\w-]|\.\d)")


class _Inference(NamedTuple):
    passage: int
    premise: str
    inference: str

    @property
    def text(self) -> str:
        return f"{self.premise} {self.inference}"


def inferred(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return what sources conclude on a question, each conclusion after what it is drawn from, the nearest one last."""
    asked = subject(question, passages)
    found = list({one.text: one for one in _inferences(passages) if touches(asked, one.text)}.values())
    if not found:
        return NOTHING
    near, vectors = nearness(asked, [one.text for one in found], encode)
    chosen = sorted(mmr(near, vectors, INFERENCES, floor=floor(near, CLOSE)), key=lambda n: near[n])
    steps: list[Step] = []
    for n in chosen:
        one = found[n]
        steps += [
            Step("premise", one.premise, one.passage),
            Step("inference", one.inference, one.passage, (len(steps) + 1,)),
        ]
    return Argument(tuple(steps[:-1]), steps[-1], confidence=weakest(near[n] for n in chosen)) if steps else NOTHING


def _inferences(passages: Sequence[Passage]) -> Iterator[_Inference]:
    for one in statements(passages):
        if parts := drawn(one.text):
            yield _Inference(one.passage, *parts)
    for number, passage, said in prose(passages):
        for premise, inference in pairwise(said):
            adjacent = premise.block == inference.block and premise.kind == inference.kind == "prose"
            long = min(len(words(premise.text)), len(words(inference.text))) >= _LEAST_WORDS
            if adjacent and long and _FOLLOWS.match(inference.text) and stands(premise) and presentable(inference):
                yield _Inference(number, standing(premise.text, passage.title), inference.text)


def unfolded(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the dated statements nearest to a question in the order of their years."""
    dated = [(int(years[0]), one) for one in statements(passages) if (years := _YEAR.findall(one.text))]
    if not dated:
        return NOTHING
    near, vectors = nearness(subject(question, passages), [one.text for _, one in dated], encode)
    chosen = mmr(near, vectors, EVENTS, floor=floor(near))
    if len(chosen) < LEAST_EVENTS or len({dated[n][0] for n in chosen}) < LEAST_YEARS:
        return NOTHING
    ordered = sorted(chosen, key=lambda n: dated[n][0])
    steps = tuple(Step("event", dated[n][1].text, dated[n][1].passage, link=str(dated[n][0])) for n in ordered)
    return Argument(steps, confidence=weakest(near[n] for n in chosen))
