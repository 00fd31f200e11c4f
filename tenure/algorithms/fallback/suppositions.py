"""Answer counterfactual questions without a model, from statements of the sources.

A question supposes that a thing is missing or different ("what if there were no X"). Sources answer it by statements on
what depends on the thing, and on what happens without it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tenure.algorithms.reasoning.arguments import (
    EMPTY_ARGUMENT,
    Argument,
    ArgumentStep,
    choose_min_similarity,
    compute_confidence,
    compute_similarities,
    extract_standalone_sentences,
    extract_subject,
)
from tenure.algorithms.retrieval.mmr import select_by_mmr
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.sentences import stem_words

MAX_RELIANCES, MAX_CONSEQUENCES = 3, 3
"""Maximum number of statements on the use of the thing, and on consequences without it."""
MIN_NAME_OVERLAP: Final = 0.6
"""Minimum share of the thing's words near a signal word."""
MIN_CONDITION_OVERLAP: Final = 0.75
"""Minimum share of the supposed clause in a condition of a sentence."""
_MAX_DISTANCE_WORDS = 6
"""Maximum distance of the thing to the signal word."""

_SUPPOSED = re.compile(
    r"\b(?:what\s+(?:would|will|could)?\s*(?:happens?|be|change)?\s*(?:(?:to|with)\s+[^?.;]{1,80}?\s+)?"
    r"(?:if|when|without|with\s+no)|what\s+if|"
    r"suppos(?:e|ing)(?:\s+that)?|imagine(?:\s+that)?|if|without|had)\s+(?P<thing>[^?.;]+)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:there\s+(?:is|are|was|were|had\s+been)|would|had|were|was|is|are|been|be|never|not|no|longer|ever|"
    r"remov\w*|drop\w*|disabl\w*|abolish\w*|abandon\w*|exist\w*|invent\w*|lack\w*|miss\w*|gone|stop\w*|fail\w*|"
    r"introduc\w*|replac\w*|reject\w*|delet\w*|eliminat\w*|turned\s+off|switched\s+off|without)\b",
    re.IGNORECASE,
)
_GONE_BEFORE = re.compile(
    r"\b(?:without|unless|absence\s+of|lack\s+of|lacks?|lacking|no\s+longer|remov(?:e|es|ed|ing)|removal\s+of|"
    r"dropping|disabl(?:e|es|ed|ing)|eliminat(?:e|es|ed|ing|ion\s+of)|if\s+(?:there\s+(?:is|are|was|were)\s+)?no|"
    r"instead\s+of)\b",
    re.IGNORECASE,
)
"""Words before a thing that say it is missing."""
_GONE_AFTER = re.compile(
    r"\b(?:(?:is|are|was|were|be|been|being)\s+(?:removed|dropped|disabled|eliminated|missing|absent|gone|not)|"
    r"did\s+not\s+exist|didn[’']t\s+exist)\b",
    re.IGNORECASE,
)
"""Words after a thing that say it is missing."""
_GIVES = re.compile(
    r"(?<!cannot\s)(?<!not\s)(?<!never\s)\b(?:allows?|enables?|ensures?|guarantees?|protects?|prevents?|makes?\s+it|provides?|simplif(?:y|ies)|avoids?|"
    r"helps?|is\s+(?:needed|required|useful|necessary)|are\s+(?:needed|required|useful|necessary)|lets?)\b",
    re.IGNORECASE,
)
"""Words after a thing that describe its use."""
_RESTS = re.compile(
    r"\b(?:depends?\s+(?:up)?on|rel(?:y|ies|ied|ying)\s+on|requires?|needs?|assum(?:e|es|ed|ing)|thanks\s+to|"
    r"built\s+on|based\s+on|protected\s+by|because\s+of)\b",
    re.IGNORECASE,
)
"""Words before a thing that something depends on."""


_WHEN = re.compile(r"\b(?:when|whenever|if|once|after|as\s+soon\s+as|should)\s+(?P<clause>[^,;.]+)", re.IGNORECASE)
"""Start of a conditional clause."""
_GENERIC = re.compile(
    r"^(?:an?|any|every|each)\s+(?P<clause>(?:[\w'’-]+\s+){1,3}(?:that|which|who)\s+[^,;.]+)", re.IGNORECASE
)
"""Start of a generic sentence ("any process that …"), which states a condition too."""
_POINTS = re.compile(r"\b(?:it|they|them)\b", re.IGNORECASE)
_DEATHS: Final = frozenset(stem_words("die dead death kill crash"))
"""Stems that describe the end of a process."""
_ABSENT = re.compile(r"\b(?:without|no|not|never|\w+n[’']t)\b", re.IGNORECASE)
"""Negations in a question; sources rarely state such conditions in the same words."""
_ADJUNCT = re.compile(r"\s+(?:during|while|in|at|on|for|within)\s+.*$", re.IGNORECASE | re.DOTALL)
"""Place and time of an event."""


def extract_supposition(question: str) -> tuple[str, ...]:
    """Return the stems of the thing that a question supposes to be missing or different; empty if there is none."""
    found = _SUPPOSED.search(question)
    return tuple(dict.fromkeys(stem_words(_CHANGE.sub(" ", _ADJUNCT.sub("", found["thing"]))))) if found else ()


def find_consequences(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return statements on what depends on the supposed thing and on the consequences without it."""
    wanted = extract_supposition(question)
    statements = extract_standalone_sentences(passages) if wanted else []
    clause = frozenset[str]() if _ABSENT.search(question) else _extract_clause(question)
    gone = [
        statement
        for statement in statements
        if _is_adjacent(statement.text, wanted, _GONE_AFTER, _GONE_BEFORE)
        or _has_condition(statement.text, clause, clause - _stem_event(" ".join(wanted)))
    ]
    known = {statement.text for statement in gone}
    rests = [
        statement
        for statement in statements
        if statement.text not in known and _is_adjacent(statement.text, wanted, _GIVES, _RESTS)
    ]
    near, vectors = compute_similarities(
        extract_subject(question, passages), [statement.text for statement in (*rests, *gone)], encode
    )
    least = choose_min_similarity(near)
    first = _select_diverse(near, vectors, range(len(rests)), MAX_RELIANCES, least)
    then = _select_diverse(near, vectors, range(len(rests), len(near)), MAX_CONSEQUENCES, least)
    if not then or len(first) + len(then) < 2:
        return EMPTY_ARGUMENT
    pool = (*rests, *gone)
    steps = [
        *(ArgumentStep("supposition", pool[n].text, pool[n].passage_number) for n in first),
        *(ArgumentStep("consequence", pool[n].text, pool[n].passage_number) for n in reversed(then)),
    ]
    return Argument(tuple(steps[:-1]), steps[-1], confidence=compute_confidence(near[n] for n in (*first, *then)))


def _extract_clause(question: str) -> frozenset[str]:
    """Return the stems of the whole supposition, including what happens to the thing."""
    found = _SUPPOSED.search(question)
    return _stem_event(_ADJUNCT.sub("", found["thing"])) if found else frozenset()


def _stem_event(text: str) -> frozenset[str]:
    """Return the stems of a text; synonyms of "die" are mapped to one stem."""
    return frozenset("die" if stem in _DEATHS else stem for stem in stem_words(text))


def _has_condition(text: str, clause: frozenset[str], change: frozenset[str]) -> bool:
    """Return whether a sentence has the supposed condition: the change, and most of the other words."""
    named = [clause & _stem_event(condition) for condition in _find_conditions(text, 2 * len(clause) + 2)]
    return any(len(shared) >= max(2, MIN_CONDITION_OVERLAP * len(clause)) and change <= shared for shared in named)


def _find_conditions(text: str, most: int) -> Iterator[str]:
    """Yield the conditions of a sentence; a generic subject counts up to `most` words."""
    for found in _WHEN.finditer(text):
        if not _POINTS.search(text[: found.start()]):
            yield found["clause"]
    if generic := _GENERIC.match(text):
        yield " ".join(generic["clause"].split()[:most])


def _is_adjacent(text: str, wanted: Sequence[str], after: re.Pattern[str], before: re.Pattern[str]) -> bool:
    """Return whether the thing is named just before a match of `after`, or just after a match of `before`."""
    return any(
        _is_named(text[: found.start()].split()[-_MAX_DISTANCE_WORDS:], wanted) for found in after.finditer(text)
    ) or any(_is_named(text[found.end() :].split()[:_MAX_DISTANCE_WORDS], wanted) for found in before.finditer(text))


def _is_named(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether words name the thing: most of its words, or its acronym."""
    short = "".join(stem[0] for stem in wanted).upper()
    named = set(stem_words(" ".join(words)))
    return len(named.intersection(wanted)) >= MIN_NAME_OVERLAP * len(wanted) or (len(short) > 2 and short in words)


def _select_diverse(
    near: Sequence[float], vectors: Vectors, among: Sequence[int], most: int, least: float
) -> list[int]:
    if not among:
        return []
    return [among[n] for n in select_by_mmr([near[n] for n in among], vectors[list(among)], most, min_score=least)]
