"""Find short answers to factoid questions: the date, number, person or place that a question asks for.

A short answer is given only for a direct question, and only if one sentence, with the title of its document, contains
nearly all of the question's words. Questions that describe what they ask about by another question ("the director of
the film that …") need more than one sentence, and have none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.sentences import stem_words

AnswerKind = Literal["date", "number", "person", "place"]

MIN_TERM_COVERAGE: Final = 0.8
"""Minimum share of the question's words in a sentence and its document title."""
COVERAGE_WEIGHT: Final = 0.5
"""Weight of the share of the question's words, relative to their proximity to the answer."""
TITLE_PROXIMITY: Final = 0.3
"""Proximity of a word of the question that only the title has."""
PROXIMITY_WORDS: Final = 4
"""Distance in words at which proximity is halved."""
_MAX_QUESTION_CHARACTERS = 2_000

# "When was it built?", "In which year …".
_WHEN = re.compile(r"\b(?:when|(?:which|what)\s+(?:year|date|day|month))\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:which|what)\s+year\b", re.IGNORECASE)  # "Which year …": only the year of a date answers it.
# "How many", "How tall", "What is the population".
_HOW_MUCH = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|large|big|fast|far|high|deep|tall)\b|"
    r"\bwhat\s+(?:is|was|are|were)\s+the\s+(?:number|share|percentage|size|cost|price|population)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(r"\bhow\s+many\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
# "Where is …", "In which city …".
_WHERE = re.compile(
    r"\bwhere\b|\b(?:which|what)\s+(?:city|town|village|place|country|state|county|province|region|continent)\b",
    re.IGNORECASE,
)
_KINDS: Final[Mapping[AnswerKind, re.Pattern[str]]] = {
    "date": _WHEN,
    "number": _HOW_MUCH,
    "person": _WHO,
    "place": _WHERE,
}
"""Words that ask for each kind of answer; the first kind that matches is used."""
# More than one of them: "Who wrote the film that won …".
_INTERROGATIVE = re.compile(r"\b(?:that|which|who|whom|whose|where|when)\b", re.IGNORECASE)
# "BC", "B.C.", "BCE", "CE", "A.D." after a year.
_ERA = r"\s?(?:BCE?|CE|AD|B\.\s?C\.(?:\s?E\.)?|C\.\s?E\.|A\.\s?D\.)(?![^\W_])"
# "44 BC", "AD 79"; "12-Mar-1998", "3rd of March 1998", "March 1998", "1998".
_DATE = re.compile(
    rf"\b(?:AD\s\d{{1,4}}\b|\d{{1,4}}(?:{_ERA}))|"
    r"\b\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-(?:1[0-9]|20)\d\d\b|"
    r"\b(?:(?:\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+)?(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)(?:\s+\d{1,2})?,?\s+)?(?:1[0-9]|20)\d\d\b"
)
_FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s*%|\s+[^\W\d_]+)?")  # "12,000", "3.5 %", "40 litres".
# "$12,000", "3.5 million", "twelve"; not "10:30", "/v2" or "3-fold".
_QUANTITY = re.compile(
    r"(?<![\w.,:/-])[$€£]?\d(?:[\d,]*\d)?(?:\.\d+)?(?![\w/-]|:\d)(?:\s*%|\s+(?:hundred|thousand|million|billion|trillion|percent)\b)?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:six|seven|eigh|nine)teen|twenty|thirty|forty|fifty)\b",
    re.IGNORECASE,
)
_ORDINARY_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")  # A number from 1500 to 2099 dates a quantity rather than being one.
_EXPLANATION = re.compile(r"\s*(?:how|why)\b", re.IGNORECASE)  # "How does it work", "Why".
# "Marie Curie", "Ludwig van Beethoven", "O’Neill".
_PERSON = re.compile(r"(?:[A-ZÀ-Ö][\w.’'-]*|\b(?:von|van|de|der|del|di|da|la|le|bin|al|ap)\b)(?:\s+|$)")
_NO_PERSON = re.compile(
    r"\b(?:January|February|March|April|June|July|August|September|October|November|December|University|College|"
    r"School|League|Party|Company|War|Cup|Award|Awards|Series|Games|Union|States?|Kingdom|Republic|City|County|"
    r"River|Association|Corporation|Inc|Club|Band|Group|Orchestra|Museum|Church|Council|Committee|Parliament|Congress|"
    r"Senate|Empire|Reich|Bay|Islands?|Street|House|Records|Studios|Pictures|Television|Radio|News|Championship|Prize|"
    r"Act|Treaty|Battle|Revolution|Government|Army|Navy|Force|Institute|Cent(?:er|re)|Department|Ministry|Guild|"
    r"Foundation|Project|Agency|Bank|Library|Version|Python|Park|Cabinet|Stadium|Theat(?:er|re)|Court|Office|Society|"
    r"Press|Road|Square|Hall|Tower|Bridge|Hotel|Airport|Hospital|Mountains?|Lake|Sea|Ocean|Province|District)\b"
)
"""Words of names that are no persons."""
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|from|to|of|on)\s+(?:the\s+)?(?:[A-ZÀ-Ö][\w.-]+,\s+){0,2}$")
"""Preposition directly before the name of a place."""
_LARGER_PLACES = re.compile(r"(?:,\s+[A-ZÀ-Ö][\w-]+(?:\s+[A-ZÀ-Ö][\w-]+)*\b(?!\s+\d)){1,3}")
"""Larger places after the name of a place: ", Brussels, Belgium"."""
_DEMONYM = re.compile(r"(?:ish|ian|ean|ese|ch)$")  # "English", "Belgian", "French": in "in French" no place.
_WORD = re.compile(r"[\w’'-]+")


class ShortAnswer(NamedTuple):
    """Short answer and the sentence that states it."""

    text: str
    """The answer as it occurs in the sentence."""
    sentence: int
    """Position of the sentence, from 0."""


def is_factoid_question(question: str) -> bool:
    """Return whether a question asks for a date, a number or a person."""
    return any(pattern.search(question[:_MAX_QUESTION_CHARACTERS]) for pattern in (_WHEN, _HOW_MUCH, _WHO))


def is_number_question(question: str) -> bool:
    """Return whether a question asks for a number or a date."""
    text = question[:_MAX_QUESTION_CHARACTERS]
    return not _is_explanation(text) and bool(_HOW_MUCH.search(text) or _WHEN.search(text))


def find_short_answer(question: str, sentences: Sequence[tuple[str, str]]) -> ShortAnswer | None:
    """Find the short answer to a direct question; None if it has none, or no sentence states it clearly.

    The sentences come best first, each after the title of its document.
    """
    text = question[:_MAX_QUESTION_CHARACTERS]
    kind = next((kind for kind, pattern in _KINDS.items() if pattern.search(text)), None)
    if kind is None or _is_explanation(text) or _is_nested(text):
        return None
    stems = set(stem_words(_KINDS[kind].sub(" ", text)))
    # The sentence or its title must contain the names and numbers of the question.
    names = " ".join(extract_entity_spellings(text).values())
    required = {*stem_words(names), *(stem for stem in stem_words(text) if stem.isdigit())}
    best: tuple[float, ShortAnswer] | None = None
    for number, (title, sentence) in enumerate(sentences):
        title_stems = set(stem_words(title))
        sentence_stems = title_stems.union(stem_words(sentence))
        coverage = len(stems & sentence_stems) / len(stems) if stems else 0.0
        if coverage < MIN_TERM_COVERAGE or not required <= sentence_stems:
            continue
        for start, answer in _find_candidates(kind, text, sentence):
            answer_stems = set(stem_words(answer))
            if answer_stems <= stems or answer_stems <= title_stems:
                continue
            near = _compute_proximity(sentence, start, start + len(answer), stems, title_stems)
            score = near + COVERAGE_WEIGHT * coverage
            if best is None or score > best[0]:
                best = (score, ShortAnswer(answer, number))
    return best[1] if best else None


def has_detail(question: str, text: str) -> bool:
    """Return whether a text has a date, a number or a name, as the question asks for it, that the question has not.

    A question that does not begin with "how" or "why" is taken to ask for a name.
    """
    start = question[:_MAX_QUESTION_CHARACTERS]
    if _is_explanation(start):
        return False
    if detail := _DATE if _WHEN.search(start) else _FIGURE if _HOW_MUCH.search(start) else None:
        return bool(detail.search(text))
    return bool(extract_entity_spellings(text).keys() - extract_entity_spellings(start).keys())


def _is_explanation(question: str) -> bool:
    """Return whether a question asks how or why: "How do I limit how often a message is sent?"."""
    return bool(_EXPLANATION.match(question)) and not _HOW_MUCH.match(question.lstrip())


def _is_nested(question: str) -> bool:
    """Return whether a question describes what it asks about by a clause or a chain of genitives."""
    plain = question
    for name in extract_entity_spellings(question).values():
        plain = plain.replace(name, " ")
    return len(_INTERROGATIVE.findall(plain)) > 1 or len(re.findall(r"\bof\b", plain)) > 1


def _find_candidates(kind: AnswerKind, question: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and the text of each phrase that may be the answer."""
    if kind == "date":
        is_year = bool(_YEAR.search(question))
        for match in _DATE.finditer(text):
            start = match.end() - 4 if is_year and match.group()[-4:].isdigit() else match.start()
            yield start, text[start : match.end()]
    elif kind == "number":
        yield from _find_quantities(question, text)
    else:
        for name in extract_entity_spellings(text).values():
            start = text.find(name)
            if start >= 0 and kind == "person" and _is_person(name):
                yield start, name
            elif start >= 0 and kind == "place" and _is_place(name, text[:start]):
                larger = _LARGER_PLACES.match(text, start + len(name))
                yield start, name + (larger.group() if larger else "")


def _find_quantities(question: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield quantities, each with the words of the question that follow it closely.

    A number that answers "how many" must be followed by such a word.
    """
    stems = set(stem_words(question))
    is_count = bool(_HOW_MANY.search(question))
    for match in _QUANTITY.finditer(text):
        if _ORDINARY_YEAR.fullmatch(match.group()):
            continue
        following = list(re.finditer(r"\s+([\w-]+)", text[match.end() : match.end() + 60]))[:3]
        ends = [word.end() for word in following if stems.intersection(stem_words(word.group(1)))]
        if ends or not is_count:
            yield match.start(), text[match.start() : match.end() + (ends[-1] if ends else 0)]


def _is_person(name: str) -> bool:
    words = name.split()
    is_capitalized = sum(match.end() - match.start() for match in _PERSON.finditer(name)) == len(name)
    return 2 <= len(words) <= 5 and is_capitalized and not _NO_PERSON.search(name)


def _is_place(name: str, before: str) -> bool:
    is_demonym = " " not in name and bool(_DEMONYM.search(name))
    return bool(_PLACE_BEFORE.search(before)) and not is_demonym and not any(char.isdigit() for char in name)


def _compute_proximity(text: str, start: int, end: int, stems: set[str], title_stems: set[str]) -> float:
    """Return how close the words of the question are to a phrase of a text, from 0 to 1."""
    words = list(_WORD.finditer(text))
    inside = [n for n, word in enumerate(words) if word.end() > start and word.start() < end]
    nearest: dict[str, int] = {}
    for n, word in enumerate(words):
        distance = max(inside[0] - n, n - inside[-1]) if inside else len(words)
        for stem in stems.intersection(stem_words(word.group())) if distance > 0 else ():
            nearest[stem] = min(distance, nearest.get(stem, distance))
    total = sum(1 / (1 + distance / PROXIMITY_WORDS) for distance in nearest.values())
    return (total + TITLE_PROXIMITY * len((title_stems & stems) - nearest.keys())) / len(stems)
