"""Parse HTML into a tree of limited size and depth, and remove elements that browsers do not show.

Hidden text is no evidence, because readers of the page cannot see it. It may contain prompt injections, so it is
returned separately for the quality check of the page.
"""

import re
from typing import Final

from lxml import etree
from lxml.etree import ParserError
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.sources.document.document import Unreadable

_MAX_MARKUP_LENGTH: Final = 20_000_000
_MAX_DEPTH: Final = 400
"""Maximum nesting depth; functions that walk a tree recurse as deeply."""
MAX_HIDDEN_LENGTH: Final = 20_000
"""Maximum length of the hidden text, in characters."""

_ZERO = r"0*(?:\.0*)?(?:px|pt|em|rem|%)?\s*(?:;|!|$)"
# "display: none", "opacity:0;", "left:-9999px"; neither "opacity: 0.5" nor "line-height: 0".
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|color\s*:\s*transparent"
    rf"|(?:^|[;\s])(?:opacity|font-size|(?:max-)?(?:height|width))\s*:\s*{_ZERO}"
    r"|(?:left|right|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_RULE = re.compile(r"([^{}@]+)\{([^{}]*)\}")  # ".menu, #top { display: none }".
_AT_BLOCK = re.compile(r"@[^{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")  # "@media print { .menu { display: none } }".
# ".menu" and "div#top", but not ".menu li", in a match of the whole text.
_SIMPLE = re.compile(r"\s*[\w-]*([.#])([\w-]+)\s*")
_MAX_STYLE_LENGTH = 200_000
_ALWAYS_VISIBLE = frozenset(("html", "head", "body"))
_TEXTS = etree.XPath(".//text()[not(parent::script or parent::style)]")
# The encoding declaration of decoded text is obsolete.
_PROLOGUE = re.compile(r"^\s*<\?xml[^>]*\?>")
_TOO_DEEP = etree.XPath(f"boolean({'/*' * (_MAX_DEPTH + 1)})")


def parse_html_tree(markup: str) -> HtmlElement:
    """Parse a page or a fragment.

    Raises:
        Unreadable: the markup is empty, too long, or nested too deeply.
    """
    if len(markup) > _MAX_MARKUP_LENGTH:
        raise Unreadable(f"is more than {_MAX_MARKUP_LENGTH / 1e6:g} MB of markup")
    try:
        tree = document_fromstring(_PROLOGUE.sub("", markup, count=1), parser=HTMLParser(huge_tree=True))
    except ParserError as error:
        raise Unreadable(NO_TEXT) from error
    if _TOO_DEEP(tree):
        raise Unreadable("is nested too deeply")
    return tree


def remove_hidden(tree: HtmlElement) -> str:
    """Remove hidden elements from a tree, and return their text."""
    unseen = _find_hidden_selectors(tree)
    elements = [element for element in tree.iter(etree.Element) if _is_hidden(element, unseen)]
    texts = [" ".join(_TEXTS(element)) for element in elements]
    texts += [str(comment.text) for comment in tree.iter(etree.Comment)]
    for element in elements:
        # Elements inside another hidden element were removed with it.
        if element.getparent() is not None:
            element.drop_tree()
    return " ".join(" ".join(texts).split())[:MAX_HIDDEN_LENGTH]


def _is_hidden(element: HtmlElement, unseen: frozenset[str]) -> bool:
    # Scripts often show a body that is hidden until it has loaded.
    if element.tag in _ALWAYS_VISIBLE:
        return False
    has = element.attrib
    if element.tag == "template" or "hidden" in has or has.get("aria-hidden", "").strip().lower() == "true":
        return True
    if "style" in has and _HIDING_STYLE.search(has["style"]):
        return True
    if not unseen or not ("class" in has or "id" in has):
        return False
    return f"#{has.get('id', '')}" in unseen or any(f".{name}" in unseen for name in has.get("class", "").split())


def _find_hidden_selectors(tree: HtmlElement) -> frozenset[str]:
    """Return the classes and ids that the style sheets of the page hide on all devices."""
    sheets = " ".join(sheet.text or "" for sheet in tree.iter("style"))[:_MAX_STYLE_LENGTH]
    rules = _RULE.findall(_AT_BLOCK.sub(" ", sheets)) if sheets else ()
    simple = (
        _SIMPLE.fullmatch(part) for names, style in rules if _HIDING_STYLE.search(style) for part in names.split(",")
    )
    return frozenset(match[1] + match[2] for match in simple if match)
