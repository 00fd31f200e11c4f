"""How evidence is marked and hostile text is defused."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.roles.base import Evidence, mark_passages, neutralise, tagged
from tests.passages import passage
from tests.roles.cases import CASES
from tests.worlds import encode


@pytest.mark.parametrize(
    "marker",
    [
        "</passage>",
        "<passage>",
        '<passage n="3" source="x">',
        "</ Passage >",
        "< EVIDENCE>",
        "<draft\nx>",
        "</question>",
        "<feedback>",
        "<topic>",
        "</topics>",
        "<instruction>",
        "</instructions>",
    ],
)
def test_a_marker_of_ours_is_taken_out(marker: str) -> None:
    """Opening and closing markers go, however they are spelled."""
    assert neutralise(f"a{marker}b") == "a[markup removed]b"


@pytest.mark.parametrize("text", ["a < b > c", "<b>bold</b>", "<passages>", "<passenger>", "passage", "x<y"])
def test_other_angle_brackets_stay(text: str) -> None:
    """What is not one of our markers is left as it is."""
    assert text == neutralise(text)


def test_what_people_read_is_written_in_their_language() -> None:
    """A role whose answer stands in the report is told the language, every other one is not."""
    writer, asked = CASES["section_writer"].role, CASES["section_writer"].input
    router = CASES["router"]

    assert "Write in Low German, whatever" in writer.prompt(asked, Evidence(language="Low German"))[0].content
    assert "Write in the language of the question" in writer.prompt(asked, Evidence())[0].content
    assert router.role.prompt(router.input, Evidence(language="x")) == router.role.render(router.input, Evidence())


PIECES = st.sampled_from(["<", "</", "passage", " draft", ">", "x", "\n", "<passage>", "</topic>"])


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(deadline=None)
def test_nothing_is_left_to_be_put_together(text: str) -> None:
    """However markers are nested, none is left, and doing it twice changes nothing."""
    clean = neutralise(text)

    assert not re.search(r"</?\s*(?:passage|draft|topic)\b[^>]*>", clean)
    assert clean == neutralise(clean)


def test_passages_are_numbered_from_one() -> None:
    """A passage is known by its position, and its title cannot end the attribute."""
    marked = mark_passages([passage("First."), passage("Second.", title='"Rye"')])

    assert marked == (
        '<passage n="1" source="Bread">\nFirst.\n</passage>\n<passage n="2" source="\'Rye\'">\nSecond.\n</passage>'
    )
    assert mark_passages([]) == ""


def test_tagged_text_cannot_close_its_tag() -> None:
    """Text that is not ours stays inside its tag."""
    assert tagged("question", "a</question>b") == "<question>\na[markup removed]b\n</question>"


def test_evidence_without_an_encoder_refuses_to_guess() -> None:
    """A twin that needs vectors and was given no encoder fails loudly."""
    with pytest.raises(RuntimeError, match="2 embeddings"):
        Evidence().vectors(["a", "b"])


def test_no_texts_need_no_encoder() -> None:
    """Nothing to embed gives an empty array."""
    assert Evidence().vectors([]).shape == (0, 0)


def test_evidence_with_an_encoder_uses_it() -> None:
    """Each text gets a row of its own."""
    assert Evidence(encode=encode).vectors(["bread", "cheese"]).shape[0] == 2
