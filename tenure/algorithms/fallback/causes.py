"""Causes and effects: which sentences say that one thing brings another about, and how such sentences chain.

Words alone decide ("because", "leads to", "so that"). Two sentences belong to a chain where the effect of one and the
cause of the next share most of their content words.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tenure.algorithms.fallback.inferences import inferred
from tenure.algorithms.reasoning.arguments import (
    NOTHING,
    Argument,
    Statement,
    Step,
    floor,
    nearness,
    shared_words,
    statements,
    subject,
    weakest,
)
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import stems

LONGEST: Final = 4
"""Links of a chain at the most."""
CONSIDERED: Final = 40
"""Sentences that are chained at the most, the nearest to the question first."""
LINKED: Final = 0.25
"""Cosine to the question that a link of a chain needs; one of them has to be as near as any other step."""
SHARED: Final = 2
"""Stems in a row that the effect of one sentence and the cause of the next have in common, and stems that a cause
which stands alone shares with the question."""
WHOLE: Final = 0.75
"""Share of the stems of the shorter of both that they have in common: a subject alone connects no two sentences."""

_BACKWARD = re.compile(
    r",?\s+(?:(?:mainly|largely|partly|simply|precisely|only|just)\s+)?(?:because(?:\s+of)?|due\s+to|owing\s+to|"
    r"(?:is|are|was|were)\s+caused\s+by|as\s+a\s+(?:result|consequence)\s+of|results?\s+from|stems?\s+from)\s+",
    re.IGNORECASE,
)
_SINCE = re.compile(r",\s+(?:since|given\s+that)\s+(?!version\b|release\b|then\b|python\s+\d)", re.IGNORECASE)
_FORWARD = re.compile(
    r"(?:,?\s+(?:which|that|and|thus|thereby))?\s+(?:(?:can|could|may|might|will|would|often|also|usually)\s+)*"
    r"(?<!\bthe\s)(?<!\ba\s)(?<!\bno\s)(?<!\bany\s)(?<!\bits\s)(?:causes?|caused|causing|leads?\s+to|leading\s+to|led\s+to|results?\s+in|resulted\s+in|resulting\s+in|"
    r"gives?\s+rise\s+to|brings?\s+about|is\s+the\s+reason\s+(?:why|that|for)|are\s+the\s+reasons?\s+(?:why|that|for))\s+"
    r"|[,;]\s+(?:so(?:\s+that)?(?!\s+(?:as|called|far)\b)|therefore|thus|hence|consequently|which\s+means(?:\s+that)?|meaning(?:\s+that)?),?\s+"
    r"|\s+so\s+that\s+",
    re.IGNORECASE,
)
_FRONTED = re.compile(
    r"^(?:because(?:\s+of)?|due\s+to|owing\s+to|as\s+a\s+(?:result|consequence)\s+of|since|given\s+that)\s+"
    r"(?P<cause>[^,]+(?:,\s+(?:and|or|which)\s[^,]+)?),\s+(?P<effect>.+)$",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\breasons?\s+(?:for|that|why|to)\s+(?P<effect>.+?)\s+(?:is|are|was|were)\s+(?:that\s+|because\s+)?(?P<cause>.+)$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"^(?:python\s+)?\d", re.IGNORECASE)
_EMPTY = re.compile(
    r"^(?:(?:and|but|so|that|then)\s+)*(?:this|that|it|they|these|those|he|she|we|you|there|here|what|which)\b",
    re.IGNORECASE,
)
_LEAST_STEMS = 2


class Cause(NamedTuple):
    """What a sentence says of cause and effect."""

    statement: Statement
    """The sentence."""
    cause: str
    """What brings something about."""
    effect: str
    """What is brought about."""


def causes(said: Sequence[Statement]) -> list[Cause]:
    """Return the statements that name a cause and its effect."""
    found = ((statement, _parts(statement.text.rstrip(" ."))) for statement in said)
    return [Cause(statement, *parts) for statement, parts in found if parts]


def _parts(text: str) -> tuple[str, str] | None:
    """Return cause and effect as a sentence names them; None where it names none, or only points to one."""
    parts = _cut(text)
    return parts if parts and all(_says(part) for part in parts) else None


def _cut(text: str) -> tuple[str, str] | None:
    for pattern in (_FRONTED, _REASON):
        if (found := pattern.search(text)) and not _YEAR.match(found["cause"]):
            return found["cause"], found["effect"]
    for pattern, turned in ((_BACKWARD, True), (_SINCE, True), (_FORWARD, False)):
        if (found := pattern.search(text)) and not _YEAR.match(text[found.end() :]):
            left, right = text[: found.start()].strip(" ,;"), text[found.end() :].strip(" ,;")
            return (right, left) if turned else (left, right)
    return None


def _says(part: str) -> bool:
    return len(set(stems(part))) >= _LEAST_STEMS and not _EMPTY.match(part)


def explained(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the chain of causes that is nearest to a question, else what sources conclude on it.

    Where they conclude nothing, causes that they give stand side by side.
    """
    asked, found = subject(question, passages), causes(statements(passages))
    near, _ = nearness(asked, [cause.statement.text for cause in found], encode)
    ranked = sorted((n for n, cosine in enumerate(near) if cosine >= LINKED), key=lambda n: -near[n])[:CONSIDERED]
    links, cosines = [found[n] for n in ranked], [near[n] for n in ranked]
    path = _longest(links, cosines)
    least = floor(near)
    if len(path) > 1 and any(cosines[n] >= least for n in path):
        return _chained(links, cosines, path)
    drawn = inferred(question, passages, encode)
    if drawn.steps:
        return drawn
    about = [n for n, cosine in enumerate(cosines) if cosine >= least]
    return _beside(asked, links, cosines, about)


def _longest(links: Sequence[Cause], near: Sequence[float]) -> tuple[int, ...]:
    """Return the chain whose links are nearest to the question together; of those that end alike, the best goes on."""
    following = {
        n: [m for m, other in enumerate(links) if m != n and connection(one, other)] for n, one in enumerate(links)
    }

    def worth(path: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return sum(near[n] for n in path), path

    paths: list[tuple[int, ...]] = [(n,) for n in range(len(links))]
    best: tuple[int, ...] = ()
    for _ in range(LONGEST):
        best = max([best, *paths], key=worth)
        longer = sorted(((*path, m) for path in paths for m in following[path[-1]] if m not in path), key=worth)
        paths = list({path[-1]: path for path in longer}.values())
    return best


def connection(one: Cause, other: Cause) -> str:
    """Return the words of a cause that the effect of another sentence ends in; empty where they are too few."""
    shared = shared_words(other.cause, set(stems(one.effect)))
    said = set(stems(shared))
    whole = len(said) >= max(SHARED, WHOLE * min(len(set(stems(part))) for part in (one.effect, other.cause)))
    return shared if whole and _together(shared, one.effect) else ""


def _together(words: str, text: str) -> bool:
    """Tell whether the stems of some words follow each other in a text."""
    wanted, given = stems(words), stems(text)
    return any(given[n : n + len(wanted)] == wanted for n in range(len(given)))


def _chained(links: Sequence[Cause], near: Sequence[float], path: tuple[int, ...]) -> Argument:
    steps = [Step("cause", links[path[0]].statement.text, links[path[0]].statement.passage)]
    for place, (before, n) in enumerate(pairwise(path), 1):
        one = links[n].statement
        steps.append(Step("cause", one.text, one.passage, (place,), connection(links[before], links[n])))
    return Argument(tuple(steps[:-1]), steps[-1], confidence=weakest(near[n] for n in path))


def _beside(asked: str, links: Sequence[Cause], near: Sequence[float], among: Sequence[int]) -> Argument:
    """Return causes of what is asked that different statements give; one alone is no argument."""
    wanted = set(stems(asked))
    about = [n for n in among if len(wanted & set(stems(links[n].effect))) >= SHARED][:LONGEST]
    if len(about) < 2:
        return NOTHING
    steps = tuple(Step("cause", links[n].statement.text, links[n].statement.passage) for n in about)
    return Argument(steps, confidence=weakest(near[n] for n in about))
