"""Parse Markdown with markdown-it: CommonMark with tables, front matter and the notations of manuals."""

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.markdown_dialects import expand_dialects
from tenure.sources.parsers.registry import Format

MARKDOWN: Final = Format(
    parser="parse_markdown",
    description="Markdown: headings, lists, tables, code blocks and front matter; notes, tabs and ids of Docusaurus, "
    "MkDocs and MyST, templates of GitBook, Hugo and Jekyll",
    suffixes=(".md", ".markdown", ".mdown", ".mkd", ".mdx"),
    media_types=("text/markdown", "text/x-markdown"),
)

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# "---", lines of fields, and "---" again; "+++" in TOML.
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)^\1[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([A-Za-z][\w-]*)[ \t]*[:=][ \t]*(.*)$")  # "title: Bees", 'title = "Bees"'.
_DATE_FIELDS = ("date", "published", "pubdate", "lastmod", "last_updated", "updated", "modified")
"""Fields with a date, that of the publication first."""
_LIST_ENTRY = re.compile(r"^\s*-\s+(.*)$")  # "  - Ada Lovelace" under "authors:".
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]\s]+\]:?")  # "[^1]" in a sentence, "[^1]:" before the note.


def parse_markdown(text: str) -> Document:
    """Parse Markdown; the title is empty if neither front matter nor a heading contains one."""
    fields, body = split_front_matter(text)
    writer = _TokenWriter()
    for token in _PARSER.parse(expand_dialects(body)):
        writer.take(token)
    return Document(
        title=fields.get("title", "") or writer.form.first_heading,
        text=writer.form.text,
        kind="prose",
        author=fields.get("author", "") or fields.get("authors", ""),
        published=next((fields[name] for name in _DATE_FIELDS if fields.get(name)), ""),
    )


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the simple fields of a leading YAML or TOML block, and the text after it."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    name = ""
    # Blog engines read an indented block too: "---\n title: Two\n---".
    for line in textwrap.dedent(match[2]).split("\n"):
        if field := _FIELD.match(line):
            name = field[1].lower()
            fields.setdefault(name, []).append(field[2])
        elif name and (entry := _LIST_ENTRY.match(line)):
            fields[name].append(entry[1])
    # A leading thematic break is no front matter.
    if not fields:
        return {}, text
    return {name: ", ".join(filter(None, map(_clean_scalar, values))) for name, values in fields.items()}, text[
        match.end() :
    ]


def _clean_scalar(value: str) -> str:
    return collapse_whitespace(value).strip("[]").strip("\"'").replace('", "', ", ")


def extract_inline_text(tokens: Sequence[Token] | None) -> str:
    """Return the text of inline tokens, without markup."""
    return "".join(_extract_token_text(token) for token in tokens or ())


def _extract_token_text(token: Token) -> str:
    match token.type:
        case "text" | "text_special":
            return _FOOTNOTE_MARK.sub("", token.content)
        case "code_inline":
            return token.content
        case "softbreak" | "hardbreak":
            return " "
        case "image":
            return extract_inline_text(token.children)
        case "html_inline":
            return " " if token.content.lower().startswith("<br") else ""
        case _:
            return ""


class _TokenWriter:
    def __init__(self) -> None:
        self.form = NormalFormWriter()
        self._heading = 0
        self._cells: list[str] | None = None

    def take(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._words(extract_inline_text(token.children))
            case "heading_open":
                self._heading = int(token.tag[1])
            case "heading_close":
                self._heading = 0
            case "fence" | "code_block":
                self.form.add_literal(token.content)
            case "html_block":
                # The element keeps a block that is only a comment or an end tag from being an empty document.
                tree = parse_html_tree(f"<div>{token.content}</div>")
                remove_hidden(tree)
                write_blocks(self.form, tree)
            case "tr_open":
                self._cells = []
            case "tr_close":
                self.form.add_row(self._cells or ())
                self._cells = None
            case _:
                self._take_list(token)

    def _take_list(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self.form.open_list()
            case "ordered_list_open":
                self.form.open_list(int(token.attrGet("start") or 1) if token.attrGet("start") != 0 else 0)
            case "bullet_list_close" | "ordered_list_close":
                self.form.close_list()
            case "list_item_open":
                self.form.open_item()
            case "list_item_close":
                self.form.close_item()

    def _words(self, words: str) -> None:
        if self._cells is not None:
            self._cells.append(words)
        elif self._heading:
            self.form.add_heading(self._heading, words)
        else:
            self.form.add_paragraph(words)
