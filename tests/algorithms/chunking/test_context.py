"""Tests that chunks keep lists, tables and code together with their context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.chunking.chunking import MAX_OVERFLOW_FACTOR, chunk_text, format_heading_path

BEFORE = "word " * 89 + "end."
ROWS = "\n".join(f"| name {n} | value of {n} |" for n in range(6))
ITEMS = "\n".join(f"- item {n} of the list" for n in range(8))
CODE = "\n\n".join(f"    first = call({n})\n    second = first + 1" for n in range(5))

INTRODUCED = st.tuples(
    st.integers(0, 60).map(lambda n: "word " * n + "these are:"),
    st.one_of(
        st.integers(1, 20).map(lambda n: "\n".join(["- an item"] * n)),
        st.integers(1, 20).map(lambda n: "\n".join(f"{at}. an item" for at in range(1, n + 1))),
        st.integers(1, 20).map(lambda n: "\n".join(["| a | b |"] * n)),
        st.integers(1, 20).map(lambda n: "\n\n".join(["    x = 1\n    y = 2"] * n)),
    ),
).map("\n\n".join)
PARAGRAPHS = st.integers(1, 100).map(lambda n: "word " * n + "end.")


def words_only(text: str) -> int:
    return len(text.split())


def _split(text: str, target: int = 100, kind: str = "prose") -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in chunk_text(text, kind, target, words_only)]


@pytest.mark.parametrize("block", [ROWS, ITEMS, CODE], ids=["table", "list", "code"])
def test_block_stays_with_its_introduction(block: str) -> None:
    """A list, a table or code begins a chunk together with the sentence that introduces it."""
    introduced = f"These are the parts:\n\n{block}"

    assert _split(f"{BEFORE}\n\n{introduced}\n\n{BEFORE}") == [BEFORE, introduced, BEFORE]


@given(st.lists(st.one_of(INTRODUCED, PARAGRAPHS), max_size=12), st.integers(20, 120))
def test_block_that_fits_is_never_cut(parts: list[str], target: int) -> None:
    """No chunk begins or ends between an introduction and the end of its block if both fit into one chunk."""
    chunks = _split("\n\n".join(parts), target)

    for part in parts:
        if words_only(part) <= int(target * MAX_OVERFLOW_FACTOR):
            assert any(part in chunk for chunk in chunks)


def test_long_paragraph_is_cut_before_its_introducing_sentence() -> None:
    """A paragraph that is too long for a chunk with the list it introduces is cut before its last sentence."""
    paragraph = "A sentence of a few words. " * 14

    assert _split(f"{paragraph}These are the parts:\n\n{ITEMS}") == [
        paragraph.rstrip(),
        f"These are the parts:\n\n{ITEMS}",
    ]


def test_long_list_is_cut_between_items() -> None:
    """A list that is too long for a chunk is cut between items, and not after its introduction."""
    text = "These are the parts:\n\n" + "\n".join(f"{n}. One item. With two sentences." for n in range(1, 40))

    chunks = _split(text, 60)

    assert chunks[0].startswith("These are the parts:\n\n1. One item.")
    assert all(chunk.startswith(("These", *"123456789")) and chunk.endswith("two sentences.") for chunk in chunks)


def test_nested_item_stays_with_its_item() -> None:
    """A list is cut before an outer item rather than before a nested one."""
    items = "\n".join(f"- outer item {n}\n  - nested item one\n  - nested item two" for n in range(12))

    assert all(chunk.startswith("- outer") for chunk in _split(items, 50))


def test_long_table_is_cut_between_rows() -> None:
    """A long table is cut between rows, and its first row is not left alone."""
    filler = "word " * 59 + "end."
    text = f"{filler}\n\n| Name of it | Value |\n" + "\n".join(f"| name {n} | value of {n} |" for n in range(30))

    chunks = _split(text, 70)

    assert next(chunk for chunk in chunks if "Value" in chunk).count("\n") > 1
    assert all(chunk.endswith("|") for chunk in chunks[1:])


def test_rows_name_the_columns_of_their_table() -> None:
    """A chunk that continues a table has the first row of that table after its headings; other chunks have not."""
    rows = "\n".join(f"| name {n} | value of {n} |" for n in range(30))
    text = f"# Prices\n\n| Name | |\n{rows}\n\n{BEFORE}\n\n| Town |\n{rows}"
    chunks = chunk_text(text, "prose", 70, words_only)
    continued = [text.startswith("| name", chunk.start) for chunk in chunks]

    assert {chunk.heading_path for chunk, is_row in zip(chunks, continued, strict=True) if is_row} == {
        ("Prices", "columns: Name"),
        ("Prices", "columns: Town"),
    }
    assert {chunk.heading_path for chunk, is_row in zip(chunks, continued, strict=True) if not is_row} == {("Prices",)}


def test_code_with_blank_lines_is_one_block() -> None:
    """Code that fits into a chunk is not cut at its blank lines."""
    assert _split(f"{BEFORE}\n\n{CODE}\n\n{BEFORE}") == [BEFORE, CODE, BEFORE]


def test_long_code_is_cut_between_statements() -> None:
    """Long code is cut before a statement, at a blank line if possible, and not before a closing bracket."""
    function = "    def name(a, b):\n        first = call(a)\n\n        return (\n            first + b\n        )"
    call = "    value = name(\n        1, 2\n    )"
    spaced = _split("\n\n".join([function, call] * 6), 30)
    dense = _split("\n".join([function, call] * 6), 30)

    assert all(chunk.lstrip().startswith(("def", "value")) for chunk in (*spaced, *dense))
    assert all(chunk.endswith(")") for chunk in (*spaced, *dense))


def test_console_session_is_cut_before_prompts() -> None:
    """The output of a command in a console session stays with the command."""
    session = "\n".join("    >>> call(1, 2)\n    first line of output\n    second line" for _ in range(20))

    assert all(chunk.lstrip().startswith(">>>") for chunk in _split(session, 30))


@pytest.mark.parametrize("marks", ["--", "123"])
def test_list_with_code_is_one_list(marks: str) -> None:
    """A list whose items have code is cut between items and not before or in the code."""
    items = [
        f"{mark if mark == '-' else mark + '.'} an item with\n\n    code(1, 2)\n\n    code(3)\n    code(4)"
        for mark in marks
    ]

    chunks = _split("\n\n".join(items), 8)

    assert chunks == items


def test_another_list_below_code_is_independent() -> None:
    """A numbered list does not continue a list with other marks above the code, nor one with higher numbers."""
    code = "    " + "code " * 8
    for above, below in (("- one", "4. four\n5. five"), ("4. four", "3. three\n4. four"), ("1. one", "- one\n- two")):
        assert _split(f"{above}\n\n{code}\n\n{below}", 10)[1:] == [below]


NOTES = "1. The first note explains it.\n2. The second note explains more."


@pytest.mark.parametrize(
    ("block", "notes", "together"),
    [
        ("    call(1)\n    call(2)", NOTES, True),
        ("| a (1) | b |\n| c (2) | d |", NOTES, True),
        ("    call(1)  # (1)\n    call(2)  # (2)", f"Notes:\n\n{NOTES}", True),
        ("    call()\n    call(2)", f"There are two reasons:\n\n{NOTES}", False),
        ("    call(1)\n    call(2)", "3. The third note explains it.\n4. The fourth note explains more.", False),
    ],
)
def test_numbered_notes_stay_with_the_code(block: str, notes: str, together: bool) -> None:
    """A chunk does not end between code and the numbered notes below it; another list is independent of the code."""
    filler = "word " * 11 + "end."

    chunks = _split(f"{filler}\n\n{block}\n\n{notes}", 20)

    assert any(block in chunk and notes in chunk for chunk in chunks) == together
    assert len(chunks) == 2


def test_chunk_leaves_room_for_its_headings() -> None:
    """A chunk with its title and headings does not exceed the context of the embedding model."""
    text = f"# {'Long title ' * 5}\n\n" + "\n\n".join(["word " * 9 + "end."] * 60)

    chunks = chunk_text(text, "prose", 100, words_only, title="Name", max_tokens=104)

    headings = format_heading_path(("Name", *chunks[0].heading_path))
    lengths = [words_only(f"{headings}\n{text[chunk.start : chunk.end]}") for chunk in chunks]
    assert 95 <= max(lengths) <= 104


def test_long_headings_take_at_most_half_of_the_target() -> None:
    """Headings longer than the context do not make chunks shorter than half of the target."""
    text = f"# {'Long title ' * 100}\n\n" + "\n\n".join(["word " * 9 + "end."] * 60)

    chunks = chunk_text(text, "prose", 100, words_only, title="Name", max_tokens=104)

    assert {words_only(text[chunk.start : chunk.end]) for chunk in chunks} == {50}


@pytest.mark.parametrize("kind", ["prose", "code"])
@pytest.mark.parametrize(
    "block", [BEFORE, f"{BEFORE[:-1]}:", ITEMS, ROWS, CODE, "x" * 300, "# A", "1. a\n\n    b"], ids=range(8)
)
def test_time_is_linear(block: str, kind: str) -> None:
    """The number of counted characters grows like the length of the text."""
    counted = [0, 0]

    for run, copies in enumerate((40, 80)):

        def count(text: str, run: int = run) -> int:
            counted[run] += len(text)
            return len(text)

        chunk_text("\n\n".join([block] * copies), kind, 20, count)

    assert counted[1] <= 2.5 * counted[0] + 100
