"""Tests of the title writer's fallback."""

import pytest

from tenure.roles.base import Evidence
from tenure.roles.writing.title_writer import MAX_TITLE_CHARACTERS, TitleWriterInput, fallback


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What is rye bread?", "Rye bread"),
        ("How is bread made?", "How is bread made?"),
        ("How is bread made, and how does cheese ripen?", "How is bread made and how does cheese ripen?"),
        ("How is bread made, and how do I keep cheese?", "How is bread made and how do I keep cheese?"),
        ("What is rye bread, and how is it made by hand?", "What is rye bread, and how is it made by hand?"),
        ("We bake. How is bread made? How do I keep cheese?", "How is bread made and how do I keep cheese?"),
        ("What is rye bread? What is Gouda cheese?", "Rye bread and Gouda cheese"),
        ("How is bread made? How is cheese made? How is wine made?", "How is bread made and how is cheese made?"),
    ],
)
def test_the_question_is_the_title(question: str, title: str) -> None:
    """Of several questions the first two are used; within the title only names keep their capital."""
    assert title == fallback(TitleWriterInput(question=question, topics=()), Evidence()).title


def test_a_title_is_short() -> None:
    """A title has a maximum length, whatever the question."""
    question = "How is bread made with " + "rye " * 100 + "? How is cheese kept with " + "milk " * 100

    assert len(fallback(TitleWriterInput(question=question, topics=()), Evidence()).title) <= MAX_TITLE_CHARACTERS
