"""Tests of the parts of a question that no passage speaks of."""

from tenure.algorithms.research.open_parts import MAX_PARTS, find_unplanned_parts, list_parts, select_open_parts

QUESTION = "What do bread in Lyon and cheese from Gouda cost, and how long do they keep?"


def test_parts_are_names_and_pieces() -> None:
    """Names come first, then the pieces between commas and conjunctions; pieces without content are left out."""
    assert list_parts(QUESTION) == (
        "Lyon",
        "Gouda",
        "What do bread in Lyon",
        "cheese from Gouda cost",
        "how long do they keep",
    )
    assert list_parts("And who, or what?") == ()


def test_the_number_of_parts_is_limited() -> None:
    """A list of many things gives no more than the limit."""
    assert len(list_parts(", ".join(f"thing{n}" for n in range(40)))) == MAX_PARTS


def test_a_passage_closes_the_parts_that_it_speaks_of() -> None:
    """A part is open until one passage has half of its words, in any form; words of several passages do not add up."""
    parts = ("rye bread baked slowly", "Gouda")

    assert select_open_parts(parts, ()) == parts
    assert select_open_parts(parts, ("Rye needs time.", "Ovens bake.")) == parts
    assert select_open_parts(parts, ("Rye breads rise.",)) == ("Gouda",)
    assert select_open_parts(parts, ("Rye breads rise.",), min_share=0.75) == parts
    assert select_open_parts(parts, ("Gouda has bread of rye.",)) == ()


def test_parts_that_the_outline_lacks_are_found() -> None:
    """A part is planned if a topic, or all topics together, speak of it."""
    topics = ["Cost. What does bread in Lyon cost?", "Cheese. What does cheese from Gouda cost?"]

    assert find_unplanned_parts(QUESTION, topics) == ("how long do they keep",)
    assert find_unplanned_parts(QUESTION, [QUESTION]) == ()
    assert find_unplanned_parts("We have to choose, after nights of rain: what holds?", ["Holding"]) == ()
