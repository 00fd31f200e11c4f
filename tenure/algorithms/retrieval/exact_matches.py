"""Find the passages that share the names and the rare words of a text, by their best line.

A search by meaning ranks whole passages. A row of a table or an item of a list that answers a question is a small part
of its passage, and an option has a name that no other word replaces.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tenure.algorithms.text.sentences import split_sentences, stem_words
from tenure.algorithms.text.term_lookup import compile_term_pattern

# "auth-url", "rust_dependency_map", "forwardedHeaders.insecure", "0.9.1", "QoS" and all text in backticks.
_CODE_SPAN = re.compile(r"`([^`]{2,80})`")
_IDENTIFIER = re.compile(r"(?<![\w.])(?:\w+(?:[-_./:]\w+)+|\d+(?:\.\d+)+|[A-Z]+[a-z]*[A-Z]\w*|[a-z]+[A-Z]\w*)(?!\w)")
MAX_IDENTIFIERS: Final = 8  # A question names a few; pasted code has hundreds.
_CONTEXT_WEIGHT: Final = 0.5
"""Weight of a word that is in the passage and not in its best line."""
_LONG_LINE_CHARACTERS: Final = 300
"""Characters from which a line is divided into its sentences."""


class TextMatch(NamedTuple):
    """A text compared with what is looked for."""

    score: float
    """Share of the weight of all words that its best line has, with half of that of the words around it; 0 to 1."""
    identifiers: frozenset[str]


def list_identifiers(text: str) -> tuple[str, ...]:
    """Return the names of code, options, versions and products in a text, in order, each once."""
    spans = [" ".join(span.split()) for span in _CODE_SPAN.findall(text)]
    others = _IDENTIFIER.findall(_CODE_SPAN.sub(" ", text))
    return tuple({name.casefold(): name for name in (*spans, *others)}.values())[:MAX_IDENTIFIERS]


def match_texts(query: str, texts: Mapping[str, tuple[str, str]]) -> dict[str, TextMatch]:
    """Compare texts (by id, with title and headings before each) with what is looked for.

    A word counts the more, the fewer of the texts have it.
    """
    identifiers = list_identifiers(query)
    stems = frozenset(stem_words(query)).difference(identifiers)
    units_by_text = {
        name: [
            stems.intersection(stem_words(unit)).union(i for i in identifiers if compile_term_pattern(i).search(unit))
            for unit in (context, *_split_lines(text))
        ]
        for name, (context, text) in texts.items()
    }
    terms = {name: frozenset().union(*units) for name, units in units_by_text.items()}
    counts = Counter(term for text_terms in terms.values() for term in text_terms)
    weights = {term: math.log(1 + len(texts) / count) for term, count in counts.items()}
    rarest = math.log(1 + len(texts))
    total = sum(weights.get(term, rarest) for term in (*stems, *identifiers)) or 1.0
    matches: dict[str, TextMatch] = {}
    for name, units in units_by_text.items():
        around = sum(weights[term] for term in terms[name])
        best = max(sum(weights[term] for term in unit) for unit in units)
        score = best + _CONTEXT_WEIGHT * (around - best)
        matches[name] = TextMatch(score / total, terms[name].intersection(identifiers))
    return matches


def _split_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) > _LONG_LINE_CHARACTERS and not line.startswith("|"):
            yield from (sentence.text for sentence in split_sentences(line))
        elif line.strip():
            yield line
