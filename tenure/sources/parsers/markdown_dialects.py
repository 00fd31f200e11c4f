"""Rewrite notations of manuals that CommonMark lacks: admonitions, tabs, components and attributes.

Docusaurus, MkDocs and MyST write notes as containers (`:::tip`, `!!! note`), variants as tabs (`=== "Linux"`,
`<TabItem>`), and ids behind headings (`{#anchor}`). CommonMark reads them as words, indented notes as code, and code
directly below a component as one line. Here they become a line that introduces what follows, and plain blocks.
"""

import re
from typing import Final

_FENCE: Final = re.compile(r"[ ]{0,24}(`{3,}|~{3,})")  # "```python", "~~~~".
# ":::", ":::tip", ":::tip[Title]", ":::note Title", "::::{warning} Title".
_CONTAINER: Final = re.compile(
    r"[ ]{0,24}:{3,8}(?:[ ]?\{?(?P<kind>[A-Za-z][\w-]{0,40})\}?)?"
    r"(?:\[(?P<title>[^\]\n]{0,200})\]|[ ](?P<words>[^\n]{0,200}))?\Z"
)
# '!!! warning "Title"', "??? note", "???+ tip inline end".
_ADMONITION: Final = re.compile(
    r"(?P<indent>[ ]{0,24})(?:!!!|\?\?\?\+?)[ ](?P<kind>[A-Za-z][\w-]{0,40})(?:[ ][\w -]{1,60})?"
    r"(?:[ ]\"(?P<title>[^\n]{0,200})\")?\Z"
)
# '=== "Linux"' of MkDocs.
_TAB: Final = re.compile(r"(?P<indent>[ ]{0,24})===[!+]?[ ][\"'](?P<title>[^\n]{1,200})[\"']\Z")
# "<Tabs>", '<TabItem value="java" label="Java">', "</TabItem>": components begin with a capital, unlike HTML.
_COMPONENT: Final = re.compile(r"\s{0,24}</?[A-Z][\w.]{0,60}(?:\s[^<>\n]{0,400})?/?>\Z")
_LABEL: Final = re.compile(r"\blabel=\{?[\"']([^\"'\n]{1,200})")  # 'label="Java"', "label={'Java'}".
# "## Usage".
_HEADING: Final = re.compile(r"[ ]{0,3}#{1,6}[ \t]")
# " {#usage}", " {: .warning}".
_ATTRIBUTES: Final = re.compile(r"[ \t]{0,24}\\?\{:?[ ]?[#.][^{}\n]{1,200}\}\Z")
# 'import Tabs from "@theme/Tabs";' of MDX.
_IMPORT: Final = re.compile(r"(?:import|export)\s[^\n]{1,300}\bfrom\s+[\"'][^\"'\n]{1,200}[\"'];?\Z")
# '<table class="wide">', but neither "the `<table>` tag" nor "<tables>".
_TABLE_START: Final = re.compile(r"\s{0,24}<table(?:[\s>]|\Z)")
_TABLE_END: Final = "</table>"
_CONTENT_INDENT: Final = 4
"""Columns by which MkDocs indents what belongs to an admonition or a tab."""


def expand_dialects(text: str) -> str:
    """Return Markdown in which notes, tabs, components and attributes are plain paragraphs and blocks."""
    lines = text.split("\n")
    rewriter = _Rewriter(_count_table_ends(lines))
    for line in lines:
        rewriter.take(line)
    return "\n".join(rewriter.lines)


def _count_table_ends(lines: list[str]) -> int:
    """Count the ends of HTML tables outside of code."""
    fence, ends = "", 0
    for line in lines:
        before, fence = fence, _track_fence(fence, line)
        ends += 0 if before or fence else line.count(_TABLE_END)
    return ends


def _track_fence(fence: str, line: str) -> str:
    """Return the mark of the code block that is open after a line, given that before it."""
    if not fence:
        match = _FENCE.match(line)
        return match[1] if match else ""
    bare = line.strip()
    return "" if set(bare) == {fence[0]} and len(bare) >= len(fence) else fence


class _Rewriter:
    """Rewriter that reads a text line by line.

    Args:
        table_ends: number of ends of HTML tables in the text, outside of code.
    """

    def __init__(self, table_ends: int) -> None:
        self.lines: list[str] = []
        self._table_ends = table_ends
        self._tables = 0
        """Number of open HTML tables."""
        self._fence = ""
        self._is_head = True
        """Whether only imports of components were read."""
        self._indents: list[int] = []
        """Columns at which the contents of the open admonitions and tabs begin, outermost first."""

    def take(self, line: str) -> None:
        line = self._dedent(line)
        bare = line.rstrip()
        before, self._fence = self._fence, _track_fence(self._fence, line)
        if before or self._fence:
            if not before and not self._tables:
                # Without the blank line, code below a tag is a part of its line.
                self._separate()
            if bare or not self._tables:
                self.lines.append(line)
        elif self._tables:
            self._take_row(line, bare)
        elif (match := _ADMONITION.match(bare)) or (match := _TAB.match(bare)):
            fields = match.groupdict()
            self._introduce(match["indent"], fields.get("kind") or "", match["title"] or "")
            self._indents.append(self._shift + len(match["indent"]) + _CONTENT_INDENT)
        elif match := _CONTAINER.match(bare):
            self._introduce("", match["kind"] or "", match["title"] or match["words"] or "")
        elif _COMPONENT.match(bare):
            label = _LABEL.search(bare)
            self._introduce("", "", label[1] if label else "")
        elif _ATTRIBUTES.match(bare) or (self._is_head and _IMPORT.match(bare)):
            self.lines.append("")
        else:
            self._is_head = self._is_head and not bare
            self._count_tables(line)
            self.lines.append(_ATTRIBUTES.sub("", _strip_closing(bare)) if _HEADING.match(bare) else line)

    def _take_row(self, line: str, bare: str) -> None:
        """Take a line of an HTML table, which CommonMark ends at the first blank line."""
        if match := _CONTAINER.match(bare):
            self.lines += [f"{match['kind'].capitalize()}:"] if match["kind"] else []
        elif bare:
            self.lines.append(line)
        self._count_tables(line)

    def _count_tables(self, line: str) -> None:
        """Count the tables that a line opens and closes; a start without an end is none."""
        ends = line.count(_TABLE_END)
        opens = bool(_TABLE_START.match(line)) and self._table_ends > self._tables
        self._tables = max(0, self._tables + opens - ends)
        self._table_ends -= ends

    @property
    def _shift(self) -> int:
        """Columns that are removed from the beginning of lines."""
        return _CONTENT_INDENT * len(self._indents)

    def _dedent(self, line: str) -> str:
        """Return a line without the indentation of the admonitions and tabs that it belongs to."""
        if not self._indents:
            return line
        line = line.expandtabs(_CONTENT_INDENT)
        bare = line.lstrip(" ")
        while bare and not self._fence and self._indents and len(line) - len(bare) < self._indents[-1]:
            self._indents.pop()
            self._separate()
        return line[min(self._shift, len(line) - len(bare)) :]

    def _introduce(self, indent: str, kind: str, title: str) -> None:
        """Write the kind and the title of what follows as a paragraph that ends with a colon."""
        words = " – ".join(filter(None, (kind.capitalize(), title.strip())))
        self._separate()
        if words:
            self.lines += [f"{indent}{words}{'' if words[-1] in '.!?:' else ':'}", ""]

    def _separate(self) -> None:
        if self.lines and self.lines[-1].strip():
            self.lines.append("")


def _strip_closing(heading: str) -> str:
    """Return a heading without its closing hashes, which follow its attributes."""
    words = heading.rstrip("#")
    return words.rstrip() if words.endswith(" ") else heading
