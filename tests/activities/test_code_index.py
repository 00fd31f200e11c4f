"""Tests of the activities that index and search the files of a workspace."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from temporalio.testing import ActivityEnvironment

from activities.code_index import CodeIndexActivities
from tenure.contracts.coding.repositories import CodeSearchRequest, MapRequest, Workspace
from tenure.knowledge.base import KnowledgeBase
from tenure.repositories.workspaces import Workspaces
from tests.knowledge.word_vectors import WordVectors
from tests.support.repositories.git import make_repository, make_workspaces, start_work
from tests.support.waiting import WAIT_SECONDS

FILES: dict[str, str | bytes] = {
    "src/basket.py": "def total_price(items):\n    return sum(items)\n",
    "src/pay.py": "from basket import total_price\n\nprint(total_price([]))\n",
    "tests/test_basket.py": "from basket import total_price\n\n\ndef test_total():\n    assert total_price([]) == 0\n",
}


@pytest.fixture
def knowledge(tmp_path: Path) -> Iterator[KnowledgeBase]:
    base = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    yield base
    base.close()


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return make_workspaces(tmp_path / "home")


@pytest.fixture
async def workspace(workspaces: Workspaces, tmp_path: Path) -> Workspace:
    return await start_work(workspaces, make_repository(tmp_path / "repository", FILES))


async def test_searches_read_the_files_of_their_own_state(
    knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace
) -> None:
    """After an edit, the next state has the new symbol and text, and the earlier state the old ones."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    first = await run(activities.index_repository, workspace)
    async with workspaces.open(workspace) as folder:
        (folder / "src" / "basket.py").write_text("def whole_sum(items):\n    return sum(items)\n")
        edited = (await workspaces.record(workspace)).workspace

    async def find(state: Workspace, kind: str, query: str) -> str:
        request = CodeSearchRequest.model_validate({"workspace": state, "kind": kind, "query": query})
        return (await run(activities.search_code, request)).text

    assert "definition src/basket.py:1: function whole_sum" in await find(edited, "symbol", "whole_sum")
    second = await run(activities.index_repository, edited)
    assert (first.files, first.indexed, second.indexed) == (3, 3, 0)
    assert "definition src/basket.py:1: function total_price" in await find(workspace, "symbol", "total_price")
    assert "src/basket.py\n1: def whole_sum(items):" in await find(edited, "text", "def whole_sum(")
    assert "nothing found" in await find(workspace, "text", "def whole_sum(")
    assert "src/basket.py" in await find(edited, "meaning", "sum of the items")


async def test_lines_of_tests_come_last(knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace) -> None:
    """An expression is searched in the chosen files, code before tests."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    request = CodeSearchRequest(workspace=workspace, kind="regex", query="total_price[(].*[)]")
    found = (await run(activities.search_code, request)).text.splitlines()
    python = await run(activities.search_code, request.model_copy(update={"pattern": "tests/**"}))

    assert found[0] == 'search regex "total_price[(].*[)]": 3 lines in 3 files'
    assert found[1::2] == ["src/basket.py", "src/pay.py", "tests/test_basket.py"]
    assert len(python.text.splitlines()) == 3


@pytest.mark.parametrize("kind", ["regex", "meaning", "symbol"])
async def test_a_pattern_without_files_is_named(
    kind: Literal["regex", "meaning", "symbol"], knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace
) -> None:
    """A search in no file at all differs from one without a result, and braces have alternatives."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    request = CodeSearchRequest(workspace=workspace, kind=kind, query="total_price", pattern="{lib,docs}/**")
    refused = await run(activities.search_code, request)
    found = await run(activities.search_code, request.model_copy(update={"pattern": "{lib,src}/**/*.{md,py}"}))

    assert refused.failed and "no file matches {lib,docs}/**" in refused.text
    assert not found.failed and "src/basket.py" in found.text


async def test_lines_keep_their_indentation_and_say_what_is_left_out(
    tmp_path: Path, knowledge: KnowledgeBase, workspaces: Workspaces
) -> None:
    """A line can be copied into an edit, and a file with more lines than are shown says so."""
    path = make_repository(tmp_path / "many", {"a.py": "def f():\n" + "    total += 1\n" * 70, "b.py": "total = 0\n"})
    workspace = await start_work(workspaces, path)
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    lines = (await run(activities.search_code, CodeSearchRequest(workspace=workspace, kind="text", query="total"))).text

    assert "\na.py (39 of its 70 lines)\n2:     total += 1\n" in lines
    assert lines.endswith("40 lines are shown; for others add `in FILE`, or use a narrower expression")


async def test_quotes_around_an_expression_are_left_out_if_no_line_has_them(
    knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace
) -> None:
    """Models write expressions as in a shell; the first line of the result has the query that was used."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    request = CodeSearchRequest(workspace=workspace, kind="regex", query='"def test_.*l"')
    found = await run(activities.search_code, request)
    missing = await run(activities.search_code, request.model_copy(update={"query": "'no_such_name'"}))

    assert 'search regex "def test_.*l": 1 lines' in found.text and "test_total" in found.text
    assert 'search regex "no_such_name": nothing found' in missing.text


async def test_invalid_expression_is_a_result(
    knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace
) -> None:
    """The model reads why its search was refused."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    refused = await run(activities.search_code, CodeSearchRequest(workspace=workspace, kind="regex", query="("))

    assert refused.failed
    assert "no valid expression" in refused.text


async def test_map_is_drawn_for_the_task(
    knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace
) -> None:
    """The files of the task come first, in the budget of tokens."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    drawn = await run(activities.map_repository, MapRequest(workspace=workspace, task="total_price is wrong"))

    assert drawn.text.splitlines()[1:3] == ["src/basket.py", "  1: def total_price(items)"]


async def test_other_actions_do_not_wait_for_the_index(
    knowledge: KnowledgeBase, workspaces: Workspaces, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a repository is indexed, its files can be opened and its text is searched."""
    activities, run = CodeIndexActivities(workspaces, knowledge), ActivityEnvironment().run
    reached, released, update = threading.Event(), threading.Event(), knowledge.code.update

    def wait_and_update(*given: Any) -> Any:
        reached.set()
        assert released.wait(WAIT_SECONDS)
        return update(*given)

    monkeypatch.setattr(knowledge.code, "update", wait_and_update)
    indexing = asyncio.ensure_future(run(activities.index_repository, workspace))
    assert await asyncio.to_thread(reached.wait, WAIT_SECONDS)
    request = CodeSearchRequest(workspace=workspace, kind="text", query="def total_price(")
    found = await run(activities.search_code, request)
    async with workspaces.open(workspace):
        assert not indexing.done()
    released.set()

    assert "src/basket.py\n1: def total_price(items):" in found.text
    assert (await indexing).indexed == 3
