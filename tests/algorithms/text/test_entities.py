"""Names in texts, and the keys under which they meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.entities import LONGEST, key, names, spans, title_key, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles", "beatles"),
        ("Alû", "alu"),
        ("Newton's", "newton"),
        ("Bank of England", "bank of england"),
        ("the", ""),
        ("Al", ""),
        ("…", ""),
    ],
)
def test_spellings_of_one_name_share_a_key(text: str, expected: str) -> None:
    """Case, accents, articles in front and the possessive are left out; what is too short has no key."""
    assert expected == key(text)


def test_a_title_is_known_without_its_parenthesis() -> None:
    """What tells a title from others of its name is left out, unless nothing else is there."""
    assert title_key("Lilu (mythology)") == "lilu"
    assert title_key("(mythology)") == "mythology"


def test_a_name_is_a_run_of_capitalised_words() -> None:
    """Small words join a name, and names inside it are its parts."""
    found = names("In 1694 the Bank of England was founded; William Paterson had proposed it.")

    assert found.whole == ("bank of england", "william paterson")
    assert found.parts == ("bank", "england", "william", "paterson")


def test_a_word_that_may_only_begin_a_sentence_is_no_whole_name() -> None:
    """One capitalised word at the start of a sentence is kept apart; a stop word there is dropped."""
    found = names("Rivers flood. However, Egypt is dry. When Cairo was founded, nobody knew.")

    assert found.whole == ("egypt", "cairo")
    assert "rivers" in found.parts
    assert not {"however", "when", "when cairo"} & {*found.whole, *found.parts}


def test_a_name_is_told_once() -> None:
    """A key appears among the whole names or the parts, once."""
    found = names("Paris saw it. The mayor of Paris left Paris Nord.")

    assert found.whole == ("paris", "paris nord")
    assert found.parts == ("nord",)


def test_a_name_is_known_as_it_is_written() -> None:
    """Names keep their spelling without what begins the sentence, the possessive and marks at the end."""
    found = written("In 1694 the Bank of England's rival, Acme Inc., left Paris! Rivers flood. In Paris.")

    assert found == {"bank of england": "Bank of England", "acme inc": "Acme Inc", "paris": "Paris"}


def test_what_a_question_names_is_found_in_lower_case() -> None:
    """Every run of words of a question is a name it may mean, but none begins or ends with a small word."""
    found = spans("who led the bank of england")

    assert {"bank of england", "led", "england"} <= set(found)
    assert not {"bank of", "of england", "the bank"} & set(found)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever the text, keys are normalised, no longer than allowed, and told once."""
    found = names(text)
    everything = [*found.whole, *found.parts]

    assert len(set(everything)) == len(everything)
    assert all(found_key == key(found_key) for found_key in everything)
    assert all(len(span.split()) <= LONGEST for span in spans(text))
