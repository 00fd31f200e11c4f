"""Shorten a report to what a follow-up question may refer to, and continue a calculation with its answer."""

import re
from collections.abc import Sequence
from typing import Final

from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import split_sentences
from tenure.contracts.result.result import Result

MAX_SUMMARY_CHARACTERS: Final = 1_500
"""Characters of a report's answer that a thread keeps, as of the answer to a question."""

_NUMBER: Final = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w%])")  # "1,200.5", not "12%" and not the 2 of "v2".
_CONTINUATION: Final = re.compile(
    r"^\W*+(?:(?:and|so|then|now|what is (?:that|this|it)|that|this|it)\b[\s,]*+)*+"
    r"(?P<operation>(?:divided|multiplied) by|times|plus|minus)\s+(?P<number>\d[\d,]*(?:\.\d+)?)\W*+$",
    re.IGNORECASE,
)
"""Questions such as “And divided by 480?”, which compute with the number of the answer before."""


def summarize_report(result: Result) -> str:
    """Return the answer of a report, or cause and change of a repository, shortened.

    Sentences of the answer that instructions may have shaped are left out.
    """
    short = (
        f"{result.short_answer.text.rstrip('.')}." if result.short_answer and not result.short_answer.tainted else ""
    )
    sentences = (claim.text for claim in result.abstract_claims if not claim.tainted)
    change = (result.repository.cause, result.repository.change) if result.repository else ()
    return shorten(" ".join(filter(None, (short, *sentences, *change))), MAX_SUMMARY_CHARACTERS)


def continue_calculation(question: str, answers: Sequence[str]) -> str:
    """Return a question that computes with the number of an earlier answer as a question of its own.

    The first sentence of the newest answer with numbers counts, which comes last. The result is empty if the question
    continues no calculation, or if that sentence has several numbers.
    """
    match = _CONTINUATION.match(question)
    if match is None:
        return ""
    first = (next(iter(split_sentences(answer)), None) for answer in reversed(answers))
    numbers = (dict.fromkeys(_NUMBER.findall(sentence.text)) for sentence in first if sentence)
    newest = next((figures for figures in numbers if figures), {})
    return f"What is {next(iter(newest))} {match['operation'].lower()} {match['number']}?" if len(newest) == 1 else ""
