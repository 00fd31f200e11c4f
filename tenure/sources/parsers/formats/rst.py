"""Parse reStructuredText with the parser of docutils, without its transforms.

Transforms, role functions and most directives are omitted: they resolve links, highlight code and include files,
which does not change the words and takes most of the time. Unknown directives and roles (of Sphinx, for example) keep
their text. Nothing is read from disk and nothing is printed.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, states
from docutils.parsers.rst.languages import en
from docutils.utils import new_document, unescape

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.registry import Format

RST: Final = Format(
    parser="parse_rst",
    description="reStructuredText, including unknown directives and roles",
    suffixes=(".rst", ".rest"),
    media_types=("text/x-rst",),
)

# ".. note::" and ".. |logo| image:: logo.png".
_DIRECTIVE = re.compile(r"\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([A-Za-z][\w:.+-]{0,60}?)[ \t]?::(?:[ \t]|$)", re.MULTILINE)
_TARGET = re.compile(
    r"^\.\.[ ][\w:-]{1,40}::[ ]([^\n]{1,120})\n[ ]*\n(?=(?:``)?\1(?:``)?\n([=\-~^\"'`#*+.:_])\2{2,}\n)", re.MULTILINE
)
"""Directive that names the section after it, such as `.. setting:: task_acks_late`: it would end the section before."""
# "PEP: 8" and "Title: Style Guide" on the first lines of a PEP.
_MAIL_HEADER = re.compile(r"\s*(?:[A-Z][\w-]*:(?: .*)?\n(?:[ \t]+\S.*\n)*){2}")
_NUMBERED_ROLES = {"pep": "PEP", "rfc": "RFC"}
_AUTHOR_FIELDS = ("author", "authors")
_DATE_FIELDS = ("date", "created", "published")
_ADDRESS = re.compile(r"\s*<[^<>]*>")  # " <guido@python.org>" after the name of an author.
_ERROR = 3  # Level of an error for docutils; 2 is a warning.
_REFERENCE_NAME = r"(?:(?!_)\w){1,200}(?:[-._+:](?:(?!_)\w){1,200}){0,20}"
"""Pattern of docutils with limits: it looks for a name after each mark up to the end of the word, and again for an
address, in quadratic time: 8,000 characters of "a-" took 1.6 s. The last parts of a longer name are a name, too."""


class _AnyOptions(dict[str, Callable[[str], str]]):
    """Option table that accepts every name and value."""

    def __missing__(self, name: str) -> Callable[[str], str]:
        return str


class _LiteralDirective(Directive):
    """Directive whose content is code; its argument names a language."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = _AnyOptions(name=str)

    def run(self) -> list[nodes.Node]:
        words = "\n".join(self.content) or (self.arguments[0] if self.arguments else "")
        return [nodes.literal_block(words, words)] if words else []


class _OmittedDirective(_LiteralDirective):
    """Directive without text for readers, or with access to another file."""

    def run(self) -> list[nodes.Node]:
        return []


class _TextDirective(_LiteralDirective):
    """Unknown directive: its argument becomes a paragraph, and its content is parsed."""

    def run(self) -> list[nodes.Node]:
        box = nodes.container()
        if self.arguments:
            words, messages = self.state.inline_text(self.arguments[0], self.lineno)
            box += nodes.paragraph("", "", *words, *messages)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


_VERSION_NOTES: Final = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
"""Words with which Sphinx renders its directives on versions."""


class _VersionDirective(_TextDirective):
    """Note on a version: `.. versionchanged:: 5.2 Restarts.` becomes "Changed in version 5.2: Restarts."."""

    def run(self) -> list[nodes.Node]:
        version, *words = self.arguments[0].split(maxsplit=1) if self.arguments else ("",)
        note = f"{_VERSION_NOTES[self.name.lower()]} {version}".rstrip()
        self.arguments = [f"{note}: {words[0]}" if words else f"{note}."]
        return super().run()


_NAMES: dict[type[Directive], str] = {
    _LiteralDirective: "code code-block sourcecode parsed-literal math doctest testcode testoutput testsetup prompt "
    "productionlist graphviz digraph mermaid console ipython",
    _OmittedDirective: "raw include literalinclude role default-role meta contents sectnum section-numbering toctree "
    "highlight index module currentmodule py:module py:currentmodule header footer title target-notes tabularcolumns",
    _VersionDirective: " ".join(_VERSION_NOTES),
}
_DIRECTIVES = {name: directive for directive, names in _NAMES.items() for name in names.split()}


class _NestedMachine(states.NestedStateMachine):
    """Parser of a nested block that makes its states when it enters them.

    The parser of docutils makes all 15, with 170 transitions, for each list: a tenth of the time of 400 PEPs.
    """

    def add_states(self, state_classes: Iterable[type[Any]]) -> None:
        self.states = _States(self, state_classes)


class _States(dict[str, Any]):
    """States of a parser by name, which are made when they are asked for."""

    def __init__(self, machine: _NestedMachine, classes: Iterable[type[Any]]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {state.__name__: state for state in classes}

    def __missing__(self, name: str) -> Any:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if self._machine.input_lines is not None:
            # A parser that is running has initialized its other states.
            state.runtime_init()
        return state


states.RSTState.nested_sm = _NestedMachine


def _create_inliner() -> states.Inliner:
    """Return the inline parser of docutils, which treats every role and every address as its text.

    Subclassing does not work: docutils builds its patterns from the attributes of the class of the inliner.
    """

    def interpreted(
        rawsource: str, text: str, role: str | None, lineno: int
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [nodes.inline(rawsource, _role_words(role or "", unescape(text)))], []

    inliner = states.Inliner()
    inliner.interpreted = interpreted  # type: ignore[method-assign] # the seam docutils has
    inliner.implicit_inline = lambda text, lineno: [nodes.Text(text)] if text else []  # type: ignore[method-assign]
    inliner.simplename = _REFERENCE_NAME
    return inliner


def _role_words(role: str, text: str) -> str:
    title, mark, target = text.removesuffix(">").rpartition("<")
    if mark and text.endswith(">") and ">" not in target:
        return title.rstrip() or text
    if name := _NUMBERED_ROLES.get(role.lower()):
        return f"{name} {text.partition('#')[0]}"
    if text.startswith("~"):
        return text.rpartition(".")[2].lstrip("~")
    return text.removeprefix("!")


def _settings() -> Any:
    settings = get_default_settings(Parser)
    settings.report_level = settings.halt_level = 5
    settings.warning_stream = ""
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.syntax_highlight = "none"
    settings.smart_quotes = False
    # docutils rejects a whole file for one long line.
    settings.line_length_limit = 1 << 30
    return settings


_SETTINGS = _settings()


def _register_directives(text: str) -> None:
    """Register every directive of the text; docutils has one table per process, and Tenure is its only user."""
    for name in {match[1].lower() for match in _DIRECTIVE.finditer(text)}:
        if name in _DIRECTIVES or name not in en.directives:
            directives.register_directive(name, _DIRECTIVES.get(name, _TextDirective))


def parse_rst(text: str) -> Document:
    """Parse reStructuredText; the title is empty if neither a field nor a heading contains one."""
    text = _TARGET.sub("", text)
    _register_directives(text)
    tree = new_document("document", _SETTINGS)
    Parser(rfc2822=bool(_MAIL_HEADER.match(text)), inliner=_create_inliner()).parse(text, tree)
    reader = _TreeWriter(tree)
    reader.visit(tree, 0)
    fields = _find_leading_fields(tree, reader)
    return Document(
        title=_find_title(fields) or reader.form.first_heading,
        text=reader.form.text,
        kind="prose",
        author=_ADDRESS.sub("", next((fields[f] for f in _AUTHOR_FIELDS if f in fields), "")),
        published=next((fields[f] for f in _DATE_FIELDS if f in fields), ""),
    )


def _find_leading_fields(tree: nodes.document, reader: "_TreeWriter") -> dict[str, str]:
    """Return the fields of the list at the start of a document or directly after its title."""
    for container in (tree, *tree.findall(nodes.section)):
        for child in container.children:
            if isinstance(child, nodes.field_list):
                return {
                    collapse_whitespace(name.astext()).lower(): collapse_whitespace(reader.words(body))
                    for name, body in (field.children for field in child.findall(nodes.field))
                }
            if not isinstance(child, nodes.title | nodes.comment | nodes.target | nodes.system_message):
                break
        if isinstance(container, nodes.section):
            break
    return {}


def _find_title(fields: dict[str, str]) -> str:
    """Return the title; that of a Python Enhancement Proposal includes its number."""
    title = fields.get("title", "")
    return f"PEP {fields['pep']}: {title}" if title and "pep" in fields else title


_FOOTNOTE_MARK = "\x00"
"""Character in place of the mark of a footnote, which is removed with the space before it."""
# A mark, and several with commas between them: "used by pip [1]_, [2]_, and [3]_.".
_MARKED = re.compile(rf"\s*{_FOOTNOTE_MARK}(?:[\s,]*(?:and\s+)?{_FOOTNOTE_MARK})*")


class _TreeWriter:
    """Visitor of the document tree that writes the normal form."""

    _SKIPPED = (
        nodes.comment,
        nodes.target,
        nodes.substitution_definition,
        nodes.pending,
        nodes.raw,
        nodes.label,
        nodes.meta,
        nodes.decoration,
    )

    def __init__(self, tree: nodes.document) -> None:
        self.form = NormalFormWriter()
        self._substitutions = tree.substitution_defs
        self._visitors: tuple[tuple[Any, Callable[[Any, int], None]], ...] = (
            (nodes.section, lambda node, level: self._visit_children(node, level + 1)),
            (nodes.title, self._write_title),
            (
                (nodes.literal_block, nodes.doctest_block, nodes.math_block),
                lambda node, level: self.form.add_literal(self.words(node)),
            ),
            ((nodes.bullet_list, nodes.enumerated_list), self._write_list),
            (nodes.definition_list_item, self._write_definition),
            ((nodes.field_list, nodes.option_list), self._write_pairs),
            (nodes.line_block, lambda node, level: self.form.add_lines([*map(self.words, node.findall(nodes.line))])),
            (nodes.row, lambda node, level: self.form.add_row([*map(self.words, node.children)])),
            (nodes.image, lambda node, level: self.form.add_paragraph(node.get("alt", ""))),
            (nodes.system_message, self._write_message),
            (nodes.TextElement, lambda node, level: self.form.add_paragraph(self.words(node))),
        )

    def visit(self, node: nodes.Node, level: int) -> None:
        """Write a block node."""
        if isinstance(node, self._SKIPPED):
            return
        for kinds, visitor in self._visitors:
            if isinstance(node, kinds):
                visitor(node, level)
                return
        self._visit_children(node, level)

    def words(self, node: nodes.Node) -> str:
        """Return the text of a node without markup, blocks separated by a space."""
        if isinstance(node, nodes.Text):
            return str(node)
        if isinstance(node, nodes.footnote_reference):
            return _FOOTNOTE_MARK
        if isinstance(node, (*self._SKIPPED, nodes.system_message)):
            return ""
        if isinstance(node, nodes.substitution_reference):
            return self._substitute(node)
        if isinstance(node, nodes.image):
            return str(node.get("alt", ""))
        separator = "" if isinstance(node, nodes.TextElement) else " "
        return _MARKED.sub("", separator.join(self.words(child) for child in node.children))

    def _substitute(self, node: nodes.substitution_reference) -> str:
        # A definition may refer to itself; its reference is then replaced by its name.
        definition = self._substitutions.pop(name := node.astext(), None)
        if definition is None:
            return name
        words = " ".join(self.words(child) for child in definition.children)
        self._substitutions[name] = definition
        return words

    def _visit_children(self, node: nodes.Node, level: int) -> None:
        for child in node.children:
            self.visit(child, level)

    def _write_title(self, node: nodes.title, level: int) -> None:
        if isinstance(node.parent, nodes.section):
            self.form.add_heading(level, self.words(node))
        else:
            self.form.add_paragraph(self.words(node))

    def _write_list(self, node: nodes.Element, level: int) -> None:
        self.form.open_list(node.get("start", 1) if isinstance(node, nodes.enumerated_list) else None)
        for item in node.children:
            self.form.open_item()
            self.visit(item, level)
            self.form.close_item()
        self.form.close_list()

    def _write_definition(self, node: nodes.definition_list_item, level: int) -> None:
        *terms, definition = node.children
        term = collapse_whitespace(" : ".join(self.words(part) for part in terms))
        first, *rest = definition.children or [nodes.paragraph()]
        # A short term and its explanation are one statement; a long term is a sentence with an indented block below it.
        if isinstance(first, nodes.paragraph) and len(term) <= 60 and term[-1:] not in ".:;,?!":
            self.form.add_paragraph(f"{term}: {self.words(first)}")
        else:
            self.form.add_paragraph(term)
            self.visit(first, level)
        for child in rest:
            self.visit(child, level)

    def _write_pairs(self, node: nodes.Element, level: int) -> None:
        self.form.open_list()
        for item in node.children:
            self.form.open_item()
            name, body = item.children[0], item.children[-1]
            self.form.add_paragraph(f"{collapse_whitespace(self.words(name))}:")
            self._visit_children(body, level)
            self.form.close_item()
        self.form.close_list()

    def _write_message(self, node: nodes.system_message, level: int) -> None:
        """Write the source text that docutils could not parse; for warnings, it is also elsewhere in the tree."""
        if node.get("level", 0) >= _ERROR:
            for child in node.findall(nodes.literal_block):
                self.visit(child, level)
