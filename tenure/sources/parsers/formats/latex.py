r"""Parse LaTeX: headings, paragraphs, lists, tables and code; formulas stay as they are written.

Files of `\input` are sources of their own and not repeated, and no macro is executed.
"""

import logging
import re
from collections.abc import Sequence
from typing import Any, Final

from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec
from pylatexenc.latex2text import get_default_latex_context_db as get_text_context
from pylatexenc.latexwalker import (
    LatexEnvironmentNode,
    LatexMacroNode,
    LatexMathNode,
    LatexNode,
    LatexSpecialsNode,
    LatexWalker,
    get_default_latex_context_db,
)
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.formats.plain_text import parse_plain_text
from tenure.sources.parsers.registry import Format

LATEX: Final = Format(
    parser="parse_latex",
    description="LaTeX: headings, lists, tables, code and formulas; without references to literature",
    suffixes=(".tex", ".latex", ".ltx"),
    media_types=("application/x-tex", "text/x-tex"),
)

_LEVELS: Final = {
    **{"part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3, "frametitle": 2},
    **{"paragraph": 4, "subparagraph": 5},
}
_LISTS: Final = {"itemize": None, "description": None, "enumerate": 1, "thebibliography": None}
_TABLES: Final = ("tabular", "tabular*", "tabularx", "tabulary", "longtable", "array", "tblr")
_LITERAL: Final = ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt")
_FORMULAS: Final = ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "flalign", "alignat")
_LEFT_OUT: Final = ("comment", "tikzpicture", "pgfpicture", "filecontents", "CCSXML")
_PLAIN: Final = (
    *("document", "figure", "figure*", "table", "table*", "center", "flushleft", "flushright", "minipage", "frame"),
    *("quote", "quotation", "verse", "titlepage", "columns", "column", "block", "small", "threeparttable", "multicols"),
)
"""Environments that are not named in the text; others are, such as `Theorem`."""
_CITATIONS: Final = (
    *("cite", "citep", "citet", "citealp", "citealt", "citeauthor", "citeyear", "parencite", "textcite", "autocite"),
    *("footcite", "nocite", "Citet", "Citep"),
)
_SILENT: Final = (
    *(*_CITATIONS, "label", "ref", "eqref", "pageref", "cref", "Cref", "autoref", "nameref", "input", "include"),
    *("includegraphics", "bibliography", "bibliographystyle", "usepackage", "documentclass", "RequirePackage"),
    *("newcommand", "renewcommand", "providecommand", "DeclareMathOperator", "newenvironment", "newtheorem", "def"),
    *("setlength", "addtolength", "setcounter", "addtocounter", "vspace", "hspace", "pagestyle", "thispagestyle"),
    *(
        "graphicspath",
        "hypersetup",
        "geometry",
        "addcontentsline",
        "markboth",
        "arabic",
        "cline",
        "subfile",
        "pagenumbering",
        "title",
    ),
    *("author", "date", "theoremstyle", "definecolor", "color", "selectlanguage", "fontsize", "lstset", "vskip"),
    *("maketitle", "tableofcontents", "listoffigures", "listoftables", "printbibliography", "appendix"),
)
"""Macros whose arguments are not text of the document; title, author and date are metadata."""
_INDEX: Final = ("index", "indexdef", "indexsee", "sindex", "glossary", "chaptermark", "sectionmark", "markright")
"""Macros of one argument for lists elsewhere in a book."""
_LAST: Final = ("multicolumn", "multirow", "href", "textcolor", "colorbox", "texorpdfstring", "hyperref", "acronym")
"""Macros of which the last argument is text."""
# "\newcommand{\sys}{Tenure}", "\def\sys{Tenure}": a word of the author.
_DEFINITION: Final = re.compile(
    r"\\(?:(?:re)?newcommand\*?[ ]?\{?|providecommand\{?|def)\\(?P<name>[A-Za-z]{1,40})\}?[ ]?"
    r"\{(?P<text>[^{}#\n]{0,200})\}"
)
_MACRO: Final = re.compile(r"\\([A-Za-z]+)")  # "\sys".
_MAX_DEFINITIONS: Final = 500
_RULE: Final = re.compile(r"\\cmidrule(?:\([lr]{1,2}\))?\{[\d-]{1,9}\}")  # "\cmidrule(lr){2-3}" of a table.
_FIELD: Final = re.compile(r"\\(title|author|date)[ \t\n]{0,9}(?:\[[^\]\n]{0,200}\])?\{")  # "\title[Short]{Long}".
_MAX_FIELD_LENGTH: Final = 1_000
_UNSEEN_GAP: Final = re.compile(r"[ ]+(?=[.,;:)])")  # "as shown [1]." without the reference is "as shown .".
_EMPTY: Final = re.compile(r"\((?:see|e\.g\.|cf\.)?[ ,;]*\)")  # "(see )" without its reference.

logging.getLogger("pylatexenc").addHandler(logging.NullHandler())
logging.getLogger("pylatexenc").propagate = False


def _build_text_converter() -> LatexNodes2Text:
    context = get_text_context()
    silent = [MacroTextSpec(name, simplify_repl="") for name in (*_SILENT, *_INDEX, *_LEVELS)]
    last = [MacroTextSpec(name, simplify_repl=_convert_last) for name in _LAST]
    notes = [MacroTextSpec("footnote", simplify_repl=_convert_note), MacroTextSpec("and", simplify_repl=", ")]
    context.add_context_category("tenure", prepend=True, macros=[*silent, *last, *notes])
    return LatexNodes2Text(latex_context=context, math_mode="verbatim")


def _build_walker_context() -> Any:
    context = get_default_latex_context_db()
    macros = [MacroSpec(name, "*[[{") for name in _CITATIONS]
    macros += [MacroSpec(name, "*[{") for name in (*_LEVELS, "caption", "title", "author", "date")]
    macros += [
        MacroSpec(name, "{") for name in ("label", "ref", "eqref", "cref", "Cref", "autoref", "cline", "nameref")
    ]
    macros += [MacroSpec(name, "{") for name in (*_INDEX, "arabic", "input", "include", "bibliographystyle")]
    macros += [MacroSpec(name, "*{[[{") for name in ("newcommand", "renewcommand", "providecommand")]
    macros += [
        MacroSpec("addcontentsline", "{{{"),
        MacroSpec("markboth", "{{"),
        MacroSpec("multicolumn", "{{{"),
        MacroSpec("DeclareMathOperator", "*{{"),
        MacroSpec("textcolor", "[{{"),
        MacroSpec("multirow", "[{[{[{"),
    ]
    macros += [MacroSpec(name, "{{") for name in ("setlength", "addtolength", "setcounter", "definecolor", "href")]
    macros += [MacroSpec("newtheorem", "*{[{["), MacroSpec("newenvironment", "*{[[{{"), MacroSpec("bibitem", "[{")]
    environments = [EnvironmentSpec(name, "[{") for name in ("minipage", "tabular", "longtable", "thebibliography")]
    environments += [EnvironmentSpec("tabularx", "{{"), EnvironmentSpec("minted", "[{"), EnvironmentSpec("frame", "[{")]
    context.add_context_category("tenure", prepend=True, macros=macros, environments=environments)
    return context


def _convert_last(node: LatexMacroNode, l2tobj: LatexNodes2Text) -> str:
    arguments = [argument for argument in (node.nodeargd.argnlist if node.nodeargd else ()) if argument is not None]
    return str(l2tobj.nodelist_to_text(arguments[-1:]))


def _convert_note(node: LatexMacroNode, l2tobj: LatexNodes2Text) -> str:
    return f" ({_convert_last(node, l2tobj).strip()})"


def parse_latex(text: str) -> Document:
    """Parse LaTeX; a text without a macro is plain text."""
    if not _MACRO.search(text):
        return parse_plain_text(text)
    source = _expand_definitions(_RULE.sub("", text))
    writer = _Writer(source)
    writer.write(_parse_nodes(source))
    writer.end_paragraph()
    fields = {name: writer.read_field(name) for name in ("title", "author", "date")}
    return Document(
        title=fields["title"] or writer.form.first_heading,
        text=writer.form.text,
        kind="prose",
        author=fields["author"],
        published=fields["date"],
    )


def _parse_nodes(source: str) -> Sequence[LatexNode]:
    walker = LatexWalker(source, latex_context=_build_walker_context(), tolerant_parsing=True)
    nodes: Sequence[LatexNode] = walker.get_latex_nodes(pos=0)[0]
    body = next(
        (node for node in nodes if isinstance(node, LatexEnvironmentNode) and node.environmentname == "document"), None
    )
    return nodes if body is None else body.nodelist


def _expand_definitions(source: str) -> str:
    """Return the source with the macros without arguments that it defines as short texts."""
    texts = {match["name"]: match["text"] for match in list(_DEFINITION.finditer(source))[:_MAX_DEFINITIONS]}
    if not texts:
        return source
    body = _DEFINITION.sub("", source)
    return _MACRO.sub(lambda match: texts.get(match[1], match[0]), body)


class _Writer:
    """Writer that collects inline nodes until a block starts or ends."""

    def __init__(self, source: str) -> None:
        self.form = NormalFormWriter()
        self._source = source
        self._inline: list[LatexNode] = []
        self._converter = _build_text_converter()

    def read_field(self, name: str) -> str:
        """Return the title, the author or the date as one line."""
        match = next((match for match in _FIELD.finditer(self._source) if match[1] == name), None)
        if match is None:
            return ""
        part = self._source[match.end() - 1 : match.end() + _MAX_FIELD_LENGTH]
        nodes = LatexWalker(part, tolerant_parsing=True).get_latex_nodes(pos=0, read_max_nodes=1)[0]
        return "" if r"\today" in part[:20] else self._convert(nodes)

    def write(self, nodes: Sequence[LatexNode | None]) -> None:
        """Write nodes as blocks."""
        for node in nodes:
            if isinstance(node, LatexEnvironmentNode):
                self._write_environment(node)
            elif isinstance(node, LatexMathNode) and node.displaytype == "display":
                self.end_paragraph()
                self.form.add_literal(self._get_source(node))
            elif isinstance(node, LatexMacroNode) and node.macroname in (*_LEVELS, "caption", "par", "bibitem"):
                self.end_paragraph()
                self._write_block_macro(node)
            elif isinstance(node, LatexSpecialsNode) and node.specials_chars == "\n\n":
                self.end_paragraph()
            elif node is not None:
                self._inline.append(node)

    def end_paragraph(self) -> None:
        """Write the collected inline nodes."""
        nodes, self._inline = self._inline, []
        for paragraph in self._convert_blocks(nodes):
            self.form.add_paragraph(paragraph)

    def _write_block_macro(self, node: LatexMacroNode) -> None:
        arguments = [a for a in (node.nodeargd.argnlist if node.nodeargd else ()) if a is not None]
        text = self._convert(arguments[-1:])
        if node.macroname in _LEVELS:
            self.form.add_heading(_LEVELS[node.macroname], text)
        elif node.macroname == "caption":
            self.form.add_paragraph(text)

    def _write_environment(self, node: LatexEnvironmentNode) -> None:
        name = node.environmentname
        self.end_paragraph()
        if name in _LEFT_OUT:
            return
        if name in _LISTS:
            self._write_list(node, _LISTS[name])
        elif name in _TABLES:
            self._write_table(node.nodelist)
        elif name in _LITERAL or name.rstrip("*") in _FORMULAS:
            self.form.add_literal(_strip_environment(self._get_source(node)))
        else:
            if name == "abstract":
                self.form.add_heading(1, "Abstract")
            elif name.rstrip("*").isalpha() and name not in _PLAIN:
                self.form.add_paragraph(f"{name.rstrip('*').capitalize()}:")
            self.write(node.nodelist)
            self.end_paragraph()

    def _write_list(self, node: LatexEnvironmentNode, start: int | None) -> None:
        self.form.open_list(start)
        is_open = False
        for child in node.nodelist:
            if isinstance(child, LatexMacroNode) and child.macroname in ("item", "bibitem"):
                self.end_paragraph()
                self.form.close_item()
                self.form.open_item()
                is_open = True
                labels = [a for a in (child.nodeargd.argnlist if child.nodeargd else ()) if a is not None]
                if labels and child.macroname == "item":
                    self.form.add_paragraph(f"{self._convert(labels[:1]).rstrip(':')}:")
            elif is_open:
                self.write([child])
        self.end_paragraph()
        self.form.close_item()
        self.form.close_list()

    def _write_table(self, nodes: Sequence[LatexNode]) -> None:
        cells: list[list[LatexNode]] = [[]]
        for node in nodes:
            if isinstance(node, LatexSpecialsNode) and node.specials_chars == "&":
                cells.append([])
            elif isinstance(node, LatexMacroNode) and node.macroname in ("\\", "tabularnewline"):
                self.form.add_row([self._convert(cell) for cell in cells])
                cells = [[]]
            else:
                cells[-1].append(node)
        self.form.add_row([self._convert(cell) for cell in cells])

    def _convert(self, nodes: Sequence[LatexNode]) -> str:
        return " ".join(self._convert_blocks(nodes))

    def _convert_blocks(self, nodes: Sequence[LatexNode]) -> list[str]:
        text = self._converter.nodelist_to_text(nodes)
        parts = (collapse_whitespace(part) for part in re.split(r"\n[ \t]*\n", text))
        return [_UNSEEN_GAP.sub("", _EMPTY.sub("", part)).strip() for part in parts if part]

    def _get_source(self, node: LatexNode) -> str:
        return self._source[node.pos : node.pos + node.len]


def _strip_environment(source: str) -> str:
    r"""Return the source between `\begin{…}` and `\end{…}`."""
    inside = source[source.find("}") + 1 : source.rfind("\\end{")] if "\\end{" in source else source
    return inside.strip("\n")
