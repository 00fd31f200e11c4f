"""Tests of the pieces of passages."""

from dataclasses import replace

from tenure.algorithms.writing.pieces import MAX_PIECE_CHARACTERS, describe_rows, split_pieces
from tests.support.passages import passage


def test_a_passage_is_split_by_its_form() -> None:
    """Sentences, items, rows and code are pieces; each paragraph, list, table and code has its own number."""
    text = "One is here. Two is here:\n\n- An item\n- Another\n\n| a | b |\n| 1 | 2 |\n\n    x = 1\n\n    y = 2\n\nEnd."
    pieces = split_pieces(passage(text))

    assert [(piece.part, piece.block) for piece in pieces] == [
        *(("paragraph", 1), ("sentence", 1), ("item", 2), ("item", 2)),
        *(("row", 3), ("row", 3), ("code", 4), ("paragraph", 5)),
    ]
    assert all(text[piece.start : piece.end] == piece.text for piece in pieces)
    assert pieces[6].text == "    x = 1\n\n    y = 2"


def test_a_long_line_is_cut_between_words() -> None:
    """A data line does not become an excerpt of any length."""
    (piece,) = split_pieces(passage("word " * 2000))

    assert len(piece.text) <= MAX_PIECE_CHARACTERS and piece.text.endswith("word")


def test_a_row_says_its_caption_and_columns() -> None:
    """The text of a row has the names of its columns, from the header or from the chunk that it continues."""
    first = passage("Table 1: Honey of the year\n\n| Station | kg |\n| Moor | 140 |\n| Hill |  |")
    later = replace(passage("| Coast | 12 |"), heading_path=("Honey", "columns: Station, kg"))

    assert describe_rows(first, split_pieces(first)) == {
        2: "Table 1: Honey of the year: Station Moor, kg 140",
        3: "Table 1: Honey of the year: Station Hill",
    }
    assert describe_rows(later, split_pieces(later)) == {0: "Station Coast, kg 12"}


def test_each_of_several_tables_has_its_own_caption() -> None:
    """Captions of two sentences belong to the tables above or below them, whichever begins."""
    first, second = "| a | b |\n| c | 1 |", "| d | e |\n| f | 2 |"
    captions = ("Table 1: First. Of two.", "Table 2: Second. Of two.")
    below = passage("\n\n".join((first, captions[0], second, captions[1])))
    above = passage("\n\n".join((captions[0], first, captions[1], second)))

    for each in (below, above):
        assert [*describe_rows(each, split_pieces(each)).values()] == [
            "Table 1: First.: a c, b 1",
            "Table 2: Second.: d f, e 2",
        ]
