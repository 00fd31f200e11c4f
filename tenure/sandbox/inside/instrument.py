"""Add calls to the code of programs and tests that report values and reached assertions to the watch."""

import ast
from dataclasses import dataclass, field
from typing import Any, Final

RETURNED: Final = "_@returned"
STOPS: Final = "_@stops"
STOPPED: Final = "_@stopped"
COMPLETED: Final = "_@completed"
FAILED: Final = "_@failed"
"""Names that no program can write, and that a star import leaves out."""

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_BRANCHES: Final = (ast.If, ast.Match, ast.Try, ast.While)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class ProgramInstrumenter(ast.NodeTransformer):
    """Transformer of a program that reports returned values and early ends of iterations to the watch."""

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Show the returned value."""
        self.generic_visit(node)
        if node.value is not None and not isinstance(node.value, ast.Constant):
            node.value = ast.copy_location(_call(RETURNED, node.value), node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Show the value."""
        self.generic_visit(node)
        node.body = ast.copy_location(_call(RETURNED, node.body), node.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Show an early end of an iteration that leaves a function which is no iterator."""
        self.generic_visit(node)
        start = int(ast.get_docstring(node, clean=False) is not None)
        body = node.body[start:]
        if body and node.name not in ("__next__", "__anext__") and not _is_generator(node):
            stopped = [ast.Expr(_call(STOPPED)), ast.Raise()]
            handler = ast.ExceptHandler(ast.Name(STOPS, ast.Load()), None, stopped)
            guarded = ast.copy_location(ast.Try(body, [handler], [], []), body[0])
            node.body = [*node.body[:start], guarded]
        return node


def _is_generator(node: ast.AST) -> bool:
    """Return whether a function has a `yield` of its own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(child, _SCOPES) and _is_generator(child):
            return True
    return False


@dataclass
class TestFacts:
    """Facts about a test function."""

    __test__ = False  # not a pytest class

    required: set[int] = field(default_factory=set)
    """Lines of the assertions that no condition guards."""
    words: frozenset[str] = frozenset()
    """Names and texts in its source."""
    has_assertions: bool = False
    """Whether it has an assertion at all."""
    expects_failure: bool = False
    """Whether it handles failed assertions itself."""


class TestInstrumenter(ast.NodeTransformer):
    """Transformer of a test module: each assertion reports that it held."""

    __test__ = False  # not a pytest class

    def __init__(self) -> None:
        self.facts: dict[int, TestFacts] = {}
        """Facts of the test functions by their first line."""
        self._open: list[ast.AST] = []

    def visit(self, node: ast.AST) -> Any:
        """Visit a node with the nodes around it."""
        self._open.append(node)
        try:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                self.facts[first] = _describe_test(node)
            visited = self.generic_visit(node)
        finally:
            self._open.pop()
        if not isinstance(visited, ast.stmt) or not self._functions():
            return visited
        if _is_failure(visited) or self._is_conditional_raise(visited):
            return [ast.copy_location(ast.Expr(_call(FAILED)), visited), visited]
        if _is_assertion(visited):
            # After the statement, since an assertion whose exception the program suppressed did not hold.
            return [visited, ast.copy_location(ast.Expr(_call(COMPLETED, ast.Constant(visited.lineno))), visited)]
        return visited

    def _functions(self) -> list[ast.AST]:
        return [one for one in self._open if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]

    def _is_conditional_raise(self, node: ast.stmt) -> bool:
        """Return whether a test itself raises an exception if a condition holds, which is an assertion."""
        functions = self._functions()
        is_test = len(functions) == 1 and getattr(functions[0], "name", "").startswith("test")
        return isinstance(node, ast.Raise) and is_test and any(isinstance(one, ast.If) for one in self._open)


def _describe_test(node: ast.FunctionDef | ast.AsyncFunctionDef) -> TestFacts:
    words = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    words |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    words |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    words |= {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    has_assertions = any(_is_assertion(one) for one in ast.walk(node) if isinstance(one, ast.stmt))
    expects = bool(words & {"AssertionError", "Exception", "BaseException", "xfail", "expectedFailure"})
    return TestFacts(set(_iterate_required(node)), frozenset(words), has_assertions, expects)


def _iterate_required(node: ast.AST) -> Any:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and _is_assertion(child):
            yield child.lineno
        if not isinstance(child, (*_SCOPES, *_BRANCHES)):
            yield from _iterate_required(child)


def _is_assertion(node: ast.stmt) -> bool:
    """Return whether a statement asserts something: `assert`, `x.assert_called()`, `with raises(...)`."""
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.Expr):
        return _get_called_name(node.value).startswith("assert")
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return any(_get_called_name(one.context_expr).startswith(("assert", "raises", "warns")) for one in node.items)
    return False


def _is_failure(node: ast.stmt) -> bool:
    """Return whether a statement fails a test: `raise AssertionError`, `pytest.fail()`, `self.fail()`."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        return "AssertionError" in (_get_called_name(node.exc), getattr(node.exc, "id", ""))
    return isinstance(node, ast.Expr) and _get_called_name(node.value) == "fail"


def _get_called_name(node: ast.expr) -> str:
    """Return the last name of a called function, or an empty string."""
    node = node.value if isinstance(node, ast.Await) else node
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))
