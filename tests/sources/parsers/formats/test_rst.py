"""Tests of the reStructuredText parser."""

import time
from pathlib import Path

import pytest
from docutils.parsers.rst import states

from tenure.sources.parsers.formats.rst import parse_rst
from tests.support.tiers import RUN_ALL

PEPS = Path(__file__).parents[4] / "shared" / "data" / "peps"

PAGE = """\
Top
===

:Author: Ann Lee <ann@example.org>, Bo Ek
:Date: 2024-05-06

Text with **bold**, ``literal``, `a link <https://example.org>`_, :pep:`8#names`, :func:`~os.path.join`,
:unknown:`role words`, |sub| and a note [1]_.

.. |sub| replace:: substituted

Sub
---

.. versionadded:: 3.5
   Some *new* thing.

.. made-up:: argument words
   :option: value

   Content words.

.. code-block:: python
   :linenos:

   x = 1

.. raw:: html

   <b>gone</b>

.. include:: /etc/passwd

Example::

    >>> a

- one
- two

  3. three
  4. four

term
   Its meaning.

=====  =====
A      B
=====  =====
1      2 x
=====  =====

.. image:: a.png
   :alt: A picture

| verse one
| verse two

.. [1] The note.

.. comment words
"""

NORMAL = """\
# Top

- Author: Ann Lee <ann@example.org>, Bo Ek
- Date: 2024-05-06

Text with bold, literal, a link, PEP 8, join, role words, substituted and a note.

## Sub

New in version 3.5: Some new thing.

argument words

Content words.

    x = 1

Example:

    >>> a

- one
- two
  3. three
  4. four

term: Its meaning.

| A | B |
| 1 | 2 x |

A picture

verse one
verse two

The note."""


def test_every_construct_is_converted(capfd: pytest.CaptureFixture[str]) -> None:
    """Known and unknown directives and roles keep their text, and nothing is included or printed."""
    document = parse_rst(PAGE)

    assert document.text == NORMAL
    assert (document.title, document.author, document.published) == ("Top", "Ann Lee, Bo Ek", "2024-05-06")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "text", [PAGE, *(path.read_text(encoding="utf-8") for path in sorted(PEPS.glob("*.rst"))[:40])]
)
def test_states_made_on_entry_parse_like_those_of_docutils(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested blocks have the text that the parser of docutils gives them."""
    document = parse_rst(text)
    monkeypatch.setattr(states.RSTState, "nested_sm", states.NestedStateMachine)
    monkeypatch.setattr(states.RSTState, "nested_sm_cache", [])

    assert parse_rst(text) == document


@pytest.mark.parametrize(
    ("directive", "note"),
    [
        (".. versionadded:: 3.5", "New in version 3.5."),
        (".. versionchanged:: 3.5\n   Say :func:`more`.", "Changed in version 3.5: Say more."),
        (".. versionchanged:: 3.5\n\n   Say more.", "Changed in version 3.5.\n\nSay more."),
        (".. Deprecated:: 3.5 Stop.", "Deprecated since version 3.5: Stop."),
        (".. versionremoved::", "Removed in version."),
    ],
)
def test_notes_on_versions_say_what_happened(directive: str, note: str) -> None:
    """A reader of a passage learns whether something is new, changed or gone in a version, as Sphinx shows it."""
    assert parse_rst(directive).text == note


def test_a_directive_that_names_the_next_section_is_its_target() -> None:
    """The name of a setting is in its heading, and not at the end of the section before."""
    text = "First\n=====\n\nWords.\n\n.. setting:: late\n\n``late``\n~~~~~~~~\n\n.. setting:: early\n\nMore."

    assert parse_rst(text).text == "# First\n\nWords.\n\n## late\n\nearly\n\nMore."


def test_a_mail_header_gives_title_author_and_date() -> None:
    """The header of a Python Enhancement Proposal is metadata, and remains in the text as a list."""
    document = parse_rst(
        "PEP: 7\nTitle: Fine things\nAuthor: Ann <a@b.c>,\n        Bo\nCreated: 01-Jan-2001\n\nText.\n"
    )

    assert (document.title, document.author, document.published) == ("PEP 7: Fine things", "Ann, Bo", "01-Jan-2001")
    assert document.text.startswith("- PEP: 7\n- Title: Fine things\n- Author: Ann <a@b.c>, Bo\n")


@pytest.mark.parametrize(
    "text",
    [
        "Broken\n====\n\n======= ===\nnot a table\n",
        ".. image::\n\n.. csv-table:: not a table\n   :file: other.csv\n\nnot a table",
        "*not a table",
        "`not a table`__ and |not a table|",
        ".. |a| replace:: |a| not a table\n\n|a|\n",
        "A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nE\n~\n\nnot a table",
    ],
)
def test_broken_markup_keeps_its_words_and_prints_nothing(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Markup that docutils cannot parse is kept as source text."""
    assert "not a table" in parse_rst(text).text.replace("  ", " ")
    assert capfd.readouterr() == ("", "")


def test_a_very_long_line_is_parsed() -> None:
    """A line above the limit of docutils does not make the file unreadable."""
    assert len(parse_rst("word " * 20_000).text) == 99_999


@pytest.mark.slow
@pytest.mark.skipif(not PEPS.is_dir(), reason="the corpus of Python enhancement proposals is not here")
def test_proposals_parse_silently(capfd: pytest.CaptureFixture[str]) -> None:
    """Real documents, in the slow variant all of hundreds, have text and a title, and print nothing."""
    paths = sorted(PEPS.glob("*.rst"))[:: 1 if RUN_ALL else 10]
    documents = [parse_rst(path.read_text(encoding="utf-8")) for path in paths]

    assert all(document.text and document.title.startswith("PEP ") for document in documents)
    assert capfd.readouterr() == ("", "")


def test_directives_and_references_inside_lines_keep_their_words() -> None:
    """A reference without a target keeps its name, an image its alternative text, a code directive its one line."""
    text = "See |missing| and |logo| here.\n\n.. |logo| image:: a.png\n   :alt: the logo\n\n.. math:: e = mc^2\n"

    assert parse_rst(text).text == "See missing and the logo here.\n\n    e = mc^2"


def test_marks_of_footnotes_leave_no_gap() -> None:
    """A mark is removed with the space before it, also at the end and in a list of marks, with its commas."""
    text = (
        "It was accepted on Monday [1]_. See *the vote* [2]_ and the minutes [1]_, [2]_, and [1]_ there\n\n"
        ".. [1] Mail.\n.. [2] Vote.\n"
    )

    assert parse_rst(text).text.startswith("It was accepted on Monday. See the vote and the minutes there")
    assert "  " not in parse_rst(text).text


@pytest.mark.parametrize("part", ["a-", "a.", "a:", ":a", "a+", "a-1-b@"])
def test_a_chain_of_marks_is_kept_as_it_is(part: str) -> None:
    """A word of thousands of parts is read in linear time, also in headings and fields."""
    chain, url = f"{part * 10_000}a", "https://a.b/" + "c/" * 60
    text = f":Author: {chain}\n\n{chain}\n{'=' * len(chain)}\n\nSee *this* ({chain}) of {url} and the-next-one_.\n"
    started = time.process_time()
    document = parse_rst(text)

    assert document.title == document.author == chain
    assert document.text == f"- Author: {chain}\n\n# {chain}\n\nSee this ({chain}) of {url} and the-next-one."
    assert time.process_time() - started < 3.0  # 0.1 s
