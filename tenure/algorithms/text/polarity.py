"""Compare the polarity of two statements: direction words (increase, decrease), negation and antonyms.

The comparison uses English word lists only. A direction word modifies the nearest content word, and a preceding
negation reverses it. Irony and conclusions from figures are not detected.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS, split_words, stem_words

Agreement = Literal["agrees", "conflicts", "silent"]
"""Relation of a text's direction to that of a claim."""

_UP = (
    r"increas\w*|ris(?:e|es|ing|en)|rose|rais(?:e|es|ed|ing)|grow(?:s|th|ing|n)?|grew|higher|more|greater|larger|"
    r"longer|better|enhanc\w*|elevat\w*|up-?regulat\w*|promot\w*|activat\w*|stimulat\w*|induc\w*|improv\w*|"
    r"strengthen\w*|expan(?:d|ds|ded|ding|sion)|amplif\w*|augment\w*|accelerat\w*|positive\w*|encourag\w*|"
    r"facilitat\w*|boost\w*|benefi\w*|effective\w*|overexpress\w*|gain\w*|abundan\w*|rescue[sd]?|favou?r\w*|enrich\w*|"
    r"potentiat\w*|trigger\w*|hyper\w+|accumulat\w*|sufficien\w*|restor\w*|sensitiv\w*|sensiti[sz]\w*|stabili\w*|"
    r"support(?:s|ed)?|success\w*|win|wins|won|accept\w*|allow\w*|agree\w*|approv\w*|faster|stronger|older|excess\w*|"
    r"high|many|major\w*|overestimat\w*|maintain\w*"
)
_DOWN = (
    r"decreas\w*|reduc\w*|lower\w*|less|fewer|smaller|shorter|worse|worsen\w*|fall(?:s|ing|en)?|fell|declin\w*|"
    r"drop(?:s|ped)?|diminish\w*|suppress\w*|down-?regulat\w*|inhibit\w*|block\w*|impair\w*|attenuat\w*|abrogat\w*|"
    r"abolish\w*|weaken\w*|shr[iau]nk\w*|slow\w*|negativ\w*|deplet\w*|prevent\w*|protect\w*|loss|lost|lose[s]?|losing|"
    r"deficien\w*|lack\w*|absen\w*|delet\w*|knock\w*|silenc\w*|discourag\w*|hinder\w*|harm\w*|ineffectiv\w*|dampen\w*|"
    r"blunt\w*|inactivat\w*|scarce|rare\w*|limit\w*|restrict\w*|hypo\w+|insufficien\w*|resist\w*|destabili\w*|"
    r"insensitiv\w*|antagoni\w*|interfer\w*|disrupt\w*|fail\w*|unsuccess\w*|defeat\w*|reject\w*|refus\w*|oppos\w*|"
    r"den(?:y|ies|ied)|ban(?:s|ned)?|younger|low|few|minor\w*|underestimat\w*|curb\w*|mitigat\w*|alleviat\w*|avoid\w*|"
    r"remov\w*|elimin\w*|kill\w*|degrad\w*|inaccura\w*"
)
_NEGATION = (
    r"no|not|never|none|nor|neither|without|cannot|\w+n[’']t|unable|hardly|nothing|nobody|rather|unlikely|"
    r"independent(?:ly)?|unrelated|unaffected|unchanged|irrelevant"
)
_IS_UP, _IS_DOWN, _IS_NEGATION = (re.compile(rf"(?:{one})", re.IGNORECASE) for one in (_UP, _DOWN, _NEGATION))
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_CLAUSE = re.compile(r"[,;:]\s+|(?<!\s)\s++(?:whereas|but|while|although|however|and|which|who|that)\s+")

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

MAX_ANCHOR_DISTANCE = 6
"""Maximum words between a content word and its direction word."""
MAX_NEGATION_DISTANCE = 4
"""Maximum words between a negation and the direction word after it."""


def compare_directions(claim: str, texts: Sequence[str]) -> Agreement:
    """Compare the direction of change in a claim and in texts.

    For each direction word of the claim, the nearest direction word next to the same content word is looked up in the
    texts.
    """
    tokens, nearest = _WORD.findall(claim), _find_nearest_directions(texts)
    agreements = [
        found
        for position, sign in _find_directions(tokens)
        if (found := _compare_direction(sign, _find_anchors(tokens, position), nearest))
    ]
    if not agreements:
        return "silent"
    if all(agreement == "conflicts" for agreement in agreements):
        return "conflicts"
    return "agrees" if all(agreement == "agrees" for agreement in agreements) else "silent"


def compare_antonyms(claim: str, text: str) -> Agreement:
    """Return whether a text uses antonyms of a claim's words and not the words themselves."""
    agreements = [
        _compare_sides(word, _find_sides(text)) for word in set(split_words(claim)) if word in _build_antonym_table()
    ]
    if "agrees" in agreements:
        return "agrees"
    return "conflicts" if "conflicts" in agreements else "silent"


def find_antonym_pair(a: str, b: str) -> tuple[str, str] | None:
    """Return the antonyms by which two texts differ, one word of each; None unless there is exactly one pair."""
    only_a, only_b = set(split_words(a)), set(split_words(b))
    pairs = [
        (x, y)
        for x in sorted(only_a - only_b)
        for y in sorted(only_b - only_a)
        if _are_antonyms(x, y) or y in (f"un{x}", f"in{x}") or x in (f"un{y}", f"in{y}")
    ]
    return pairs[0] if len(pairs) == 1 else None


def count_negations(text: str) -> int:
    """Count the negation words of a text."""
    return sum(_is_negation(word) for word in _WORD.findall(text))


def _are_antonyms(a: str, b: str) -> bool:
    """Return whether two words are on opposite sides of a row of antonyms."""
    return any((row, 1 - side) in _build_antonym_table().get(b, ()) for row, side in _build_antonym_table().get(a, ()))


def is_polarity_reversed(claim: str, texts: Iterable[str]) -> bool:
    """Return whether a claim and the nearest clause of the texts differ in polarity.

    The polarity of a clause is the parity of its negations and words of decrease.
    """
    clauses = [clause for text in texts for clause in _CLAUSE.split(text) if clause]
    tokens = _WORD.findall(claim)
    if not clauses or not any(_get_direction(word) or _is_negation(word) for word in tokens):
        return False
    claim_stems = set(stem_words(claim))
    nearest = max(clauses, key=lambda clause: len(claim_stems.intersection(stem_words(clause))))
    return _has_odd_polarity(tokens) != _has_odd_polarity(_WORD.findall(nearest))


def _has_odd_polarity(words: Sequence[str]) -> bool:
    return sum(_get_direction(word) < 0 or _is_negation(word) for word in words) % 2 == 1


@lru_cache(maxsize=20_000)
def _get_direction(word: str) -> int:
    return -1 if _IS_DOWN.fullmatch(word) else 1 if _IS_UP.fullmatch(word) else 0


@lru_cache(maxsize=20_000)
def _is_negation(word: str) -> bool:
    return bool(_IS_NEGATION.fullmatch(word))


def _find_directions(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the position and sign of each direction word, reversed by a preceding negation."""
    for position, word in enumerate(tokens):
        if sign := _get_direction(word):
            is_negated = any(
                _is_negation(preceding) for preceding in tokens[max(0, position - MAX_NEGATION_DISTANCE) : position]
            )
            yield position, -sign if is_negated else sign


class _NearbyDirection(NamedTuple):
    """Direction word near a content word; the smallest of several is the nearest, then the first."""

    distance: int
    text: int
    position: int
    """Position of the content word."""
    sign: int


def _find_nearest_directions(texts: Sequence[str]) -> dict[str, _NearbyDirection]:
    """Return the nearest direction word by the stem of each content word."""
    nearest: dict[str, _NearbyDirection] = {}
    for n, text in enumerate(texts):
        stems = _stem_each_word(text)
        for place, sign in _find_directions(_WORD.findall(text)):
            start = max(0, place - MAX_ANCHOR_DISTANCE)
            for position, stem in enumerate(stems[start : place + MAX_ANCHOR_DISTANCE + 1], start):
                found = _NearbyDirection(abs(position - place), n, position, sign)
                nearest[stem] = min(found, nearest.get(stem, found))
    return nearest


def _compare_direction(sign: int, anchors: Sequence[str], nearest: Mapping[str, _NearbyDirection]) -> Agreement | None:
    """Compare a direction with the nearest one next to the same content word, preferably the first; None for none."""
    matches = [
        found._replace(distance=found.distance + (stem != anchors[0]))
        for stem in anchors
        if (found := nearest.get(stem))
    ]
    if not matches:
        return None
    return "agrees" if min(matches).sign == sign else "conflicts"


def _find_anchors(tokens: Sequence[str], position: int) -> list[str]:
    """Return the stems of the two content words after a direction word and of the one before it."""
    after = [word for word in tokens[position + 1 : position + MAX_ANCHOR_DISTANCE] if _is_content_word(word)]
    before = [
        word for word in reversed(tokens[max(0, position - MAX_NEGATION_DISTANCE) : position]) if _is_content_word(word)
    ]
    return [stem for word in (*after[:2], *before[:1]) for stem in stem_words(word)]


def _is_content_word(word: str) -> bool:
    return word.lower() not in STOP_WORDS and not _get_direction(word)


@lru_cache(maxsize=4096)
def _stem_each_word(text: str) -> tuple[str, ...]:
    """Return one stem per word; empty for stop words."""
    return tuple(next(iter(stem_words(word)), "") for word in _WORD.findall(text))


@lru_cache(maxsize=1)
def _build_antonym_table() -> Mapping[str, frozenset[tuple[int, int]]]:
    """Return the rows and sides of each word in the antonym list."""
    table: dict[str, set[tuple[int, int]]] = {}
    for row, line in enumerate(_ANTONYMS.strip().splitlines()):
        for side, listed in enumerate(line.split("|")):
            for word in listed.split():
                table.setdefault(word, set()).add((row, side))
    return {word: frozenset(sides) for word, sides in table.items()}


@lru_cache(maxsize=4096)
def _find_sides(text: str) -> frozenset[tuple[int, int]]:
    return frozenset(side for word in set(split_words(text)) for side in _build_antonym_table().get(word, ()))


def _compare_sides(word: str, text_sides: frozenset[tuple[int, int]]) -> Agreement:
    own = _build_antonym_table()[word]
    if own & text_sides:
        return "agrees"
    return "conflicts" if {(row, 1 - side) for row, side in own} & text_sides else "silent"
