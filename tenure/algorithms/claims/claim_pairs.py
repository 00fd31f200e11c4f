"""Find pairs of claims on the same subject that may contradict each other.

Comparing all pairs would be quadratic. An inverted index selects pairs that share several rare words, weighted by
inverse document frequency, and only those are compared by vectors.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, NamedTuple

from tenure.algorithms.claims.citations import cite_span
from tenure.algorithms.claims.contradictions import detect_contradiction, find_periods
from tenure.algorithms.retrieval.document_versions import find_version
from tenure.algorithms.text.details import extract_numbers
from tenure.algorithms.text.excerpts import has_back_reference, is_complete_sentence
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.polarity import count_negations, find_antonym_pair
from tenure.algorithms.text.sentences import normalize_sentence, split_sentences, stem_words
from tenure.contracts.evidence.disputes import Contradiction

MIN_SHARED_STEMS: Final = 3
MIN_WORDS: Final = 3
"""Minimum number of words of a claim that is compared: "Helium is flammable."."""
MAX_STEM_STATEMENTS: Final = 12
"""Maximum number of claims with a stem by which pairs are found; a pair may share more frequent stems as well."""
MIN_SIMILARITY: Final = 0.6
"""Minimum cosine similarity of a pair."""
MIN_ALIKE_SHARE: Final = 0.75
"""Minimum share of common words of statements that say the same."""
MAX_PAIRS: Final = 24


class ClaimPair(NamedTuple):
    """Two claims on the same subject; each is a passage reduced to one sentence."""

    a: Passage
    b: Passage
    similarity: float


@dataclass(frozen=True)
class _Statement:
    passage: Passage
    content: frozenset[str]
    periods: frozenset[str]
    """Times and versions that it is about, by its sentence, the sentences before it, or its headings."""
    is_item: bool
    """Whether it is an item of a list, which may be about the item above it."""


def find_disputable_pairs(passages: Sequence[Passage], encode: Encoder, max_pairs: int = MAX_PAIRS) -> list[ClaimPair]:
    """Return pairs of claims on the same subject that may contradict each other, most similar first.

    Both may be of one source, but not of one passage, and not of different times or versions, such as a manual and a
    retired one. Claims of one source or in nearly the same words are paired only if they differ by a number, a negation
    or an antonym.
    """
    statements = list(_extract_statements(passages))
    candidates = _find_candidates(statements, max_pairs)
    used = sorted({n for pair in candidates for n in pair})
    if not used:
        return []
    vectors = dict(zip(used, encode([statements[n].passage.text for n in used]), strict=True))
    scored = [
        ClaimPair(statements[i].passage, statements[j].passage, float(vectors[i] @ vectors[j])) for i, j in candidates
    ]
    similar = [pair for pair in scored if pair.similarity >= MIN_SIMILARITY]
    return sorted(similar, key=lambda pair: -pair.similarity)[:max_pairs]


def find_contradictions(
    passages: Sequence[Passage], encode: Encoder, max_pairs: int = MAX_PAIRS
) -> tuple[Contradiction, ...]:
    """Return pairs of claims that say the same with another value, with both quotes.

    Claims of one source are compared only below the same heading, which may be a condition.
    """
    pairs = [
        (a, b, detect_contradiction(a.text, b.text))
        for a, b, _ in find_disputable_pairs(passages, encode, max_pairs)
        if a.source != b.source or a.headings == b.headings
    ]
    return tuple(
        Contradiction(
            a=cite_span(a, 0, len(a.text)), b=cite_span(b, 0, len(b.text)), severity=point.severity, about=point.about
        )
        for a, b, point in pairs
        if point
    )


_TABLE_DESCRIPTION = re.compile(r"The (?:column .{1,200} of the )?table \S+ (?:has|holds) ")
"""Beginning of a sentence by which the program describes a table or a column of it."""


def _may_contradict(a: "_Statement", b: "_Statement") -> bool:
    # Descriptions of columns have the same words and different numbers, and each is about another column.
    is_generated = all(_TABLE_DESCRIPTION.match(statement.passage.text) for statement in (a, b))
    has_other_period = (a.periods and b.periods and not a.periods & b.periods) or (
        a.passage.is_retired != b.passage.is_retired
    )
    are_items = a.is_item and b.is_item and a.passage.source == b.passage.source
    if a.passage.chunk == b.passage.chunk or is_generated or has_other_period or are_items:
        return False
    stems_a, stems_b = (set(stem_words(statement.passage.text)) for statement in (a, b))
    is_alike = len(stems_a & stems_b) >= MIN_ALIKE_SHARE * len(stems_a | stems_b)
    is_related = is_alike or a.passage.source == b.passage.source
    return not is_related or _have_opposites(a.passage.text, b.passage.text)


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
        # The times and versions in the nearest heading that names any, or in the title, the file name or the folder.
        names = (*reversed(passage.headings), passage.title, passage.uri.rpartition("/")[2])
        version = find_version(passage.uri)
        periods = next(filter(None, map(find_periods, names)), frozenset([version] if version else ()))
        for sentence in split_sentences(passage.text) if passage.kind == "prose" else ():
            periods = find_periods(sentence.text) or periods
            key = (passage.source, normalize_sentence(sentence.text))
            if (
                key in seen
                or not is_complete_sentence(sentence, MIN_WORDS, needs_verb=False)
                or has_back_reference(sentence.text)
            ):
                continue
            seen.add(key)
            start = passage.start + sentence.start
            cut = replace(passage, text=sentence.text, start=start, end=start + len(sentence.text))
            content = frozenset(stem for stem in stem_words(sentence.text) if not stem.isdigit())
            yield _Statement(cut, content, periods, sentence.kind == "item")


def _have_shared_subject(a: _Statement, b: _Statement) -> bool:
    """Return whether two statements share enough stems: two if one of them has three or fewer."""
    return len(a.content & b.content) >= max(2, min(MIN_SHARED_STEMS, len(a.content) - 1, len(b.content) - 1))


def _find_candidates(statements: Sequence[_Statement], max_pairs: int) -> list[tuple[int, int]]:
    """Return the pairs that share the most informative words, by an inverted index."""
    statements_by_stem: dict[str, list[int]] = defaultdict(list)
    for n, statement in enumerate(statements):
        for stem in statement.content:
            statements_by_stem[stem].append(n)
    weight: dict[tuple[int, int], float] = defaultdict(float)
    for stem in sorted(statements_by_stem):
        if 2 <= len(statements_by_stem[stem]) <= MAX_STEM_STATEMENTS:
            for i, j in combinations(statements_by_stem[stem], 2):
                weight[i, j] += math.log(len(statements) / len(statements_by_stem[stem]) + 1)
    frequent = [
        (i, j)
        for i, j in weight
        if _have_shared_subject(statements[i], statements[j]) and _may_contradict(statements[i], statements[j])
    ]
    return sorted(frequent, key=lambda pair: (-weight[pair], pair))[: 4 * max_pairs]
