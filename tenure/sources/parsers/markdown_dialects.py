"""Rewrite notations of manuals that CommonMark lacks: admonitions, tabs, components, templates and attributes.

Docusaurus, MkDocs, MyST, GitBook, Hugo and Jekyll write notes as containers (`:::tip`, `!!! note`, `{% hint %}`),
variants as tabs (`=== "Linux"`, `<TabItem>`), ids behind headings (`{#anchor}`), and templates (`{{< new-in 1.2 >}}`).
CommonMark reads them as words, indented notes as code, and code directly below a component as one line. Here they
become a line that introduces what follows, plain blocks, or nothing. Code keeps them, since it may be about them.
"""

import re
from typing import Final

_FENCE: Final = re.compile(r"[ ]{0,24}(`{3,}|~{3,})")  # "```python", "~~~~".
# ":::", ":::tip", ":::tip[Title]", ":::note Title", "::::{warning} Title"; "///", "//// tab | Title" of FastAPI.
_CONTAINER: Final = re.compile(
    r"[ ]{0,24}(?::{3,8}|/{3,8})(?:[ ]?\{?(?P<kind>[A-Za-z][\w-]{0,40})\}?)?"
    r"(?:\[(?P<title>[^\]\n]{0,200})\]|[ ](?:\|[ ])?(?P<words>[^\n]{0,200}))?\Z"
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
# 'import Tabs from "@theme/Tabs";' and "export { Note } from './note';" of MDX, but not "import words from 'nowhere'".
_IMPORT: Final = re.compile(
    r"(?:import|export)\s(?:(?=[A-Z{*])[^\n]{1,300}\bfrom\s+[\"'][^\"'\n]{1,200}"
    r"|[^\n]{1,300}\bfrom\s+[\"'][@.~/][^\"'\n]{0,200})[\"'];?\Z"
)
# "> [!NOTE]", "> [!tip]- Title" of GitHub and Obsidian.
_ALERT: Final = re.compile(
    r"(?P<indent>[ ]{0,12}(?:>[ ]?){1,4})\[!(?P<kind>[A-Za-z]{1,20})\][+-]?(?:[ ](?P<title>[^\n]{1,200}))?\Z"
)
# "```{note} Title" of MyST: a fence whose contents are text.
_DIRECTIVE: Final = re.compile(
    r"[ ]{0,24}(?P<fence>`{3,}|:{3,})\{(?P<kind>note|tip|hint|warning|important|admonition|caution|danger|error"
    r"|attention|seealso|dropdown|versionadded|versionchanged|deprecated|card|grid|tab-item|tab-set|topic|sidebar)\}"
    r"(?:[ ](?P<title>[^\n]{1,200}))?\Z"
)
_OPTION: Final = re.compile(r"[ ]{0,24}:[\w-]{1,40}:(?:[ ][^\n]{0,200})?\Z")  # ":class: dropdown" below a directive.
_UNTITLED: Final = frozenset(
    "admonition card details dropdown grid grid-item-card sidebar tab tab-item tab-set topic".split()
)
"""Containers and directives whose title alone introduces their contents."""
# '{% hint style="info" %}', "{% endhint %}", "{%- if page -%}" of GitBook, Jekyll and others.
_TAG: Final = re.compile(r"\{%-?[ ]{0,8}(?P<name>[\w/-]{1,40})(?P<rest>[^%\n]{0,300})-?%\}")
# "{{< note >}}", "{{% /tab %}}", "{{< new-in 0.161.0 />}}" of Hugo.
_SHORTCODE: Final = re.compile(
    r"\{\{(?P<mark>[<%])[ ]{0,8}(?P<name>/?[\w./-]{1,60})(?P<rest>[^{}\n]{0,300}?)/?[>%]\}\}"
)
_CODE_TAGS: Final = frozenset(("highlight", "code-toggle", "endhighlight", "/highlight", "/code-toggle"))
"""Tags around code that has no fence."""
_TAG_TITLE: Final = re.compile(
    r"\b(?:title|style|name|header)=[\"']([^\"'\n]{1,200})"
)  # 'title="Linux"', 'style="info"'.
_INTRODUCING: Final = frozenset(("hint", "tab", "note", "tip", "warning", "info", "caution", "danger", "important"))
"""Tags that introduce what follows by their name or title."""
# A span of code, or one of the marks that are removed outside of it.
_INLINE: Final = re.compile(
    r"""
    (?P<code> `{1,3} (?!`) [^`\n]{1,1000} `{1,3} )
    | : (?:material|fontawesome|octicons|simple) - [\w-]{1,60} :   # ":material-linux:"
    | (?<!\\) \{ :? [ ]? [.\#] [\w-] [^{}\n]{0,200} \}            # "{ .lg .middle }"
    | \{: [^{}\n]{1,200} \}                                        # "{:toc}"
    | \{/\* [^\n]{0,300}? \*/\}                                   # "{/* comment */}"
    | (?<![\w+]) \+\+ (?P<keys> [a-z0-9]{1,20} (?:[+-][a-z0-9]{1,20}){0,8} ) \+\+   # "++ctrl+alt+del++"
    | \b (?:style|sx) = \{\{ [^{}\n]{0,200} \}\}                   # "style={{ float: 'right' }}"
    | \{%-? [ ]{0,8} [\w/-] [^%\n]{0,300} %\}                      # "{% raw %}"
    | \{\{ [<%] [ ]{0,8} [\w/] [^{}\n]{0,300}? [>%] \}\}           # "{{< new-in 0.161.0 />}}"
    """,
    re.VERBOSE,
)
# "{ref}`Title <target>`", "{doc}`../intro`" of MyST.
_ROLE: Final = re.compile(r"\{[a-z][\w:+-]{0,40}\}(`{1,3})(?!`)(?P<words>[^`\n]{1,500}?)(?:[ ]<[^<>`\n]{1,300}>)?\1")
# "](../{{ site.base }}/a b)": the target of a link, which no reader sees.
_TEMPLATE_LINK: Final = re.compile(r"\]\((?:[^()\s{}]{0,300})\{\{[^{}\n]{0,200}\}\}")
# "(label)=", "+++", '--8<-- "part.md"', "{* ../app/main.py hl[2] *}", "^^^" below the header of a card.
_MARK_LINE: Final = re.compile(
    r"\s{0,12}(?:\([\w:. -]{1,100}\)=|\+{3}(?:[ ].{0,200})?|-{1,3}8<-{1,3}.{0,300}|\{\*.{0,300}\*\}|\^{3,})\Z"
)
# "<ThemedImage" of a component over several lines.
_OPEN_COMPONENT: Final = re.compile(r"\s{0,24}<[A-Z][\w.]{0,60}(?:\s[^<>]{0,400})?\Z")
_MAX_COMPONENT_LINES: Final = 30
# A line that begins with no mark of the patterns above, such as "Rotate logs nightly.".
_PLAIN: Final = re.compile(r"\s*(?:(?!import\s|export\s)[^\s`~:!?=<>{\\(+#/^-]|\Z)")
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
    if not any(_TABLE_END in line for line in lines):
        return 0
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
        self._directives: list[str] = []
        """Fences of the open directives of MyST, outermost first."""
        self._component_lines = 0
        """Lines that the open component may still have."""
        self._may_be_option = False
        """Whether the line before began a directive."""
        self._indents: list[int] = []
        """Columns at which the contents of the open admonitions and tabs begin, outermost first."""

    def take(self, line: str) -> None:
        line = self._dedent(line)
        bare = line.rstrip()
        if not (self._fence or self._tables or self._component_lines) and _PLAIN.match(bare):
            # Nine of ten lines of a manual need none of the patterns.
            self._may_be_option = False
            self._add_text(line)
            return
        if not self._fence and self._take_directive(bare):
            return
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
        else:
            self._take_text(line, bare)

    def _take_text(self, line: str, bare: str) -> None:
        """Take a line outside of code, tables and admonitions."""
        if match := _ALERT.match(bare):
            self._introduce(match["indent"], match["kind"], match["title"] or "")
            self.lines[-1] = match["indent"].rstrip()
        elif match := _CONTAINER.match(bare):
            kind = match["kind"] or ""
            self._introduce("", "" if kind in _UNTITLED else kind, match["title"] or match["words"] or "")
            # Only MyST, which writes kinds in braces, has options; below others, ":warning: Words" is text.
            self._may_be_option = bool(kind) and "{" in bare[: match.end("kind")]
        elif _COMPONENT.match(bare):
            label = _LABEL.search(bare)
            self._introduce("", "", label[1] if label else "")
        elif self._skip_component(bare):
            pass
        elif _ATTRIBUTES.match(bare) or _MARK_LINE.match(bare) or (self._is_separate() and _IMPORT.match(bare)):
            self.lines.append("")
        elif not self._take_tag(bare):
            self._add_text(line)
            if _HEADING.match(bare):
                self.lines[-1] = _ATTRIBUTES.sub("", _strip_closing(self.lines[-1].rstrip()))

    def _add_text(self, line: str) -> None:
        self._count_tables(line)
        self.lines.append(_strip_inline(line))

    def _take_directive(self, bare: str) -> bool:
        """Take the beginning, an option or the end of a directive; return False for any other line."""
        if match := _DIRECTIVE.match(bare):
            self._directives.append(match["fence"])
            kind = "" if match["kind"] in _UNTITLED else match["kind"]
            self._introduce("", kind, match["title"] or "")
            self._may_be_option = True
            return True
        if self._may_be_option and _OPTION.match(bare):
            return True
        self._may_be_option = False
        if self._directives and bare.strip() == self._directives[-1]:
            self._directives.pop()
            self._separate()
            return True
        return False

    def _take_tag(self, bare: str) -> bool:
        """Take a line that is only a tag of a template; return False for any other line."""
        match = _TAG.fullmatch(bare.strip()) or _SHORTCODE.fullmatch(bare.strip())
        if match is None:
            return False
        name, title = match["name"], _TAG_TITLE.search(match["rest"])
        if name in _CODE_TAGS:
            # The end of the code closes the fence, which other lines cannot.
            self.lines.append("```")
        elif name in _INTRODUCING:
            self._introduce("", "" if title else name, title[1].capitalize() if title else "")
        else:
            self._separate()
        return True

    def _skip_component(self, bare: str) -> bool:
        """Return whether a line belongs to the tag of a component over several lines."""
        if self._component_lines:
            self._component_lines = 0 if bare.endswith(">") else self._component_lines - 1
            return True
        if _OPEN_COMPONENT.match(bare):
            self._separate()
            self._component_lines = _MAX_COMPONENT_LINES
            return True
        return False

    def _is_separate(self) -> bool:
        return not self.lines or not self.lines[-1].strip()

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
        words = " – ".join(filter(None, (kind.capitalize(), _strip_inline(title).strip())))
        self._separate()
        if words:
            self.lines += [f"{indent}{words}{'' if words[-1] in '.!?:' else ':'}", ""]

    def _separate(self) -> None:
        if self.lines and self.lines[-1].strip():
            self.lines.append("")


def _strip_inline(line: str) -> str:
    """Return a line without the marks of templates, icons and attributes outside of code; roles keep their words."""
    if "{" not in line and ":" not in line and "++" not in line:
        return line
    line = _ROLE.sub(lambda role: role["words"], _TEMPLATE_LINK.sub("](", line))
    return _INLINE.sub(lambda match: match["code"] or match["keys"] or "", line)


def _strip_closing(heading: str) -> str:
    """Return a heading without its closing hashes, which follow its attributes."""
    words = heading.rstrip("#")
    return words.rstrip() if words.endswith(" ") else heading
