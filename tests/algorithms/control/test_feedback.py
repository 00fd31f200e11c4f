"""Tests of the assignment of feedback to sections."""

import pytest

from tenure.algorithms.control.feedback import match_headings
from tenure.contracts.run.run import Feedback

HEADINGS = ("Bread", "Rye bread", "Ripening of cheese", "Milk and rennet")


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("bread", ("Bread",)),
        (" RYE BREAD ", ("Rye bread",)),
        ("bre", ("Bread", "Rye bread")),
        ("how cheese ripens", ("Ripening of cheese",)),
        ("milks", ("Milk and rennet",)),
        ("wine", ()),
    ],
)
def test_named_topic_decides(topic: str, expected: tuple[str, ...]) -> None:
    """An equal heading precedes one that contains the topic, and that one precedes shared words."""
    assert expected == match_headings(Feedback(text="More on milk, please.", topic=topic), HEADINGS)


def test_feedback_without_topic_matches_shared_words() -> None:
    """Headings are in the order of the outline."""
    assert match_headings(Feedback(text="Does milk ripen to cheese?"), HEADINGS) == HEADINGS[2:]


def test_general_feedback_matches_all_sections() -> None:
    """General feedback matches all sections."""
    assert match_headings(Feedback(text="Be shorter!"), HEADINGS) == HEADINGS


def test_no_sections_give_no_match() -> None:
    """No sections give no match."""
    assert (
        match_headings(Feedback(text="Be shorter!"), ()) == match_headings(Feedback(text="x", topic="Bread"), ()) == ()
    )
