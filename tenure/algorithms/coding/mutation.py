"""Generate mutations of Python source for program repair.

An edit replaces a piece of the source and keeps every other character, so that the layout of the program stays. The
mutation operators are the usual ones of mutation testing and repair: operators, comparisons, constants, off-by-one
errors, wrong variables, swapped or dropped arguments, missing base cases, missing or superfluous statements. The
functions do not run programs.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

from tenure.algorithms.text.code_blocks import parse_python

KIND_PRIORS: Final[Mapping[str, float]] = {
    "comparison": 1.0,
    "operator": 1.0,
    "constant": 0.95,
    "arguments": 0.95,
    "offset": 0.9,
    "operand": 0.85,
    "call": 0.85,
    "variable": 0.75,
    "wrap": 0.7,
    "condition": 0.65,
    "statement": 0.6,
    "base_case": 0.55,
    "slice": 0.5,
    "insertion": 0.4,
}
"""Prior probability weight of each kind of mistake; its product with the line's suspicion ranks the edits."""


@dataclass(frozen=True)
class SourceEdit:
    """Replacement in a source, by offsets into its UTF-8 bytes."""

    start: int
    """First replaced byte."""
    end: int
    """End of the replaced bytes, exclusive."""
    text: str
    line: int
    """Line of the edit, from 1."""
    kind: str
    """Kind of mistake that it repairs, of `KIND_PRIORS`."""

    def is_overlapping(self, other: "SourceEdit") -> bool:
        """Return whether two edits touch the same place and cannot be combined."""
        return self.start <= other.end and other.start <= self.end


def apply_edits(source: str, edits: Iterable[SourceEdit]) -> str:
    """Return a source with non-overlapping edits applied."""
    data = source.encode()
    for edit in sorted(edits, key=lambda other: other.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data.decode()


def normalize_source(source: str) -> str:
    """Return a form that is equal for equal programs: the syntax tree without layout, comments and docstrings.

    A source with a syntax error is compared by its words.
    """
    tree = parse_python(source)
    if tree is None:
        return " ".join(source.split())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = _strip_docstring(node.body) or [ast.Pass()]
    return ast.dump(tree)


def _strip_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return [stmt for stmt in body if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant))]


def generate_edits(source: str) -> tuple[SourceEdit, ...]:
    """Return the distinct edits of a source; some of them do not change the program or make it invalid."""
    tree = parse_python(source)
    return tuple(dict.fromkeys(_Mutator(source, tree).generate())) if tree else ()


_SYMBOL: Final[Mapping[type[ast.operator], str]] = (
    {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%", ast.Pow: "**"}
    | {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
    | {ast.LShift: "<<", ast.RShift: ">>"}
)
_OPERATOR_GROUPS: Final = (("+", "-", "*", "//", "/", "%", "**"), ("&", "|", "^"), ("<<", ">>"))
_COMPARE: Final[dict[type[ast.cmpop], tuple[str, tuple[str, ...]]]] = {
    ast.Lt: ("<", ("<=", ">", ">=", "!=")),
    ast.LtE: ("<=", ("<", ">=", ">", "==")),
    ast.Gt: (">", (">=", "<", "<=", "!=")),
    ast.GtE: (">=", (">", "<=", "<", "==")),
    ast.Eq: ("==", ("!=", "<=", ">=", "<", ">")),
    ast.NotEq: ("!=", ("==", "<", ">")),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
_CONFUSABLE_FUNCTIONS: Final = (
    {"any": "all", "all": "any", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor"}
    | {"append": "extend", "extend": "append", "startswith": "endswith", "endswith": "startswith"}
    | {"lower": "upper", "upper": "lower", "pop": "popleft", "popleft": "pop", "add": "discard", "sum": "len"}
)

_BASE_VALUES: Final = ("[]", "0", "1", "None", "True", "False", "''")
SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign)
_REMOVABLE = (*_SIMPLE, ast.If, ast.For, ast.While, ast.Return, ast.Break, ast.Continue)
# Expressions without brackets of their own: `return (a := b)` has the node `a := b`.
_LOOSE = (
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Lambda,
    ast.NamedExpr,
    ast.UnaryOp,
    ast.Yield,
    ast.YieldFrom,
)
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute, ast.List)


class _Mutator:
    """Generator of the edits of one source."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._data = source.encode()
        self._tree = tree
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._unparenthesized = set(_find_unparenthesized(tree))

    def generate(self) -> Iterator[SourceEdit]:
        """Yield the edits of every function and of module code."""
        for scope, nodes in _group_by_scope(self._tree):
            names = _list_variables(nodes, scope)
            for node in nodes:
                yield from self._mutate_node(node, names)
            for body in _list_blocks(scope):
                yield from self._mutate_body(body, names, nodes)
            if isinstance(scope, SCOPES):
                yield from self._insert_base_cases(scope)

    def _mutate_node(self, node: ast.AST, names: Sequence[str]) -> Iterator[SourceEdit]:
        match node:
            case ast.BinOp():
                yield from self._mutate_binary(node)
            case ast.AugAssign():
                yield from self._mutate_augmented(node)
            case ast.Compare():
                yield from self._mutate_comparison(node)
            case ast.BoolOp():
                yield from self._mutate_boolean(node)
            case ast.UnaryOp():
                yield self._replace(node, self._get_text(node.operand), "operator")
            case ast.Constant():
                yield from self._mutate_constant(node, names)
            case ast.Name(ctx=ast.Load()):
                yield from (self._replace(node, name, "variable") for name in names if name != node.id)
            case _:
                yield from self._mutate_structure(node, names)

    def _mutate_structure(self, node: ast.AST, names: Sequence[str]) -> Iterator[SourceEdit]:
        match node:
            case ast.Call():
                yield from self._mutate_call(node, names)
            case ast.Subscript():
                yield from self._mutate_subscript(node)
            case ast.If() | ast.While() | ast.IfExp():
                yield from self._mutate_condition(node.test, names)
            case ast.For() | ast.comprehension():
                yield from self._mutate_slice(node.iter, names)
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                yield from self._mutate_return(value, names)
            case ast.List(elts=[], ctx=ast.Load()):
                yield from (self._replace(node, f"[{name}]", "wrap") for name in ("[]", *names))

    def _mutate_binary(self, node: ast.BinOp) -> Iterator[SourceEdit]:
        left, right, symbol = self._get_text(node.left), self._get_text(node.right), _SYMBOL.get(type(node.op), "@")
        for other in _list_alternatives(symbol):
            yield self._replace(node, f"{left} {other} {right}", "operator")
        yield self._replace(node, f"{right} {symbol} {left}", "arguments")
        yield self._replace(node, left, "operand")
        yield self._replace(node, right, "operand")
        if symbol == "-":
            yield self._replace(node, f"abs({left} - {right})", "wrap")
        for side in (node.left, node.right):
            yield from self._mutate_offset(side)

    def _mutate_augmented(self, node: ast.AugAssign) -> Iterator[SourceEdit]:
        target, value, symbol = self._get_text(node.target), self._get_text(node.value), _SYMBOL.get(type(node.op), "@")
        for other in _list_alternatives(symbol):
            yield self._replace(node, f"{target} {other}= {value}", "operator")
        yield self._replace(node, f"{target} = {value}", "operator")
        yield from self._mutate_offset(node.value)

    def _mutate_comparison(self, node: ast.Compare) -> Iterator[SourceEdit]:
        if len(node.ops) != 1:
            return
        left, right = self._get_text(node.left), self._get_text(node.comparators[0])
        symbol, others = _COMPARE[type(node.ops[0])]
        for other in others:
            yield self._replace(node, f"{left} {other} {right}", "comparison")
        yield from self._mutate_offset(node.comparators[0])
        yield from self._mutate_offset(node.left)
        if symbol in ("==", "<", ">") and isinstance(node.comparators[0], ast.Constant):
            value = node.comparators[0].value
            if isinstance(value, int):
                # A wrong comparison that is also off by one is a single mistake.
                yield self._replace(node, f"{left} <= {value + 1}", "comparison")

    def _mutate_boolean(self, node: ast.BoolOp) -> Iterator[SourceEdit]:
        parts = [self._get_text(value) for value in node.values]
        other = " or " if isinstance(node.op, ast.And) else " and "
        yield self._replace(node, other.join(parts), "operator")
        for n in range(len(parts)):
            yield self._replace(node, (" and " if other == " or " else " or ").join(_drop_item(parts, n)), "operand")

    def _mutate_constant(self, node: ast.Constant, names: Sequence[str]) -> Iterator[SourceEdit]:
        value = node.value
        if isinstance(value, bool):
            yield self._replace(node, str(not value), "constant")
        elif isinstance(value, int):
            for other in dict.fromkeys((value + 1, value - 1, 0, 1)):
                yield self._replace(node, str(other) if other >= 0 else f"({other})", "constant")
            yield from (self._replace(node, name, "variable") for name in names)
        elif isinstance(value, float):
            yield from (self._replace(node, text, "constant") for text in (f"{value + 1}", f"{value - 1}", "0.0"))
        elif value is None:
            yield from (self._replace(node, text, "constant") for text in ("[]", "0", "False"))

    def _mutate_call(self, node: ast.Call, names: Sequence[str]) -> Iterator[SourceEdit]:
        texts = [self._get_text(argument) for argument in node.args]
        for (i, _), (j, _) in combinations(enumerate(texts), 2):
            swapped = [*texts]
            swapped[i], swapped[j] = texts[j], texts[i]
            yield self._replace_arguments(node, swapped, "arguments")
        for n in range(len(texts) if len(texts) > 1 else 0):
            yield self._replace_arguments(node, _drop_item(texts, n), "call")
        if len(texts) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            yield self._replace(node, texts[0], "call")
        named = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if other := _CONFUSABLE_FUNCTIONS.get(named):
            end = self._locate(node.func)[1]
            yield SourceEdit(end - len(named.encode()), end, other, node.func.lineno, "call")
        yield from self._mutate_offset(node)
        for argument in node.args:
            yield from self._mutate_offset(argument)
            yield from self._mutate_slice(argument, names)
            if isinstance(argument, ast.Name):
                others = [name for name in names if name != argument.id]
                for symbol in ("-", "+"):
                    yield from (self._replace(argument, f"{argument.id} {symbol} {n}", "slice") for n in others)

    def _mutate_subscript(self, node: ast.Subscript) -> Iterator[SourceEdit]:
        index = node.slice
        if isinstance(index, ast.Slice):
            for bound in (index.lower, index.upper):
                if bound is not None:
                    yield from self._mutate_offset(bound)
        elif isinstance(index, ast.Tuple):
            for element in index.elts:
                yield from self._mutate_offset(element)
        else:
            yield from self._mutate_offset(index)
        if isinstance(node.ctx, ast.Load):
            yield self._replace(node, self._get_text(node.value), "operand")

    def _mutate_offset(self, node: ast.expr) -> Iterator[SourceEdit]:
        """Yield an expression plus and minus one; constants have their own edits."""
        if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.BinOp):
            text = self._get_text(node)
            yield self._replace(node, f"{text} + 1", "offset")
            yield self._replace(node, f"{text} - 1", "offset")

    def _mutate_slice(self, node: ast.expr, names: Sequence[str]) -> Iterator[SourceEdit]:
        """Yield slices of a sequence: without its head or tail, reversed, or bounded by a variable."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            text = self._get_text(node)
            bounds = ["1:", ":-1", "::-1", *(f"{name}:" for name in names), *(f":{name}" for name in names)]
            yield from (self._replace(node, f"{text}[{bound}]", "slice") for bound in bounds)

    def _mutate_condition(self, test: ast.expr, names: Sequence[str]) -> Iterator[SourceEdit]:
        text = self._get_text(test)
        yield self._replace(test, f"not ({text})", "condition")
        for name in names:
            yield self._replace(test, f"({text}) and {name}", "condition")
            yield self._replace(test, f"({text}) or not {name}", "condition")
            if isinstance(test, ast.Constant):
                yield self._replace(test, name, "condition")

    def _mutate_return(self, value: ast.expr, names: Sequence[str]) -> Iterator[SourceEdit]:
        text = self._get_text(value)
        yield from (self._replace(value, f"{wrap}", "wrap") for wrap in (f"[{text}]", f"not ({text})"))
        for name in names:
            yield self._replace(value, f"{name} + {text}", "wrap")
            yield self._replace(value, f"{text} + {name}", "wrap")
            if isinstance(value, ast.Constant):
                yield from (self._replace(value, made, "wrap") for made in (name, f"{name} == 0", f"not {name}"))
        yield from self._mutate_offset(value)

    def _mutate_body(
        self, body: Sequence[ast.stmt], names: Sequence[str], nodes: Sequence[ast.AST]
    ) -> Iterator[SourceEdit]:
        """Yield edits of the statements of a block: remove, swap, insert a copy or a variation of another one."""
        own = [stmt for stmt in _strip_docstring(list(body)) if self._starts_line(stmt)]
        for stmt in own:
            if isinstance(stmt, _REMOVABLE):
                yield self._remove(stmt) if len(own) > 1 else self._replace(stmt, "pass", "statement")
        for first, second in pairwise(own):
            if second.lineno == (first.end_lineno or first.lineno) + 1:
                text = f"{self._get_text(second)}\n{' ' * first.col_offset}{self._get_text(first)}"
                start, end = self._locate(first)[0], self._locate(second)[1]
                yield SourceEdit(start, end, text, first.lineno, "statement")
        simple = [node for node in nodes if isinstance(node, _SIMPLE) and node.lineno == node.end_lineno]
        known = [stmt for stmt in simple if _strip_docstring([stmt])]
        texts = dict.fromkeys(text for node in known for text in self._vary_statement(node, names))
        for stmt in own:
            yield from (self._insert_before(stmt, text) for text in texts)

    def _remove(self, stmt: ast.stmt) -> SourceEdit:
        """Return the edit that removes a statement with its lines, or replaces one that shares its last line."""
        start, end = self._starts[stmt.lineno - 1], self._starts[stmt.end_lineno or stmt.lineno]
        if self._data[self._locate(stmt)[1] : end].strip():
            return self._replace(stmt, "pass", "statement")
        return SourceEdit(start, end, "", stmt.lineno, "statement")

    def _vary_statement(self, stmt: ast.stmt, names: Sequence[str]) -> Iterator[str]:
        """Yield a statement, and variations with its only argument replaced by a variable."""
        text = self._get_text(stmt)
        yield text
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and len(stmt.value.args) == 1:
            argument = stmt.value.args[0]
            head = self._data[self._locate(stmt)[0] : self._locate(argument)[0]].decode()
            tail = self._data[self._locate(argument)[1] : self._locate(stmt)[1]].decode()
            yield from (f"{head}{name}{tail}" for name in names)

    def _insert_base_cases(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[SourceEdit]:
        """Yield edits that insert a base case for an argument at the start of a function."""
        body = _strip_docstring(function.body)
        if not body or not self._starts_line(body[0]):
            return
        for argument in function.args.args:
            for test in (f"not {argument.arg}", f"{argument.arg} == 1"):
                for value in (argument.arg, *_BASE_VALUES):
                    inner = " " * (body[0].col_offset + 4)
                    yield self._insert_before(body[0], f"if {test}:\n{inner}return {value}", "base_case")

    def _starts_line(self, stmt: ast.stmt) -> bool:
        return not self._data[self._starts[stmt.lineno - 1] : self._locate(stmt)[0]].strip()

    def _insert_before(self, stmt: ast.stmt, text: str, kind: str = "insertion") -> SourceEdit:
        start = self._locate(stmt)[0]
        return SourceEdit(start, start, f"{text}\n{' ' * stmt.col_offset}", stmt.lineno, kind)

    def _replace_arguments(self, call: ast.Call, texts: Sequence[str], kind: str) -> SourceEdit:
        start, end = self._locate(call.args[0])[0], self._locate(call.args[-1])[1]
        return SourceEdit(start, end, ", ".join(texts), call.lineno, kind)

    def _replace(self, node: ast.expr | ast.stmt, text: str, kind: str) -> SourceEdit:
        """Return the edit that replaces a node, in parentheses if the context may need them."""
        start, end = self._locate(node)
        bare = node in self._unparenthesized or isinstance(ast.parse(f"({text})", mode="eval").body, _ATOMS)
        return SourceEdit(start, end, text if bare else f"({text})", node.lineno, kind)

    def _get_text(self, node: ast.expr | ast.stmt) -> str:
        """Return the source of a node, in parentheses if it could be split by another operator."""
        start, end = self._locate(node)
        text = self._data[start:end].decode()
        is_bare_tuple = isinstance(node, ast.Tuple) and not text.startswith("(")
        return f"({text})" if is_bare_tuple or isinstance(node, _LOOSE) else text

    def _locate(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[last - 1] + column


def _find_unparenthesized(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield statements, and expressions in contexts that never need parentheses."""
    for node in ast.walk(tree):
        match node:
            case ast.Call():
                yield from (argument for argument in node.args if not isinstance(argument, ast.GeneratorExp))
            case ast.Return() | ast.Assign() | ast.AugAssign():
                yield from (node, *([node.value] if node.value else []))
            case ast.If() | ast.While():
                yield from (node, node.test)
            case ast.For():
                yield from (node, node.iter)
            case ast.Subscript(slice=ast.Name() | ast.Call() | ast.BinOp() | ast.Constant()):
                yield node.slice
            case ast.stmt():
                yield node


def _list_alternatives(symbol: str) -> list[str]:
    return [other for family in _OPERATOR_GROUPS if symbol in family for other in family if other != symbol]


def _drop_item(texts: Sequence[str], n: int) -> list[str]:
    return [text for m, text in enumerate(texts) if m != n]


def _group_by_scope(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Yield the module and its functions, each with its nodes; nested functions belong to the outer one."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        scope = waiting.pop(0)
        nodes: list[ast.AST] = []
        inside = list(ast.iter_child_nodes(scope))
        while inside:
            node = inside.pop(0)
            outer = isinstance(node, SCOPES) and not isinstance(scope, SCOPES)
            if outer:
                waiting.append(node)
            else:
                nodes.append(node)
                inside += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.arguments)]
        yield scope, nodes


def _list_variables(nodes: Sequence[ast.AST], scope: ast.AST) -> list[str]:
    """Return the variables of a function in order of appearance; none of a module."""
    if not isinstance(scope, SCOPES):
        return []
    arguments = [a.arg for node in (scope, *nodes) if isinstance(node, SCOPES) for a in node.args.args]
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys([*arguments, *bound]))


def _list_blocks(scope: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statement blocks of a function; none for a module."""
    if not isinstance(scope, SCOPES):
        return
    for node in ast.walk(scope):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block
