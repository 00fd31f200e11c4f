"""Tests of passage links and restart weights."""

import math

import pytest

from tenure.algorithms.retrieval.passage_links import (
    MAX_PASSAGES_PER_NAME,
    EntityPassages,
    PassageEntities,
    boost_unanswered_terms,
    compute_restart_weights,
    weigh_passage_links,
)

PARIS = EntityPassages(3, ("paris",), ("seine", "louvre"), ("seine", "louvre", "opera"))


def test_passage_links_to_named_subjects() -> None:
    """A full or partial name in a passage links to the passage about it."""
    for related in (
        PassageEntities("seine", names=frozenset({"paris"})),
        PassageEntities("seine", parts=frozenset({"paris"})),
    ):
        assert weigh_passage_links("bridge", related, {"paris": PARIS}, {})["paris"] == pytest.approx(2 / math.log(5))


def test_passage_links_to_mentions_of_its_title() -> None:
    """A passage links weakly to mentions of its subject, and never to itself."""
    found = weigh_passage_links("paris", PassageEntities("paris"), {"paris": PARIS}, {})

    assert {"seine", "louvre", "opera"} == found.keys()
    assert set(found.values()) == {0.5 / math.log(5)}


def test_passages_with_a_common_name_are_linked() -> None:
    """Rare names make stronger links; unknown names make none."""
    few, many = EntityPassages(name_passages=("a", "b")), EntityPassages(name_passages=("a", "c", "d", "e"))
    found = weigh_passage_links(
        "a", PassageEntities(names=frozenset({"few", "many", "unknown"})), {"few": few, "many": many}, {}
    )

    assert {"b", "c", "d", "e"} == found.keys()
    assert found["b"] > found["c"] == found["d"]


def test_passages_with_a_common_pair_are_linked() -> None:
    """Rare pairs make stronger links; unknown pairs make none."""
    together = {"few": ("a", "b"), "many": ("a", "c", "d", "e")}
    found = weigh_passage_links("a", PassageEntities(pairs=frozenset({"few", "many", "alone"})), {}, together)

    assert {"b", "c", "d", "e"} == found.keys()
    assert found["b"] > found["c"] == found["d"]


def test_unanswered_terms_boost_a_link() -> None:
    """Question words that only the target has raise the weight of a link."""
    asked, none = frozenset({"president", "founded"}), frozenset[str]()

    assert (
        boost_unanswered_terms(1, asked, none, asked)
        > boost_unanswered_terms(1, asked, none, frozenset({"founded"}))
        > 1
    )
    assert boost_unanswered_terms(1, asked, asked, asked) == boost_unanswered_terms(1, none, none, none) == 1


def test_restart_weights_of_best_and_named_passages() -> None:
    """The best passages share a weight of 1; passages about named entities add to it."""
    start = compute_restart_weights({"a": 0.9, "b": 0.3, "c": 0.0}, {"paris": PARIS}, {})

    assert {"a", "b", "paris"} == start.keys()
    assert start["a"] == pytest.approx(9 * start["b"])
    assert start["paris"] == pytest.approx(1 / math.log(5))
    assert compute_restart_weights({"paris": 1.0}, {"paris": PARIS}, {})["paris"] > 1


def test_restart_weights_of_phrases() -> None:
    """Passages with a noun phrase of the question have less weight than a page about a named entity."""
    start = compute_restart_weights(
        {}, {"paris": PARIS}, {"iron bridge": EntityPassages(name_passages=("seine", "eiffel"))}
    )

    assert start["seine"] == start["eiffel"] == pytest.approx(0.3 / math.log(4) / 2)
    assert start["paris"] > start["seine"]


def test_frequent_names_have_no_restart_weight() -> None:
    """A name with too many passages and an empty search have no restart weight."""
    crowd = EntityPassages(mention_count=MAX_PASSAGES_PER_NAME + 1)

    assert compute_restart_weights({}, {"crowd": crowd}, {}) == {}
    assert compute_restart_weights({"a": 0.0}, {}, {}) == {}
