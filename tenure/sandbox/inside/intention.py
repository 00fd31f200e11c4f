"""Decide by the source of a test whether the test itself intends an exception."""

import ast
import builtins
import linecache
import types
from collections.abc import Iterator
from typing import Final

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CONDITIONS: Final = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Match, ast.Try, ast.Assert)
_BRANCHES: Final = (ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_intended(error: BaseException, frame: types.FrameType) -> bool:
    """Return whether an exception comes from a `raise` that is executed whatever the program has answered.

    From the body of the `with` statement to the place of the exception, no frame leaves the tests, and no statement on
    the way depends on a condition.
    """
    entries = [error.__traceback__]
    while entries[-1] is not None:
        entries.append(entries[-1].tb_next)
    parts = [one for one in entries if one is not None]
    while parts and parts[0].tb_frame is not frame:
        del parts[0]
    within: int | None = frame.f_lineno
    for part in parts:
        path = _find_path(part.tb_frame.f_code.co_filename, part.tb_lineno)
        withs = [one for one in path if isinstance(one, (ast.With, ast.AsyncWith)) and one.lineno == within]
        if not path or (within is not None and not withs):
            return False
        inner = path[path.index(withs[0]) :] if withs else path
        functions = [number for number, one in enumerate(inner) if isinstance(one, _FUNCTIONS)]
        inner = inner[functions[-1] :] if functions else inner
        if any(isinstance(one, _CONDITIONS) for one in inner) or any(_has_branch(one) for one in inner[-1:]):
            return False
        if part is parts[-1]:
            return isinstance(inner[-1], ast.Raise) or _is_constant(inner[-1], part.tb_frame)
        within = None
    return False


def _is_constant(statement: ast.AST, frame: types.FrameType) -> bool:
    """Return whether a statement uses constants and built-in functions only, such as `1 / 0`."""
    names = {one.id for one in ast.walk(statement) if isinstance(one, ast.Name)}
    own = {*frame.f_locals, *frame.f_globals} - {"__builtins__"}
    return isinstance(statement, ast.Expr) and all(hasattr(builtins, name) for name in names) and not names & own


def _has_branch(node: ast.AST) -> bool:
    return any(isinstance(one, _BRANCHES) for one in ast.walk(node))


def _find_path(file: str, line: int) -> list[ast.AST]:
    """Return the statements around a line of a test file, from the outermost to the innermost."""
    cached = linecache.cache.get(file)
    if not cached or len(cached) < 3 or cached[1] is not None:
        return []
    found: list[ast.AST] = []
    nodes: list[ast.AST] = [ast.parse("".join(cached[2]))]
    while nodes:
        inner = [one for one in nodes if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or 0)]
        found += inner[:1]
        nodes = [child for one in (inner[:1] or nodes) for child in _iterate_bodies(one)]
        if not inner and found:
            break
    return found


def _iterate_bodies(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements directly inside of a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body
