"""Extract inferences and timelines from sources without a model.

A conclusion is a sentence that starts with a connective ("therefore", "this means that"); its premise is the previous
sentence. A sentence that contains both is split. Events are sentences with a year.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.arguments import (
    EMPTY_ARGUMENT,
    Argument,
    ArgumentStep,
    choose_min_similarity,
    compute_confidence,
    compute_similarities,
    extract_standalone_sentences,
    extract_subject,
    has_shared_terms,
    is_standalone,
    select_prose,
)
from tenure.algorithms.retrieval.mmr import select_by_mmr
from tenure.algorithms.text.causal_clauses import split_causal_sentence
from tenure.algorithms.text.excerpts import is_complete_sentence, make_standalone
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import split_words

MAX_INFERENCES: Final = 3
"""Maximum number of inferences in a chain."""
MIN_SIMILARITY_SHARE: Final = 0.75
"""Minimum cosine similarity of a conclusion to the question, relative to the best one."""
MAX_EVENTS, MIN_EVENTS, MIN_YEARS = 8, 3, 2
"""Maximum and minimum number of events of a timeline, and minimum number of distinct years."""
_MIN_WORDS = 6

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


def find_inferences(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return conclusions of the sources on a question, each after its premise, the nearest one last."""
    asked = extract_subject(question, passages)
    found = list(
        {
            inference.text: inference
            for inference in _extract_inferences(passages)
            if has_shared_terms(asked, inference.text)
        }.values()
    )
    if not found:
        return EMPTY_ARGUMENT
    near, vectors = compute_similarities(asked, [inference.text for inference in found], encode)
    chosen = sorted(
        select_by_mmr(near, vectors, MAX_INFERENCES, min_score=choose_min_similarity(near, MIN_SIMILARITY_SHARE)),
        key=lambda n: near[n],
    )
    steps: list[ArgumentStep] = []
    for n in chosen:
        inference = found[n]
        steps += [
            ArgumentStep("premise", inference.premise, inference.passage),
            ArgumentStep("inference", inference.inference, inference.passage, (len(steps) + 1,)),
        ]
    return (
        Argument(tuple(steps[:-1]), steps[-1], confidence=compute_confidence(near[n] for n in chosen))
        if steps
        else EMPTY_ARGUMENT
    )


def _extract_inferences(passages: Sequence[Passage]) -> Iterator[_Inference]:
    for statement in extract_standalone_sentences(passages):
        if parts := split_causal_sentence(statement.text):
            yield _Inference(statement.passage_number, *parts)
    for number, passage, sentences in select_prose(passages):
        for premise, inference in pairwise(sentences):
            adjacent = premise.block == inference.block and premise.kind == inference.kind == "prose"
            long = min(len(split_words(premise.text)), len(split_words(inference.text))) >= _MIN_WORDS
            if (
                adjacent
                and long
                and _FOLLOWS.match(inference.text)
                and is_standalone(premise)
                and is_complete_sentence(inference)
            ):
                yield _Inference(number, make_standalone(premise.text, passage.title), inference.text)


def find_timeline(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the dated statements nearest to a question, in chronological order."""
    dated = [
        (int(years[0]), statement)
        for statement in extract_standalone_sentences(passages)
        if (years := _YEAR.findall(statement.text))
    ]
    if not dated:
        return EMPTY_ARGUMENT
    near, vectors = compute_similarities(
        extract_subject(question, passages), [statement.text for _, statement in dated], encode
    )
    chosen = select_by_mmr(near, vectors, MAX_EVENTS, min_score=choose_min_similarity(near))
    if len(chosen) < MIN_EVENTS or len({dated[n][0] for n in chosen}) < MIN_YEARS:
        return EMPTY_ARGUMENT
    ordered = sorted(chosen, key=lambda n: dated[n][0])
    steps = tuple(
        ArgumentStep("event", dated[n][1].text, dated[n][1].passage_number, link=str(dated[n][0])) for n in ordered
    )
    return Argument(steps, confidence=compute_confidence(near[n] for n in chosen))
