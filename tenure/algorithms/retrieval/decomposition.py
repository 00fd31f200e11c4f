"""The questions inside a question, and which of them need the answers of others (document 003, 2.3.1).

This is what can be seen without a model: a comparison has two sides and a difference, joined questions
come apart at their joints, and one that points to the answer of an earlier one waits for it.
"""

from itertools import product
from typing import Final, NamedTuple

from tenure.algorithms.text.coreference import depends
from tenure.algorithms.text.questions import compared, criteria, leans, parts, pieces, shorten

MOST: Final = 6
"""Sub-questions at the most."""
LONGEST: Final = 1000
"""Characters of one."""


class Part(NamedTuple):
    """A question inside a question."""

    question: str
    """The question."""
    needs: tuple[int, ...] = ()
    """Numbers, from 1, of the parts whose answers it needs."""


def decompose(question: str) -> tuple[Part, ...]:
    """Return the parts of a question in the order in which they are best answered."""
    pair = compared(question)
    found = _comparison(*pair, criteria(question)[:2]) if pair else _chain(question)
    return tuple(part._replace(question=shorten(part.question, LONGEST)) for part in found[:MOST])


def _comparison(a: str, b: str, by: tuple[str, ...]) -> tuple[Part, ...]:
    if not by:
        return (Part(f"What is {a}?"), Part(f"What is {b}?"), Part(f"How do {a} and {b} differ?", (1, 2)))
    sides = tuple(Part(f"What is the {criterion} of {side}?") for side, criterion in product((a, b), by))
    return (
        *sides,
        *(Part(f"How do {a} and {b} compare in {c}?", (n, n + len(by))) for n, c in enumerate(by, 1)),
    )


def _chain(question: str) -> tuple[Part, ...]:
    """Cut a question at its joints, if each later part stands alone or points to an answer before it."""
    cut = tuple(dict.fromkeys(pieces(question)))
    needs = [_needed(cut, place) for place in range(len(cut))]
    if not any(needs) or any(leans(piece) and not needed for piece, needed in zip(cut[1:], needs[1:], strict=True)):
        return tuple(Part(part) for part in parts(question))
    return tuple(Part(piece, needed) for piece, needed in zip(cut, needs, strict=True))


def _needed(cut: tuple[str, ...], place: int) -> tuple[int, ...]:
    """Return the number of the nearest earlier piece whose answer this one points to, if there is one."""
    earlier = (number for number in range(place, 0, -1) if depends(cut[place], cut[number - 1]))
    return tuple(earlier)[:1]
