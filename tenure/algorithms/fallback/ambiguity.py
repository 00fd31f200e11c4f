"""What a question leaves open, as far as words show it, and the question with an answer in its place.

Four things are seen: a word that points to nothing, a comparison with one side, a name that means several things in
the sources, and a figure or an office that they give for several times. Everything else is taken to be clear: a person
who is asked without need will not be asked again.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.coreference import names
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import MAX_PATTERN, compared, shorten
from tenure.algorithms.text.sentences import sentences, stems

FEW_WORDS: Final = 8
"""Words of an answer that may take the place of a word in the question."""
LONGEST: Final = 2_000
"""Characters of an answer that a question is read with."""
MOST_SHOWN: Final = 4
"""Readings that a person is offered."""
COVERED: Final = 0.6
"""Share of a question's content words that a sentence needs to be one that answers it."""

_POINTER = re.compile(
    r"\b(?:(?P<owns>[Ii]ts|[Tt]heir|[Hh]is|[Hh]er(?=\s+[a-z]))|[Ii]t|[Tt]hey|[Tt]hem|[Hh]e|[Hh]im|[Ss]he|[Hh]er)\b"
)
_NOTHING_MEANT = re.compile(
    r"\s+(?:(?:be|is|was|will|would)\s+)?(?:\w+ly\s+)?(?:rain|snow"
    r"|(?:takes?|took|costs?|means?|makes?\s+sense|made\s+sense|matters?|feels?|pays?|helps?|true|possible|impossible|safe"
    r"|legal|allowed|better|best|good|bad|worth|hard|easy|necessary|important|likely|common|normal|wise|like)\b"
    r".*\b(?:to|that|if|whether|when)\b)",
    re.IGNORECASE,
)
"""What follows an "it" that stands for nothing."""
_NO_SUBJECT = re.compile(
    r"^how\s+(?:long|old|often|far|big|large|small|tall|high|deep|fast|quickly|soon|well|good|many|much|hard|common)\b"
    r"|\b(?:which|what)\s+(?:year|day|month|time|place|city|town|country|kind|sort|way|language)\b"
    r"|\b(?:do|does|did|can|could|should|would|will)\s+(?:i|you|we|one)\s+\w+\s*$",
    re.IGNORECASE,
)
"""Words in front of a pointer that it cannot point to."""
_COMPARATIVE = (
    r"better|worse|faster|slower|cheaper|dearer|safer|easier|harder|larger|bigger|smaller|stronger|weaker|healthier|"
    r"older|newer|younger|higher|lower|longer|shorter|simpler|richer|poorer|(?:more|less)\s+\w+"
)
_ONE_SIDED = (
    re.compile(r"\bhow\s+(?:does|did)\s+(?P<a>[^,;?]+?)\s+(?:compare|differ)\W*$", re.IGNORECASE),
    re.compile(r"^\W*(?:please\s+)?(?:compare|contrast)\s+(?P<a>[^,;?.]+?[^s\W])\W*$", re.IGNORECASE),
    re.compile(
        rf"\b(?:is|are|was|were)\s+(?P<a>[^,;?]+?)\s+(?:(?:much|far|any|so)\s+)?(?:{_COMPARATIVE})\W*$", re.IGNORECASE
    ),
)
_SEVERAL = re.compile(
    r"\b(?:and|or|vs|versus|with|to|than|from|both|between|these|those|different|various|all|each)\b", re.I
)
_SENSE = re.compile(r"^(?P<name>[^()]{2,80}?)\s*(?:\((?P<inside>[^()]{2,60})\)|,\s+(?P<place>[A-Z][\w' -]{2,40}))$")
_PERSON = re.compile(r"\b(?:who|whose|whom)\b", re.IGNORECASE)
_TITLES = frozenset("Mr Mrs Ms Dr Prof Sir Lord Lady King Queen Pope Saint St President Professor".split())
_CHANGES = re.compile(
    r"^\W*(?:who\s+(?:is|was|are|were)\s+the\b|how\s+(?:many|much)\b|what\s+(?:is|was|are|were)\s+the\s+(?:\w+\s+)?"
    r"(?:population|price|cost|number|size|rate|share|budget|revenue|version|record|salary|limit)\b)",
    re.IGNORECASE,
)
_TIME_NAMED = re.compile(
    r"\b(?:\d{3,4}s?|now|nowadays|today|current\w*|latest|last|first|newest|present|recent\w*|ever|always|when|since|"
    r"before|after|during|until|centur\w+|years?|months?|days?|ago|average|typical\w*)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")


class Unclear(NamedTuple):
    """What a question leaves open."""

    question: str
    """What to ask the person."""
    assumed: str
    """The answer that is taken unless there is another one."""


def unclear(question: str, passages: Sequence[Passage]) -> Unclear | None:
    """Return what a question leaves open, judged by its words and by what was found for it; None if it is clear."""
    asked = " ".join(question.split())[:MAX_PATTERN]
    looks = (_pointing, _one_sided, _many_meant, _many_times)
    return next((found for look in looks if (found := look(asked, passages))), None)


def as_meant(question: str, answer: str) -> str:
    """Return a question with the answer of a person: in place of the word it explains, or else behind the question."""
    said = shorten(" ".join(answer.split()).strip(" .?!"), LONGEST)
    if not said:
        return question
    pointer = _dangling(question)
    if pointer and len(said.split()) <= FEW_WORDS:
        named = said if not pointer["owns"] else f"{said}'" if said.endswith("s") else f"{said}'s"
        return question[: pointer.start()] + named + question[pointer.end() :]
    bare = question.rstrip(" ?.!\n")
    return f"{bare} ({said}){'?' if question.rstrip().endswith('?') else ''}"


def _pointing(question: str, passages: Sequence[Passage]) -> Unclear | None:
    pointer = _dangling(question)
    if pointer is None:
        return None
    titles = Counter(passage.title for passage in passages if passage.title)
    subject = titles.most_common(1)[0][0] if titles else "what the documents mostly tell of"
    return Unclear(f"What does ‘{pointer[0]}’ stand for in this question?", shorten(subject, LONGEST))


def _dangling(question: str) -> re.Match[str] | None:
    """Return the word of a question that points to nothing in front of it."""
    pointer = _POINTER.search(question[:MAX_PATTERN])
    if pointer is None or _NOTHING_MEANT.match(question, pointer.end()):
        return None
    before = _NO_SUBJECT.sub(" ", question[: pointer.start()].strip())
    return None if stems(before) else pointer


def _one_sided(question: str, passages: Sequence[Passage]) -> Unclear | None:
    if compared(question):
        return None
    found = next((match for pattern in _ONE_SIDED if (match := pattern.search(question))), None)
    if found is None or _SEVERAL.search(found["a"]) or len(found["a"].split()) > FEW_WORDS:
        return None
    return Unclear(f"With what is {found['a']} to be compared?", "what the sources compare it with")


def _many_meant(question: str, passages: Sequence[Passage]) -> Unclear | None:
    """Return which things or people a name of the question stands for, where the sources know several."""
    senses: dict[str, Counter[str]] = {}
    for name, sense in (*_titled(question, passages), *_full_names(question, passages)):
        senses.setdefault(name, Counter())[sense] += 1
    for name, counted in senses.items():
        readings = [sense for sense, _ in counted.most_common(MOST_SHOWN)]
        if len(readings) > 1 and not any(set(stems(question)) >= set(stems(reading)) for reading in readings):
            return Unclear(f"Which ‘{name}’ is meant: {_either(readings)}?", readings[0])
    return None


def _titled(question: str, passages: Sequence[Passage]) -> Iterable[tuple[str, str]]:
    """Yield names of the question that titles and headings tell apart, as in "Mercury (planet)"."""
    for passage in passages:
        for found in filter(None, map(_SENSE.match, dict.fromkeys((passage.title, *passage.heading_path)))):
            asked = re.search(rf"\b{re.escape(found['name'])}\b", question, re.IGNORECASE)
            if asked:
                yield asked[0], found["inside"] or found["place"]


def _full_names(question: str, passages: Sequence[Passage]) -> Iterable[tuple[str, str]]:
    """Yield single names in a question about a person, each with a full name that the sources have for it."""
    single = {name for name in names(question) if " " not in name} if _PERSON.search(question) else set()
    for passage in passages if single else ():
        for name in dict.fromkeys(name for sentence in sentences(passage.text) for name in names(sentence.text)):
            first, *_, last = name.split() if " " in name else (name, "")
            if last in single and first.strip(".") not in _TITLES:
                yield last, name


def _many_times(question: str, passages: Sequence[Passage]) -> Unclear | None:
    """Return for which times the sources answer a question about a figure or an office that names none."""
    if not _CHANGES.search(question) or _TIME_NAMED.search(question):
        return None
    asked = set(stems(question))
    told = {
        frozenset(_YEAR.findall(sentence.text))
        for passage in passages
        for sentence in sentences(passage.text)
        if asked and len(asked.intersection(stems(sentence.text))) >= COVERED * len(asked)
    }
    years = sorted({year for one in told if len(one) == 1 for year in one})
    if len(years) < 2:
        return None
    return Unclear(f"For which time is this asked? The sources tell of {_both(years[-MOST_SHOWN:])}.", years[-1])


def _either(readings: Sequence[str]) -> str:
    return f"{', '.join(readings[:-1])} or {readings[-1]}"


def _both(years: Sequence[str]) -> str:
    return f"{', '.join(years[:-1])} and {years[-1]}"
