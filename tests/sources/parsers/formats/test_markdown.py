"""Tests of the Markdown parser."""

import pytest

from tenure.sources.parsers.formats.markdown import parse_markdown, split_front_matter

PAGE = """\
---
title: "The: title"
authors:
  - Ann Lee
  - Bo Ek
date: 2024-05-06
tags: [a, b]
---
Intro with **bold**, *italic*, `code [^x]`, a [link](https://example.org "t") and a note[^1],
wrapped<br>here &amp; there.

Setext
------

> quoted
> words

- one
  goes on
  1. first
  2. second
- two

  ```python
  def f():

      return 1
  ```

| a | b |
|---|---|
| `1` | **2** |

<div class="x"><p>Raw &lt;words&gt;</p></div>

<!-- not
shown -->

![alt text](x.png)

[^1]: The note.
"""

NORMAL = """\
Intro with bold, italic, code [^x], a link and a note, wrapped here & there.

## Setext

quoted words

- one goes on
  1. first
  2. second
- two

    def f():

        return 1

| a | b |
| 1 | 2 |

Raw <words>

alt text

The note."""


def test_every_construct_is_converted() -> None:
    """Headings, lists, code, tables, raw HTML and inline markup are converted to the normal form."""
    document = parse_markdown(PAGE)

    assert document.text == NORMAL
    assert (document.title, document.author, document.published) == ("The: title", "Ann Lee, Bo Ek", "2024-05-06")


def test_blocks_of_html_keep_lines_rows_and_items() -> None:
    """Commands stay on lines of their own, tables are tables, and what a browser hides is left out."""
    document = parse_markdown(
        "<pre><code><span>mv a b</span>\n<span>mv c d</span>\n\n<b>ls</b></code></pre>\n\n"
        "<table>\n<tr><th>Key</th><th>Meaning</th></tr>\n<tr><td><code>uri</code>,\n"
        "<code>url</code></td><td><p>Address.</p><p>Required.</p></td></tr>\n</table>\n\n"
        "<ul><li>one</li><li>two</li></ul>\n\n"
        "<details>\n<summary>More</summary>\n\n*Inside*\n\n</details>\n\n<p hidden>unseen</p>\n"
    )

    assert document.text == (
        "    mv a b\n    mv c d\n\n    ls\n\n| Key | Meaning |\n| uri, url | Address. Required. |\n\n"
        "- one\n- two\n\nMore\n\nInside"
    )


def test_the_first_heading_is_the_title_without_front_matter() -> None:
    """Without a title field, the first heading without its markup is the title."""
    assert parse_markdown("# A *fine* `title`\n\nText").title == "A fine title"


@pytest.mark.parametrize("text", ["---\nonly a rule\n---\ntext", "no front matter", "---\ntitle: open for ever"])
def test_other_leading_blocks_remain_text(text: str) -> None:
    """A leading thematic break or an unclosed block loses no words."""
    assert split_front_matter(text) == ({}, text)


def test_indented_front_matter_is_parsed() -> None:
    """A block whose fields are all indented is YAML as well."""
    assert split_front_matter("---\n title: T\n author: A\n---\nx") == ({"title": "T", "author": "A"}, "x")


def test_toml_front_matter_is_parsed() -> None:
    """TOML front matter gives the same fields."""
    assert split_front_matter('+++\ntitle = "T"\nauthors = ["A", "B"]\n+++\nx') == (
        {"title": "T", "authors": "A, B"},
        "x",
    )
