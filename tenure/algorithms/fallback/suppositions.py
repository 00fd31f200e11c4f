"""Suppositions: what would follow if something were otherwise, as far as sources say so.

A question supposes that a thing is gone or changed ("what if there were no X"). Sources answer it where they say what
depends on the thing, and where they say themselves what happens without it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tenure.algorithms.reasoning.arguments import (
    NOTHING,
    Argument,
    Step,
    floor,
    nearness,
    statements,
    subject,
    weakest,
)
from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.passage import Encoder, Passage, Vectors
from tenure.algorithms.text.sentences import stems

RELIANCES, CONSEQUENCES = 3, 3
"""Statements of what the thing is good for, and of what would follow without it, at the most."""
NAMED: Final = 0.6
"""Share of the thing's words that have to stand together beside the word that decides."""
CONDITION: Final = 0.75
"""Share of what a question supposes that a condition has to say, too."""
_REACH = 6
"""Words on the side of that word within which the thing has to be named."""

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
"""What says of the thing named after it that it is gone."""
_GONE_AFTER = re.compile(
    r"\b(?:(?:is|are|was|were|be|been|being)\s+(?:removed|dropped|disabled|eliminated|missing|absent|gone|not)|"
    r"did\s+not\s+exist|didn[’']t\s+exist)\b",
    re.IGNORECASE,
)
"""What says so of the thing named before it."""
_GIVES = re.compile(
    r"(?<!cannot\s)(?<!not\s)(?<!never\s)\b(?:allows?|enables?|ensures?|guarantees?|protects?|prevents?|makes?\s+it|provides?|simplif(?:y|ies)|avoids?|"
    r"helps?|is\s+(?:needed|required|useful|necessary)|are\s+(?:needed|required|useful|necessary)|lets?)\b",
    re.IGNORECASE,
)
"""What tells the use of the thing named before it."""
_RESTS = re.compile(
    r"\b(?:depends?\s+(?:up)?on|rel(?:y|ies|ied|ying)\s+on|requires?|needs?|assum(?:e|es|ed|ing)|thanks\s+to|"
    r"built\s+on|based\s+on|protected\s+by|because\s+of)\b",
    re.IGNORECASE,
)
"""What tells that something rests on the thing named after it."""


_WHEN = re.compile(r"\b(?:when|whenever|if|once|after|as\s+soon\s+as|should)\s+(?P<clause>[^,;.]+)", re.IGNORECASE)
"""What opens a condition."""
_GENERIC = re.compile(
    r"^(?:an?|any|every|each)\s+(?P<clause>(?:[\w'’-]+\s+){1,3}(?:that|which|who)\s+[^,;.]+)", re.IGNORECASE
)
"""What opens a sentence on whatever has something happen to it, which states a condition as well."""
_POINTS = re.compile(r"\b(?:it|they|them)\b", re.IGNORECASE)
_DEATHS: Final = frozenset(stems("die dead death kill crash"))
"""What happens to a process has several names."""
_ABSENT = re.compile(r"\b(?:without|no|not|never|\w+n[’']t)\b", re.IGNORECASE)
"""What says in a question that the thing itself is not there, which is no condition that sources would state so."""
_ADJUNCT = re.compile(r"\s+(?:during|while|in|at|on|for|within)\s+.*$", re.IGNORECASE | re.DOTALL)
"""Where and when something happens, beside what happens."""


def thing(question: str) -> tuple[str, ...]:
    """Return the stems of what a question supposes to be otherwise; none where it supposes nothing."""
    found = _SUPPOSED.search(question)
    return tuple(dict.fromkeys(stems(_CHANGE.sub(" ", _ADJUNCT.sub("", found["thing"]))))) if found else ()


def supposed(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return what rests on the thing that a question supposes away, and what sources say would follow."""
    wanted = thing(question)
    said = statements(passages) if wanted else []
    clause = frozenset[str]() if _ABSENT.search(question) else _clause(question)
    gone = [
        one
        for one in said
        if _beside(one.text, wanted, _GONE_AFTER, _GONE_BEFORE)
        or _conditional(one.text, clause, clause - _happening(" ".join(wanted)))
    ]
    known = {one.text for one in gone}
    rests = [one for one in said if one.text not in known and _beside(one.text, wanted, _GIVES, _RESTS)]
    near, vectors = nearness(subject(question, passages), [one.text for one in (*rests, *gone)], encode)
    least = floor(near)
    first = _chosen(near, vectors, range(len(rests)), RELIANCES, least)
    then = _chosen(near, vectors, range(len(rests), len(near)), CONSEQUENCES, least)
    if not then or len(first) + len(then) < 2:
        return NOTHING
    pool = (*rests, *gone)
    steps = [
        *(Step("supposition", pool[n].text, pool[n].passage) for n in first),
        *(Step("consequence", pool[n].text, pool[n].passage) for n in reversed(then)),
    ]
    return Argument(tuple(steps[:-1]), steps[-1], confidence=weakest(near[n] for n in (*first, *then)))


def _clause(question: str) -> frozenset[str]:
    """Return the stems of all that a question supposes, what is said to happen to the thing included."""
    found = _SUPPOSED.search(question)
    return _happening(_ADJUNCT.sub("", found["thing"])) if found else frozenset()


def _happening(text: str) -> frozenset[str]:
    """Return the stems of a text, with one name for all ways to die."""
    return frozenset("die" if stem in _DEATHS else stem for stem in stems(text))


def _conditional(text: str, clause: frozenset[str], change: frozenset[str]) -> bool:
    """Tell whether a sentence has the condition that a question supposes: what changes, and most of the rest."""
    named = [clause & _happening(condition) for condition in _conditions(text, 2 * len(clause) + 2)]
    return any(len(one) >= max(2, CONDITION * len(clause)) and change <= one for one in named)


def _conditions(text: str, most: int) -> Iterator[str]:
    """Yield the conditions of a sentence, one without an own word for it as far as `most` words."""
    for found in _WHEN.finditer(text):
        if not _POINTS.search(text[: found.start()]):
            yield found["clause"]
    if generic := _GENERIC.match(text):
        yield " ".join(generic["clause"].split()[:most])


def _beside(text: str, wanted: Sequence[str], after: re.Pattern[str], before: re.Pattern[str]) -> bool:
    """Tell whether the thing is named right before one kind of words, or right after another kind."""
    return any(_names(text[: found.start()].split()[-_REACH:], wanted) for found in after.finditer(text)) or any(
        _names(text[found.end() :].split()[:_REACH], wanted) for found in before.finditer(text)
    )


def _names(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether some words name the thing: most of its words, or the letters that they begin with."""
    short = "".join(stem[0] for stem in wanted).upper()
    named = set(stems(" ".join(words)))
    return len(named.intersection(wanted)) >= NAMED * len(wanted) or (len(short) > 2 and short in words)


def _chosen(near: Sequence[float], vectors: Vectors, among: Sequence[int], most: int, least: float) -> list[int]:
    if not among:
        return []
    return [among[n] for n in mmr([near[n] for n in among], vectors[list(among)], most, floor=least)]
