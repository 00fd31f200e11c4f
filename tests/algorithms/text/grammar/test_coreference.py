"""Tests of coreference resolution between questions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.grammar.coreference import (
    extract_answer_name,
    find_plural_antecedent,
    find_reference,
    is_follow_up,
    resolve_reference,
)
from tests.support.tiers import slow


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where was that author born?", "that author"),
        ("What do they cost?", "they"),
        ("How does this compare to oats?", "this"),
        ("Who bakes their bread?", "their"),
        ("What can I see there?", "there"),
        ("Where was Frank Herbert born?", ""),
        ("How do rye and wheat differ?", ""),
        ("Is it possible to bake rye?", ""),
        ("Who says that prices fall?", ""),
        ("Why did Marie Curie leave her town?", ""),
        ("Is there bread?", ""),
        ('Who wrote "Why did she go?"', ""),
    ],
)
def test_references_to_something_outside_are_found(question: str, expected: str) -> None:
    """Pronouns with their owner in the question, without a meaning and in quotations refer to nothing outside it."""
    found = find_reference(question)

    assert (found[0] if found else "") == expected


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_searched_for_references(text: str) -> None:
    """For any text a reference is inside the text, or none exists."""
    match = find_reference(text)

    assert match is None or 0 <= match.start() < match.end() <= len(text)


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
def test_follow_up_questions_are_detected(question: str, earlier: str, expected: bool) -> None:
    """The pronouns "he" and "she" need a person, "it" a thing; a demonstrative with a noun accepts both."""
    assert is_follow_up(question, earlier) is expected


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
def test_reference_is_replaced_by_the_name(question: str, expected: str) -> None:
    """The first reference becomes the name; a question without a reference is unchanged."""
    assert resolve_reference(question, "Frank Herbert") == expected


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
def test_answer_name_comes_from_the_best_sentence(texts: list[str], expected: str) -> None:
    """The name is from the sentence with most question words; a capital at the sentence start alone is not a name."""
    assert extract_answer_name("Who wrote Dune?", texts) == expected


def test_a_single_word_rarely_answers_who() -> None:
    """A single word is a person only in a sentence with all content words of the question."""
    assert extract_answer_name("Who wrote PEP 484?", ["PEP 484 defines the type Dict for dictionaries."]) == ""
    assert extract_answer_name("Who wrote Dune?", ["In 1965 Herbert wrote Dune."]) == "Herbert"
    assert extract_answer_name("In which town is Dune sold?", ["Dune is mostly sold in Rome."]) == "Rome"


@slow
@given(st.text(max_size=200), st.text(max_size=60))
@settings(deadline=None)
def test_answer_name_handles_any_text(text: str, question: str) -> None:
    """For any text the result is empty or occurs in the text."""
    found = extract_answer_name(question, [text])

    assert all(word in text for word in found.split())


@pytest.mark.parametrize(
    ("question", "earlier", "expected"),
    [
        ("How large are they?", "Which models are open?", "models"),
        ("What is their license?", "Which models are open?", "models"),
        ("How large is it?", "Which models are open?", ""),
        ("How large are they?", "Which class is open?", ""),
        ("How large are they?", "Who wrote Dune?", ""),
        ("How large are they?", "Are models open?", ""),
    ],
)
def test_plural_antecedent_is_found(question: str, earlier: str, expected: str) -> None:
    """A plural pronoun refers to the plural noun of the earlier question."""
    assert find_plural_antecedent(question, earlier) == expected
