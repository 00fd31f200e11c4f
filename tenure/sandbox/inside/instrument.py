"""Add calls to the code of programs and tests that report values and reached assertions to the watch."""

import ast
import itertools
from dataclasses import dataclass, field
from typing import Any, Final

RETURNED: Final = "_@returned"
STOPS: Final = "_@stops"
STOPPED: Final = "_@stopped"
COMPLETED: Final = "_@completed"
ENDED: Final = "_@ended"
HANDLED: Final = "_@handled"
SUPPRESSED: Final = "_@suppressed"
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
    """Transformer of a test module: each assertion reports how it ended, and each handler which exception it got."""

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
        functions = self._functions()
        if isinstance(visited, ast.ExceptHandler):
            visited.body.insert(0, ast.copy_location(ast.Expr(_call(HANDLED)), visited.body[0]))
        if not isinstance(visited, ast.stmt) or not functions:
            return visited
        if isinstance(visited, ast.Return) and visited.value and functions[-1].name in ("__exit__", "__aexit__"):
            visited.value = ast.copy_location(_call(SUPPRESSED, visited.value), visited.value)
        is_assertion = _is_assertion(visited)
        if not is_assertion and not isinstance(visited, ast.Raise):
            return visited
        line, is_condition = ast.Constant(visited.lineno), ast.Constant(self._is_conditional_raise(visited))
        handler = ast.ExceptHandler(None, None, [ast.Expr(_call(ENDED, line, is_condition)), ast.Raise()])
        # After the statement, since an assertion whose exception the program suppressed did not hold.
        completed: list[ast.stmt] = [ast.Expr(_call(COMPLETED, line))] if is_assertion else []
        return ast.copy_location(ast.Try([visited], [handler], completed, []), visited)

    def _functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [one for one in self._open if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]

    def _is_conditional_raise(self, node: ast.stmt) -> bool:
        """Return whether a test itself raises an exception if a condition holds, which is an assertion."""
        functions = self._functions()
        is_test = len(functions) == 1 and functions[0].name.startswith("test")
        return (
            isinstance(node, ast.Raise)
            and is_test
            and any(
                isinstance(one, ast.If) and not _fails_first_attempts(one, around)
                for around, one in itertools.pairwise(self._open)
            )
        )


def _fails_first_attempts(node: ast.If, around: ast.AST) -> bool:
    """Return whether a condition counts how often it was reached: `calls += 1` and `if calls < 3` in one block.

    Such a test does not judge the program: its own code fails at first, and the program is to repeat it.
    """
    counted = [ast.unparse(one.target) for one in getattr(around, "body", []) if isinstance(one, ast.AugAssign)]
    condition = node.test
    if not isinstance(condition, ast.Compare) or not isinstance(condition.ops[0], (ast.Lt, ast.LtE)):
        return False
    return ast.unparse(condition.left) in counted


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


def _get_called_name(node: ast.expr) -> str:
    """Return the last name of a called function, or an empty string."""
    node = node.value if isinstance(node, ast.Await) else node
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "attr", getattr(function, "id", "")))
