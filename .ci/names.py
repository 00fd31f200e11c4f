#!/usr/bin/env python3
"""Linter of names and of the layout of the repository.

Usage: python .ci/names.py [--stats] [PATH ...]

The verbs and the banned words are in vocabulary.toml. Uniqueness of types is always checked over the whole product.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from findings import ROOT, Finding, list_files, load_vocabulary, run_linter

RULES = {
    "type-unique": "A type name is defined once in the product.",
    "constant-prefix": "Numeric constants are named MAX_…, MIN_…, DEFAULT_… or …_TIMEOUT.",
    "banned-word": "No name contains a word of the old vocabulary.",
    "function-verb": "Public functions begin with a verb in base form.",
    "property-noun": "Properties are nouns, or begin with is_ or has_.",
    "file-length": "No product file is too long.",
    "folder-size": "No folder has too many Python files side by side.",
    "outside-reference": "No file refers to documents outside the repository.",
}
"""Rules by their id."""

TEXT_SUFFIXES = (".py", ".md", ".toml", ".yml", ".yaml", ".sh", ".txt", ".jinja", ".css", ".typ", ".json")
"""Suffixes of the files that are searched for references."""

DATA_FOLDERS = ("tests/histories/", "tests/roles/golden/")
"""Folders of recorded data, which is not searched for references."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TYPE_NAME = re.compile(r"[A-Z]\w*[a-z]\w*")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """One name that a file defines."""

    name: str
    line: int
    kind: str
    """One of class, alias, function, property, constant, name."""


@cache
def parse_file(path: Path) -> ast.Module:
    """Parse a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def split_words(name: str) -> list[str]:
    """Split an identifier into its words, in lower case."""
    return [word.lower() for part in name.split("_") for word in _CAMEL.split(part) if word]


def decorator_names(node: Function) -> set[str]:
    """Return the decorators of a function without their arguments."""
    return {ast.unparse(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list}


def is_numeric(node: ast.expr | None) -> bool:
    """Return whether an expression is plainly a number or a duration."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_numeric(node.operand)
    if isinstance(node, ast.BinOp):
        return is_numeric(node.left) or is_numeric(node.right)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).split(".")[-1] in {"timedelta", "min", "max", "int", "float", "round"}
    return isinstance(node, ast.Name | ast.Attribute)


class NameLinter:
    """The rules of a vocabulary, with what is known of the whole product."""

    def __init__(self, vocabulary: dict[str, Any], files: Sequence[str], root: Path = ROOT) -> None:
        self._root = root
        self._verbs = frozenset(vocabulary["verbs"]["base"].split())
        self._weak: dict[str, str] = vocabulary["verbs"]["weak"]
        self._names: dict[str, Any] = vocabulary["names"]
        self._references = [re.compile(pattern) for pattern in vocabulary["references"]["patterns"]]
        self._unsearched = frozenset(vocabulary["references"]["exempt"])
        self._properties = frozenset(self._names["properties"]["words"].split())
        self._files = files
        self._product = [name for name in files if self.is_product(name)]
        self._roles, self._argument_types = self._collect_exceptions()

    def is_product(self, name: str) -> bool:
        """Return whether a file is product code."""
        return name.endswith(".py") and not name.startswith(tuple(self._names["outside"]))

    def check(self, names: Sequence[str]) -> Iterator[Finding]:
        """Yield the findings of files."""
        chosen = set(names)
        yield from (finding for finding in self._check_types() if finding.path in chosen)
        yield from (finding for finding in self._check_folders() if finding.path in chosen)
        for name in names:
            if self.is_product(name):
                yield from self._check_product_file(name)
            if name.endswith(TEXT_SUFFIXES) and not name.startswith(DATA_FOLDERS) and name not in self._unsearched:
                yield from self._check_references(name)

    def _check_product_file(self, name: str) -> Iterator[Finding]:
        tree = parse_file(self._root / name)
        lines = (self._root / name).read_text(encoding="utf-8").count("\n")
        if lines > self._names["max_lines"] and name not in self._names["long_files"]:
            yield Finding(name, 1, "file-length", f"{lines} lines", f"split it: at most {self._names['max_lines']}")
        stem = Path(name).stem
        if use := self._names["modules"].get(stem, "") or self._banned(stem, "name"):
            yield Finding(name, 1, "banned-word", Path(name).name, use)
        for definition in find_definitions(tree):
            yield from self._check_definition(name, definition)
        for function, owner in public_functions(tree):
            yield from self._check_function(name, function, owner)

    def _check_definition(self, path: str, definition: Definition) -> Iterator[Finding]:
        if definition.name in self._roles:
            return
        if definition.kind == "constant":
            prefix = self._names["constants"].get(definition.name.strip("_").split("_")[0], "")
            if prefix:
                yield Finding(path, definition.line, "constant-prefix", definition.name, prefix)
                return
        if use := self._banned(definition.name, definition.kind):
            yield Finding(path, definition.line, "banned-word", definition.name, use)

    def _banned(self, name: str, kind: str) -> str:
        """Return the replacement of a banned name, or an empty text."""
        words = split_words(name)
        local = kind == "name" and not name.isupper()
        whole: str = "" if local else self._names["whole"].get(name.lstrip("_"), "")
        return whole or next((self._names["words"][word] for word in words if word in self._names["words"]), "")

    def _check_function(self, path: str, node: Function, owner: ast.ClassDef | None) -> Iterator[Finding]:
        decorators = decorator_names(node)
        words = split_words(node.name)
        if any("property" in decorator or decorator == "computed_field" for decorator in decorators):
            if not self._is_noun(words):
                yield Finding(path, node.lineno, "property-noun", node.name, "a noun, is_… or has_…")
            return
        if self._is_exempt(node.name, decorators, owner):
            return
        if not self._begins_with_verb(words):
            use = self._weak.get(words[0], "begin with a verb in base form (or is_, has_, from_, as_, to_)")
            label = f"{owner.name}.{node.name}" if owner else node.name
            yield Finding(path, node.lineno, "function-verb", label, use)

    def _is_exempt(self, name: str, decorators: set[str], owner: ast.ClassDef | None) -> bool:
        """Return whether a function may be a noun: roles, queries, types of arguments, what other libraries name."""
        if name in self._roles or name in self._argument_types or name in self._names["functions"]:
            return True
        if decorators & {"task", "solver", "scorer"}:  # parts of evaluations
            return True
        if any(item.endswith((".query", ".validator", ".setter", "overload", "override")) for item in decorators):
            return True
        return owner is not None and bool(re.match(r"(?:do|visit|handle|log)_", name))

    def _begins_with_verb(self, words: list[str]) -> bool:
        if not words or words[0] in self._names["prefixes"] or words[0] in self._verbs:
            return True
        return "_".join(words[:2]) in self._verbs

    def _is_noun(self, words: list[str]) -> bool:
        if words[0] in ("is", "has"):
            return True
        return not (words[0] in self._properties and (len(words) == 1 or words[0].endswith("s")))

    def _check_types(self) -> Iterator[Finding]:
        """Yield the public types of the product that are defined more than once."""
        places: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name in self._product:
            for definition in find_definitions(parse_file(self._root / name)):
                if definition.kind in ("class", "alias") and not definition.name.startswith("_"):
                    places[definition.name].append((name, definition.line))
        for type_name, found in places.items():
            for path, line in found if len(found) > 1 else ():
                others = ", ".join(f"{other}:{number}" for other, number in found if (other, number) != (path, line))
                yield Finding(path, line, "type-unique", type_name, f"rename: also in {others}")

    def _check_folders(self) -> Iterator[Finding]:
        folders = Counter(str(Path(name).parent) for name in self._product if not name.endswith("__init__.py"))
        for folder, count in folders.items():
            if count > self._names["max_files"] and folder not in self._names["large_folders"]:
                first = min(name for name in self._product if str(Path(name).parent) == folder)
                advice = f"group them: at most {self._names['max_files']}"
                yield Finding(first, 1, "folder-size", f"{folder} has {count} Python files", advice)

    def _check_references(self, name: str) -> Iterator[Finding]:
        text = (self._root / name).read_text(encoding="utf-8", errors="replace")
        if not any(pattern.search(text) for pattern in self._references):
            return
        for number, line in enumerate(text.splitlines(), 1):
            if match := next((found for pattern in self._references if (found := pattern.search(line))), None):
                yield Finding(name, number, "outside-reference", match.group(), "write the content here instead")

    def _collect_exceptions(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of roles and of functions that convert arguments of the command line."""
        roles = {Path(name).stem for name in self._product if Path(name).parent.name == "roles"}
        types: set[str] = set()
        for name in self._product:
            source = (self._root / name).read_text(encoding="utf-8")
            if "RoleName" not in source and "add_argument" not in source:
                continue
            aliases: dict[str, str] = {}
            for node in ast.walk(parse_file(self._root / name)):
                if isinstance(node, ast.ImportFrom):
                    aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
                elif isinstance(node, ast.Assign | ast.AnnAssign) and "RoleName" in ast.unparse(node).split("=")[0]:
                    roles |= {
                        item.value
                        for item in ast.walk(node)
                        if isinstance(item, ast.Constant) and isinstance(item.value, str) and item.value.isidentifier()
                    }
                elif isinstance(node, ast.keyword) and node.arg == "type":
                    types |= {item.id for item in ast.walk(node.value) if isinstance(item, ast.Name)}
            types |= {aliases[name] for name in types & aliases.keys()}
        return frozenset(roles), frozenset(types)


def find_definitions(tree: ast.Module) -> Iterator[Definition]:
    """Yield the names that a module defines: types, functions, constants, fields, variables and arguments."""
    for statement in tree.body:
        yield from _find_aliases(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield Definition(node.name, node.lineno, "class")
        elif isinstance(node, Function):
            yield Definition(node.name, node.lineno, "function")
        elif isinstance(node, ast.arg):
            yield Definition(node.arg, node.lineno, "name")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from _find_targets(target, is_numeric(node.value))


def _find_targets(target: ast.expr, numeric: bool) -> Iterator[Definition]:
    if isinstance(target, ast.Name):
        constant = numeric and target.id.isupper() and len(target.id) > 1
        yield Definition(target.id, target.lineno, "constant" if constant else "name")
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
        yield Definition(target.attr, target.lineno, "name")
    elif isinstance(target, ast.Tuple):
        for item in target.elts:
            yield from _find_targets(item, numeric=False)


def _find_aliases(statement: ast.stmt) -> Iterator[Definition]:
    """Yield the type alias that a statement defines."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Subscript | ast.BinOp):
        return
    target = statement.targets[0]
    if isinstance(target, ast.Name) and _TYPE_NAME.fullmatch(target.id):
        yield Definition(target.id, statement.lineno, "alias")


def public_functions(tree: ast.Module) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """Yield the public functions of a module, and the public methods of its public classes."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node, None
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for item in node.body:
                if isinstance(item, Function) and not item.name.startswith("_"):
                    yield item, node


def check(names: Sequence[str], root: Path = ROOT) -> list[Finding]:
    """Return the findings of files, given by their paths relative to the root."""
    return list(NameLinter(load_vocabulary(), list_files(root=root), root).check(names))


if __name__ == "__main__":
    sys.exit(run_linter(__doc__.splitlines()[0], check))
