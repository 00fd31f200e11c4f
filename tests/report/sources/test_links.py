"""Addresses that may be opened, and those that open a page at the words of a quote."""

from pathlib import PurePosixPath
from urllib.parse import unquote

import pytest

from tenure.report.sources.links import build_text_fragment, choose_base, format_path, is_web

PAGE = "https://a.example/x?y=1"


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://a.example/x",
        "/srv/a.md",
        "file:///srv/a.md",
        "https:///nowhere",
        "https://a.example/x y",
        "https://a.example/<b>",
        'https://a.example/"onclick',
        "https://a.example/\u202ex",
        "https://[broken",
    ],
)
def test_only_addresses_of_the_web_become_links(uri: str) -> None:
    """Other schemes, paths and addresses with signs that do not belong there lead nowhere."""
    assert not is_web(uri)
    assert build_text_fragment(uri, "words") == ""


@pytest.mark.parametrize(
    ("words", "directive"),
    [
        ("The sea rises.", "The sea rises."),
        ("a-b, c & d: 100 %", "a-b, c & d: 100 %"),
        ("two  spaces", "two spaces"),
        ("- **Bold** and `code` and [a link](https://b.example)", "Bold and code and a link"),
        ("## Heading\n\n1. First of them", "Heading,First of them"),
        ("das Meer — 海", "das Meer — 海"),
    ],
)
def test_a_page_is_opened_at_the_words_it_displays(words: str, directive: str) -> None:
    """A short quote is named as a whole, without the marks of Markdown; two blocks by their ends."""
    link = build_text_fragment(PAGE, words)

    assert link.startswith(f"{PAGE}#:~:text=")
    assert unquote(link.split(":~:text=")[1]) == directive


def test_signs_with_a_meaning_are_encoded() -> None:
    """Hyphen, comma and ampersand of a quote cannot be taken for those of the directive."""
    assert build_text_fragment(PAGE, "a-b, c & d").split("=")[-1] == "a%2Db%2C%20c%20%26%20d"


def test_a_long_quote_is_named_by_its_ends() -> None:
    """Six words at either end find it."""
    words = " ".join(f"word{n}" for n in range(40))

    assert build_text_fragment(PAGE, words).split("text=")[1] == (
        "word0%20word1%20word2%20word3%20word4%20word5,word34%20word35%20word36%20word37%20word38%20word39"
    )


def test_a_fragment_is_kept() -> None:
    """A URL with a fragment keeps it, and a text fragment is replaced by the quote's."""
    assert build_text_fragment("https://a.example/#top", "sea") == "https://a.example/#top:~:text=sea"
    assert build_text_fragment("https://a.example/#:~:text=old", "sea") == "https://a.example/#:~:text=sea"


def test_a_quote_without_words_opens_the_page() -> None:
    """For a quote without words the page itself is opened."""
    assert build_text_fragment(PAGE, " \n ") == PAGE


def test_a_path_is_shown_as_a_person_types_it() -> None:
    """Under the given folder it is relative, and an address of a file is a path."""
    assert format_path("file:///home/ann/my%20notes.md", PurePosixPath("/home/ann")) == "my notes.md"
    assert format_path("/srv/a.md", PurePosixPath("/home/ann")) == "/srv/a.md"


def test_files_outside_the_base_are_shown_below_their_folder() -> None:
    """The name of the folder that contains all files stays in their paths; the way to it does not."""
    home = PurePosixPath("/home/ann")
    files = ("/srv/data/docs/a.md", "file:///srv/data/docs/more/b.md", PAGE, "calculation: 1 + 1")

    assert choose_base(files, home) == choose_base(files) == PurePosixPath("/srv/data")
    assert format_path(files[0], choose_base(files, home)) == "docs/a.md"


@pytest.mark.parametrize("uri", ["/home/ann/a.md", "/srv/a.md", PAGE, "notes"])
def test_the_base_stays(uri: str) -> None:
    """Files below the base, in folders near the root, and sources without a path leave the base as it is."""
    home = PurePosixPath("/home/ann")

    assert choose_base([uri], home) == home


def test_a_file_of_an_archive_keeps_the_name_of_the_archive() -> None:
    """The path begins above the archive, also if all sources are files of one folder in it."""
    uri = "/home/ann/data/exports.zip/notes/plan.md"

    assert format_path(uri, choose_base([uri])).endswith("exports.zip/notes/plan.md")
    assert "home" not in format_path(uri, choose_base([uri]))
