"""Describe programming languages: the suffixes of their files, their grammar, and the nodes that define symbols.

A grammar is a package of its own, imported at its first use. Without it, or in another language, code is treated as
lines of text.
"""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple

from tree_sitter import Language, Query


class Grammar(NamedTuple):
    """Grammar of a language, and the nodes of its syntax trees that are symbols and names."""

    module: str
    """Package with the grammar."""
    definitions: str
    """Query of the tree: each pattern captures a `name` and, under the kind of the symbol, the definition."""
    names: tuple[str, ...]
    """Types of the leaves that name something."""
    factory: str = "language"
    """Function of the package that returns the grammar."""


def _define(**kinds: str) -> str:
    """Return patterns for nodes with a field `name`: types of nodes, separated by spaces, by the kind of the symbol."""
    return "\n".join(f"({node} name: (_) @name) @{kind}" for kind, nodes in kinds.items() for node in nodes.split())


_SCRIPT: Final = """
(program (lexical_declaration (variable_declarator name: (identifier) @name) @variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @variable)))
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression property: (_) @name) right: [(function_expression) (arrow_function)])
 @function
"""
_SCRIPT_NAMES: Final = ("identifier", "property_identifier", "shorthand_property_identifier")
_TYPED_SCRIPT: Final = Grammar(
    "tree_sitter_typescript",
    _define(
        **{"class": "class_declaration abstract_class_declaration", "type": "type_alias_declaration"},
        function="function_declaration generator_function_declaration function_signature",
        method="method_definition method_signature abstract_method_signature",
        interface="interface_declaration",
        enum="enum_declaration",
        namespace="internal_module module",
    )
    + _SCRIPT,
    (*_SCRIPT_NAMES, "type_identifier"),
    "language_typescript",
)
_FUNCTION_DECLARATORS: Final = "\n".join(
    f"(function_definition declarator: {before}(function_declarator declarator: (_) @name){after}) @function"
    for before, after in (
        ("", ""),
        ("(pointer_declarator declarator: ", ")"),
        ("(pointer_declarator declarator: (pointer_declarator declarator: ", "))"),
    )
)
_C: Final = (
    """
(struct_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(union_specifier name: (_) @name body: (_)) @struct
(type_definition declarator: (type_identifier) @name) @type
(preproc_def name: (_) @name) @variable
(preproc_function_def name: (_) @name) @function
"""
    + _FUNCTION_DECLARATORS
)
_C_NAMES: Final = ("identifier", "field_identifier", "type_identifier")

_GRAMMARS: Final = {
    "python": Grammar(
        "tree_sitter_python",
        _define(**{"class": "class_definition"}, function="function_definition")
        + "(module (expression_statement (assignment left: (identifier) @name) @variable))",
        ("identifier",),
    ),
    "javascript": Grammar(
        "tree_sitter_javascript",
        _define(
            **{"class": "class_declaration"},
            function="function_declaration generator_function_declaration",
            method="method_definition",
        )
        + _SCRIPT,
        _SCRIPT_NAMES,
    ),
    "typescript": _TYPED_SCRIPT,
    "tsx": _TYPED_SCRIPT._replace(factory="language_tsx"),
    "go": Grammar(
        "tree_sitter_go",
        _define(function="function_declaration", method="method_declaration", type="type_spec type_alias")
        + "(source_file (const_declaration (const_spec name: (identifier) @name) @variable))"
        + "(source_file (var_declaration (var_spec name: (identifier) @name) @variable))"
        + "(method_elem name: (_) @name) @method",
        ("identifier", "field_identifier", "type_identifier"),
    ),
    "rust": Grammar(
        "tree_sitter_rust",
        _define(
            function="function_item function_signature_item macro_definition",
            struct="struct_item union_item",
            enum="enum_item",
            trait="trait_item",
            namespace="mod_item",
            type="type_item",
            variable="const_item static_item",
        )
        + "(impl_item type: (_) @name) @block",
        ("identifier", "field_identifier", "type_identifier"),
    ),
    "java": Grammar(
        "tree_sitter_java",
        _define(
            **{"class": "class_declaration record_declaration"},
            interface="interface_declaration annotation_type_declaration",
            enum="enum_declaration",
            method="method_declaration constructor_declaration",
        ),
        ("identifier", "type_identifier"),
    ),
    "c": Grammar("tree_sitter_c", _C, _C_NAMES),
    "cpp": Grammar(
        "tree_sitter_cpp",
        _C
        + """
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(alias_declaration name: (_) @name) @type
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
""",
        (*_C_NAMES, "namespace_identifier"),
    ),
    "c#": Grammar(
        "tree_sitter_c_sharp",
        _define(
            **{"class": "class_declaration record_declaration"},
            struct="struct_declaration",
            interface="interface_declaration",
            enum="enum_declaration",
            method="method_declaration constructor_declaration property_declaration delegate_declaration",
            namespace="namespace_declaration",
        ),
        ("identifier",),
    ),
    "ruby": Grammar(
        "tree_sitter_ruby",
        _define(**{"class": "class"}, namespace="module", method="method singleton_method")
        + "(assignment left: (constant) @name) @variable",
        ("identifier", "constant"),
    ),
    "php": Grammar(
        "tree_sitter_php",
        _define(
            **{"class": "class_declaration"},
            function="function_definition",
            method="method_declaration",
            interface="interface_declaration",
            namespace="trait_declaration",
            enum="enum_declaration",
        ),
        ("name",),
        "language_php",
    ),
}
_SUFFIXES: Final = {
    "python": ".py .pyi .pyw",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "c": ".c .h",
    "cpp": ".cpp .cc .cxx .hpp .hh .hxx .inl",
    "c#": ".cs",
    "ruby": ".rb .rake .gemspec",
    "php": ".php",
}
_LANGUAGES: Final = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def find_language(name: str) -> str:
    """Return the language of a file by its suffix, or an empty text for a language without a grammar."""
    return _LANGUAGES.get(name[name.rfind(".") :].lower(), "") if "." in name else ""


class LoadedGrammar(NamedTuple):
    """A grammar with its compiled queries."""

    language: Language
    definitions: Query
    names: Query


@cache
def load_grammar(language: str) -> LoadedGrammar | None:
    """Return the grammar of a language, or None if its package is not installed."""
    grammar = _GRAMMARS.get(language)
    if grammar is None:
        return None
    try:
        module = import_module(grammar.module)
    except ImportError:
        return None
    loaded = Language(getattr(module, grammar.factory)())
    names = " ".join(f"({name})" for name in grammar.names)
    return LoadedGrammar(loaded, Query(loaded, grammar.definitions), Query(loaded, f"[{names}] @name"))
