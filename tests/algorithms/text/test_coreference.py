"""What questions point back to, and names in its place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.coreference import answer_name, depends, names, resolved


@pytest.mark.parametrize(
    ("question", "earlier", "expected"),
    [
        ("What did that author do before?", "Who wrote Dune?", True),
        ("Where was he born?", "Who wrote Dune?", True),
        ("Where was her mother born?", "Which actress plays Ripley?", True),
        ("When was it founded?", "Which company built the rocket?", True),
        ("How many people live there?", "What is the capital of France?", True),
        ("Who is its mayor?", "In which town is bread baked?", True),
        ("What do they eat?", "Who lives in the north?", True),
        ("Where was he born?", "Which company built the rocket?", False),
        ("How does it end?", "Who wrote Dune?", False),
        ("What is it made of?", "How is bread made?", False),
        ("What is it made of?", "What is bread?", False),
        ("How is cheese made?", "Who wrote Dune?", False),
        ("Who lives there?", "Where was bread invented?", True),
        ("How old is it?", "Where was bread invented?", False),
        ("Is that the end?", "Which book is it?", False),
    ],
)
def test_a_question_may_depend_on_an_answer(question: str, earlier: str, expected: bool) -> None:
    """A person answers for he and she, a thing for it, and either for "that" with a noun; a subject for neither."""
    assert depends(question, earlier) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did that author do before?", "What did Frank Herbert do before?"),
        ("What is that author's best book?", "What is Frank Herbert's best book?"),
        ("Where was his mother born?", "Where was Frank Herbert's mother born?"),
        ("Who met her?", "Who met Frank Herbert?"),
        ("Who lives there?", "Who lives in Frank Herbert?"),
        ("What is its price?", "What is Frank Herbert's price?"),
        ("How is bread made?", "How is bread made?"),
    ],
)
def test_a_name_takes_the_place_of_what_points_back(question: str, expected: str) -> None:
    """The first words that point back become the name; a question without any stays as it is."""
    assert resolved(question, "Frank Herbert") == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("In 1965 Frank Herbert wrote the novel Dune.", ("Frank Herbert", "Dune")),
        ("It was J. R. R. Tolkien's idea. University of Oxford", ("J. R. R. Tolkien", "University of Oxford")),
        ("the bread is old", ()),
        ("The Who", ()),
    ],
)
def test_names_are_runs_of_capitals(sentence: str, expected: tuple[str, ...]) -> None:
    """Names keep initials and the small words inside, and lose the empty words that open a sentence."""
    assert names(sentence) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Frank Herbert wrote Dune."], "Frank Herbert"),
        (["The novel Dune is long.", "Dune was written by Kevin. Frank Herbert wrote Dune."], "Frank Herbert"),
        (["Herbert wrote Dune."], ""),
        (["Herbert wrote Dune. It made Herbert rich."], "Herbert"),
        (["Herbert wrote Dune. Then he, Herbert, slept."], "Herbert"),
        (["Bread is made by Anna Smith."], ""),
        ([], ""),
    ],
)
def test_the_answer_is_a_name_from_a_sentence_about_the_question(texts: list[str], expected: str) -> None:
    """The name comes from the sentence with most words of the question; a capital at its start alone is no name."""
    assert answer_name("Who wrote Dune?", texts) == expected


@given(st.text(max_size=200), st.text(max_size=60))
@settings(deadline=None)
def test_any_text_can_be_looked_through(text: str, question: str) -> None:
    """Nonsense gives a name that stands in it, or none."""
    found = answer_name(question, [text])

    assert all(word in text for word in found.split())
