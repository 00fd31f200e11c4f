"""Tests of HTML trees and of the removal of hidden elements."""

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.html_tree import MAX_HIDDEN_LENGTH, parse_html_tree, remove_hidden


@pytest.mark.parametrize(
    "markup",
    [
        '<p hidden="">SECRET</p>',
        '<p aria-hidden="TRUE">SECRET</p>',
        '<p style="color:red; DISPLAY : none">SECRET</p>',
        '<p style="visibility:hidden">SECRET</p>',
        '<p style="opacity:0">SECRET</p>',
        '<p style="opacity: 0.0; color: red">SECRET</p>',
        '<p style="font-size:0px">SECRET</p>',
        '<p style="max-height:0; overflow:hidden">SECRET</p>',
        '<p style="position:absolute; left:-9999px">SECRET</p>',
        '<p style="color:transparent">SECRET</p>',
        "<template><p>SECRET</p></template>",
        "<!-- SECRET -->",
        '<style>.a, p.gone { color: red; display: none }</style><p class="x gone">SECRET</p>',
        '<style>@media print { .y { display: none } } #gone { visibility: hidden }</style><p id="gone">SECRET</p>',
        '<div style="display:none"><p style="display:none">SEC</p>RET</div>',
    ],
)
def test_hidden_elements_are_removed(markup: str) -> None:
    """Hidden text is removed and returned; the surrounding text is kept."""
    tree = parse_html_tree(f"<html><body><p>Before</p>{markup} after</body></html>")
    hidden = remove_hidden(tree)

    assert "SECRET" in hidden.replace(" ", "")
    assert " ".join(tree.body.text_content().split()).endswith("after")
    assert "SEC" not in tree.body.text_content()


@pytest.mark.parametrize(
    "markup",
    [
        '<p style="opacity:0.9">Shown</p>',
        '<p style="font-size:0.9em; width:05px">Shown</p>',
        '<p style="margin-left:-10px; line-height:0.5">Shown</p>',
        '<p aria-hidden="false">Shown</p>',
        "<style>@media print { .x { display: none } }</style><p class='x'>Shown</p>",
        "<style>.x .y { display: none } .x:hover { opacity: 0 }</style><p class='x' id='z'>Shown</p>",
    ],
)
def test_visible_elements_are_kept(markup: str) -> None:
    """Styles that only resemble hiding, or apply only to print, hide nothing."""
    tree = parse_html_tree(f"<html><body style='opacity:0'>{markup}</body></html>")

    assert remove_hidden(tree) == ""
    assert "Shown" in tree.body.text_content()


def test_hidden_text_is_limited_and_has_no_scripts() -> None:
    """Scripts inside hidden elements are omitted, and long hidden text is truncated."""
    tree = parse_html_tree(f"<div hidden><script>x()</script>{'word ' * 10_000}</div>")

    assert len(remove_hidden(tree)) <= MAX_HIDDEN_LENGTH
    assert remove_hidden(parse_html_tree("<div hidden><script>x()</script></div>")) == ""


def test_a_page_within_the_limits_is_parsed() -> None:
    """Depth beyond the default limit of the parser is supported, and so is any declared encoding."""
    assert parse_html_tree("<div>" * 350 + "deep").text_content() == "deep"
    assert parse_html_tree("<?xml version='1.0' encoding='latin-1'?><html><body>é</body></html>").text_content() == "é"


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        ("", "has no text"),
        ("<div>" * 100_000 + "x", "is nested too deeply"),
        ("x" * 20_000_001, "is more than 20 MB of markup"),
    ],
)
def test_pages_over_the_limits_are_unreadable(markup: str, reason: str) -> None:
    """Empty, very deep and very large pages are unreadable before any function walks them."""
    with pytest.raises(Unreadable) as caught:
        parse_html_tree(markup)

    assert caught.value.reason == reason
