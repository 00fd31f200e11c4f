"""Numbers, dates and names of a statement, and whether its source has them."""

import pytest

from tenure.algorithms.text.details import Figure, figures, names, unfound, unnamed, unsourced


def test_numbers_are_read_in_digits_and_words() -> None:
    """Separators, decades and number words are understood; a version is no number."""
    text = "In the 1970s twelve bakers made 1,234 loaves of 2.5 kilos with Python 3.11.2."

    assert figures(text) == {Figure(1970, True), Figure(12), Figure(1234), Figure(2.5)}
    assert figures(text, written=False) == {Figure(1970, True), Figure(1234), Figure(2.5)}


@pytest.mark.parametrize(
    ("claim", "source", "lost"),
    [
        ("Born in the 1970s.", "Born on 9 February 1975.", set()),
        ("Born in 1975.", "Born in the 1970s.", set()),
        ("Born in the 1960s.", "Born in 1975.", {Figure(1960, True)}),
        ("Made by 12 bakers.", "Made by twelve bakers.", set()),
        ("Made by two bakers.", "Made by three bakers.", {Figure(2)}),
        ("Born in 1975.", "Born in the 1960s.", {Figure(1975)}),
        ("It weighs 1.5 tons.", "It weighs 1,500 kilos.", set()),
        ("Es wiegt 2,5 Kilo.", "It weighs 2.5 kilos.", set()),
    ],
)
def test_numbers_have_to_be_in_the_source(claim: str, source: str, lost: set[Figure]) -> None:
    """A number is found in any spelling, a decade by any of its years."""
    assert unfound(claim, source) == lost


def test_names_are_capitalised_within_a_sentence() -> None:
    """The first word of a sentence is no name, and neither is a small word with a capital."""
    assert names("Bread of Rome. Salt is sold in Ostia by The guild.") == ("Rome", "Ostia")


def test_capitals_of_other_languages_make_no_names() -> None:
    """German writes every noun with a capital, so that they say nothing about names."""
    assert unnamed("Der Bäcker lässt den Teig im Ofen ruhen.", "The baker lets the dough rest.") == ()


def test_names_are_found_in_any_case_and_form() -> None:
    """A source that writes a name in small letters, with a possessive or in parts has it."""
    assert unnamed("Salt came from Ostia's docks to Anglo-Saxon kings in Kent.", "the docks of ostia; a Saxon") == (
        "Kent",
    )


@pytest.mark.parametrize(
    ("claim", "source", "expected"),
    [
        ("It was sold for 40 coins in March to Livia.", "Livia paid forty coins on 3 Mar 1999.", ()),
        ("It was sold in March.", "Sold on 1999-03-12.", ()),
        ("It was sold in March.", "Sold in June.", ("March",)),
        ("It needs version 3.11.2 now.", "It needs version 3.11.3.", ("3.11.2",)),
        ("It needs version 3.11.2 now.", "Since 3.11.2 it is so.", ()),
        ("It cost 41 coins, said Livia.", "It cost 40 coins.", ("41", "Livia")),
        ("It is so, see https://a.example/page.", "It is so.", ("https://a.example/page",)),
        ("It is so, see https://a.example/page.", "It is so: https://a.example/page", ()),
        ("He said “it is not so”, and left.", "It is so, he said.", ("it is not so",)),
        ("He said “it is so”, and called it “a must”.", "It is so, he said.", ()),
    ],
)
def test_what_a_source_does_not_have_is_told(claim: str, source: str, expected: tuple[str, ...]) -> None:
    """Numbers, versions, months and names without support are listed."""
    assert unsourced(claim, source) == expected
