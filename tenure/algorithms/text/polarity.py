"""Compare the polarity of two statements by negations and antonyms, with English word lists."""

import re
from functools import lru_cache
from typing import Final

from tenure.algorithms.text.sentences import split_words

# "not", "isn't", "unable", "unaffected".
_NEGATION = re.compile(
    r"(?:no|not|never|none|nor|neither|without|cannot|\w+n[’']t|unable|hardly|nothing|nobody|rather|unlikely|"
    r"independent(?:ly)?|unrelated|unaffected|unchanged|irrelevant)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")  # "read-only", "isn't", "v2.1".

_ANTONYMS = """
before prior earlier preceded precedes previously first | after following later subsequently followed last since
win wins won winning victory beat successful success | lose lost loss losing defeat unsuccessful failed fail failure
north northern | south southern
east eastern | west western
young younger youngest | old older oldest elder eldest
male man men boy father son brother husband he his him | female woman women girl mother daughter sister wife she her
best better good | worst worse bad poor
accept accepted approve approved agree agreed allow allowed | reject rejected refuse refused denied oppose banned ban
majority most | minority least few
beginning begin began start started starts open opened | end ended ending finish finished close closed stop stopped
inside within internal | outside external
safe | dangerous unsafe
married marry | divorced divorce single unmarried
alive born birth | dead died death killed
same similar equal identical alike | different unlike differ differs
susceptible sensitive | resistant insensitive
early | late
unique exclusive alone | shared several multiple
public | private
above over | below under
large big huge | small little tiny
full complete | empty incomplete partial
always | never
cause causes caused | prevent prevents prevented cure cures
present presence | absent absence
high higher increase increases increased rise rises | low lower decrease decreases decreased fall falls reduced
up | down
amateur | professional
mutable | immutable
optional | required mandatory
enabled enable enables | disabled disable disables
deprecated | recommended
valid legal | invalid illegal
possible | impossible
synchronous | asynchronous
"""


def find_antonym_pair(a: str, b: str) -> tuple[str, str] | None:
    """Return the antonyms by which two texts differ, one word of each; None unless there is exactly one pair."""
    only_a, only_b = set(split_words(a)), set(split_words(b))
    pairs = [
        (x, y)
        for x in sorted(only_a - only_b)
        for y in sorted(only_b - only_a)
        if any((row, 1 - side) in _SIDES.get(y, ()) for row, side in _SIDES.get(x, ()))
        or y in (f"un{x}", f"in{x}")
        or x in (f"un{y}", f"in{y}")
    ]
    return pairs[0] if len(pairs) == 1 else None


def count_negations(text: str) -> int:
    """Count the negation words of a text."""
    return sum(_is_negation(word) for word in _WORD.findall(text))


@lru_cache(maxsize=20_000)
def _is_negation(word: str) -> bool:
    return bool(_NEGATION.fullmatch(word))


def _index_antonyms(antonyms: str) -> dict[str, set[tuple[int, int]]]:
    """Return the rows of the antonym list and the sides of each word."""
    sides: dict[str, set[tuple[int, int]]] = {}
    for row, line in enumerate(antonyms.strip().splitlines()):
        for side, listed in enumerate(line.split("|")):
            for word in listed.split():
                sides.setdefault(word, set()).add((row, side))
    return sides


_SIDES: Final = _index_antonyms(_ANTONYMS)
