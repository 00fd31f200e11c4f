"""Direction and denial: whether two statements say that a thing goes up or down, is so or is not.

English words alone decide. A word of direction belongs to the content word it stands nearest to, and a denial
before it turns it round. What words do not show, such as irony or a conclusion drawn from figures, stays unseen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS, stems, words

Agreement = Literal["agrees", "conflicts", "silent"]
"""How what a text says of a direction relates to what a claim says of it."""

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
_DENIAL = (
    r"no|not|never|none|nor|neither|without|cannot|\w+n[’']t|unable|hardly|nothing|nobody|rather|unlikely|"
    r"independent(?:ly)?|unrelated|unaffected|unchanged|irrelevant"
)
_DENYING = re.compile(
    r"\b(?:no|not|never|none|nor|neither|without|cannot|\w+n[’']t|lacks?|lacking|absence|absent|fail(?:s|ed|ure)?|"
    r"unable|hardly|rarely|unlikely|nothing|nobody|den(?:y|ies|ied)|rather than|instead of|refus(?:e|es|ed)|unrelated|"
    r"independent(?:ly)?|prevent(?:s|ed)?)\b",
    re.IGNORECASE,
)
_IS_UP, _IS_DOWN, _IS_DENIAL = (re.compile(rf"(?:{one})", re.IGNORECASE) for one in (_UP, _DOWN, _DENIAL))
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_CLAUSE = re.compile(r"[,;:]\s+|\s+(?:whereas|but|while|although|however|and|which|who|that)\s+")

_OPPOSITES = """
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

NEAR, BEFORE = 6, 4
"""Words around an anchor in which its direction is looked for, and words before a direction that may deny it."""


class Turn(NamedTuple):
    """Denials of a claim and of the text nearest to it."""

    claim: bool
    """Whether the claim denies."""
    text: bool
    """Whether the text denies."""


def turns(claim: str, text: str) -> Turn:
    """Return who of the two denies something."""
    return Turn(bool(_DENYING.search(claim)), bool(_DENYING.search(text)))


def directed(claim: str, texts: Sequence[str]) -> Agreement:
    """Return whether texts move what a claim moves into the same direction.

    Each word of direction in the claim is looked up in the texts beside one of the content words it stands by.
    """
    said = [found for position, sign in _directions(claim) if (found := _beside(claim, position, sign, texts))]
    if not said:
        return "silent"
    if all(one == "conflicts" for one in said):
        return "conflicts"
    return "agrees" if all(one == "agrees" for one in said) else "silent"


def opposites(claim: str, text: str) -> Agreement:
    """Return whether a text uses the opposites of words of a claim and not those words themselves."""
    said = [_side(word, _sides(text)) for word in set(words(claim)) if word in _table()]
    if "agrees" in said:
        return "agrees"
    return "conflicts" if "conflicts" in said else "silent"


def opposed(a: str, b: str) -> tuple[str, str] | None:
    """Return a word of each text that is the other's opposite, where the texts differ in nothing else of the kind."""
    mine, theirs = set(words(a)), set(words(b))
    found = [
        (one, other)
        for one in sorted(mine - theirs)
        for other in sorted(theirs - mine)
        if _against(one, other) or other in (f"un{one}", f"in{one}") or one in (f"un{other}", f"in{other}")
    ]
    return found[0] if len(found) == 1 else None


def denials(text: str) -> int:
    """Return how many words of a text deny something."""
    return sum(_denies(word) for word in _WORD.findall(text))


def _against(a: str, b: str) -> bool:
    """Tell whether two words stand on opposite sides of one row of opposites."""
    return any((row, 1 - side) in _table().get(b, ()) for row, side in _table().get(a, ()))


def turned(claim: str, texts: Iterable[str]) -> bool:
    """Tell whether the clause nearest to a claim has another number of turns, even against odd."""
    clauses = [clause for text in texts for clause in _CLAUSE.split(text) if clause]
    tokens = _WORD.findall(claim)
    if not clauses or not any(_sign(word) or _denies(word) for word in tokens):
        return False
    wanted = set(stems(claim))
    nearest = max(clauses, key=lambda clause: len(wanted.intersection(stems(clause))))
    return _odd(tokens) != _odd(_WORD.findall(nearest))


def _odd(tokens: Sequence[str]) -> bool:
    return sum(_sign(word) < 0 or _denies(word) for word in tokens) % 2 == 1


@lru_cache(maxsize=20_000)
def _sign(word: str) -> int:
    return -1 if _IS_DOWN.fullmatch(word) else 1 if _IS_UP.fullmatch(word) else 0


@lru_cache(maxsize=20_000)
def _denies(word: str) -> bool:
    return bool(_IS_DENIAL.fullmatch(word))


def _directions(text: str) -> Iterator[tuple[int, int]]:
    """Yield the place and sign of every word of direction, a denial before it taken into account."""
    tokens = _WORD.findall(text)
    for position, word in enumerate(tokens):
        if sign := _sign(word):
            denied = any(_denies(before) for before in tokens[max(0, position - BEFORE) : position])
            yield position, -sign if denied else sign


def _beside(claim: str, position: int, sign: int, texts: Sequence[str]) -> Agreement | None:
    """Return what the nearest direction beside the same content word says; None where there is none."""
    anchors = _anchors(_WORD.findall(claim), position)
    found = [
        (abs(place - other) + (0 if stem == anchors[0] else 1), n, place, theirs)
        for n, text in enumerate(texts)
        for place, stem in enumerate(_stemmed(text))
        if stem in anchors
        for other, theirs in _directions(text)
        if abs(place - other) <= NEAR
    ]
    if not found:
        return None
    return "agrees" if min(found)[-1] == sign else "conflicts"


def _anchors(tokens: Sequence[str], position: int) -> list[str]:
    """Return the stems of the two content words after a direction and of the one before it."""
    after = [word for word in tokens[position + 1 : position + NEAR] if _content(word)]
    before = [word for word in reversed(tokens[max(0, position - BEFORE) : position]) if _content(word)]
    return [stem for word in (*after[:2], *before[:1]) for stem in stems(word)]


def _content(word: str) -> bool:
    return word.lower() not in STOP_WORDS and not _sign(word)


@lru_cache(maxsize=4096)
def _stemmed(text: str) -> tuple[str, ...]:
    """Return one stem for each word, empty for words without content."""
    return tuple(next(iter(stems(word)), "") for word in _WORD.findall(text))


@lru_cache(maxsize=1)
def _table() -> Mapping[str, frozenset[tuple[int, int]]]:
    """Return the rows and sides on which each word stands."""
    table: dict[str, set[tuple[int, int]]] = {}
    for row, line in enumerate(_OPPOSITES.strip().splitlines()):
        for side, listed in enumerate(line.split("|")):
            for word in listed.split():
                table.setdefault(word, set()).add((row, side))
    return {word: frozenset(sides) for word, sides in table.items()}


@lru_cache(maxsize=4096)
def _sides(text: str) -> frozenset[tuple[int, int]]:
    return frozenset(side for word in set(words(text)) for side in _table().get(word, ()))


def _side(word: str, said: frozenset[tuple[int, int]]) -> Agreement:
    own = _table()[word]
    if own & said:
        return "agrees"
    return "conflicts" if {(row, 1 - side) for row, side in own} & said else "silent"
