"""Detect that two statements say the same of the same thing under the same conditions, with different values.

All words but those without a meaning of their own are compared: subject, property, place, time, version and condition
have to be the same, whatever their grammatical form. They may differ in one point: a negation, one of two opposite
words of the predicate, or one quantity. A quantity is an interval in base units, so that a range, a bound, a rounded
value and another unit are compared like a plain value; intervals that overlap are no contradiction.
"""

import calendar
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final, Literal, NamedTuple

from tenure.algorithms.calculator.units import Dimension, find_unit
from tenure.algorithms.text.details import extract_numbers
from tenure.algorithms.text.grammar.vocabulary import AUXILIARY_WORDS, PREPOSITIONS, is_finite_verb
from tenure.algorithms.text.languages.detection import is_foreign
from tenure.algorithms.text.polarity import find_antonym_pair
from tenure.algorithms.text.sentences import STOP_WORDS, stem_word

Severity = Literal["low", "medium", "high"]

MAX_CHARACTERS: Final = 600
MAX_CLAUSES: Final = 6
MIN_CONTENT_WORDS: Final = 2
"""Minimum number of content words that both statements have in common; "It is 3" has too few."""
MAX_MINOR_DIFFERENCE: Final = 0.1
"""Maximum relative difference of two numbers with a minor disagreement."""
MIN_ROUND_VALUE, MAX_ROUNDING = 1000, 0.05
"""Value from which final zeros may be rounded, and maximum relative error of such a number: 12,000 for 12,034."""
MAX_EVENT_CHARACTERS: Final = 80
"""Maximum characters from the verb of an event to its year."""
APPROXIMATION: Final = 0.1
"""Relative error of a number after "about"."""

_OWN_DOCUMENT = re.compile(
    r"\b(?:this|the\s+present)\s+(?:document|pep|paper|article|report|proposal|chapter|section|page|guide|specification"
    r"|standard|study|book|note|release|version|example|case|function|method|class|module|text|question)\b"
    r"|\b(?:we|our|us|i|my|above|below|following|here)\b",
    re.IGNORECASE,
)
"""Words by which a statement is about its own document, author or context."""
_NAMED_NUMBER = re.compile(
    r"\b(?:[Vv]ersion|[Rr]elease|[Ee]dition|[Ss]tep|[Tt]able|[Cc]hapter|[Ss]ection|[Ff]igure|[Ll]evel|[Pp]ort|[A-Z][\w-]*)"
    r"[ \t]+v?\d+(?:\.\d+)*(?![\d,.]*\d)|\bv\d+(?:\.\d+)*\b|\b[A-Za-z]+-?\d+(?:\.\d+)*\b|\b\d+(?:\.\d+){2,}\b"
)
"""Number that belongs to a name: Python 3.8, step 3, A2, v2, 3.11.2."""
_YEAR = re.compile(
    r"\b(?:(?:in|since|during|until|before|after|the|spring|summer|autumn|winter)\s+(?:1\d|20)\d\d(?:['’]?s)?"
    r"|(?:of|by|from|to|late|early)\s+(?:1\d|20)\d\d(?=\W*(?:$|[,.;:)]|\b(?:the|a|an|and|was|were|is|it)\b))"
    r"|(?:in|since|until)\s+\d+\.\d+(?=\W*(?:$|[,;:)])))\b",
    re.IGNORECASE,
)
"""Year or version by its preposition: in 2019, by 2010 the, changes in 3.2; not "of 1500 people", "in 3.2 seconds"."""
_UNIQUE_EVENT = re.compile(r"\b(?:built|founded|born|died|constructed|invented|discovered)\b[^.,;\d]*$")
"""Words before the year of an event of which there is one: the year is a value and no condition."""
_MONTH = "|".join(name for name in calendar.month_name if name)
# "3 March 2019", "March 3, 2019", "March 2019".
_DATE = re.compile(rf"\b(?:\d{{1,2}}\.? (?:{_MONTH})|(?:{_MONTH}) \d{{1,2}})(?:,? \d{{4}})?\b|\b(?:{_MONTH}) \d{{4}}\b")
_PERIOD = re.compile(
    rf"{_DATE.pattern}|\b(?:(?:1[5-9]|20)\d\d|{_MONTH}|{'|'.join(calendar.day_name)})\b"
    r"|\b(?P<name>version|release|edition|[A-Z][a-z]+) v?(?!(?:1[5-9]|20)\d\d\b)\d+(?:\.\d+)*\b"
    r"|\bv\d+(?:\.\d+)*\b|(?<!^)\b\d+(?:\.\d+){2,}\b"
)
"""Time or version: 2019, March, Monday, version 2, Release 1.4, Year 4, v0.9, 3.11.2; not PEP 8."""
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")  # "9:30", "23:59", not "25:00" and not the ratio "1:100".
_NUMBER = r"\d[\d,]{0,17}(?:\.\d{1,12})?(?!\d|st\b|nd\b|rd\b|th\b)"
"""Number of at most 18 digits, no ordinal such as 19th."""
_QUANTITY = re.compile(
    rf"(?P<bound>\b(?:about|around|roughly|approximately|nearly|almost|some|circa|at least|at most|up to|no more than|"
    rf"no less than|more than|less than|fewer than|over|under|above|below|between|from)\s+|[~≈<>≤≥]\s*)?"
    rf"(?<![\w.])[$€£]?(?P<low>{_NUMBER})(?:\s*(?:to|and|or|[-–])\s*(?P<high>{_NUMBER}))?"
    r"(?:\s*(?P<scale>thousand|million|billion)\b)?(?P<unit>\s*(?:%|°?[^\W\d_]+))?",
    re.IGNORECASE,
)
"""Number with its bound, range, scale and unit: about 2 million, 5-10 mg, less than 5 hours."""
_UNIT = re.compile(r"\s*(%|°?[^\W\d_]+)")  # The unit after a number: " mg", "%", "°C".
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_APPROXIMATE = frozenset("about around roughly approximately nearly almost some circa ~ ≈".split())
_LOWER_BOUNDS = frozenset(("at least", "no less than", "more than", "over", "above", ">", "≥"))
_UPPER_BOUNDS = frozenset(("at most", "up to", "no more than", "less than", "fewer than", "under", "below", "<", "≤"))
_NUMBER_WORD = re.compile(r"\b[a-z]+\b", re.IGNORECASE)  # "twelve", before it is read as 12.
_CONDITION = re.compile(r"\b(?:at|with|under|above|below|after|before|every|per)\s+", re.IGNORECASE)
"""Words before a second quantity that is a condition of the first: 20 litres at 3 bar."""
_NEGATION = re.compile(r"\b(?:not|no|never)\b", re.IGNORECASE)
_HEDGES = frozenset("some may might could sometimes often usually many most several few certain partly should".split())
"""Words with which a statement and its negation can both be true."""
_EMPTY = frozenset(
    """a an the of by between and that there it its their is are be been being was were am has have had do does did also
    both exactly""".split()
)
"""Words that change neither subject nor condition of a statement."""
_PAST, _PRESENT = frozenset("was were had did".split()), frozenset("is are has have do does".split())
_SUBORDINATE = re.compile(
    r"\b(?:if|when|whenever|unless|until|once|(?<!, )while|where|because|although|though|after|before|since|except|"
    r"provided|that|which|who|whose|whether|than|as)\b",
    re.IGNORECASE,
)
"""Words that begin a subordinate clause or a comparison."""
# "It is 3 m long; it weighs 2 t", "A is red, and B is blue".
_JOINT = re.compile(r"(?:(?<!\s)\s++)?+;\s+|(?:,|(?<!\s))\s++(?:and|but|while|whereas)\s+", re.IGNORECASE)
# "It closes. The gate": several sentences that the splitter has not divided.
_SENTENCE_END = re.compile(r"[.!:]\s+[A-Z]")
_UNIT_END = re.compile(r"(?<=\d)(\s?[A-Za-zµ°²³/]{1,4})\.\s+(?=[A-Z])")
"""End of a sentence that its last word hides from the sentence splitter: "It is 13 m. The dam …"."""
# "It weighs 2 t" after a clause whose subject it repeats.
_PRONOUN = re.compile(r"^(?:it|they|he|she)\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")  # "read-only", "isn't", "v2.1".
_TOKEN = re.compile(rf"{_WORD.pattern}|[^\w\s.,;:'\"“”‘’()!?–-]+")
"""Word or symbol: the operators + and * are different things."""
_ARTICLES = frozenset(("the", "a", "an"))
_CONDITIONAL_OPPOSITES = frozenset(
    "before after since prior earlier later previously following subsequently followed preceded precedes first last he "
    "she his him her".split()
)
"""Opposite words of which both can be true: open before noon, and after noon."""
_PROPERTIES = {
    **{"long": "length", "high": "height", "tall": "height", "wide": "width", "deep": "depth", "old": "age"},
    **{"weigh": "weight", "weighs": "weight", "heavy": "weight", "cost": "price", "costs": "price"},
}
"""Adjectives and verbs by the noun of their property: 12 m high has a height of 12 m."""


class DetectedContradiction(NamedTuple):
    """Point of disagreement of two claims."""

    severity: Severity
    about: str


class _Quantity(NamedTuple):
    low: float
    high: float
    dimension: Dimension
    text: str
    is_condition: bool
    """Whether a word before it introduces a condition."""

    @property
    def typical(self) -> float:
        """Middle of the interval, or its only bound."""
        bounds = [bound for bound in (self.low, self.high) if math.isfinite(bound)]
        return sum(bounds) / len(bounds)


@dataclass(frozen=True)
class _Clause:
    text: str
    words: tuple[tuple[str, int], ...]
    """Words of the main clause, each with its number."""
    order: tuple[str, ...]
    """The same words in order."""
    subordinate: str
    """Normalized subordinate clauses."""
    negations: int
    is_negated_clearly: bool
    """Whether every negation is one of the main verb or its subject or object."""
    quantities: tuple[_Quantity, ...]
    tenses: frozenset[str]


def find_periods(text: str) -> frozenset[str]:
    """Return the years, months, weekdays and versions that a sentence or a heading names."""
    marks = (match for match in _PERIOD.finditer(text) if not _is_event(text, match))
    return frozenset(
        match.group().lower().removeprefix("v")
        for match in marks
        if (match["name"] or "").lower() not in STOP_WORDS | _APPROXIMATE
    )


def detect_contradiction(a: str, b: str) -> DetectedContradiction | None:
    """Return the point in which two statements contradict each other; None if both can be true.

    The rules are English: the years, bounds and negations of another language would be taken for plain words.
    """
    if max(len(a), len(b)) > MAX_CHARACTERS or _OWN_DOCUMENT.search(a) or _OWN_DOCUMENT.search(b):
        return None
    pairs = product(_read_clauses(a), _read_clauses(b))
    found = next((contradiction for pair in pairs if (contradiction := _compare(*pair))), None)
    return None if found and (is_foreign(a) or is_foreign(b)) else found


def _compare(a: _Clause, b: _Clause) -> DetectedContradiction | None:
    if a.subordinate != b.subordinate or (a.tenses | b.tenses) >= {"past", "present"}:
        return None
    is_negated = a.negations % 2 != b.negations % 2
    different = _find_different_quantities(a.quantities, b.quantities)
    if different is None or len(different) + is_negated > 1:
        return None
    if a.words != b.words:
        return None if different or is_negated else _compare_opposites(a, b)
    if sum(count for _, count in a.words) < MIN_CONTENT_WORDS or ("than" in a.order and a.order != b.order):
        return None
    if is_negated:
        is_clear = a.is_negated_clearly and b.is_negated_clearly and not _HEDGES.intersection(a.order)
        return DetectedContradiction("high", "one statement negates the other") if is_clear else None
    if not different:
        return None
    [(x, y)] = different
    is_close = math.isclose(x.typical, y.typical, rel_tol=MAX_MINOR_DIFFERENCE)
    return DetectedContradiction("low" if is_close and not _is_year(x) else "medium", f"{x.text} against {y.text}")


def _find_different_quantities(
    a: Sequence[_Quantity], b: Sequence[_Quantity]
) -> list[tuple[_Quantity, _Quantity]] | None:
    """Return the quantities in which two clauses differ; None if they are not about the same quantities."""
    if [q.dimension for q in a] != [q.dimension for q in b]:
        return None
    different = [(x, y) for x, y in zip(a, b, strict=True) if x.high <= y.low or y.high <= x.low]
    has_condition = len(a) > 1 and any(q.is_condition or _is_year(q) for pair in different for q in pair)
    return None if has_condition else different


def _is_year(quantity: _Quantity) -> bool:
    return not quantity.dimension and 1000 <= quantity.typical <= 2200 and quantity.typical.is_integer()


def _compare_opposites(a: _Clause, b: _Clause) -> DetectedContradiction | None:
    """Compare clauses that differ by one word of the predicate, which has an opposite."""
    pair = find_antonym_pair(a.text, b.text)
    if pair is None or _CONDITIONAL_OPPOSITES.intersection(pair):
        return None
    (word_a, word_b) = pair
    rest_a, rest_b = (Counter(dict(clause.words)) for clause in (a, b))
    rest_a.subtract([_normalize(word_a)])
    rest_b.subtract([_normalize(word_b)])
    if +rest_a != +rest_b or not +rest_a:
        return None
    if not (_is_predicate(a.text, word_a) and _is_predicate(b.text, word_b)):
        return None
    return DetectedContradiction("high", f"“{word_a}” against “{word_b}”")


def _is_predicate(text: str, word: str) -> bool:
    """Return whether a word is a verb or follows one, and is not in a prepositional phrase."""
    words = [match.group().lower() for match in _WORD.finditer(text)]
    before = words[: words.index(word)] if word in words else []
    if is_finite_verb(word) and before and before[-1] not in PREPOSITIONS | _ARTICLES:
        return True
    return any(map(_is_verb, before)) and not PREPOSITIONS.intersection(before[-2:])


@lru_cache(maxsize=1024)
def _read_clauses(text: str) -> tuple[_Clause, ...]:
    sentences = _UNIT_END.sub(r"\1\n", text.strip().rstrip(".")).split("\n")
    return tuple(_read_clause(clause) for sentence in sentences for clause in _split_clauses(sentence))


def _split_clauses(text: str) -> list[str]:
    """Return the coordinated clauses of a statement, each with its subject.

    A statement that begins with a circumstance ("In Lyon …"), has a subordinate clause or is several sentences is not
    divided, since a condition may apply to all its clauses. A clause before one with a time may share the time.
    """
    first = text.split(maxsplit=1)[0].lower() if text else ""
    is_whole = first in PREPOSITIONS or _SUBORDINATE.search(text) or _SENTENCE_END.search(text)
    verbs = [match.start() for match in _WORD.finditer(text) if _is_verb(match.group())]
    pieces: list[str] = []
    end = len(text)
    for joint in () if is_whole else list(_JOINT.finditer(text))[::-1]:
        if verbs and verbs[0] < joint.start() and verbs[-1] >= joint.end():
            pieces.insert(0, text[joint.end() : end])
            end = joint.start()
            while verbs[-1] >= end:
                verbs.pop()
    pieces.insert(0, text[:end])
    subject = ""
    for n, piece in enumerate(pieces):
        pronoun = _PRONOUN.match(piece) if n else None
        first = piece.split(maxsplit=1)[0] if piece else ""
        if n and (pronoun or _is_verb(first)):
            pieces[n] = f"{subject} {piece[pronoun.end() if pronoun else 0 :]}"
        else:
            verb = next((m for m in _WORD.finditer(piece) if m.start() and _is_verb(m.group())), None)
            subject = piece[: verb.start()].strip() if verb else piece
    dated = max((n for n, piece in enumerate(pieces) if _PERIOD.search(piece)), default=0)
    return pieces[dated:][:MAX_CLAUSES]


def _is_verb(word: str) -> bool:
    return word.lower() in AUXILIARY_WORDS or is_finite_verb(word)


def _read_clause(text: str) -> _Clause:
    plain = re.sub(r"\bcannot\b", "can not", re.sub(r"n[’']t\b", " not", text.replace("can't", "can not")))
    main, subordinate = _divide(plain)
    quantities, rest = _take_quantities(main)
    order = tuple(
        _normalize(word)
        for match in _TOKEN.finditer(_NEGATION.sub(" ", rest))
        if (word := match.group().lower()) not in _EMPTY
    )
    tokens = set(match.group().lower() for match in _WORD.finditer(main))
    tenses = {name for name, forms in (("past", _PAST), ("present", _PRESENT)) if tokens & forms}
    return _Clause(
        text=main,
        words=tuple(sorted(Counter(order).items())),
        order=order,
        subordinate=" ".join(subordinate.lower().split()),
        negations=len(_NEGATION.findall(main)),
        is_negated_clearly=_is_negated_clearly(main),
        quantities=quantities,
        tenses=frozenset(tenses) if len(tenses) == 1 else frozenset(),
    )


def _is_negated_clearly(text: str) -> bool:
    """Return whether all negations concern their clause: "is not", "has no", "Not all"; not "with no" or "the not"."""
    start = 0
    for match in _NEGATION.finditer(text):
        before = [word.lower() for word in _WORD.findall(text, start, match.start())[-1:]]
        negation, start = match.group().lower(), match.start()
        if negation == "no" and not PREPOSITIONS.isdisjoint(before):
            return False
        if negation == "not" and before and before[0] not in AUXILIARY_WORDS:
            return False
    return True


def _divide(text: str) -> tuple[str, str]:
    """Return the main clause and the subordinate clause of a statement."""
    match = _SUBORDINATE.search(text)
    if match is None or match.group().lower() in ("than", "as"):
        return text, ""
    if match.start():
        return text[: match.start()], text[match.start() :]
    first, comma, rest = text.partition(",")
    return (rest, first) if comma else (text, "")


def _normalize(word: str) -> str:
    lower = word.lower()
    return stem_word(_PROPERTIES.get(lower, lower))


def _take_quantities(text: str) -> tuple[tuple[_Quantity, ...], str]:
    """Return the quantities of a clause, and the clause without them; numbers of names and dates stay in it."""
    quantities: list[_Quantity] = []
    rest: list[str] = []
    position = 0
    for name in (*_find_names(text), None):
        end = name.start() if name else len(text)
        new, words = _read_quantities(text[position:end])
        quantities += new
        rest.append(words)
        if name:
            rest.append(re.sub(r"[\s.,]+", "_", name.group()))
            position = name.end()
    return tuple(quantities), " ".join(rest)


def _find_names(text: str) -> Iterator[re.Match[str]]:
    """Yield dates, years and numbers of names, in order and without overlap."""
    matches = [match for pattern in (_DATE, _YEAR, _NAMED_NUMBER) for match in pattern.finditer(text)]
    end = 0
    for match in sorted(matches, key=lambda match: (match.start(), -match.end())):
        if match.start() >= end and not _is_quantity(text, match):
            yield match
            end = match.end()


def _is_event(text: str, year: re.Match[str]) -> bool:
    """Return whether a year dates an event of which there is one."""
    return bool(_UNIQUE_EVENT.search(text, max(0, year.start() - MAX_EVENT_CHARACTERS), year.start()))


def _is_quantity(text: str, match: re.Match[str]) -> bool:
    """Return whether a number is no name: the year of an event, "Around 30", "Adults 5 mg"."""
    if match.re is _YEAR:
        return _is_event(text, match)
    first, _, number = match.group().partition(" ")
    following = _UNIT.match(text, match.end())
    has_unit = following is not None and following[1] not in STOP_WORDS and find_unit(following[1])
    is_number = first.lower() in STOP_WORDS | _APPROXIMATE or bool(has_unit)
    return bool(number) and match.re is _NAMED_NUMBER and is_number


def _read_quantities(text: str) -> tuple[list[_Quantity], str]:
    text = _CLOCK.sub(r"\1.\2", text)
    text = _NUMBER_WORD.sub(_write_digits, text)
    condition_ends = {match.end() for match in _CONDITION.finditer(text)}
    quantities: list[_Quantity] = []

    def take(match: re.Match[str]) -> str:
        quantity, unit = _read_quantity(match, is_condition=match.start() in condition_ends)
        quantities.append(quantity)
        return f" {unit} "

    return quantities, _QUANTITY.sub(take, text)


def _write_digits(match: re.Match[str]) -> str:
    """Return a cardinal number in digits; an ordinal or another word as it is."""
    word = match.group()
    is_ordinal = word.lower().endswith("th") or word.lower() == "third"
    value = None if is_ordinal else next(iter(extract_numbers(word)), None)
    return word if value is None else f"{value.value:g}"


def _read_quantity(match: re.Match[str], *, is_condition: bool) -> tuple[_Quantity, str]:
    """Return a quantity, and the word after it unless it is a unit."""
    name = (match["unit"] or "").strip()
    unit = None if name.lower() in STOP_WORDS else find_unit(name)
    factor = _SCALES.get((match["scale"] or "").lower(), 1.0) * (float(unit.factor) if unit else 1.0)
    offset = float(unit.offset) if unit else 0.0
    low, high = _read_interval(match["low"])[0], _read_interval(match["high"] or match["low"])[1]
    if match["high"] is None:
        low, high = _apply_bound((match["bound"] or "").strip().lower(), low, high)
    text = match.group().strip() if unit or not name else match.group()[: match.start("unit") - match.start()].strip()
    dimension = unit.dimension if unit else ()
    quantity = _Quantity(low * factor + offset, high * factor + offset, dimension, text, is_condition)
    return quantity, "" if unit else name


def _apply_bound(bound: str, low: float, high: float) -> tuple[float, float]:
    if bound in _APPROXIMATE:
        return low - APPROXIMATION * abs(low), high + APPROXIMATION * abs(high)
    if bound in _LOWER_BOUNDS:
        return (low + high) / 2, math.inf
    return (-math.inf, (low + high) / 2) if bound in _UPPER_BOUNDS else (low, high)


def _read_interval(digits: str) -> tuple[float, float]:
    """Return the values that are rounded to a number: 3.14 is from 3.135 to 3.145."""
    value = next(iter(extract_numbers(digits))).value
    decimals = len(digits.partition(".")[2])
    error = 0.5 * 10.0**-decimals
    integer = digits.replace(",", "")
    if value >= MIN_ROUND_VALUE and integer.endswith("00"):
        zeros = len(integer) - len(integer.rstrip("0"))
        error = min(0.5 * 10**zeros, MAX_ROUNDING * value)
    return value - error, value + error
