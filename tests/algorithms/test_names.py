"""Names that passages bring up and a question does not have."""

from tenure.algorithms.names import MAX_NAME, new_names
from tests.passages import passage


def test_the_name_nearest_to_the_questions_words_comes_first() -> None:
    """A name counts by what its passages share with the question, a title like any other."""
    found = new_names(
        "Who wrote Middlemarch?",
        [
            passage("The author who wrote Middlemarch was George Eliot.", title="Middlemarch"),
            passage("Paris lies on the Seine.", title="Paris"),
        ],
    )

    assert found[0] == "George Eliot"
    assert "Middlemarch" not in found
    assert {"Paris", "Seine"} <= set(found)


def test_a_single_word_counts_half() -> None:
    """One capitalised word may only begin its sentence."""
    found = new_names("What is rye bread?", [passage("Yesterday rye bread was baked by Anna Miller.", title="")])

    assert found == ["Anna Miller", "Yesterday"]


def test_a_later_passage_counts_less() -> None:
    """The name of the better passage comes first; equal ones stand in alphabetical order."""
    like = [passage("Rye bread of Zell.", title=""), passage("Rye bread of Aachen.", title="")]

    assert new_names("rye bread", like) == ["Zell", "Aachen"]
    assert new_names("wine", like) == ["Aachen", "Rye", "Zell"]


def test_a_name_of_known_or_empty_words_is_none() -> None:
    """What the question has, stop words, and what is too long to be a name are left out."""
    long = "The " + "X" * MAX_NAME
    found = new_names("rye bread", [passage("However the Rye Bread is old.", title=long), passage("", title="")])

    assert found == []


def test_nothing_to_read_names_nothing() -> None:
    """Without passages there are no names."""
    assert new_names("rye bread", []) == []
