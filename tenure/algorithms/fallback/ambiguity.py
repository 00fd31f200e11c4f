"""Detect ambiguous questions without a model, and insert the user's answer into the question.

Four kinds of ambiguity are detected: a pronoun without antecedent, a comparison with only one side, a name with several
meanings in the sources, and a figure or office for which the sources give several times. All other questions count as
clear, because unnecessary questions annoy users.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.coreference import extract_name_phrases
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import MAX_PATTERN_CHARACTERS, extract_compared_items, shorten
from tenure.algorithms.text.sentences import split_sentences, stem_words

MAX_SUBSTITUTE_WORDS: Final = 8
"""Maximum number of words of an answer that replaces a word of the question."""
MAX_ANSWER_LENGTH: Final = 2_000
"""Maximum characters of an answer."""
MAX_READINGS: Final = 4
"""Maximum number of readings offered to the user."""
MIN_ANSWER_OVERLAP: Final = 0.6
"""Minimum share of a question's content words in a sentence that answers it."""

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
"""Text after an "it" without a referent ("it takes … to")."""
_NO_SUBJECT = re.compile(
    r"^how\s+(?:long|old|often|far|big|large|small|tall|high|deep|fast|quickly|soon|well|good|many|much|hard|common)\b"
    r"|\b(?:which|what)\s+(?:year|day|month|time|place|city|town|country|kind|sort|way|language)\b"
    r"|\b(?:do|does|did|can|could|should|would|will)\s+(?:i|you|we|one)\s+\w+\s*$",
    re.IGNORECASE,
)
"""Words before a pronoun that cannot be its antecedent."""
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


class ClarifyingQuestion(NamedTuple):
    """Question to the user about an ambiguous question."""

    question: str
    """Text of the question."""
    assumption: str
    """Answer that is assumed unless the user gives another one."""


def find_ambiguity(question: str, passages: Sequence[Passage]) -> ClarifyingQuestion | None:
    """Return a clarifying question on a question and the passages found for it; None if the question is clear."""
    asked = " ".join(question.split())[:MAX_PATTERN_CHARACTERS]
    checks = (_find_unresolved_pronoun, _find_one_sided_comparison, _find_ambiguous_name, _find_ambiguous_time)
    return next((found for look in checks if (found := look(asked, passages))), None)


def insert_answer(question: str, answer: str) -> str:
    """Return a question with the user's answer, in place of the ambiguous word or appended in parentheses."""
    text = shorten(" ".join(answer.split()).strip(" .?!"), MAX_ANSWER_LENGTH)
    if not text:
        return question
    pointer = _match_unresolved_pronoun(question)
    if pointer and len(text.split()) <= MAX_SUBSTITUTE_WORDS:
        named = text if not pointer["owns"] else f"{text}'" if text.endswith("s") else f"{text}'s"
        return question[: pointer.start()] + named + question[pointer.end() :]
    bare = question.rstrip(" ?.!\n")
    return f"{bare} ({text}){'?' if question.rstrip().endswith('?') else ''}"


def _find_unresolved_pronoun(question: str, passages: Sequence[Passage]) -> ClarifyingQuestion | None:
    pointer = _match_unresolved_pronoun(question)
    if pointer is None:
        return None
    titles = Counter(passage.title for passage in passages if passage.title)
    subject = titles.most_common(1)[0][0] if titles else "the main subject of the documents"
    return ClarifyingQuestion(
        f"What does ‘{pointer[0]}’ refer to in this question?", shorten(subject, MAX_ANSWER_LENGTH)
    )


def _match_unresolved_pronoun(question: str) -> re.Match[str] | None:
    """Return the first pronoun of a question without antecedent."""
    pointer = _POINTER.search(question[:MAX_PATTERN_CHARACTERS])
    if pointer is None or _NOTHING_MEANT.match(question, pointer.end()):
        return None
    before = _NO_SUBJECT.sub(" ", question[: pointer.start()].strip())
    return None if stem_words(before) else pointer


def _find_one_sided_comparison(question: str, passages: Sequence[Passage]) -> ClarifyingQuestion | None:
    if extract_compared_items(question):
        return None
    found = next((match for pattern in _ONE_SIDED if (match := pattern.search(question))), None)
    if found is None or _SEVERAL.search(found["a"]) or len(found["a"].split()) > MAX_SUBSTITUTE_WORDS:
        return None
    return ClarifyingQuestion(f"With what is {found['a']} to be compared?", "the alternatives in the sources")


def _find_ambiguous_name(question: str, passages: Sequence[Passage]) -> ClarifyingQuestion | None:
    """Return a clarifying question if the sources know several meanings of a name."""
    senses: dict[str, Counter[str]] = {}
    for name, sense in (*_find_titled_senses(question, passages), *_find_full_names(question, passages)):
        senses.setdefault(name, Counter())[sense] += 1
    for name, counted in senses.items():
        readings = [sense for sense, _ in counted.most_common(MAX_READINGS)]
        if len(readings) > 1 and not any(set(stem_words(question)) >= set(stem_words(reading)) for reading in readings):
            return ClarifyingQuestion(f"Which ‘{name}’ is meant: {_join_with_or(readings)}?", readings[0])
    return None


def _find_titled_senses(question: str, passages: Sequence[Passage]) -> Iterable[tuple[str, str]]:
    """Yield names of the question that titles and headings disambiguate, as in "Mercury (planet)"."""
    for passage in passages:
        for found in filter(None, map(_SENSE.match, dict.fromkeys((passage.title, *passage.heading_path)))):
            asked = re.search(rf"\b{re.escape(found['name'])}\b", question, re.IGNORECASE)
            if asked:
                yield asked[0], found["inside"] or found["place"]


def _find_full_names(question: str, passages: Sequence[Passage]) -> Iterable[tuple[str, str]]:
    """Yield surnames in a question about a person, each with a full name from the sources."""
    single = {name for name in extract_name_phrases(question) if " " not in name} if _PERSON.search(question) else set()
    for passage in passages if single else ():
        for name in dict.fromkeys(
            name for sentence in split_sentences(passage.text) for name in extract_name_phrases(sentence.text)
        ):
            first, *_, last = name.split() if " " in name else (name, "")
            if last in single and first.strip(".") not in _TITLES:
                yield last, name


def _find_ambiguous_time(question: str, passages: Sequence[Passage]) -> ClarifyingQuestion | None:
    """Return a clarifying question if sources answer a question about a figure or an office for several times."""
    if not _CHANGES.search(question) or _TIME_NAMED.search(question):
        return None
    asked = set(stem_words(question))
    years_by_sentence = {
        frozenset(_YEAR.findall(sentence.text))
        for passage in passages
        for sentence in split_sentences(passage.text)
        if asked and len(asked.intersection(stem_words(sentence.text))) >= MIN_ANSWER_OVERLAP * len(asked)
    }
    years = sorted({year for mentioned in years_by_sentence if len(mentioned) == 1 for year in mentioned})
    if len(years) < 2:
        return None
    return ClarifyingQuestion(
        f"Which time does the question refer to? The sources mention {_join_with_and(years[-MAX_READINGS:])}.",
        years[-1],
    )


def _join_with_or(readings: Sequence[str]) -> str:
    return f"{', '.join(readings[:-1])} or {readings[-1]}"


def _join_with_and(years: Sequence[str]) -> str:
    return f"{', '.join(years[:-1])} and {years[-1]}"
