"""Test that whole runs pay an identical question once, with real processes."""

import json
from pathlib import Path

from tenure.contracts.result.result import Result
from tests.model_server import ModelServer, Request
from tests.support.homes import Home, modelled_home
from tests.support.tiers import exhaustive, slow

pytestmark = slow

QUESTION = "How do lighthouses guide ships?"
PAGES = {
    "lighthouses.md": "# Lighthouses\n\nA lighthouse is a tower with a lamp. Its lamp guides ships at night.\n",
    "fog.md": "# Fog signals\n\nIn fog a horn replaces the lamp, because ships do not see the light.\n",
}


def start(home: Home, docs: Path, name: str, *options: str, memory: str = "--no-memory") -> Result:
    options = (memory, "--id", name, "--json", *options)
    done = home.run("start", QUESTION, "--docs", str(docs), *options)
    assert done.returncode == 0, done.stderr
    return Result.model_validate_json(done.stdout)


def write_pages(folder: Path) -> Path:
    docs = folder / "docs"
    docs.mkdir()
    for name, text in PAGES.items():
        (docs / name).write_text(text)
    return docs


def read_prompts(requests: list[Request]) -> set[str]:
    return {json.dumps(request.json["messages"]) for request in requests if request.schema_name}


@exhaustive
def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    """A repeated run, and what a fork shares with its origin, make no call; `--fresh` and `delete` make them again."""
    docs = write_pages(tmp_path)
    with ModelServer() as model, modelled_home(tmp_path, model, TENURE_ANSWER_CACHE_MEGABYTES="200") as home:
        first = start(home, docs, "first")
        paid = len(model.billed)
        second = start(home, docs, "second")
        assert len(model.billed) == paid

        forked = home.run("fork", "first", "--cycle", "1", "--id", "forked")
        assert forked.returncode == 0, forked.stderr
        past = read_prompts(model.requests[:paid])
        assert not read_prompts(model.requests[paid:]) & past

        before = len(model.billed)
        third = start(home, docs, "third", "--fresh")
        assert len(model.billed) - before == paid

        for name in ("first", "second", "third", "forked"):
            assert home.run("delete", name).returncode == 0
        before = len(model.billed)
        start(home, docs, "fourth")
        assert len(model.billed) - before == paid

    assert (first.usage.model_calls, first.usage.saved.answers) == (paid, 0)
    assert (second.usage.model_calls, second.usage.saved.model_calls) == (0, paid)
    assert second.usage.saved.tokens_in == first.usage.tokens_in == third.usage.tokens_in
    assert [section.claims for section in second.sections] == [section.claims for section in first.sections]


def test_a_second_run_with_memory_asks_nothing(tmp_path: Path) -> None:
    """The memories of the first run are left out, which the report says; changed documents bring them back."""
    docs = write_pages(tmp_path)
    with ModelServer() as model, modelled_home(tmp_path, model, TENURE_ANSWER_CACHE_MEGABYTES="200") as home:
        start(home, docs, "first", memory="--memory")
        paid = len(model.billed)
        second = start(home, docs, "second", memory="--memory")
        assert len(model.billed) == paid
        (docs / "bells.md").write_text("# Bells\n\nA bell on a buoy guides ships past lighthouses in fog.\n")
        third = start(home, docs, "third", memory="--memory")

    assert (second.usage.model_calls, second.usage.saved.model_calls) == (0, paid)
    assert any("asked about the same documents before (first)" in note for note in second.notes)
    assert any(note.startswith("Recalled from earlier research") for note in third.notes)
