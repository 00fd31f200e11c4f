"""Find pairs of claims on the same subject that may contradict each other, and detect plain contradictions.

Comparing all pairs would be quadratic. An inverted index selects pairs that share several rare words, weighted by
inverse document frequency, and only those are compared by vectors.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal, NamedTuple

from tenure.algorithms.text.details import NumberMention, extract_numbers, extract_proper_nouns
from tenure.algorithms.text.excerpts import has_back_reference, is_complete_sentence
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.polarity import count_negations, find_antonym_pair
from tenure.algorithms.text.sentences import STOP_WORDS, normalize_sentence, split_sentences, stem_words

Severity = Literal["low", "medium", "high"]

MIN_SHARED_STEMS: Final = 3
"""Minimum shared stems of a candidate pair."""
MAX_STEM_STATEMENTS: Final = 12
"""Maximum number of claims with a stem; a more frequent stem is ignored."""
MIN_SIMILARITY: Final = 0.6
"""Minimum cosine similarity of a pair."""
MIN_ALIKE_SHARE: Final = 0.75
"""Minimum share of common words of statements that say the same."""
MAX_PAIRS: Final = 24
"""Maximum number of pairs."""
MIN_CONTRADICTION_SIMILARITY: Final = 0.75
"""Minimum similarity of two claims that are compared word by word."""
MAX_DIFFERENT_STEMS: Final = 2
"""Maximum stems in which such claims may differ besides the point of disagreement."""
MAX_MINOR_DIFFERENCE: Final = 0.1
"""Maximum relative difference of two numbers with a minor disagreement."""
_NAMED_NUMBER = re.compile(r"\b(?:[A-Z][\w-]*|version)\s+v?\d[\d.]*\b|\bv\d[\d.]*\b|\b\d+(?:\.\d+){2,}\b")
"""Number that belongs to a name: Python 3.8, PEP 8, version 2, 3.11.2."""


class ClaimPair(NamedTuple):
    """Two claims on the same subject; each is a passage reduced to one sentence."""

    a: Passage
    b: Passage
    similarity: float


class DetectedContradiction(NamedTuple):
    """Point of disagreement of two claims."""

    severity: Severity
    about: str


@dataclass(frozen=True)
class _Statement:
    passage: Passage
    content: frozenset[str]


def find_claim_pairs(passages: Sequence[Passage], encode: Encoder, max_pairs: int = MAX_PAIRS) -> list[ClaimPair]:
    """Return pairs of claims of different sources on the same subject, most similar first."""
    return _find_pairs(passages, encode, max_pairs, lambda a, b: a.passage.source != b.passage.source)


def find_disputable_pairs(passages: Sequence[Passage], encode: Encoder, max_pairs: int = MAX_PAIRS) -> list[ClaimPair]:
    """Return pairs of claims on the same subject that may contradict each other, most similar first.

    Both may be of one source, but not of one passage. Claims of one source or in nearly the same words are paired only
    if they differ by a number, a negation or an antonym.
    """
    return _find_pairs(passages, encode, max_pairs, _may_contradict)


_TABLE_DESCRIPTION = re.compile(r"The (?:column .{1,200} of the )?table \S+ (?:has|holds) ")
"""Beginning of a sentence by which the program describes a table or a column of it."""


def _may_contradict(a: "_Statement", b: "_Statement") -> bool:
    # Descriptions of columns have the same words and different numbers, and each is about another column.
    is_generated = all(_TABLE_DESCRIPTION.match(one.passage.text) for one in (a, b))
    if a.passage.chunk == b.passage.chunk or is_generated:
        return False
    is_related = a.passage.source == b.passage.source or _are_alike(a.passage.text, b.passage.text)
    return not is_related or _have_opposites(a.passage.text, b.passage.text)


def _find_pairs(
    passages: Sequence[Passage], encode: Encoder, max_pairs: int, may_pair: Callable[["_Statement", "_Statement"], bool]
) -> list[ClaimPair]:
    statements = list(_extract_statements(passages))
    candidates = _find_candidates(statements, max_pairs, may_pair)
    used = sorted({n for pair in candidates for n in pair})
    if not used:
        return []
    vectors = dict(zip(used, encode([statements[n].passage.text for n in used]), strict=True))
    scored = [
        ClaimPair(statements[i].passage, statements[j].passage, float(vectors[i] @ vectors[j])) for i, j in candidates
    ]
    similar = [pair for pair in scored if pair.similarity >= MIN_SIMILARITY]
    return sorted(similar, key=lambda pair: -pair.similarity)[:max_pairs]


def _are_alike(a: str, b: str) -> bool:
    """Return whether two statements have nearly the same words."""
    left, right = set(stem_words(a)), set(stem_words(b))
    return len(left & right) >= MIN_ALIKE_SHARE * len(left | right)


def _have_opposites(a: str, b: str) -> bool:
    """Return whether two statements differ by a number, a negation or an antonym."""
    return (
        extract_numbers(a) != extract_numbers(b)
        or count_negations(a) != count_negations(b)
        or bool(find_antonym_pair(a, b))
    )


def _extract_statements(passages: Sequence[Passage]) -> Iterator[_Statement]:
    seen: set[tuple[str, str]] = set()
    for passage in passages:
        for sentence in split_sentences(passage.text) if passage.kind == "prose" else ():
            key = (passage.source, normalize_sentence(sentence.text))
            if key in seen or not is_complete_sentence(sentence) or has_back_reference(sentence.text):
                continue
            seen.add(key)
            start = passage.start + sentence.start
            cut = replace(passage, text=sentence.text, start=start, end=start + len(sentence.text))
            yield _Statement(cut, frozenset(stem_words(sentence.text)))


def _find_candidates(
    statements: Sequence[_Statement], max_pairs: int, may_pair: Callable[[_Statement, _Statement], bool]
) -> list[tuple[int, int]]:
    """Return the pairs that share the most informative words, by an inverted index."""
    statements_by_stem: dict[str, list[int]] = defaultdict(list)
    for n, statement in enumerate(statements):
        for stem in statement.content:
            statements_by_stem[stem].append(n)
    shared: Counter[tuple[int, int]] = Counter()
    weight: dict[tuple[int, int], float] = defaultdict(float)
    for stem in sorted(statements_by_stem):
        if 2 <= len(statements_by_stem[stem]) <= MAX_STEM_STATEMENTS:
            for i, j in combinations(statements_by_stem[stem], 2):
                shared[i, j] += 1
                weight[i, j] += math.log(len(statements) / len(statements_by_stem[stem]) + 1)
    frequent = [
        (i, j)
        for (i, j), count in shared.items()
        if count >= MIN_SHARED_STEMS and may_pair(statements[i], statements[j])
    ]
    return sorted(frequent, key=lambda pair: (-weight[pair], pair))[: 4 * max_pairs]


_OWN_DOCUMENT = re.compile(
    r"\b(?:this|the\s+present)\s+(?:document|pep|paper|article|report|proposal|chapter|section|page|guide|specification"
    r"|standard|study|book|note|release|version)\b",
    re.IGNORECASE,
)


def detect_contradiction(a: str, b: str, similarity: float) -> DetectedContradiction | None:
    """Detect a plain contradiction of two claims by their words; None if they do not contradict each other.

    The claims must have the same names and almost no other difference than an antonym, a negation or a number. If each
    has a word that the other one lacks ("on slow disks", "on fast disks"), both can be true under their conditions.
    Statements of documents about themselves ("This document describes …") have different subjects.
    """
    if _OWN_DOCUMENT.search(a) or _OWN_DOCUMENT.search(b):
        return None
    if similarity < MIN_CONTRADICTION_SIMILARITY or not _has_same_names(a, b):
        return None
    left, right = _list_content_stems(a), _list_content_stems(b)
    different = left ^ right
    antonyms = find_antonym_pair(a, b)
    if antonyms and len(different - {stem for word in antonyms for stem in stem_words(word)}) <= MAX_DIFFERENT_STEMS:
        return DetectedContradiction("high", f"“{antonyms[0]}” against “{antonyms[1]}”")
    has_other_conditions = bool(left - right) and bool(right - left)
    if len(different) > MAX_DIFFERENT_STEMS or has_other_conditions:
        return None
    if count_negations(a) % 2 != count_negations(b) % 2:
        return DetectedContradiction("high", "one statement negates the other")
    return _compare_numbers(_group_numbers_by_unit(a), _group_numbers_by_unit(b))


def _has_same_names(a: str, b: str) -> bool:
    names_a, names_b = (
        {name.lower() for name in extract_proper_nouns(text)} | set(_NAMED_NUMBER.findall(text)) for text in (a, b)
    )
    return names_a == names_b


def _list_content_stems(text: str) -> set[str]:
    return {stem for stem in stem_words(text) if not stem.isdigit()}


def _group_numbers_by_unit(text: str) -> Mapping[str, frozenset[NumberMention]]:
    """Return the numbers of a text by the word after them, except numbers that belong to names."""
    numbers: dict[str, set[NumberMention]] = defaultdict(set)
    for match in re.finditer(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)\s*(%|[^\W\d_]+)?", _NAMED_NUMBER.sub(" ", text)):
        unit = match.group(2) or ""
        numbers[" ".join(stem_words(unit)) or unit].update(extract_numbers(match.group(1)))
    return {unit: frozenset(values) for unit, values in numbers.items()}


def _compare_numbers(
    a: Mapping[str, frozenset[NumberMention]], b: Mapping[str, frozenset[NumberMention]]
) -> DetectedContradiction | None:
    """Compare the numbers of two claims with the same units."""
    if a.keys() != b.keys() or STOP_WORDS.intersection(a):  # "2 to 3 hours" and "4 of 5" are not single numbers
        return None
    for unit in sorted(a):
        if len(a[unit]) == len(b[unit]) == 1 and a[unit] != b[unit]:
            (number_a,), (number_b,) = a[unit], b[unit]
            high = max(abs(number_a.value), abs(number_b.value))
            is_close = abs(number_a.value - number_b.value) <= MAX_MINOR_DIFFERENCE * high
            severity: Severity = "low" if is_close and not _is_year(number_a.value) else "medium"
            return DetectedContradiction(severity, f"{number_a.value:g} against {number_b.value:g}")
    return None


def _is_year(value: float) -> bool:
    return 1000 <= value <= 2100 and value == int(value)
