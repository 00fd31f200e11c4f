"""Statements and steps of an argument made of the words of sources."""

from tenure.algorithms.reasoning.arguments import floor, nearness, shared_words, statements, subject, touches, weakest
from tenure.roles.base import no_encoder
from tests.passages import passage
from tests.worlds import encode

MADE = "Bread is made from flour and water by the baker."


def test_statements_stand_alone_and_are_said_once() -> None:
    """Sentences that point back, headings of back matter, code and repetitions are no statements."""
    found = statements(
        [
            passage(f"{MADE} This is done every morning by the same baker."),
            passage(MADE, "again"),
            passage("Thanks are given to the baker for the bread.", "credits", headings=("Credits",)),
            passage(MADE.replace("Bread", "Cake"), "code", kind="code"),
        ]
    )

    assert [(one.passage, one.text) for one in found] == [(1, MADE)]


def test_a_text_is_about_a_question_when_it_says_half_of_its_words() -> None:
    """Words count by their stems, and half of them are enough."""
    assert touches("How does bread rise?", "The baker made breads.")
    assert not touches("How does the bread of rye rise?", "The baker made breads.")


def test_nearness_of_nothing_is_nothing() -> None:
    """Without texts nobody is asked for a vector."""
    near, vectors = nearness("bread", [], no_encoder)

    assert (near, len(vectors), floor(near), weakest(near)) == ([], 0, 0.4, 0.0)


def test_a_step_has_to_be_near_the_question() -> None:
    """The bar follows the best statement, and an argument is as sure as its weakest step."""
    near, _ = nearness("bread flour", ["bread flour", "bread water"], encode)

    assert [round(cosine, 2) for cosine in near] == [1.0, 0.5]
    assert (round(floor(near), 3), weakest(near)) == (0.65, 0.5)


def test_shared_words_are_the_longest_run() -> None:
    """Words that follow each other are told together, as they are written."""
    assert shared_words("the baker counts references and counts", ["refer", "count"]) == "counts references and counts"
    assert shared_words("a lack of flour and then of the rye", ["lack", "flour"]) == "lack of flour"
    assert shared_words("the baker", ["oven"]) == ""


def test_the_subject_is_what_tells_passages_apart() -> None:
    """A name that every passage holds says nothing of what is asked."""
    passages = [passage(f"Tenure holds loaf number {n}.", f"s{n}") for n in range(9)]

    assert subject("How does Tenure bake?", passages) == "How does bake?"
