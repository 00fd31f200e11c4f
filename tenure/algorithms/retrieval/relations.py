"""Relations of a text: which of its entities stand in one sentence, and which statements about them it holds."""

import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from tenure.algorithms.text.entities import written
from tenure.algorithms.text.phrases import is_identifier, term_key, terms
from tenure.algorithms.text.sentences import sentences
from tenure.contracts.knowledge.graph import BESIDE, EntityKind

MOST_IN_SENTENCE = 8
"""Entities of a sentence that are paired; a list of fifty names relates none of them to another."""
MOST_ENTITIES = 24
"""Entities of a text."""
MOST_RELATIONS = 40
"""Relations of a text."""


class Named(NamedTuple):
    """An entity as a text writes it."""

    name: str
    kind: EntityKind


class Stated(NamedTuple):
    """A statement about two entities, with the sentence it is taken from."""

    subject: str
    predicate: str
    object: str
    sentence: str


class Held(NamedTuple):
    """A statement that a text holds."""

    subject: str
    predicate: str
    object: str
    times: int
    """Sentences that say it."""
    start: int
    """Where in the text the first of them begins."""
    end: int
    """Where it ends."""


Pair = tuple[str, str]
"""Keys of two entities in alphabetical order: standing beside each other has no direction."""

Pairs = Mapping[Pair, int]
"""How many sentences two entities share."""


class Beside(NamedTuple):
    """What stands beside what in a text."""

    entities: dict[str, Named]
    """By key, in order of appearance."""
    relations: dict[Pair, Held]
    """Those of most sentences first, then in order of appearance."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """Keys of the entities that are no names."""
        return tuple(key for key, entity in self.entities.items() if entity.kind != "name")

    @property
    def pairs(self) -> Pairs:
        """How many sentences each pair shares."""
        return {both: held.times for both, held in self.relations.items()}


def pair(one: str, other: str) -> Pair:
    """Return two keys as a pair."""
    return (one, other) if one <= other else (other, one)


def beside(text: str) -> Beside:
    """Return the entities of a text, and which of them stand in one sentence, in how many of them."""
    known: dict[str, Named] = {}
    pairs: dict[Pair, Held] = {}
    for sentence in sentences(text):
        found = _entities(sentence.text)
        for name, entity in found.items():
            if len(known) < MOST_ENTITIES:
                known.setdefault(name, entity)
        present = [name for name in found if name in known]
        for one, other in combinations(present[:MOST_IN_SENTENCE], 2):
            if f" {one} " in f" {other} ":  # "the river Zenne" says nothing of the Zenne
                continue
            together = pair(one, other)
            first = Held(known[one].name, BESIDE, known[other].name, 0, sentence.start, sentence.end)
            seen = pairs.get(together, first)
            pairs[together] = seen._replace(times=seen.times + 1)
    ordered = sorted(pairs.items(), key=lambda item: -item[1].times)
    return Beside(known, dict(ordered[:MOST_RELATIONS]))


def held(text: str, stated: Iterable[Stated]) -> tuple[Held, ...]:
    """Return what a text holds of what is stated about it, the same statement once with its sentences counted.

    A statement is refused if its sentence or one of its two entities does not stand in the text.
    """
    found: dict[tuple[str, str, str], dict[tuple[int, int], Stated]] = {}
    for one in stated:
        span = _place(text, one.sentence)
        if span and one.predicate.strip() and _place(text, one.subject) and _place(text, one.object):
            identity = (term_key(one.subject), " ".join(one.predicate.lower().split()), term_key(one.object))
            if identity[0] and identity[2] and identity[0] != identity[2]:
                found.setdefault(identity, {}).setdefault(span, one)
    return tuple(_told(said) for said in found.values())


def _entities(sentence: str) -> dict[str, Named]:
    """Return the entities of a sentence by key, names first; a term inside a name is none of its own."""
    names = written(sentence)
    found = {name: Named(spelt, "name") for name, spelt in names.items()}
    for term in terms(sentence):
        name = term_key(term)
        if not any(f" {name} " in f" {other} " for other in names):
            found[name] = Named(term, "code" if is_identifier(term) else "concept")
    return found


def _told(said: dict[tuple[int, int], Stated]) -> Held:
    (start, end), first = min(said.items())
    predicate = " ".join(first.predicate.split())
    return Held(first.subject.strip(), predicate, first.object.strip(), len(said), start, end)


def _place(text: str, words: str) -> tuple[int, int] | None:
    """Return where words stand in a text, whatever their case and the white space between them."""
    wanted = words.split()
    match = re.search(r"\s+".join(map(re.escape, wanted)), text, re.IGNORECASE) if wanted else None
    return match.span() if match else None
