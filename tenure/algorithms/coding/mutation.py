"""Mutations of Python source: the small edits that classical program repair tries.

An edit replaces a piece of the source and leaves every other character as it was, so that a repaired
program still looks like its author's. The operators are the general ones of mutation testing and of
repair: operators, comparisons, constants, off-by-one, wrong variable, swapped or dropped arguments,
missing base case, missing or superfluous statement. Pure: nothing here runs a program.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final, Literal

Kind = Literal[
    "operator",
    "comparison",
    "constant",
    "offset",
    "variable",
    "arguments",
    "operand",
    "condition",
    "call",
    "slice",
    "wrap",
    "statement",
    "base_case",
    "insertion",
]
"""What kind of mistake an edit mends."""

PRIOR: Final[dict[Kind, float]] = {
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
"""How likely a mistake of a kind is held to be; with the suspicion of its line it orders what is tried."""


@dataclass(frozen=True)
class Edit:
    """One replacement in a source, by offsets into its UTF-8 bytes."""

    start: int
    """First byte that is replaced."""
    end: int
    """One past the last."""
    text: str
    """What stands there instead."""
    line: int
    """Line the edit is on, from 1."""
    kind: Kind
    """What kind of mistake it mends."""

    def overlaps(self, other: "Edit") -> bool:
        """Whether two edits touch the same place, so that they cannot be made together."""
        return self.start <= other.end and other.start <= self.end


def applied(source: str, edits: Iterable[Edit]) -> str:
    """Return a source with edits made that do not overlap."""
    data = source.encode()
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data.decode()


def normal_form(source: str) -> str:
    """Return what makes two sources the same program: their syntax tree, without layout, comments and doc strings.

    A source that does not parse is the same as another if their words are the same.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(source.split())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.body = _without_doc_string(node.body) or [ast.Pass()]
    return ast.dump(tree)


def _without_doc_string(body: list[ast.stmt]) -> list[ast.stmt]:
    return [stmt for stmt in body if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant))]


def edits(source: str) -> tuple[Edit, ...]:
    """Return every single edit of a source, each once; some give the same program as before, or none at all."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(dict.fromkeys(_Mutator(source, tree).all()))


_BINARY: Final[tuple[tuple[type[ast.operator], str], ...]] = (
    (ast.Add, "+"),
    (ast.Sub, "-"),
    (ast.Mult, "*"),
    (ast.FloorDiv, "//"),
    (ast.Div, "/"),
    (ast.Mod, "%"),
    (ast.Pow, "**"),
    (ast.BitAnd, "&"),
    (ast.BitOr, "|"),
    (ast.BitXor, "^"),
    (ast.LShift, "<<"),
    (ast.RShift, ">>"),
)
_SYMBOL: Final = dict(_BINARY)
_FAMILIES: Final = (("+", "-", "*", "//", "/", "%", "**"), ("&", "|", "^"), ("<<", ">>"))
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
_TWINS: Final = (
    {"any": "all", "all": "any", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor"}
    | {"append": "extend", "extend": "append", "startswith": "endswith", "endswith": "startswith"}
    | {"lower": "upper", "upper": "lower", "pop": "popleft", "popleft": "pop", "add": "discard", "sum": "len"}
)
"""Functions that are taken for one another."""

_BASE_VALUES: Final = ("[]", "0", "1", "None", "True", "False", "''")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign)
_DROPPED = (*_SIMPLE, ast.If, ast.For, ast.While, ast.Return, ast.Break, ast.Continue)
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute, ast.List)


class _Mutator:
    """The edits of one source."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._data = source.encode()
        self._tree = tree
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._apart = set(_standing_apart(tree))

    def all(self) -> Iterator[Edit]:
        """Yield the edits of every function, and of what stands outside of them."""
        for scope, nodes in _by_scope(self._tree):
            names = _names(nodes, scope)
            for node in nodes:
                yield from self._of(node, names)
            for body in _bodies(scope):
                yield from self._of_body(body, names, nodes)
            if isinstance(scope, _SCOPES):
                yield from self._base_cases(scope)

    def _of(self, node: ast.AST, names: Sequence[str]) -> Iterator[Edit]:
        """Yield what may be done to one node."""
        match node:
            case ast.BinOp():
                yield from self._binary(node)
            case ast.AugAssign():
                yield from self._augmented(node)
            case ast.Compare():
                yield from self._compare(node)
            case ast.BoolOp():
                yield from self._boolean(node)
            case ast.UnaryOp():
                yield self._replace(node, self._text(node.operand), "operator")
            case ast.Constant():
                yield from self._constant(node, names)
            case ast.Name(ctx=ast.Load()):
                yield from (self._replace(node, name, "variable") for name in names if name != node.id)
            case _:
                yield from self._of_structure(node, names)

    def _of_structure(self, node: ast.AST, names: Sequence[str]) -> Iterator[Edit]:
        """Yield what may be done to a node that is more than a value or an operation."""
        match node:
            case ast.Call():
                yield from self._call(node, names)
            case ast.Subscript():
                yield from self._subscript(node)
            case ast.If() | ast.While() | ast.IfExp():
                yield from self._condition(node.test, names)
            case ast.For() | ast.comprehension():
                yield from self._sliced(node.iter, names)
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                yield from self._returned(value, names)
            case ast.List(elts=[], ctx=ast.Load()):
                yield from (self._replace(node, f"[{name}]", "wrap") for name in ("[]", *names))

    def _binary(self, node: ast.BinOp) -> Iterator[Edit]:
        left, right, symbol = self._text(node.left), self._text(node.right), _SYMBOL.get(type(node.op), "@")
        for other in _others(symbol):
            yield self._replace(node, f"{left} {other} {right}", "operator")
        yield self._replace(node, f"{right} {symbol} {left}", "arguments")
        yield self._replace(node, left, "operand")
        yield self._replace(node, right, "operand")
        if symbol == "-":
            yield self._replace(node, f"abs({left} - {right})", "wrap")
        for side in (node.left, node.right):
            yield from self._offset(side)

    def _augmented(self, node: ast.AugAssign) -> Iterator[Edit]:
        target, value, symbol = self._text(node.target), self._text(node.value), _SYMBOL.get(type(node.op), "@")
        for other in _others(symbol):
            yield self._replace(node, f"{target} {other}= {value}", "operator")
        yield self._replace(node, f"{target} = {value}", "operator")
        yield from self._offset(node.value)

    def _compare(self, node: ast.Compare) -> Iterator[Edit]:
        if len(node.ops) != 1:
            return
        left, right = self._text(node.left), self._text(node.comparators[0])
        symbol, others = _COMPARE[type(node.ops[0])]
        for other in others:
            yield self._replace(node, f"{left} {other} {right}", "comparison")
        yield from self._offset(node.comparators[0])
        yield from self._offset(node.left)
        if symbol in ("==", "<", ">") and isinstance(node.comparators[0], ast.Constant):
            value = node.comparators[0].value
            if isinstance(value, int):
                # A bound that is both of the wrong kind and one off is one mistake.
                yield self._replace(node, f"{left} <= {value + 1}", "comparison")

    def _boolean(self, node: ast.BoolOp) -> Iterator[Edit]:
        parts = [self._text(value) for value in node.values]
        other = " or " if isinstance(node.op, ast.And) else " and "
        yield self._replace(node, other.join(parts), "operator")
        for n in range(len(parts)):
            yield self._replace(node, (" and " if other == " or " else " or ").join(_without(parts, n)), "operand")

    def _constant(self, node: ast.Constant, names: Sequence[str]) -> Iterator[Edit]:
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

    def _call(self, node: ast.Call, names: Sequence[str]) -> Iterator[Edit]:
        texts = [self._text(argument) for argument in node.args]
        for (i, _), (j, _) in combinations(enumerate(texts), 2):
            swapped = [*texts]
            swapped[i], swapped[j] = texts[j], texts[i]
            yield self._arguments(node, swapped, "arguments")
        for n in range(len(texts) if len(texts) > 1 else 0):
            yield self._arguments(node, _without(texts, n), "call")
        if len(texts) == 1 and not node.keywords:
            yield self._replace(node, texts[0], "call")
        named = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if named in _TWINS:
            yield self._replace_tail(node.func, named, _TWINS[named])
        yield from self._offset(node)
        for argument in node.args:
            yield from self._offset(argument)
            yield from self._sliced(argument, names)
            if isinstance(argument, ast.Name):
                others = [name for name in names if name != argument.id]
                for symbol in ("-", "+"):
                    yield from (self._replace(argument, f"{argument.id} {symbol} {n}", "slice") for n in others)

    def _subscript(self, node: ast.Subscript) -> Iterator[Edit]:
        index = node.slice
        if isinstance(index, ast.Slice):
            for bound in (index.lower, index.upper):
                if bound is not None:
                    yield from self._offset(bound)
        elif isinstance(index, ast.Tuple):
            for element in index.elts:
                yield from self._offset(element)
        else:
            yield from self._offset(index)
        if isinstance(node.ctx, ast.Load):
            yield self._replace(node, self._text(node.value), "operand")

    def _offset(self, node: ast.expr) -> Iterator[Edit]:
        """Yield an expression one more and one less; a constant has its own edits."""
        if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.BinOp):
            text = self._text(node)
            yield self._replace(node, f"{text} + 1", "offset")
            yield self._replace(node, f"{text} - 1", "offset")

    def _sliced(self, node: ast.expr, names: Sequence[str]) -> Iterator[Edit]:
        """Yield a sequence without its head or tail, or from a variable on."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            text = self._text(node)
            bounds = ["1:", ":-1", "::-1", *(f"{name}:" for name in names), *(f":{name}" for name in names)]
            yield from (self._replace(node, f"{text}[{bound}]", "slice") for bound in bounds)

    def _condition(self, test: ast.expr, names: Sequence[str]) -> Iterator[Edit]:
        text = self._text(test)
        yield self._replace(test, f"not ({text})", "condition")
        for name in names:
            yield self._replace(test, f"({text}) and {name}", "condition")
            yield self._replace(test, f"({text}) or not {name}", "condition")
            if isinstance(test, ast.Constant):
                yield self._replace(test, name, "condition")

    def _returned(self, value: ast.expr, names: Sequence[str]) -> Iterator[Edit]:
        text = self._text(value)
        yield from (self._replace(value, f"{wrap}", "wrap") for wrap in (f"[{text}]", f"not ({text})"))
        for name in names:
            yield self._replace(value, f"{name} + {text}", "wrap")
            yield self._replace(value, f"{text} + {name}", "wrap")
            if isinstance(value, ast.Constant):
                yield from (self._replace(value, made, "wrap") for made in (name, f"{name} == 0", f"not {name}"))
        yield from self._offset(value)

    def _of_body(self, body: Sequence[ast.stmt], names: Sequence[str], nodes: Sequence[ast.AST]) -> Iterator[Edit]:
        """Yield what may be done to the statements of a block: drop, swap, move out, add one like another."""
        own = [stmt for stmt in _without_doc_string(list(body)) if self._alone(stmt)]
        for stmt in own:
            if isinstance(stmt, _DROPPED):
                yield self._replace(stmt, "pass", "statement")
        for first, second in pairwise(own):
            if second.lineno == _last_line(first) + 1:
                text = f"{self._text(second)}\n{' ' * first.col_offset}{self._text(first)}"
                yield self._span(first, second, text, "statement")
        simple = [node for node in nodes if isinstance(node, _SIMPLE) and node.lineno == node.end_lineno]
        known = [stmt for stmt in simple if _without_doc_string([stmt])]
        texts = dict.fromkeys(text for node in known for text in self._likes(node, names))
        for stmt in own:
            yield from (self._before(stmt, text) for text in texts)

    def _likes(self, stmt: ast.stmt, names: Sequence[str]) -> Iterator[str]:
        """Yield a statement, and the same with one plain argument replaced by another variable."""
        text = self._text(stmt)
        yield text
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and len(stmt.value.args) == 1:
            argument = stmt.value.args[0]
            head = self._data[self._at(stmt)[0] : self._at(argument)[0]].decode()
            tail = self._data[self._at(argument)[1] : self._at(stmt)[1]].decode()
            yield from (f"{head}{name}{tail}" for name in names)

    def _base_cases(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Edit]:
        """Yield the function with a base case for one of its arguments in front."""
        body = _without_doc_string(function.body)
        if not body or not self._alone(body[0]):
            return
        for argument in function.args.args:
            for test in (f"not {argument.arg}", f"{argument.arg} == 1"):
                for value in (argument.arg, *_BASE_VALUES):
                    inner = " " * (body[0].col_offset + 4)
                    yield self._before(body[0], f"if {test}:\n{inner}return {value}", "base_case")

    def _alone(self, stmt: ast.stmt) -> bool:
        """Whether a statement begins its line."""
        return not self._data[self._starts[stmt.lineno - 1] : self._at(stmt)[0]].strip()

    def _before(self, stmt: ast.stmt, text: str, kind: Kind = "insertion") -> Edit:
        start = self._at(stmt)[0]
        return Edit(start, start, f"{text}\n{' ' * stmt.col_offset}", stmt.lineno, kind)

    def _arguments(self, call: ast.Call, texts: Sequence[str], kind: Kind) -> Edit:
        start, end = self._at(call.args[0])[0], self._at(call.args[-1])[1]
        return Edit(start, end, ", ".join(texts), call.lineno, kind)

    def _replace_tail(self, func: ast.expr, old: str, new: str) -> Edit:
        end = self._at(func)[1]
        return Edit(end - len(old.encode()), end, new, func.lineno, "call")

    def _replace(self, node: ast.expr | ast.stmt, text: str, kind: Kind) -> Edit:
        """Return the edit that puts a text in a node's place, in parentheses where it stands within an expression."""
        start, end = self._at(node)
        bare = node in self._apart or isinstance(ast.parse(text, mode="eval").body, _ATOMS)
        return Edit(start, end, text if bare else f"({text})", node.lineno, kind)

    def _span(self, first: ast.stmt, last: ast.stmt, text: str, kind: Kind) -> Edit:
        return Edit(self._at(first)[0], self._at(last)[1], text, first.lineno, kind)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        """Return a node as it is written, in parentheses where it would fall apart in another place."""
        start, end = self._at(node)
        text = self._data[start:end].decode()
        loose = isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.Lambda | ast.UnaryOp)
        return f"({text})" if loose else text

    def _at(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[last - 1] + column


def _standing_apart(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield statements, and expressions around which no parentheses are needed whatever they are."""
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
            case _:
                pass


def _last_line(stmt: ast.stmt) -> int:
    return stmt.end_lineno or stmt.lineno


def _others(symbol: str) -> list[str]:
    return [other for family in _FAMILIES if symbol in family for other in family if other != symbol]


def _without(texts: Sequence[str], n: int) -> list[str]:
    return [text for m, text in enumerate(texts) if m != n]


def _by_scope(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Yield every function and the module, each with the nodes inside of it; inner functions count to the outer one."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        scope = waiting.pop(0)
        nodes: list[ast.AST] = []
        inside = list(ast.iter_child_nodes(scope))
        while inside:
            node = inside.pop(0)
            outer = isinstance(node, _SCOPES) and not isinstance(scope, _SCOPES)
            if outer:
                waiting.append(node)
            else:
                nodes.append(node)
                inside += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.arguments)]
        yield scope, nodes


def _names(nodes: Sequence[ast.AST], scope: ast.AST) -> list[str]:
    """Return the variables of a scope in the order in which they appear."""
    arguments = [a.arg for a in scope.args.args] if isinstance(scope, _SCOPES) else []
    inner = [a.arg for node in nodes if isinstance(node, _SCOPES) for a in node.args.args]
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys([*arguments, *inner, *bound])) if isinstance(scope, _SCOPES) else []


def _bodies(scope: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of a function; those of a module are its functions' business."""
    if not isinstance(scope, _SCOPES):
        return
    for node in ast.walk(scope):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block
