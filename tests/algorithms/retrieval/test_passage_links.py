"""Links between passages, and where a walk over them begins."""

import math

import pytest

from tenure.algorithms.retrieval.passage_links import MOST, Entity, Related, answering, links, restart

PARIS = Entity(1, 2, 3, ("paris",), ("seine", "louvre"), ("seine", "louvre", "opera"))


def test_a_passage_leads_to_what_it_names() -> None:
    """A name in a passage, whole or part of another, is a link to the passage about it."""
    for related in (Related("seine", names=frozenset({"paris"})), Related("seine", parts=frozenset({"paris"}))):
        assert links("bridge", related, {"paris": PARIS}, {})["paris"] == pytest.approx(2 / math.log(5))


def test_a_passage_leads_back_from_its_title() -> None:
    """What mentions a passage's subject is linked with it, less closely; a passage never with itself."""
    found = links("paris", Related("paris"), {"paris": PARIS}, {})

    assert {"seine", "louvre", "opera"} == found.keys()
    assert set(found.values()) == {0.5 / math.log(5)}


def test_passages_that_name_the_same_thing_are_linked() -> None:
    """The fewer share a name, the closer the link; names that nobody knows lead nowhere."""
    few, many = Entity(named=("a", "b")), Entity(named=("a", "c", "d", "e"))
    found = links("a", Related(names=frozenset({"few", "many", "unknown"})), {"few": few, "many": many}, {})

    assert {"b", "c", "d", "e"} == found.keys()
    assert found["b"] > found["c"] == found["d"]


def test_passages_in_which_the_same_entities_share_a_sentence_are_linked() -> None:
    """The fewer passages have the pair, the closer the link; one that nobody else has leads nowhere."""
    together = {"few": ("a", "b"), "many": ("a", "c", "d", "e")}
    found = links("a", Related(pairs=frozenset({"few", "many", "alone"})), {}, together)

    assert {"b", "c", "d", "e"} == found.keys()
    assert found["b"] > found["c"] == found["d"]


def test_a_link_to_what_is_still_asked_counts_more() -> None:
    """Words of the question that only the target has raise a link; without a question nothing does."""
    asked, none = frozenset({"president", "founded"}), frozenset[str]()

    assert answering(1, asked, none, asked) > answering(1, asked, none, frozenset({"founded"})) > 1
    assert answering(1, asked, asked, asked) == answering(1, none, none, none) == 1


def test_a_walk_begins_at_the_best_and_at_what_is_named() -> None:
    """The best passages share a weight of 1 in favour of the first; what a question names comes on top."""
    start = restart({"a": 0.9, "b": 0.3, "c": 0.0}, {"paris": PARIS}, {})

    assert {"a", "b", "paris"} == start.keys()
    assert start["a"] == pytest.approx(9 * start["b"])
    assert start["paris"] == pytest.approx(1 / math.log(5))
    assert restart({"paris": 1.0}, {"paris": PARIS}, {})["paris"] > 1


def test_a_walk_also_begins_where_a_phrase_of_the_question_stands() -> None:
    """Passages with a noun phrase of the question are a lesser start than a page about what it names."""
    start = restart({}, {"paris": PARIS}, {"iron bridge": Entity(named_count=2, named=("seine", "eiffel"))})

    assert start["seine"] == start["eiffel"] == pytest.approx(0.3 / math.log(4) / 2)
    assert start["paris"] > start["seine"]


def test_what_too_many_passages_are_about_is_no_start() -> None:
    """A name with more passages than can be told apart does not say where to begin; nor does nothing found."""
    crowd = Entity(titled_count=MOST + 1)

    assert restart({}, {"crowd": crowd}, {}) == {}
    assert restart({"a": 0.0}, {}, {}) == {}
