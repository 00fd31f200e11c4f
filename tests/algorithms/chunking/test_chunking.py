"""Tests of chunking."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.chunking.chunking import MAX_OVERFLOW_FACTOR, ChunkSpan, chunk_text, estimate_tokens
from tenure.algorithms.chunking.definitions import split_definitions
from tenure.algorithms.chunking.pieces import TokenCounter
from tenure.algorithms.coding.syntax import parse_code

HEADING = re.compile(r"#{1,6} +\S.*")

WORDS = st.text(alphabet="abcDé. !?#-|1中\t", min_size=1, max_size=30)
LINES = st.one_of(
    WORDS,
    st.integers(1, 7).map(lambda n: "#" * n + " Title"),
    st.just(""),
    st.integers(1, 80).map(lambda n: "word " * n + "end."),
    st.integers(1, 40).map(lambda n: "A sentence of a few words. " * n),
    st.integers(1, 300).map(lambda n: "x" * n),
    st.just("    indented code"),
    st.just("def f(x):"),
    st.just("| a | b |"),
    st.just("- item"),
)
TEXTS = st.lists(LINES, max_size=60).map("\n".join)


def words_only(text: str) -> int:
    return len(text.split())


def _texts(text: str, chunks: list[ChunkSpan]) -> list[str]:
    return [text[c.start : c.end] for c in chunks]


@pytest.mark.parametrize("count", [estimate_tokens, len, words_only])
@given(text=TEXTS, kind=st.sampled_from(["prose", "code", "python", "go"]), target=st.integers(1, 120))
def test_chunks_partition_the_text_within_the_limit(text: str, kind: str, target: int, count: TokenCounter) -> None:
    """Spans are ordered, in range and bounded, and cover every word outside headings exactly once."""
    syntax = parse_code(text, kind)
    kind = "code" if syntax else kind
    chunks = chunk_text(text, kind, target, count, syntax=syntax)

    assert [c.ordinal for c in chunks] == list(range(len(chunks)))
    assert all(0 <= c.start < c.end <= len(text) for c in chunks)
    assert all(before.end <= after.start for before, after in pairwise(chunks))
    assert all(
        piece == piece.rstrip() and count(piece) <= max(target * MAX_OVERFLOW_FACTOR, 1)
        for piece in _texts(text, chunks)
    )
    covered = {i for c in chunks for i in range(c.start, c.end)}
    expected = {i for i, char in enumerate(text) if not char.isspace()}
    if kind == "prose":
        expected -= _in_headings(text)
        assert not covered & _in_headings(text)
    assert expected <= covered
    assert chunks == chunk_text(text, kind, target, count, syntax=syntax)


def _in_headings(text: str) -> set[int]:
    inside: set[int] = set()
    start = 0
    for line in text.split("\n"):
        if HEADING.match(line):
            inside.update(range(start, start + len(line)))
        start += len(line) + 1
    return inside


def test_heading_path_follows_heading_levels() -> None:
    """A heading ends the sections of its level and below; a chunk has all headings above it."""
    text = "Before.\n\n# A\n\nx\n\n### B\n\ny\n\n## C\n\nz\n\n# D\n\n## E\n\nw\n\n####### seven"

    chunks = chunk_text(text, "prose")

    assert [(text[c.start : c.end], c.heading_path) for c in chunks] == [
        ("Before.", ()),
        ("x", ("A",)),
        ("y", ("A", "B")),
        ("z", ("A", "C")),
        ("w\n\n####### seven", ("D", "E")),
    ]


def test_comments_in_code_are_not_headings() -> None:
    """A comment in a literal block or in a program does not start a section."""
    assert len(chunk_text("# A\n\n    # comment\n    x = 1", "prose")) == 1
    assert chunk_text("# comment\nx = 1", "code")[0].heading_path == ()


def test_blocks_fill_a_chunk_up_to_the_target() -> None:
    """Blocks are packed until the next one would exceed the target."""
    block = "word " * 49 + "end."
    text = "\n\n".join([block] * 5)

    assert _texts(text, chunk_text(text, "prose", 104, words_only)) == [f"{block}\n\n{block}"] * 2 + [block]


def test_block_slightly_above_the_target_is_not_split() -> None:
    """A paragraph a little longer than the target stays whole."""
    text = "word " * 119 + "end."

    assert len(chunk_text(text, "prose", 100, words_only)) == 1


def test_long_paragraph_is_split_at_sentence_ends() -> None:
    """Splits are between sentences, not after an abbreviation or an initial."""
    sentence = "As e.g. Dr. Lee and J. Smith said in vol. 3, it is so."
    text = " ".join([sentence] * 20)

    pieces = _texts(text, chunk_text(text, "prose", 60, words_only))

    assert len(pieces) > 3
    assert all(piece.startswith("As e.g.") and piece.endswith("it is so.") for piece in pieces)


def test_closing_quote_stays_with_its_sentence() -> None:
    """A quotation mark after a full stop belongs to the sentence before it."""
    text = " ".join(['"It is so." He said it "once."'] * 30)

    assert all(
        piece[-1] in '."' and piece[0] in '"H' for piece in _texts(text, chunk_text(text, "prose", 40, words_only))
    )


def test_tables_and_code_are_split_at_line_ends() -> None:
    """Blocks of several lines are split at line ends."""
    rows = "\n".join(f"| row {n} | {'cell ' * 5}|" for n in range(40))
    code = "\n".join(f"    call_number({n}, {n + 1})" for n in range(80))

    assert all(
        piece.startswith("| row") and piece.endswith("|") for piece in _texts(rows, chunk_text(rows, "prose", 60))
    )
    assert all(piece.endswith(")") for piece in _texts(code, chunk_text(code, "prose", 60)))


def test_word_longer_than_a_chunk_is_split() -> None:
    """A word longer than a chunk, such as an encoded image, is split."""
    text = "x" * 5_000

    chunks = chunk_text(text, "prose", 50)

    assert "".join(_texts(text, chunks)) == text
    assert max(estimate_tokens(piece) for piece in _texts(text, chunks)) <= 62


def test_tiny_last_piece_joins_the_chunk_before() -> None:
    """A last piece below forty tokens is a chunk of its own only if the chunk before it has no room."""
    text = "word " * 99 + "end.\n\nA tiny rest."

    assert len(chunk_text(text, "prose", 100, words_only)) == 1
    assert len(chunk_text("word " * 124 + "end.\n\nA tiny rest.", "prose", 100, words_only)) == 2


def test_tiny_piece_never_joins_another_section() -> None:
    """Not even a single word crosses a heading."""
    assert len(chunk_text("# A\n\nword\n\n# B\n\nword", "prose")) == 2


@pytest.mark.parametrize(
    ("source", "symbols"),
    [
        (
            "import a\n\n\n@wraps\ndef first(x):\n    return x\n\n\nclass Second(Base):\n    pass\n",
            [(), "first", "Second"],
        ),
        (
            "export async function one() {\n}\n\nconst two = (x) => {\n}\n\nexport default class Three {\n}\n",
            ["one", "two", "Three"],
        ),
        ("type Shape interface {\n}\n\nfunc (r *Rect) Area() float64 {\n}\n", ["Shape", "Area"]),
        ("pub fn go<T>(x: T) {\n}\n\nimpl<T> Show for Rect {\n}\n", ["go", "Show"]),
        ("static int add(int a, int b) {\n}\n\nint main() {\n  if (x) {\n  }\n}\n", ["add", "main"]),
        ("CREATE TABLE IF NOT EXISTS users (\n id int\n);\n\ncreate view v as select 1;\n", ["users", "v"]),
        ("[tool.ruff]\nline = 1\n\n[[tool.mypy]]\nx = 2\n", ["tool.ruff", "tool.mypy"]),
        ('"""Doc.\n\nclass of things that are prose\n"""\n\nx = 1\n', [(), (), ()]),
    ],
)
def test_code_is_split_between_definitions(source: str, symbols: list[str | tuple[()]]) -> None:
    """A large top-level definition is a chunk with its symbol as heading path."""
    paths = [chunk_text(source[part[0][0] : part[-1][1]], "code")[0].heading_path for part in split_definitions(source)]

    assert paths == [(name,) if name else () for name in symbols]


def test_small_definitions_share_a_chunk() -> None:
    """Small definitions share a chunk whose heading path names all of them."""
    assert [c.heading_path for c in chunk_text("def a():\n    pass\n\n\ndef b():\n    pass\n", "code")] == [("a, b",)]


def test_long_class_is_split_between_methods() -> None:
    """The parts of a class carry its name and the names of their methods, also if a method is split."""
    methods = "\n\n".join(f"    def method_{n}(self):\n" + "        work(1, 2)\n" * 12 for n in range(4))
    text = f"class Long:\n{methods}"

    chunks = chunk_text(text, "code", 100)

    assert {c.heading_path[0] for c in chunks} == {"Long"}
    assert [c.heading_path[1] for c in chunks] == [f"method_{n}" for n in range(4)]


def test_closing_bracket_stays_with_its_definition() -> None:
    """A bracket at column 0 after a blank line does not start a definition."""
    assert len(split_definitions("x = [\n    1,\n\n]\n")) == 1


def test_text_without_words_has_no_chunks() -> None:
    """Blank text, and headings without text, have no chunks."""
    assert chunk_text(" \n\n\t", "prose") == chunk_text("", "code") == chunk_text("# A\n\n## B", "prose") == []


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("two words.", 3), ("internationalization", 3), ("中文", 2)])
def test_token_estimate_resembles_word_pieces(text: str, tokens: int) -> None:
    """Short words count one, long words their parts, punctuation marks and ideographs one each."""
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("is_below", [True, False])
def test_captions_are_all_above_or_all_below_their_tables(is_below: bool) -> None:
    """Each of several tables that follow each other has its own caption."""
    parts = []
    for number in range(3):
        rows = "\n".join(f"| Station {number}{n} | {n * 3} |" for n in range(40))
        table = [f"Table {number}: Honey of year {number}", f"| Station | Honey |\n{rows}"]
        parts += table[::-1] if is_below else table
    text = "\n\n".join(parts)
    chunks = [chunk for chunk in chunk_text(text, "prose", 60) if text.startswith("| Station ", chunk.start)]
    later = [chunk for chunk in chunks if not text.startswith("| Station | Honey", chunk.start)]

    assert len(later) > 6
    for chunk in later:
        digit = text[chunk.start + 10]
        assert chunk.heading_path == (f"Table {digit}: Honey of year {digit}", "columns: Station, Honey")


def test_a_table_is_found_by_its_caption() -> None:
    """The caption and the first rows are one chunk, and chunks of later rows carry caption and columns."""
    rows = "\n".join(f"| Station {n} | {n * 3} |" for n in range(40))
    text = f"Some text before it.\n\nTable 3: The honey of the year\n\n| Station | Honey |\n{rows}"
    chunks = chunk_text(text, "prose", 60)
    [first] = [chunk for chunk in chunks if "Table 3" in text[chunk.start : chunk.end]]

    assert "| Station 0 | 0 |" in text[first.start : first.end]
    assert {chunk.heading_path for chunk in chunks[chunks.index(first) + 1 :]} == {
        ("Table 3: The honey of the year", "columns: Station, Honey")
    }
