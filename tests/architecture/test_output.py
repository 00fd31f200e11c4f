"""Test that all output of the client passes through the module that escapes control characters."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "tenure" / "cli" / "terminal.py"
"""The only module of the client that writes."""

HARMLESS = {"isatty", "flush", "fileno"}
"""Attributes of the standard streams that write nothing."""

FILES = sorted(path for path in ((ROOT / "tenure" / "cli").rglob("*.py")) if path != OUTPUT) + [ROOT / "client.py"]


def _find_output(tree: ast.Module) -> set[str]:
    """Return the expressions by which a module could write to the terminal itself."""
    found = set()
    harmless = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in HARMLESS and isinstance(node.value, ast.Attribute)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
            found.add(f"{node.func.id}()")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in ("Console", "get_console", "print_exception", "print_exc", "pprint", "secho"):
                found.add(f"{name}()")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            written = f"{node.value.id}.{node.attr}"
            if written in ("sys.__stdout__", "sys.__stderr__", "os.write") or (
                written in ("sys.stdout", "sys.stderr") and node not in harmless
            ):
                found.add(written)
        if isinstance(node, ast.ImportFrom) and node.module in ("sys", "rich", "builtins"):
            found.add(f"from {node.module} import")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_only_one_module_of_the_client_writes(path: Path) -> None:
    """No other module prints, writes to a standard stream or makes a console."""
    found = _find_output(ast.parse(path.read_text(encoding="utf-8")))

    # The end of the process flushes both streams and writes nothing.
    assert found - ({"sys.stdout", "sys.stderr"} if path.name == "client.py" else set()) == set()


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
