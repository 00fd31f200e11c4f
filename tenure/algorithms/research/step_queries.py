"""Insert names from the results of earlier steps into the query of a step that depends on them, without a model.

A query that points to an earlier answer ("that author", "he") gets the name that answers the earlier query. Another
query gets a bridge entity, but only with evidence: the name occurs together with a name of the query, or with half of
its content words. Without such a name the query stays as planned.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.reasoning.short_answers import has_detail
from tenure.algorithms.retrieval.bridge_entities import BridgeEntity, find_bridge_entities
from tenure.algorithms.text.coreference import extract_answer_name, find_plural_antecedent, resolve_reference
from tenure.algorithms.text.entities import extract_entity_spellings
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import split_sentences, stem_words

MIN_BRIDGE_COVERAGE: Final = 0.5
"""Minimum share of the query's content words that occur with a bridge entity, unless a name of the query does."""

_RELATIVE_CLAUSE: Final = re.compile(
    r"\w\s+that\s+(?:\w+ed|won|made|wrote|had|has|have|became|began|led|took|gave|held|ran|built|sang|lost|found|"
    r"contains?|belongs?|includes?|can|could|will|would|did|do|does)\b",
    re.IGNORECASE,
)
"""A noun with a relative clause, in which "that" points to nothing earlier."""


class QueryWithName(NamedTuple):
    """Query with an inserted name."""

    query: str
    """The query; unchanged if no name was inserted."""
    name: str = ""
    """The name; empty if none was inserted."""


class EarlierSearch(NamedTuple):
    """Search on whose results a query depends."""

    query: str
    """Its query."""
    passages: Sequence[Passage]
    """Its results, best first."""


def insert_name(query: str, earlier: Sequence[EarlierSearch]) -> QueryWithName:
    """Insert a name that earlier searches have found into a query; the last of them comes first."""
    if not has_reference(query):
        return _insert_bridge(query, earlier)
    for search in reversed(earlier):
        texts = [passage.text for passage in search.passages if passage.kind == "prose"]
        name = find_plural_antecedent(query, search.query) or extract_answer_name(search.query, texts)
        resolved = resolve_reference(query, name) if name else query
        if resolved != query:
            return QueryWithName(resolved, name)
    return QueryWithName(query)


def has_reference(query: str) -> bool:
    """Return whether a query points to something that it does not name ("that author", "he")."""
    return not _RELATIVE_CLAUSE.search(query) and resolve_reference(query, "\0") != query


def _insert_bridge(query: str, earlier: Sequence[EarlierSearch]) -> QueryWithName:
    made = [search.query for search in earlier]
    for search in reversed(earlier):
        prose = [passage for passage in search.passages if passage.kind == "prose"]
        for bridge in find_bridge_entities(query, prose, made):
            if _is_linked(query, bridge):
                return QueryWithName(bridge.query, bridge.name)
    return QueryWithName(query)


def _is_linked(query: str, bridge: BridgeEntity) -> bool:
    """Return whether a new name occurs together with a name of the query, or with enough of its content words."""
    stems = frozenset(stem_words(query))
    if stems & set(stem_words(bridge.name)):
        return False
    names = [frozenset(stem_words(name)) for name in extract_entity_spellings(query).values()]
    has_name = any(name and name <= bridge.covered for name in names)
    return has_name or len(bridge.covered) >= max(2, MIN_BRIDGE_COVERAGE * len(stems))


def find_answering_passage(query: str, passages: Sequence[Passage]) -> int:
    """Return the number, from 1, of the first passage with a sentence that answers a query; 0 if there is none.

    The sentence, with the title of its document, contains all content words of the query and a detail of the kind that
    the query asks for.
    """
    stems = frozenset(stem_words(query))
    for number, passage in enumerate(passages, 1):
        title = frozenset(stem_words(passage.title))
        for sentence in split_sentences(passage.text) if passage.kind == "prose" else ():
            if stems and stems <= title | set(stem_words(sentence.text)) and has_detail(query, sentence.text):
                return number
    return 0
