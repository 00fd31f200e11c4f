"""Find the passages that share the names and the rare words of a text, by their best line.

A search by meaning ranks whole passages. A row of a table or an item of a list that answers a question is a small part
of its passage, and an option has a name that no other word replaces.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.sentences import split_sentences, stem_words
from tenure.algorithms.text.term_lookup import compile_term_pattern

# "auth-url", "rust_dependency_map", "forwardedHeaders.insecure", "0.9.1", "QoS" and all text in backticks.
_CODE_SPAN = re.compile(r"`([^`]{2,80})`")
_IDENTIFIER = re.compile(r"(?<![\w.])(?:\w+(?:[-_./:]\w+)+|\d+(?:\.\d+)+|[A-Z]+[a-z]*[A-Z]\w*|[a-z]+[A-Z]\w*)(?!\w)")
MAX_IDENTIFIERS: Final = 8
"""Maximum number of identifiers of a text."""
_CONTEXT_WEIGHT: Final = 0.5
"""Weight of a word that is in the passage and not in its best line."""
_LONG_LINE_CHARACTERS: Final = 300
"""Characters from which a line is divided into its sentences."""


class TextMatch(NamedTuple):
    """A text compared with what is looked for."""

    score: float
    """Share of the weight of all words that its best line has, with half of that of the words around it; 0 to 1."""
    identifiers: frozenset[str]
    """Identifiers that it contains."""


def list_identifiers(text: str) -> tuple[str, ...]:
    """Return the names of code, options, versions and products in a text, in order, each once."""
    spans = [" ".join(span.split()) for span in _CODE_SPAN.findall(text)]
    others = _IDENTIFIER.findall(_CODE_SPAN.sub(" ", text))
    return tuple({name.casefold(): name for name in (*spans, *others)}.values())[:MAX_IDENTIFIERS]


def match_texts(wanted: str, texts: Mapping[str, tuple[str, str]]) -> dict[str, TextMatch]:
    """Compare texts with what is looked for; a word counts the more, the fewer of the texts have it.

    Args:
        wanted: words and identifiers that are looked for.
        texts: texts by id, each with its title and headings.
    """
    identifiers = list_identifiers(wanted)
    stems = frozenset(stem_words(wanted)).difference(identifiers)
    found = {name: _find_units(context, text, identifiers, stems) for name, (context, text) in texts.items()}
    counts = Counter(term for units in found.values() for term in frozenset().union(*units))
    weights = {term: math.log(1 + len(texts) / count) for term, count in counts.items()}
    rarest = math.log(1 + len(texts))
    total = sum(weights.get(term, rarest) for term in (*stems, *identifiers)) or 1.0
    return {
        name: TextMatch(_score(units, weights) / total, frozenset(identifiers) & frozenset().union(*units))
        for name, units in found.items()
    }


def _find_units(context: str, text: str, identifiers: Sequence[str], stems: frozenset[str]) -> list[frozenset[str]]:
    """Return the terms of the title and the headings, and those of each line."""
    return [
        stems.intersection(stem_words(unit)).union(
            name for name in identifiers if compile_term_pattern(name).search(unit)
        )
        for unit in (context, *_split_lines(text))
    ]


def _split_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) > _LONG_LINE_CHARACTERS and not line.startswith("|"):
            yield from (sentence.text for sentence in split_sentences(line))
        elif line.strip():
            yield line


def _score(units: Sequence[frozenset[str]], weights: Mapping[str, float]) -> float:
    around = sum(weights[term] for term in frozenset().union(*units))
    best = max(sum(weights[term] for term in unit) for unit in units)
    return best + _CONTEXT_WEIGHT * (around - best)
