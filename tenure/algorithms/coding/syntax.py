"""Parse source code into a syntax tree with a bounded effort."""

from typing import Final, NamedTuple

from tree_sitter import Node, Parser, Tree

from tenure.algorithms.coding.languages import LoadedGrammar, load_grammar

MAX_SOURCE_BYTES: Final = 1_000_000
"""Longer files are generated or data; the longest written by hand in sympy has 0.4 MB."""
_BYTES_PER_STEP: Final = 8
"""Bytes of code for which the parser may take one step; sympy takes 118 bytes a step."""
_FIRST_STEPS: Final = 10_000
_READ_BYTES: Final = 65_536
_MAX_ERROR_TOKENS: Final = 2_000
"""Tokens of one error; queries of an error with 20,000 take 0.6 s."""


class SyntaxTree(NamedTuple):
    """Syntax tree of a text."""

    source: bytes
    """The text in UTF-8, whose offsets the nodes have."""
    tree: Tree
    grammar: LoadedGrammar

    @property
    def root(self) -> Node:
        """Node of the whole text."""
        return self.tree.root_node


def parse_code(text: str, language: str) -> SyntaxTree | None:
    """Return the syntax tree of a text.

    None if there is no grammar for the language, or if the text is too long or takes the parser unusually many steps.
    """
    grammar = load_grammar(language)
    if grammar is None or len(text) > MAX_SOURCE_BYTES:
        return None
    source = text.encode("utf-8", "replace")
    steps = _FIRST_STEPS + len(source) // _BYTES_PER_STEP

    def is_too_slow(offset: int, has_error: bool) -> bool:
        nonlocal steps
        steps -= 1
        return steps < 0

    # A parser is not shared: it keeps the state of a text that it gave up.
    try:
        tree = Parser(grammar.language).parse(
            lambda offset, point: source[offset : offset + _READ_BYTES], progress_callback=is_too_slow
        )
    except ValueError:  # the parser was stopped
        return None
    return None if _is_degenerate(tree.root_node) else SyntaxTree(source, tree, grammar)


def _is_degenerate(root: Node) -> bool:
    """Return whether a tree is mostly an error: queries take the square of the number of the tokens in it."""
    return any(node.is_error and node.child_count > _MAX_ERROR_TOKENS for node in (root, *root.children))
