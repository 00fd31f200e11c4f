"""A page as a tree, of bounded size and depth, and what of it no browser shows.

Nobody who looked at a page could quote what it hides, so that is taken out and is no evidence. Orders to programs
hide there, so its words are handed on to whoever judges the page.
"""

import re
from typing import Final

from lxml import etree
from lxml.etree import ParserError
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from tenure.sources.document.document import NO_TEXT, Unreadable

_LIMIT: Final = 20_000_000
"""Characters of markup above which a page is not read."""
_DEEPEST: Final = 400
"""Elements inside each other; what walks a tree calls itself as often."""
KEPT: Final = 20_000
"""Characters of hidden words that are handed on."""

_ZERO = r"0*(?:\.0*)?(?:px|pt|em|rem|%)?\s*(?:;|!|$)"
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|color\s*:\s*transparent"
    rf"|(?:^|[;\s])(?:opacity|font-size|(?:max-)?(?:height|width))\s*:\s*{_ZERO}"
    r"|(?:left|right|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_RULE = re.compile(r"([^{}@]+)\{([^{}]*)\}")
_AT_BLOCK = re.compile(r"@[^{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_SIMPLE = re.compile(r"\s*[\w-]*([.#])([\w-]+)\s*")
_STYLE_LIMIT = 200_000
_NEVER = frozenset(("html", "head", "body"))
_TEXTS = etree.XPath(".//text()[not(parent::script or parent::style)]")
# Text that was decoded is in no encoding any more, whatever it declares.
_PROLOGUE = re.compile(r"^\s*<\?xml[^>]*\?>")
_TOO_DEEP = etree.XPath(f"boolean({'/*' * (_DEEPEST + 1)})")


def html_tree(markup: str) -> HtmlElement:
    """Parse a page or a part of one.

    Raises:
        Unreadable: if there is nothing in it, too much of it, or too much inside each other.
    """
    if len(markup) > _LIMIT:
        raise Unreadable(f"is more than {_LIMIT / 1e6:g} MB of markup")
    try:
        tree = document_fromstring(_PROLOGUE.sub("", markup, count=1), parser=HTMLParser(huge_tree=True))
    except ParserError as error:
        raise Unreadable(NO_TEXT) from error
    if _TOO_DEEP(tree):
        raise Unreadable("is nested too deeply")
    return tree


def drop_hidden(tree: HtmlElement) -> str:
    """Take everything hidden out of a tree, and return its words."""
    unseen = _unseen_by_style_sheet(tree)
    gone = [element for element in tree.iter(etree.Element) if _is_hidden(element, unseen)]
    found = [" ".join(_TEXTS(element)) for element in gone]
    found += [str(comment.text) for comment in tree.iter(etree.Comment)]
    for element in gone:
        # What stood inside another hidden element has gone with it.
        if element.getparent() is not None:
            element.drop_tree()
    return " ".join(" ".join(found).split())[:KEPT]


def _is_hidden(element: HtmlElement, unseen: frozenset[str]) -> bool:
    # Scripts show a body that was hidden until it had loaded.
    if element.tag in _NEVER:
        return False
    has = element.attrib
    if element.tag == "template" or "hidden" in has or has.get("aria-hidden", "").strip().lower() == "true":
        return True
    if "style" in has and _UNSEEN.search(has["style"]):
        return True
    if not unseen or not ("class" in has or "id" in has):
        return False
    return f"#{has.get('id', '')}" in unseen or any(f".{name}" in unseen for name in has.get("class", "").split())


def _unseen_by_style_sheet(tree: HtmlElement) -> frozenset[str]:
    """Return the classes and ids that the page's own style sheets hide wherever and however the page is shown."""
    sheets = " ".join(sheet.text or "" for sheet in tree.iter("style"))[:_STYLE_LIMIT]
    rules = _RULE.findall(_AT_BLOCK.sub(" ", sheets)) if sheets else ()
    simple = (_SIMPLE.fullmatch(part) for names, style in rules if _UNSEEN.search(style) for part in names.split(","))
    return frozenset(match[1] + match[2] for match in simple if match)
