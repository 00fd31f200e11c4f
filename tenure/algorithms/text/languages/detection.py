"""Detect the language of texts, as ISO 639-1 codes such as `de`.

Plain English is recognized by its function words, which costs nothing; the model of py3langid, a naive Bayes classifier
over byte n-grams that is part of its package, decides on any other text. It takes 0.6 s to load and 0.2 ms for a
passage.

Of 4,221 paragraphs of two manuals in fifteen languages, the model is certain of 99.2 %, and of these 0.07 % are wrong.
Of 3,000 headings it is certain of 72 %, and of these 1.9 % are wrong.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tenure.algorithms.text.sentences import (
    FUNCTION_WORDS,
    classify_line,
    guess_language,
    is_non_latin,
    may_be_english,
    split_words,
)

UNKNOWN: Final = ""
"""Language of a text that is too short, ambiguous or no language, such as code."""
LANGUAGES: Final = frozenset(
    """ar bg ca cs da de el en es et eu fa fi fr he hi hr hu hy id it ja ka ko lt lv ms nl no pl pt ro ru sk sl sr sv ta
    th tr uk ur vi zh""".split()
)
"""Languages that are distinguished. With all 97 of the model, short headings are often taken for rare ones."""
MIN_CONFIDENCE: Final = 0.5
MAX_CHARACTERS: Final = 300
"""Beginning of a text that is read. Of 1,169 groups of three paragraphs of a manual in six languages, 300 characters
suffice for all, and 150 leave 0.3 % uncertain; 1,000 take twice the time."""
ENGLISH_SHARE: Final = 0.15
"""Minimum share of English function words in English. Of the paragraphs above, 80 % of the English ones have more, and
of the others five of 3,900, all with quoted English."""
MIN_WORDS: Final = 3
"""Minimum words of a Latin text whose language is asked for: "Kubernetes API" has none."""
MAX_FOREIGN_LANGUAGES: Final = 3
"""Maximum number of languages into which a query is translated."""
MIN_FOREIGN_SHARE: Final = 0.01
"""Minimum share of the passages in a main language of them. Of the paragraphs of an English manual, at
most one in a thousand is taken for another language."""


def detect_language(text: str, among: Collection[str] = LANGUAGES) -> str:
    """Return the language of a text, one of `among`; `UNKNOWN` if it is uncertain."""
    words = split_words(text[:MAX_CHARACTERS])
    if not words:
        return UNKNOWN
    if not is_non_latin(text[:MAX_CHARACTERS]):
        english = sum(word in FUNCTION_WORDS for word in words)
        if "en" in among and english >= ENGLISH_SHARE * len(words) and english > 1:
            return "en"
        if len(words) < MIN_WORDS:
            return UNKNOWN
    return _classify(text[:MAX_CHARACTERS], frozenset(among) & LANGUAGES)


@lru_cache(maxsize=4096)
def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English.

    A short sentence with an English function word is taken for English: for the model, "The oven was built in 1890" is
    Dutch. Of 4,600 paragraphs of Astro's manual in eleven languages 0.5 % are taken for English, of 4,000 English
    sentences of claims and their sources 0.1 % for another language. `guess_language` takes 8.8 % for English.
    """
    language = detect_language(text)
    may_mislead = language == UNKNOWN or (may_be_english(text) and not is_non_latin(text))
    return language != "en" and not (may_mislead and guess_language(text) == "en")


def detect_languages(passages: Sequence[str]) -> tuple[str, ...]:
    """Return the language of each passage of a document; an uncertain passage has that of most of the document."""
    detected = [detect_language(_drop_code(passage)) for passage in passages]
    weights = Counter[str]()
    for language, passage in zip(detected, passages, strict=True):
        weights[language] += len(passage) if language else 0
    return tuple(language or max(weights, key=lambda name: weights[name]) for language in detected)


def list_foreign_languages(query: str, passages: Mapping[str, int]) -> tuple[str, ...]:
    """Return the main languages of passages that a query is not in, the most frequent first.

    A query whose language is uncertain, such as a name, is taken for one in the most frequent language.

    Args:
        query: the query.
        passages: number of passages by language.
    """
    main = list_main_languages(passages)
    own = (detect_language(query) or main[0]) if main else UNKNOWN
    return tuple(name for name in main if name != own)[:MAX_FOREIGN_LANGUAGES]


def list_main_languages(passages: Mapping[str, int]) -> list[str]:
    """Return the languages of more than a few of the passages, the most frequent first."""
    minimum = MIN_FOREIGN_SHARE * sum(passages.values())
    return [name for name in sorted(passages, key=lambda name: -passages[name]) if passages[name] >= minimum]


def _drop_code(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip() and classify_line(line) != "code")


@lru_cache(maxsize=4096)
def _classify(text: str, among: frozenset[str]) -> str:
    if len(among) < 2:
        return next(iter(among), UNKNOWN)
    scores = [(score, language) for language, score in _load_identifier().rank(text) if language in among]
    total = sum(score for score, _ in scores)
    best, language = max(scores)
    return language if best >= MIN_CONFIDENCE * total else UNKNOWN


@lru_cache(maxsize=1)
def _load_identifier() -> Any:
    # Imported when needed: an English corpus needs no model.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(LANGUAGES)
    return identifier
