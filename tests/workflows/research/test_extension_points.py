"""A tool and a strategy are each one new file in their package."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.parser import build_parser
from tenure.contracts.research.tools import Observation
from workflows.research import strategies, tools
from workflows.research.strategy_registry import load_strategies
from workflows.research.tool_registry import load_tools

TOOL = '''
from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from workflows.research.tool import Tool


class EchoArguments(ToolArguments):
    """Arguments of `echo`."""

    text: ShortText
    """Text to return."""


async def echo(context, arguments):
    return Observation(text=arguments.text)


TOOL = Tool(name="echo", description="Returns a text.", arguments=EchoArguments, bounds="500 characters", use=echo)
'''

STRATEGY = """
from workflows.research.strategy import Strategy


async def search_nothing(session):
    session.append("searched")


STRATEGY = Strategy("idle", "no search at all", search_nothing)
"""


def add_module(monkeypatch: pytest.MonkeyPatch, package: Any, folder: Path, name: str, source: str) -> None:
    """Add a module to a package for one test."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    monkeypatch.setitem(sys.modules, f"{package.__name__}.{name}", None)
    monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}")


async def test_a_tool_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the package is offered with its schema and performs calls."""
    add_module(monkeypatch, tools, tmp_path, "echo", TOOL)
    tool = load_tools()["echo"]
    schema: Any = tool.describe().parameters

    assert schema["properties"]["text"]["description"] == "Text to return."
    context: Any = None
    assert await tool.use(context, tool.arguments.model_validate({"text": "Hello"})) == Observation(text="Hello")


async def test_a_strategy_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the package is a strategy that the command line accepts."""
    add_module(monkeypatch, strategies, tmp_path, "idle", STRATEGY)
    session: Any = []

    await load_strategies()["idle"].search(session)
    assert session == ["searched"]
    assert build_parser().parse_args(["start", "Why?", "--strategy", "idle"]).strategy == "idle"
