"""Bibliographies: names and dates as documents write them, labels, BibTeX and CSL-JSON."""

import json
import re
from pathlib import PurePosixPath

import pytest

from tenure.contracts.result.result import SourceEntry
from tenure.report.sources.bibliography import (
    AuthorName,
    make_author_year_labels,
    parse_names,
    parse_year,
    render_bibtex,
    render_csl_json,
)


def source(n: int = 1, **changes: str) -> SourceEntry:
    values = {
        "id": str(n),
        "uri": "https://moon.example/{pull}?a=1&b=2",
        "title": "The Moon's pull",
        "author": "Ann Author",
        "published": "2024-05-01",
        "accessed": "2026-11-20T09:30:00+00:00",
    }
    return SourceEntry.model_validate({"n": n, **values, **changes})


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("Ann Author", [AuthorName("Author", "Ann")]),
        (
            "Guido van Rossum <guido@python.example>, Barry Warsaw",
            [AuthorName("van Rossum", "Guido"), AuthorName("Warsaw", "Barry")],
        ),
        ("Author, Ann; Writer, Bob", [AuthorName("Author", "Ann"), AuthorName("Writer", "Bob")]),
        (
            "Ann Author and Bob de la Cruz & Talin",
            [AuthorName("Author", "Ann"), AuthorName("de la Cruz", "Bob"), AuthorName("Talin")],
        ),
        ("Ann Author (editor), ann@a.example", [AuthorName("Author", "Ann")]),
        ("van Rossum", [AuthorName("Rossum", "van")]),
        (" , ", []),
        ("", []),
    ],
)
def test_authors_are_taken_apart(written: str, found: list[AuthorName]) -> None:
    """Lists with commas, semicolons and words between the names are read, addresses and asides left out."""
    assert list(parse_names(written)) == found


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("2024-05-01", "2024"),
        ("13-Jul-2003", "2003"),
        ("first in 1999, again", "1999"),
        ("03/04/2001", "2001"),
        ("soon", ""),
    ],
)
def test_the_year_of_a_written_date_is_found(written: str, found: str) -> None:
    """Whatever the form, four digits that can be a year are the year."""
    assert parse_year(written) == found


def test_labels_name_author_and_year() -> None:
    """Labels for one, two, many and no authors have the usual form, and equal labels get a letter."""
    sources = [
        source(1),
        source(2, author="Ann Author, Bob Writer"),
        source(3, author="Ann Author, Bob Writer, Cy Poet"),
        source(4, author="", published="", title="A very long title of a page"),
        source(5),
    ]

    assert make_author_year_labels(sources) == {
        1: "Author 2024a",
        2: "Author & Writer 2024",
        3: "Author et al. 2024",
        4: "A very long title n.d.",
        5: "Author 2024b",
    }


def test_letters_never_run_out() -> None:
    """The twenty-seventh label of the same kind has two letters."""
    assert make_author_year_labels([source(n) for n in range(1, 28)])[27] == "Author 2024aa"


def test_bibtex_holds_what_is_known() -> None:
    """An entry has its names, date and address, and no sign that TeX would act on."""
    written = render_bibtex([source(title="100 % of \\TeX & {more}", author="Łukasz Langa, Talin")])

    assert written == (
        "@misc{langa2024more,\n"
        "  title = {{100 \\% of \\textbackslash{}TeX \\& \\textbraceleft{}more\\textbraceright{}}},\n"
        "  author = {Langa, Łukasz and {Talin}},\n"
        "  year = {2024},\n"
        "  date = {2024-05-01},\n"
        "  url = {https://moon.example/%7Bpull%7D?a=1&b=2},\n"
        "  urldate = {2026-11-20}\n"
        "}\n"
    )


def split_bibtex(text: str) -> tuple[str, dict[str, str]]:
    """Return the key and the fields of the only entry, parsed by the rules of BibTeX: a backslash protects no brace."""
    assert text.startswith("@misc{") and text.endswith("\n}\n")
    depth, parts = 0, [""]
    for character in text[len("@misc{") : -len("}\n")]:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    assert depth == 0
    key, *fields = parts
    named = (field.partition(" = ") for field in fields)
    return key, {name.strip(): value.strip() for name, _, value in named}


@pytest.mark.parametrize(
    "attack",
    [
        "x}, note = {evil",
        "x}}\n@misc{evil,\n  title = {y",
        "{" * 9,
        "}" * 9,
        "\\}, note = {evil",
        "\\input{/etc/passwd} \\write18{id}",
        '50 % of #1 & $2_3 ~^ "@string{',
        "a\r\n@comment{b\u2028}\x1b[2J",
    ],
)
def test_hostile_text_stays_in_its_field(attack: str) -> None:
    """Braces, backslashes and line breaks of a source add no field, no entry and no command of TeX."""
    hostile = source(
        title=attack, author=attack, published=attack, accessed=attack, uri=f"https://moon.example/{attack}"
    )
    for cited in (hostile, hostile.model_copy(update={"uri": f"/tmp/{attack}"})):
        text = render_bibtex([cited])
        key, fields = split_bibtex(text)

        assert key.isalnum()
        assert set(fields) <= {"title", "author", "year", "date", "url", "howpublished", "urldate"}
        assert all(value[0] == "{" and value[-1] == "}" and "\n" not in value for value in fields.values())
        assert {"\\input", "\\write"}.isdisjoint(re.findall(r"\\[a-z]+", text))
        assert text.count("\n") == len(fields) + 2
        assert json.loads(render_csl_json([cited]))[0]["id"] == key


def test_a_file_is_cited_by_its_path() -> None:
    """A source that is not on the web has no address, and what is not known is left out."""
    file = source(uri="/library/notes/a_b.md", author="", published="2024", title="On")

    assert render_bibtex([file], PurePosixPath("/library")) == (
        "@misc{2024,\n  title = {{On}},\n  year = {2024},\n  howpublished = {notes/a\\_b.md}\n}\n"
    )
    assert json.loads(render_csl_json([file], PurePosixPath("/library"))) == [
        {
            "id": "2024",
            "type": "document",
            "title": "On",
            "issued": {"date-parts": [[2024]]},
            "accessed": {"date-parts": [[2026, 11, 20]]},
            "archive_location": "notes/a_b.md",
        }
    ]


def test_csl_json_holds_what_is_known() -> None:
    """An item has names in parts, dates in parts and the address as it is."""
    (item,) = json.loads(render_csl_json([source(author="Ann Author, Talin", published="13-Jul-2003")]))

    assert item["author"] == [{"family": "Author", "given": "Ann"}, {"literal": "Talin"}]
    assert item["issued"] == {"date-parts": [[2003, 7, 13]]}
    assert (item["type"], item["URL"]) == ("webpage", "https://moon.example/{pull}?a=1&b=2")


def test_an_unknown_date_is_kept_as_written() -> None:
    """A date that cannot be parsed is kept unchanged."""
    (item,) = json.loads(render_csl_json([source(published="last spring")]))

    assert item["issued"] == {"literal": "last spring"}


def test_keys_are_plain_and_differ() -> None:
    """Two sources of the same author, year and title have keys of their own; a source without words has one too."""
    keys = [
        item["id"]
        for item in json.loads(render_csl_json([source(1), source(2), source(3, author="", published="", title="字")]))
    ]

    assert keys == ["author2024moona", "author2024moonb", "source3"]


def test_no_sources_make_an_empty_bibliography() -> None:
    """A report that cites nothing has an empty file and an empty list."""
    assert (render_bibtex([]), render_csl_json([])) == ("", "[]\n")


def test_presentations_and_pictures_have_their_fields() -> None:
    """A presentation is called slides; a reading of a picture in a paged document has the page."""
    talk = source(uri="/library/talk.pptx")
    figure = source(2, uri="picture:/library/paper.pdf#3").model_copy(update={"page": 11})
    slide = source(3, uri="picture:/library/talk.pptx#1").model_copy(update={"page": 4})

    items = json.loads(render_csl_json([talk, figure, slide]))
    entries = render_bibtex([talk, figure, slide]).split("@misc")

    assert [item.get("genre") for item in items] == ["Presentation slides", None, "Presentation slides"]
    assert [item.get("page") for item in items] == [None, "11", None]
    assert ["  type = {Presentation slides}" in entry for entry in entries[1:]] == [True, False, True]
    assert ["  pages = {11}" in entry for entry in entries[1:]] == [False, True, False]
