"""Test that all output of the client passes through the module that escapes control characters."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "tenure" / "cli" / "terminal.py"
"""The only module of the client that writes."""

HARMLESS = {"isatty", "flush", "fileno"}
"""Attributes of the standard streams that write nothing."""

WRITING_CALLS = {"print", "input", "Console", "get_console", "print_exception", "print_exc", "pprint"}
"""Functions and classes that write."""

STREAMS = {"sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__", "os.write", "rich.print"}
"""Standard streams, and the function that writes to their descriptors."""

FILES = [*sorted(path for path in (ROOT / "tenure" / "cli").rglob("*.py") if path != OUTPUT), ROOT / "client.py"]


def _find_output(tree: ast.Module) -> set[str]:
    """Return the expressions by which a module could write to the terminal itself."""
    nodes = list(ast.walk(tree))
    harmless = {node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr in HARMLESS}
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    named = {node.id for node in nodes if isinstance(node, ast.Name) and node.id != "Console"}
    named |= {function.id for function in functions if isinstance(function, ast.Name)}
    # A method `print` belongs to a console, and only one module makes consoles.
    methods = {function.attr for function in functions if isinstance(function, ast.Attribute)}
    named |= methods - {"print", "input"}
    read = {
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node not in harmless
    }
    imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return (named & WRITING_CALLS) | (read & STREAMS) | (imported & {"sys", "rich", "builtins"})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_one_module_of_the_client_writes(path: Path) -> None:
    """No other module prints, writes to a standard stream or makes a console."""
    found = _find_output(ast.parse(path.read_text(encoding="utf-8")))

    # The end of the process flushes both streams and writes nothing.
    assert found - ({"sys.stdout", "sys.stderr"} if path.name == "main.py" else set()) == set()


@pytest.mark.parametrize(
    "source",
    [
        "print(1)",
        "import sys\nsys.stdout.write('x')",
        "import sys\nout = sys.stderr",
        "from rich.console import Console\nConsole()",
        "import rich.console\nrich.console.Console()",
        "import os\nos.write(1, b'x')",
        "from sys import stdout",
        "from rich import print as show",
        "import traceback\ntraceback.print_exc()",
    ],
)
def test_each_way_of_writing_is_recognised(source: str) -> None:
    """The rule finds what it is about."""
    assert _find_output(ast.parse(source))
