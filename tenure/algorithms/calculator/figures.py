"""Find questions that compare or combine two figures, and the figures in passages.

"How many times larger is the population of Tokyo than that of Osaka?" is a ratio of two figures, the answers of "What
is the population of Tokyo?" and "What is the population of Osaka?". A figure counts only in a sentence on its subject
that says what is measured; a year is no figure.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from tenure.algorithms.calculator.calculator import evaluate
from tenure.algorithms.calculator.quantities import CalculationError
from tenure.algorithms.calculator.units import find_unit
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import STOP_WORDS, split_sentences, stem_words

FigureOperation = Literal["ratio", "difference", "sum", "mean"]

MAX_QUESTION_CHARACTERS: Final = 1_000
"""Maximum characters of a question that patterns read."""
_MEASURES: Final[Mapping[str, tuple[str, str]]] = {
    "large": ("larger", "size area population inhabitants people large"),
    "big": ("bigger", "size area population inhabitants people big large"),
    "tall": ("taller", "height tall high tower"),
    "high": ("higher", "height elevation altitude high tall"),
    "long": ("longer", "length long"),
    "heavy": ("heavier", "weight mass heavy weighs"),
    "fast": ("faster", "speed fast velocity"),
    "deep": ("deeper", "depth deep"),
    "wide": ("wider", "width wide"),
    "expensive": ("expensive", "price cost costs expensive"),
    "populous": ("populous", "population inhabitants people residents"),
}
"""Adjectives of a measure, each with its comparative and with words for what is measured."""
_SYNONYMS: Final[Mapping[str, str]] = {
    "population": "population inhabitants people residents",
    "inhabitants": "population inhabitants people residents",
    "height": "height tall high elevation",
    "elevation": "elevation height high altitude",
    "length": "length long",
    "area": "area size covers square",
    "weight": "weight mass weighs",
    "mass": "mass weight weighs",
    "revenue": "revenue revenues sales turnover",
    "price": "price cost costs sold",
    "cost": "cost costs price",
    "depth": "depth deep",
    "width": "width wide",
    "speed": "speed fast velocity",
    "distance": "distance far",
    "capacity": "capacity seats holds",
    "budget": "budget cost",
    "number of employees": "employees staff employs",
}
"""Words for what is measured, by its name."""
_PLURALS: Final = frozenset(("inhabitants", "residents", "employees", "members", "people", "seats"))
"""Things that are counted and not measured."""
_PEOPLE: Final = frozenset(stem_words("population inhabitants people residents"))
"""Word stems for the number of people of a place, which is not compared with its area."""
_ADJECTIVE = "|".join(word for positive, (comparative, _) in _MEASURES.items() for word in (positive, comparative))
_SIDES = r"(?P<a>[^?,;]{2,120}?)\s+(?:than|as|compared\s+(?:to|with))\s+(?P<b>[^?,;]{2,120}?)"
_FORMS_OF_QUESTIONS: Final[tuple[tuple[FigureOperation, str], ...]] = (
    (
        "ratio",
        rf"how\s+many\s+times\s+(?:more\s+|as\s+)?(?P<adjective>{_ADJECTIVE})\s+(?:is|are|was|were)\s+{_SIDES}",
    ),
    (
        "ratio",
        r"how\s+many\s+times\s+(?:more|as\s+many|as\s+much)\s+(?P<measure>[a-z][a-z -]{2,40}?)\s+"
        r"(?:does|do|did|has|have|had)\s+(?P<a>[^?,;]{2,120}?)\s+(?:(?:have|had|has)\s+)?(?:than|as)\s+"
        r"(?P<b>[^?,;]{2,120}?)",
    ),
    ("difference", rf"how\s+much\s+(?:more\s+)?(?P<adjective>{_ADJECTIVE})\s+(?:is|are|was|were)\s+{_SIDES}"),
    (
        "difference",
        r"differences?\s+in\s+(?P<measure>[a-z][a-z -]{2,40}?)\s+(?:is\s+there\s+)?between\s+"
        r"(?P<a>[^?,;]{2,120}?)\s+and\s+(?P<b>[^?,;]{2,120}?)",
    ),
    ("difference", r"differences?\s+between\s+(?P<a>[^?,;]{2,120}?)\s+and\s+(?P<b>[^?,;]{2,120}?)"),
    ("ratio", r"ratio\s+(?:of|between)\s+(?P<a>[^?,;]{2,120}?)\s+(?:to|and)\s+(?P<b>[^?,;]{2,120}?)"),
    (
        "sum",
        r"(?:combined|total)\s+(?P<measure>[a-z][a-z -]{2,40}?)\s+of\s+(?P<a>[^?,;]{2,120}?)\s+and\s+"
        r"(?P<b>[^?,;]{2,120}?)",
    ),
    (
        "mean",
        r"(?:average|mean)\s+(?P<measure>[a-z][a-z -]{2,40}?)\s+of\s+(?P<a>[^?,;]{2,120}?)\s+and\s+"
        r"(?P<b>[^?,;]{2,120}?)",
    ),
)
"""Ends of questions, by operation."""
_PATTERNS: Final = tuple(
    (operation, re.compile(rf"\b{form}\s*[?.!]*\s*$", re.IGNORECASE)) for operation, form in _FORMS_OF_QUESTIONS
)
_MEASURE_OF = re.compile(r"^(?:the\s+)?(?P<measure>[a-z][a-z -]{2,40}?)\s+(?:of|in)\s+(?P<subject>.+)$")
_OWNED = re.compile(r"^(?P<subject>.+?)['’]s?\s+(?P<measure>[a-z][a-z -]{2,40})$")
_THAT_OF = re.compile(r"^(?:that|those|the one)\s+(?:of|in)\s+(?P<subject>.+)$", re.IGNORECASE)
_SCALES: Final[Mapping[str, int]] = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_FIGURE = re.compile(
    r"(?<![\w.,])(?P<currency>[$€£¥]\s?)?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d,]*\d)"
    rf"(?:[\s-](?P<scale>{'|'.join(_SCALES)})\b)?(?:[\s-]?(?P<unit>(?:square\s+)?[^\W\d_]+[²2]?|%))?"
)
_LONE_UNITS: Final = frozenset("mgth")
"""Units of one letter that texts use after a number."""
_YEARS: Final = range(1000, 2101)
_CALENDAR_UNITS: Final = frozenset(("day", "week", "year", "min", "h"))
_FORMS: Final[Mapping[FigureOperation, str]] = {
    "ratio": "({0}) / ({1})",
    "difference": "({0}) - ({1})",
    "sum": "({0}) + ({1})",
    "mean": "mean({0}, {1})",
}


class FigureSubject(NamedTuple):
    """One of the two things that a question measures."""

    name: str
    """Name of the thing."""
    question: str
    """Question for its figure."""
    words: frozenset[str]
    """Word stems for what is measured."""


class FigureQuestion(NamedTuple):
    """Question that compares or combines two figures."""

    operation: FigureOperation
    """FigureOperation on the figures."""
    subjects: tuple[FigureSubject, FigureSubject]
    """Measured things, in the order of the operation."""


class Figure(NamedTuple):
    """Figure in a passage."""

    text: str
    """The figure as the passage writes it."""
    expression: str
    """The figure for the calculator."""
    currency: str
    """Sign of its currency; empty if it has none."""
    is_population: bool
    """Whether it counts the people of a place."""
    passage: int
    """Number of the passage, from 1."""


def parse_figure_question(question: str) -> FigureQuestion | None:
    """Return the calculation with two figures that a question asks for; None if it asks for none."""
    text = " ".join(question.split())
    for operation, pattern in _PATTERNS if len(text) <= MAX_QUESTION_CHARACTERS else ():
        if (match := pattern.search(text)) and (subjects := _read_subjects(match)):
            return FigureQuestion(operation, subjects)
    return None


def _read_subjects(match: re.Match[str]) -> tuple[FigureSubject, FigureSubject] | None:
    groups = match.groupdict()
    adjective, measure = _find_positive(groups.get("adjective") or ""), (groups.get("measure") or "").lower()
    sides = [_split_measure(groups["a"]), _split_measure(groups["b"])]
    named = measure or sides[0][1]
    if not named and not adjective:
        return None
    first, second = (_build_subject(subject, own or named, adjective) for subject, own in sides)
    return (first, second) if first.name.casefold() != second.name.casefold() else None


def _find_positive(adjective: str) -> str:
    word = adjective.lower()
    return next((positive for positive, (comparative, _) in _MEASURES.items() if word in (positive, comparative)), "")


def _split_measure(side: str) -> tuple[str, str]:
    """Split "the population of Tokyo" into the subject and what is measured; the latter is empty if it is not named."""
    text = side.strip()
    if found := _THAT_OF.match(text):
        return found["subject"], ""
    found = _MEASURE_OF.match(text) or _OWNED.match(text)
    known = found and (found["measure"] in _SYNONYMS or found["measure"].startswith("number of "))
    return (found["subject"], found["measure"]) if found and known else (text, "")


def _build_subject(name: str, measure: str, adjective: str) -> FigureSubject:
    if measure:
        words = _SYNONYMS.get(measure, measure.removeprefix("number of "))
        counted = measure.removeprefix("number of ")
        is_count = measure != counted or measure in _PLURALS
        question = f"How many {counted} does {name} have?" if is_count else f"What is the {measure} of {name}?"
        return FigureSubject(name, question, frozenset(stem_words(words)))
    words = _MEASURES[adjective][1]
    return FigureSubject(name, f"How {adjective} is {name}?", frozenset(stem_words(words)))


def find_figure(subject: FigureSubject, passages: Sequence[Passage]) -> Figure | None:
    """Return the figure of a subject in the best sentence on it, or None if no sentence has one.

    A sentence that names the subject itself comes before one whose document title names it; of equal ones the first
    counts. In a sentence, the figure nearest to a word for what is measured is taken.
    """
    named = frozenset(stem_words(subject.name))
    best: tuple[int, Figure] | None = None
    for number, passage in enumerate(passages, 1):
        title = frozenset(stem_words(passage.title))
        for sentence in split_sentences(passage.text) if passage.kind == "prose" else ():
            stems = frozenset(stem_words(sentence.text))
            if not named or not named <= title | stems or not subject.words & stems:
                continue
            figure = _find_nearest_figure(sentence.text, subject.words, number)
            score = 2 if named <= title else 1 if named <= stems else 0
            if figure and (best is None or score > best[0]):
                best = (score, figure)
    return best[1] if best else None


def _find_nearest_figure(sentence: str, words: frozenset[str], passage: int) -> Figure | None:
    places = {
        match.start(): bool(_PEOPLE & set(stem_words(match.group())))
        for match in re.finditer(r"[^\W\d_]+", sentence)
        if words & set(stem_words(match.group()))
    }
    figures = [match for match in _FIGURE.finditer(sentence) if _is_figure(match)]
    pairs = [(_measure_distance(match, place), match, place) for match in figures for place in places]
    if not pairs:
        return None
    _, match, place = min(pairs, key=lambda pair: pair[0])
    return _build_figure(match, passage, is_population=places[place])


def _measure_distance(match: re.Match[str], place: int) -> int:
    return place - match.end() if place >= match.end() else match.start() - place


def _is_figure(match: re.Match[str]) -> bool:
    """Return whether a number is a figure: neither a year nor a duration."""
    number, unit = match["number"], _read_unit(match["unit"] or "")
    is_bare = not (match["scale"] or unit or match["currency"])
    return unit not in _CALENDAR_UNITS and not (is_bare and number.isdigit() and int(number) in _YEARS)


def _build_figure(match: re.Match[str], passage: int, *, is_population: bool) -> Figure:
    """Return a figure with its scale and unit."""
    value, scale, unit = match["number"].replace(",", ""), match["scale"] or "", _read_unit(match["unit"] or "")
    if scale:
        value = f"{value} * {_SCALES[scale.lower()]}"
    expression = f"{value} * 1 {unit}" if unit and scale else f"{value} {unit}".strip()
    end = match.end("unit") if unit else match.end("scale") if scale else match.end("number")
    text = " ".join(match.string[match.start() : end].split())
    return Figure(text, expression, (match["currency"] or "").strip(), is_population, passage)


def _read_unit(word: str) -> str:
    """Return the unit for the calculator; empty if the word after a number is none."""
    plain = word.lower()
    square = plain.startswith("square ") or plain.endswith(("²", "2"))
    name = re.sub(r"^square\s+", "", plain).rstrip("²2")
    if word == "%":
        return "%"
    if name in STOP_WORDS or (len(name) == 1 and name not in _LONE_UNITS):
        return ""
    found = find_unit(name)
    return f"{found.symbol}^2" if found and square else found.symbol if found else ""


def build_expression(operation: FigureOperation, first: Figure, second: Figure) -> str:
    """Return the expression of an operation on two figures; empty if they are not of one kind."""
    expression = _FORMS[operation].format(first.expression, second.expression)
    try:
        evaluate(expression)
        evaluate(f"({first.expression}) + ({second.expression})")
    except CalculationError:
        return ""
    same_kind = (first.currency, first.is_population) == (second.currency, second.is_population)
    return expression if same_kind else ""
