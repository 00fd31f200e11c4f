"""Tests of the parsers of plain text, logs and delimited values."""

from tenure.sources.parsers.formats.plain_text import is_wrapped, parse_csv, parse_log, parse_plain_text, parse_tsv

WRAPPED = [
    "This is a paragraph that somebody wrapped at a fixed width, as people",
    "did when terminals were eighty columns wide, and it goes on over a few",
    "lines until it ends.",
]


def test_wrapped_lines_are_joined_and_others_are_not() -> None:
    """Wrapped prose becomes one line; an address, a log and equal lines remain lines."""
    address = ["Ann Lee", "12 Long Street", "Townsville"]
    log = [f"2024-01-01T00:00:{n:02} INFO something happened to item {n:03} in the store" for n in range(5)]

    assert is_wrapped(WRAPPED)
    assert not is_wrapped(address)
    assert not is_wrapped(log)
    assert (
        parse_plain_text("\n".join([*WRAPPED, "", *address])).text == f"{' '.join(WRAPPED)}\n\n{chr(10).join(address)}"
    )


def test_headings_lists_and_code_are_recognized() -> None:
    """Underlined headings, headings with hashes, lists and indented code are recognized."""
    text = (
        "Report\n======\n\nPart\n----\nDirectly below.\n\n# Hashed\n\n * one\n   goes on\n * two\n\n2) b\n3) c\n\n"
        "    x = 1\n      y = 2\n\n=====\n=====\n"
    )

    document = parse_plain_text(text)

    assert document.title == "Report"
    assert document.text == (
        "# Report\n\n## Part\n\nDirectly below.\n\n# Hashed\n\n- one goes on\n- two\n2. b\n3. c\n\n"
        "    x = 1\n      y = 2\n\n=====\n====="
    )


def test_a_log_keeps_its_lines() -> None:
    """Records of a log remain lines of one block, whatever their width."""
    assert parse_log("\n".join(WRAPPED) + "\n\n\nlast\n").text == "\n".join(WRAPPED) + "\n\nlast"


def test_values_become_rows() -> None:
    """Quoted and empty values are cells; a text with a field of excessive length is parsed as a log."""
    assert parse_csv('a,b\n"x, y",\n\n').text == "| a | b |\n| x, y |  |"
    assert parse_tsv("a\tb").text == "| a | b |"
    assert parse_csv("x" * 200_000).text == "x" * 200_000
