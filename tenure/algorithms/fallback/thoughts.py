"""Thoughts and hops: where a line of thought can go from here, found in the words of sources.

A thought that speaks for or against something is known by the words of use and harm in it. A thought leads on to
another where the two share words beyond the question's, and a hop leads on by a name that the question lacks.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.arguments import Statement, floor, nearness, statements, subject
from tenure.algorithms.retrieval.bridge_entities import bridges
from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.entities import key, written
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import fingerprint, stems
from tenure.contracts.evidence.reasoning import Leaning

SHARED: Final = 2
"""Stems beyond the question's by which a thought takes up another."""
ALIKE: Final = 0.85
"""Cosine from which one thought only says another one again."""
ANSWERED: Final = 0.75
"""Share of the question's words that facts have to say before it counts as answered."""

_FOR = re.compile(
    r"\b(?:advantage\w*|benefit\w*|easier|simpler|faster|improve[sd]?|improvements?|clearer|safer|useful|helpful|better|"
    r"convenient|more\s+(?:readable|concise|efficient|reliable|flexible|robust|consistent|expressive|precise|secure)|"
    r"worthwhile)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:disadvantage\w*|drawback\w*|downside\w*|costly|expensive|harder|difficult\w*|confus(?:es?|ing|ion)|slower|"
    r"worse|risks?|risky|breaks?|incompatib\w+|problematic|objections?|ambiguous|ambiguity|overhead|fragile|error-prone|"
    r"unsafe|verbose|unreadable|burdens?|penalty|more\s+(?:complex|complicated|expensive|difficult))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|never|without|cannot|\w+n[’']t|less|fewer|hardly|little|neither|nor|unable|low|avoids?|reduces?|"
    r"eliminates?|if|whether)\b",
    re.IGNORECASE,
)


def leaning(text: str) -> Leaning:
    """Return whether a sentence plainly speaks for its subject or against it; what denies anything is left open."""
    for_it, against_it = bool(_FOR.search(text)), bool(_AGAINST.search(text))
    if for_it == against_it or _DENIED.search(text):
        return "point"
    return "for" if for_it else "against"


class Way(NamedTuple):
    """A thought that sources allow."""

    kind: Leaning
    passage: int
    """Position of the passage that says it, from 1."""
    text: str


def ways(
    question: str, path: Sequence[str], passages: Sequence[Passage], breadth: int, encode: Encoder
) -> tuple[Way, ...]:
    """Return where a line of thought can begin, or go on after its last thought.

    Args:
        question: what is thought about.
        path: the thoughts so far, the last one last.
        passages: what sources say.
        breadth: how many ways are wanted.
        encode: the sentence encoder.
    """
    said = {fingerprint(thought) for thought in path}
    pool = [one for one in statements(passages) if fingerprint(one.text) not in said]
    if path:
        taken = set(stems(path[-1])) - set(stems(question))
        pool = [one for one in pool if len(taken.intersection(stems(one.text))) >= SHARED]
    pool = [one for one in pool if leaning(one.text) != "point"]
    near, vectors = nearness(subject(question, passages), [one.text for one in pool], encode)
    chosen = mmr(near, vectors, 4 * breadth, floor=floor(near), too_close=ALIKE) if pool else []
    return tuple(Way(leaning(pool[n].text), *pool[n]) for n in _in_turn(pool, chosen)[:breadth])


def _in_turn(pool: Sequence[Statement], chosen: Sequence[int]) -> list[int]:
    """Return positions so that both sides have their say, one after the other."""
    sides = [[n for n in chosen if leaning(pool[n].text) == side] for side in ("for", "against")]
    return [n for n in chain.from_iterable(zip_longest(*sides)) if n is not None]


class Worth(NamedTuple):
    """What a thought is worth."""

    score: float
    why: str


def worth(question: str, thoughts: Sequence[str], encode: Encoder) -> list[Worth]:
    """Return what each thought is worth: how near it is to the question, nothing where an earlier one says it."""
    near, vectors = nearness(question, thoughts, encode)
    found: list[Worth] = []
    for n, cosine in enumerate(near):
        again = any(float(vectors[n] @ vectors[m]) >= ALIKE for m in range(n))
        score = 0.0 if again else round(min(1.0, max(0.0, cosine)), 3)
        found.append(
            Worth(score, "it says what another thought says" if again else "its words are far from the question")
        )
    return found


class Found(NamedTuple):
    """What passages say to a question, and where that leads."""

    fact: Statement | None = None
    link: str = ""
    query: str = ""
    complete: bool = True


def hop(question: str, facts: Sequence[str], link: str, passages: Sequence[Passage]) -> Found:
    """Return the statement that says most of what facts leave open of a question, and the name that leads on from it.

    Args:
        question: the whole question.
        facts: what is known already.
        link: the name by which the last fact led here; empty for the first hop.
        passages: what was found, best first.
    """
    asked = set(stems(question))
    known = {stem for fact in facts for stem in stems(fact)}
    said = {fingerprint(fact) for fact in facts}
    wanted = [set(stems(name)) for name in ([link] if link else written(question).values())]
    best, most = None, 0.0
    for one in statements(passages):
        held = set(stems(f"{passages[one.passage - 1].title} {one.text}"))
        new = len((asked - known) & held) / one.passage**0.25
        if new > most and fingerprint(one.text) not in said and (not wanted or any(name <= held for name in wanted)):
            best, most = one, new
    if best is None:
        return Found()
    left = asked - known - set(stems(f"{passages[best.passage - 1].title} {best.text}"))
    lead = _leads(question, best, passages[best.passage - 1], [*facts, link])
    if lead is None or len(left) <= (1 - ANSWERED) * len(asked):
        return Found(best)
    return Found(best, *lead, complete=False)


def _leads(question: str, fact: Statement, passage: Passage, made: Sequence[str]) -> tuple[str, str] | None:
    """Return the name in a fact that leads on, with what is to be asked about it."""
    names = written(fact.text)
    text = replace(passage, title="", text=fact.text)
    return next(((b.name, b.query) for b in bridges(question, [text], made) if key(b.name) in names), None)
