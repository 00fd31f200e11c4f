import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tenure.algorithms.text.printable import flatten
from tenure.report.render.escaping import (
    escape,
    escape_cell,
    format_code_span,
)

READER = MarkdownIt("commonmark", {"html": True}).enable(["strikethrough", "table"])

ATTACKS = [
    "# A heading",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![pixel](https://evil.example/p.png)",
    "[ref]: https://evil.example",
    "[ ] a task",
    "[a][b] and [^1]",
    "> quoted",
    "- item",
    "+ item",
    "* item",
    "1. item",
    "12) item",
    "---",
    "===",
    "***",
    "```python",
    "~~~",
    "~~gone~~",
    "**loud** and _quiet_ and __under__",
    "<https://evil.example>",
    "&lt;b&gt; &#60; &amp;",
    "\\[x](y) and \\<b>",
    "`unclosed and <b>",
    "``a` <b> `` c",
    "text\n\n# heading after a break",
    "<!-- comment --> <?php ?>",
    "| a | b |\n|---|---|",
]


def inline(markdown: str) -> Iterator[Token]:
    for token in READER.parse(markdown):
        if token.type == "inline":
            yield from token.children or []


def shown(markdown: str) -> str:
    """Return the words a reader sees."""
    return "".join(token.content for token in inline(markdown))


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_text_is_shown_and_does_nothing(attack: str) -> None:
    """A hostile text becomes one paragraph of its own words, with no heading, list, link or HTML."""
    blocks = [token.type for token in READER.parse(escape(attack))]
    kinds = {token.type for token in inline(escape(attack))}

    assert blocks == ["paragraph_open", "inline", "paragraph_close"]
    assert kinds <= {"text", "code_inline"}


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1 .)(][!<>/&;#*_~`\\-+=|:^\n"), max_size=40))
def test_any_text_keeps_its_words_and_gains_no_markup(text: str) -> None:
    """Whatever the text, Markdown reads only plain text and code spans and shows the words unchanged."""
    tokens = list(inline(escape(text)))

    assert {token.type for token in tokens} <= {"text", "code_inline"}
    if not any(token.type == "code_inline" for token in tokens):
        assert "".join(token.content for token in tokens) == flatten(text)


@pytest.mark.parametrize(
    "address", ["https://evil.example/a", "HTTP://evil.example", "www.evil.example", "me@evil.example"]
)
def test_an_address_in_foreign_text_is_words_and_no_link(address: str) -> None:
    """Readers that make links of bare addresses find none, and a person reads the address as it is."""
    escaped = escape(f"See {address} now.")

    assert not re.search(r"(?i)[a-z]://|www\.|\w@\w", escaped)
    assert shown(escaped) == f"See {address} now."


@pytest.mark.parametrize(
    "prose",
    [
        "A worker polls max_cached_workflows tasks, e.g. 2 * 3 of them (see list[int] < 4 & more).",
        "Run `python client.py start` first; it's a well-known-name #1 at 50 % – fine.",
        "See docs.example/a_b or a@b for more: 1:2 // 3.",
    ],
)
def test_ordinary_prose_is_left_alone(prose: str) -> None:
    """Text in which Markdown would act on nothing carries no backslash."""
    assert escape(prose) == prose


def test_control_and_direction_characters_are_taken_out() -> None:
    """Terminal codes and direction overrides never reach the reader."""
    assert flatten("a\x1b[31mb\u202ec\u200bd\u0085e") == "a[31mbcd e"


@settings(deadline=None)
@given(st.text(alphabet="ab `<\n", min_size=1, max_size=20))
def test_a_code_span_cannot_be_closed_from_inside(text: str) -> None:
    """Whatever a path holds, it is shown as one code span."""
    kinds = [token.type for token in inline(format_code_span(text))]

    assert kinds == (["code_inline"] if flatten(text) else [])


def test_words_survive_escaping() -> None:
    """A sentence with Markdown characters is shown unchanged."""
    text = "The [spec](x) says *no* to <b> & to _x_ at 1*2."

    assert shown(escape(text)) == text


def test_a_cell_of_a_table_has_no_bare_bar() -> None:
    """A bar would end the cell."""
    assert escape_cell(r"a | `b|c` \| d") == r"a \| `b\|c` \| d"
