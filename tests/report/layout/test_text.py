"""Test the inline nodes of untrusted text."""

import pytest

from tenure.report.layout.text import format_words, make_code, make_line, split_sentence_spans
from tenure.report.layout.tree import LinkNode, TextSpan
from tenure.report.render.markdown import write_line


def test_a_line_joins_words_and_nodes() -> None:
    """White space between pieces stays, balanced code spans are code, and empty pieces are left out."""
    link = LinkNode("https://a.example", "there")

    assert make_line("See\n`a.b` or ", link, "", format_words("now"), make_code(" /a\x1bb ")) == (
        TextSpan("See "),
        TextSpan("a.b", "code"),
        TextSpan(" or "),
        link,
        TextSpan("now", "em"),
        TextSpan("/ab", "code"),
    )
    assert make_line("", make_code(" ")) == ()


@pytest.mark.parametrize(
    ("text", "spans", "markdown"),
    [
        ("a *b* c", ["a ", "em:b", " c"], "a *b* c"),
        ("**b `c` d** e", ["strong:b ", "code:c", "strong: d", " e"], "**b** `c` **d** e"),
        ("2 * 3 * 4 and 2*3*4", ["2 * 3 * 4 and 2*3*4"], r"2 * 3 * 4 and 2\*3\*4"),
        ("use @app.task and run()", ["use ", "code:@app.task", " and ", "code:run()"], "use `@app.task` and `run()`"),
        ("set max_size, --fast", ["set ", "code:max_size", ", ", "code:--fast"], "set `max_size`, `--fast`"),
        ("ann@example.org", ["ann@example.org"], r"ann\@example.org"),
        ("*a and **b", ["*a and **b"], r"\*a and \*\*b"),
        ("**Bold** start", ["strong:Bold", " start"], "**Bold** start"),
        ("*<b>* [x](y)", ["em:<b>", " [x](y)"], r"*\<b>* [x\](y)"),
        ("`a * b` *c*", ["code:a * b", " ", "em:c"], "`a * b` *c*"),
        ("- no list", ["- no list"], r"\- no list"),
        ("", [], ""),
    ],
)
def test_sentences_may_have_emphasis_and_code(text: str, spans: list[str], markdown: str) -> None:
    """Emphasis, code spans and names of code are set as such; everything else is shown as it is."""
    shown = [f"{span.kind}:{span.text}".removeprefix("text:") for span in split_sentence_spans(text)]

    assert shown == spans
    assert write_line(split_sentence_spans(text)) == markdown
