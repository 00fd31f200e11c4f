"""Weigh the links between passages and the restart nodes of a graph search with personalised PageRank.

Two passages are linked if one names the subject of the other, or if both name the same entity or pair of entities.
Links through rare names have more weight. A link also gains weight if its target contains question words that its
origin lacks, so that the walk leads from the entities in a question to its answer. Compare HippoRAG (Gutiérrez et al.,
2024).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

MAX_PASSAGES_PER_NAME = 30
"""Maximum passages that a name leads to; more frequent names are not selective."""
_TO_TITLE_WEIGHT, _FROM_TITLE_WEIGHT, _SHARED_NAME_WEIGHT, _COOCCURRENCE_WEIGHT = 2.0, 0.5, 0.5, 0.5
_UNANSWERED_GAIN = 12.0
"""Gain of a link whose target has all question words and whose origin has none."""
_NAME_RESTART_WEIGHT = 1.0
"""Restart weight of the entities in a question, relative to the best passages of the other retrievers."""
_PHRASE_RESTART_WEIGHT = 0.3
"""Restart weight of passages with a noun phrase of the question."""
_SHARPNESS = 2  # Squared scores: a passage with half of the best score has a quarter of its weight.


@dataclass(frozen=True)
class PassageEntities:
    """Entities in a passage."""

    title: str = ""
    """Entity that its document is about."""
    names: frozenset[str] = frozenset()
    """Full names in its text."""
    parts: frozenset[str] = frozenset()
    """Names inside names."""
    pairs: frozenset[str] = frozenset()
    """Pairs of entities that share a sentence."""


@dataclass(frozen=True)
class EntityPassages:
    """Passages that mention an entity, if there are few, and their total number."""

    mention_count: int = 0
    """Number of passages with its name, alone or within another name."""
    title_passages: tuple[str, ...] = ()
    """Passages about the entity."""
    name_passages: tuple[str, ...] = ()
    """Passages with its full name."""
    mention_passages: tuple[str, ...] = ()


def compute_restart_weights(
    best: Mapping[str, float], named_entities: Mapping[str, EntityPassages], phrases: Mapping[str, EntityPassages]
) -> dict[str, float]:
    """Return the restart weight of each passage.

    The best passages of the other retrievers get their squared scores, normalised to 1. A named entity of w words in n
    passages about it adds sqrt(w) / (ln(2 + mentions) * n) to each of them. A noun phrase of the question in n passages
    adds 0.3 / (ln(2 + n) * n) to each.
    """
    total = sum(score**_SHARPNESS for score in best.values())
    weights = {passage: score**_SHARPNESS / total for passage, score in best.items() if score > 0}
    for name, entity in named_entities.items():
        if 0 < len(entity.title_passages) <= MAX_PASSAGES_PER_NAME:
            weight = _NAME_RESTART_WEIGHT * math.sqrt(len(name.split())) / _compute_commonness(entity)
            for passage in entity.title_passages:
                weights[passage] = weights.get(passage, 0.0) + weight / len(entity.title_passages)
    for entity in phrases.values():
        _share_weight(weights, entity.name_passages, _PHRASE_RESTART_WEIGHT, smoothing=2)
    return weights


def weigh_passage_links(
    passage: str,
    related: PassageEntities,
    entities: Mapping[str, EntityPassages],
    cooccurrences: Mapping[str, tuple[str, ...]],
) -> dict[str, float]:
    """Return the passages linked to a passage, with the link weights, by the passages of its entities and pairs."""
    weights: dict[str, float] = {}
    for name in related.names | related.parts:
        entity = entities.get(name, EntityPassages())
        if passages := entity.title_passages:
            _raise_weights(weights, passages, _TO_TITLE_WEIGHT / _compute_commonness(entity) / len(passages))
    subject = entities.get(related.title, EntityPassages())
    _raise_weights(weights, subject.mention_passages, _FROM_TITLE_WEIGHT / _compute_commonness(subject))
    for name in sorted(related.names):
        _share_weight(weights, entities.get(name, EntityPassages()).name_passages, _SHARED_NAME_WEIGHT)
    for pair in sorted(related.pairs):
        _share_weight(weights, cooccurrences.get(pair, ()), _COOCCURRENCE_WEIGHT)
    weights.pop(passage, None)
    return weights


def boost_unanswered_terms(
    weight: float, question_terms: frozenset[str], origin_terms: frozenset[str], target_terms: frozenset[str]
) -> float:
    """Return the link weight multiplied by 1 + 12 * (question terms that only the target has) / (question terms)."""
    if not question_terms:
        return weight
    return weight * (1 + _UNANSWERED_GAIN * len(target_terms - origin_terms) / len(question_terms))


def _compute_commonness(entity: EntityPassages) -> float:
    return math.log(2 + entity.mention_count)


def _share_weight(weights: dict[str, float], passages: tuple[str, ...], weight: float, *, smoothing: int = 1) -> None:
    """Add weight / (ln(smoothing + n) * n) to each of n passages."""
    for passage in passages:
        share = weight / math.log(smoothing + len(passages)) / len(passages)
        weights[passage] = weights.get(passage, 0.0) + share


def _raise_weights(weights: dict[str, float], passages: tuple[str, ...], weight: float) -> None:
    for passage in passages:
        weights[passage] = max(weights.get(passage, 0.0), weight)
