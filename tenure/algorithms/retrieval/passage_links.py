"""Links between passages: one names what another is about, or both name the same rare things (DESIGN §6).

A link is worth more the rarer the name is, and the more of the question its target answers that its
origin leaves open: so a walk over the links goes from what a question names to what it asks about.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

MOST = 30
"""Passages that a name leads to at the most; a name that more share says nothing about which of them."""
_TO_TITLE, _FROM_TITLE, _SHARED, _BESIDE = 2.0, 0.5, 0.5, 0.5
_OPEN = 12.0
"""How much a link gains when its target has all of the question's words, and its origin none."""
_ASKED = 1.0
"""Weight of what the question names beside the best passages of the other legs."""
_PHRASES = 0.3
"""Weight of passages that hold a noun phrase of the question."""
_SHARPNESS = 2


@dataclass(frozen=True)
class Related:
    """What a passage names."""

    title: str = ""
    """What its document is about."""
    names: frozenset[str] = frozenset()
    """Whole names in its text."""
    parts: frozenset[str] = frozenset()
    """Names inside names."""
    pairs: frozenset[str] = frozenset()
    """Entities that share a sentence in it."""


@dataclass(frozen=True)
class Entity:
    """Something that is named, and the passages where: as many as there are, and which, as long as they are few."""

    titled_count: int = 0
    """Passages that are about it."""
    named_count: int = 0
    """Passages that name it."""
    mentioned_count: int = 0
    """Passages that name it, or something it is part of."""
    titled: tuple[str, ...] = ()
    """The passages about it."""
    named: tuple[str, ...] = ()
    """The passages that name it."""
    mentioned: tuple[str, ...] = ()
    """The passages that name it or something it is part of."""


def restart(best: Mapping[str, float], asked: Mapping[str, Entity], phrases: Mapping[str, Entity]) -> dict[str, float]:
    """Return where a walk begins.

    Args:
        best: the best passages of a search, with their scores.
        asked: what the question may name, whose pages are a start.
        phrases: noun phrases of the question; the passages that hold them are a lesser one.
    """
    total = sum(score**_SHARPNESS for score in best.values())
    start = {passage: score**_SHARPNESS / total for passage, score in best.items() if score > 0}
    for name, entity in asked.items():
        if 0 < len(entity.titled) <= MOST:
            weight = _ASKED * math.sqrt(len(name.split())) / _commonness(entity) / len(entity.titled)
            for passage in entity.titled:
                start[passage] = start.get(passage, 0.0) + weight
    for entity in phrases.values():
        for passage in entity.named:
            weight = _PHRASES / math.log(2 + len(entity.named)) / len(entity.named)
            start[passage] = start.get(passage, 0.0) + weight
    return start


def links(
    passage: str, related: Related, entities: Mapping[str, Entity], together: Mapping[str, tuple[str, ...]]
) -> dict[str, float]:
    """Return the passages that one passage is linked with, and how closely.

    Args:
        passage: the one.
        related: what it names.
        entities: where that is named besides.
        together: passages in which two entities share a sentence.
    """
    found: dict[str, float] = {}
    for name in related.names | related.parts:
        entity = entities.get(name, Entity())
        if entity.titled:
            _at_least(found, entity.titled, _TO_TITLE / _commonness(entity) / len(entity.titled))
    own = entities.get(related.title, Entity())
    _at_least(found, own.mentioned, _FROM_TITLE / _commonness(own))
    for name in sorted(related.names):
        entity = entities.get(name, Entity())
        for other in entity.named:
            found[other] = found.get(other, 0.0) + _SHARED / math.log(1 + len(entity.named)) / len(entity.named)
    for pair in sorted(related.pairs):
        for other in (others := together.get(pair, ())):
            found[other] = found.get(other, 0.0) + _BESIDE / math.log(1 + len(others)) / len(others)
    found.pop(passage, None)
    return found


def answering(weight: float, asked: frozenset[str], origin: frozenset[str], target: frozenset[str]) -> float:
    """Return the weight of a link in the light of a question.

    Args:
        weight: how close the link is.
        asked: the question's words.
        origin: those of them that the link's origin has.
        target: those of them that its target has.
    """
    return weight * (1 + _OPEN * len(target - origin) / len(asked)) if asked else weight


def _commonness(entity: Entity) -> float:
    return math.log(2 + entity.mentioned_count)


def _at_least(found: dict[str, float], passages: tuple[str, ...], weight: float) -> None:
    for passage in passages:
        found[passage] = max(found.get(passage, 0.0), weight)
