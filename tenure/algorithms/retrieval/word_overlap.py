"""Measure how many words of a question a text contains, in any language.

Stop words, stems and the embedding model of the package are English. For other languages the length of a word says
how much it distinguishes, its beginning replaces the stem, and scripts without blanks are compared by pairs of
characters, without the words of a question.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final

from tenure.algorithms.text.sentences import is_non_english, may_be_english, split_words

MAX_LETTERS: Final = 5
"""First letters by which words are compared: "Brücken" matches "Brücke"."""
_LIGHT_LETTERS = 3
"""Length up to which a word counts for nothing: most of them are articles, prepositions and question words."""
# Chinese characters, kana, Hangul, Thai, Lao, Khmer and Burmese: no blanks between words, or particles after them.
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
# "How long", "who", "what kind of": a text that answers has other characters in their place. Particles and endings of
# verbs in hiragana count for nothing either.
_QUESTION_WORDS = re.compile(
    r"多长时间|多久|多少|几个|几天|什么时候|什么|哪些|哪个|哪里|为什么|怎么样|怎么|如何|是否|谁|吗|呢|"
    r"多長時間|幾個|什麼時候|什麼|哪裡|為什麼|怎麼|嗎|何日間|何時|何年|何人|何|誰|いつ|どこ|なぜ|どの|どう|"
    r"얼마나|무엇|언제|어디|누가|누구|왜|어떻게|몇|[\u3040-\u309f]"
)


def needs_overlap(question: str, text: str) -> bool:
    """Return whether a question is not in English, or may be in the language of a text that is not."""
    return is_non_english(question) or (not may_be_english(question) and is_non_english(text))


def measure_foreign_overlap(question: str, text: str) -> float:
    """Return the share of the question's terms that a text contains; -1 for English, which vectors compare better."""
    return measure_overlap(question, text) if needs_overlap(question, text) else -1.0


def measure_overlap(question: str, text: str) -> float:
    """Return the share of the question's words, by weight, that a text contains.

    Characters of a script without blanks are weighed one by one: those of a pair that the text has are contained.
    """
    words, characters = _weigh_words(question)
    text_words, text_characters = _weigh_words(text)
    pairs = {run[n : n + 2] for run in text_characters for n in range(len(run) - 1)}
    total = sum(words.values()) + sum(map(len, characters))
    contained = sum(weight for word, weight in words.items() if word in text_words)
    contained += sum(_count_contained(run, pairs, text_characters) for run in characters)
    return contained / total if total else 0.0


def _count_contained(run: str, pairs: Collection[str], texts: Sequence[str]) -> int:
    if len(run) == 1:
        return int(any(run in text for text in texts))
    hits = [run[n : n + 2] in pairs for n in range(len(run) - 1)]
    return sum(before or after for before, after in zip([False, *hits], [*hits, False], strict=True))


@lru_cache(maxsize=512)
def _weigh_words(text: str) -> tuple[Mapping[str, int], Sequence[str]]:
    """Return the words of a text, by their first letters, with their weights, and its runs of unspaced characters."""
    plain = _QUESTION_WORDS.sub(" ", text)
    words = split_words(_UNSPACED.sub(" ", plain))
    weights = {word[:MAX_LETTERS]: len(word) - _LIGHT_LETTERS for word in words if len(word) > _LIGHT_LETTERS}
    return weights, _UNSPACED.findall(plain)
