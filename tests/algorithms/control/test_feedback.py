"""Which sections a person's feedback concerns."""

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
def test_a_named_topic_decides(topic: str, expected: tuple[str, ...]) -> None:
    """A heading that is the topic comes before one that contains it, and that before shared words."""
    assert expected == match_headings(Feedback(text="More on milk, please.", topic=topic), HEADINGS)


def test_feedback_without_a_topic_concerns_the_sections_it_speaks_of() -> None:
    """Shared words decide, in the order of the outline."""
    assert match_headings(Feedback(text="Does milk ripen to cheese?"), HEADINGS) == HEADINGS[2:]


def test_feedback_on_nothing_in_particular_concerns_everything() -> None:
    """A general wish goes to all sections."""
    assert match_headings(Feedback(text="Be shorter!"), HEADINGS) == HEADINGS


def test_no_sections_are_concerned_where_there_are_none() -> None:
    """Before there is an outline nothing is concerned, named or not."""
    assert (
        match_headings(Feedback(text="Be shorter!"), ()) == match_headings(Feedback(text="x", topic="Bread"), ()) == ()
    )
