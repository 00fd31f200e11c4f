"""Reduce words to the terms by which passages in other languages than English are searched.

English is stemmed by the index of the database. A passage in another language has its terms in a column of its own:

- words of most European languages, Arabic, Hindi and others are reduced by the Snowball stemmer of their language;
- words of spaced languages without a stemmer, such as Ukrainian, by their first letters (McNamee and Mayfield 2004,
  "Character n-gram tokenization for European language text retrieval");
- scripts without blanks between words, and Korean, whose particles are attached to words, become pairs of characters.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import Stemmer

from tenure.algorithms.text.languages.detection import UNKNOWN, detect_language
from tenure.algorithms.text.sentences import split_words

STEMMERS: Final = {
    **{"ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english"},
    **{"es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french"},
    **{"hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian"},
    **{"ms": "indonesian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian"},
    **{"ru": "russian", "sr": "serbian", "hr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
"""Stemmers of Snowball by language."""
PREFIX_LETTERS: Final = 5
"""First letters that stand for a word of a language without a stemmer."""
_MAX_CACHED_LETTERS: Final = 32
"""Letters of the words whose terms are kept; a run of a script without blanks is as long as its clause."""
# Chinese characters, kana, Hangul, Thai, Lao, Burmese and Khmer.
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)


def list_terms(text: str, language: str) -> list[str]:
    """Return the terms of a text in a language, in order, with repetitions."""
    words = split_words(unicodedata.normalize("NFKC", text).casefold())
    return list(
        chain.from_iterable(
            (_reduce if len(word) <= _MAX_CACHED_LETTERS else _reduce.__wrapped__)(word, language) for word in words
        )
    )


def list_query_terms(query: str, languages: Sequence[str]) -> list[str]:
    """Return the terms of a query over passages in these languages, the most frequent first; none for English.

    A query whose language is uncertain, such as a name, has the terms of all of them, unless most passages are English.
    """
    foreign = [language for language in languages if language not in ("en", UNKNOWN)]
    if not foreign:
        return []
    language = detect_language(query, {*foreign, "en"})
    if (language or languages[0]) == "en":
        return []
    return list(
        dict.fromkeys(term for name in ([language] if language else foreign) for term in list_terms(query, name))
    )


@lru_cache(maxsize=50_000)
def _reduce(word: str, language: str) -> tuple[str, ...]:
    runs = () if word.isascii() else _UNSPACED.findall(word)
    if not runs:
        return (_stem(word, language),)
    rest = word
    pairs: list[str] = []
    for run in runs:
        rest = rest.replace(run, " ", 1)
        pairs += (run[n : n + 2] for n in range(max(1, len(run) - 1)))
    return (*pairs, *(_stem(part, language) for part in rest.split()))


def _stem(word: str, language: str) -> str:
    # A stemmer object is not thread-safe.
    if language in STEMMERS:
        return str(Stemmer.Stemmer(STEMMERS[language], 0).stemWord(word))
    return word[:PREFIX_LETTERS]
