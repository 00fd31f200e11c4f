"""What servers were found to take is kept, shared and forgotten."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tenure.models.openai.capabilities import KEPT_SECONDS, LADDER, Capabilities, Memory

HERE = "127.0.0.1:8000/v1/"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 1_000_000_000.0

    def __call__(self) -> float:
        return self.time


def test_a_server_is_taken_to_do_everything() -> None:
    """Without a word against it, a model is asked in the strictest form."""
    assert Memory(HERE).of("m") == Capabilities(
        rung="json_schema", output_limit="max_completion_tokens", streaming=True, stream_usage=True
    )


def test_refusals_add_up() -> None:
    """Each refusal takes one thing away, and none gives anything back."""
    memory = Memory(HERE)
    for found in (
        Capabilities(rung="text"),
        Capabilities(rung="json_object"),
        Capabilities(output_limit="max_tokens"),
        Capabilities(streaming=False),
        Capabilities(stream_usage=False),
    ):
        memory.learn("m", found)
    known = memory.of("m")

    assert (known.rung, known.output_limit) == ("text", "max_tokens")
    assert (known.streaming, known.stream_usage) == (False, False)
    assert memory.of("other") == Capabilities()


def test_what_was_found_outlives_the_process(tmp_path: Path) -> None:
    """The next worker starts with it, for this endpoint and model only."""
    path = tmp_path / "home" / "capabilities.json"
    Memory(HERE, path).learn("m", Capabilities(rung="json_object"))

    assert Memory(HERE, path).of("m").rung == "json_object"
    assert Memory(HERE, path).of("n").rung == "json_schema"
    assert Memory("elsewhere:80/v1/", path).of("m").rung == "json_schema"


def test_it_is_forgotten_after_a_week(tmp_path: Path) -> None:
    """Servers learn: after seven days they are asked again, by a process that has run all the time, too."""
    clock, path = Clock(), tmp_path / "capabilities.json"
    memory = Memory(HERE, path, clock)
    memory.learn("m", Capabilities(rung="text"))
    clock.time += KEPT_SECONDS - 1
    memory.learn("m", Capabilities(streaming=False))
    assert Memory(HERE, path, clock).of("m").rung == memory.of("m").rung == "text"

    clock.time += 2

    assert Memory(HERE, path, clock).of("m") == memory.of("m") == Capabilities()
    memory.learn("n", Capabilities(streaming=False))
    assert list(json.loads(path.read_text())[HERE]) == ["n"]


def test_workers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Several writers to one file all find their own and the others' refusals there."""
    path = tmp_path / "capabilities.json"

    def learn(number: int) -> None:
        Memory(f"host{number % 2}", path).learn(f"m{number}", Capabilities(rung="text"))
        Memory(f"host{number % 2}", path).learn("shared", Capabilities(rung=LADDER[number % 3]))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(learn, range(24)))

    for number in range(24):
        assert Memory(f"host{number % 2}", path).of(f"m{number}").rung == "text"
    assert Memory("host0", path).of("shared").rung == "text"


def test_another_workers_refusals_are_taken_over(tmp_path: Path) -> None:
    """Who writes an entry learns what others have found about it."""
    path = tmp_path / "capabilities.json"
    mine, theirs = Memory(HERE, path), Memory(HERE, path)
    theirs.learn("m", Capabilities(rung="text"))
    mine.learn("m", Capabilities(streaming=False))

    assert (mine.of("m").rung, mine.of("m").streaming) == ("text", False)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"x": 1}', '{"x": {"m": {"rung": "rope"}}}', "\x00"])
def test_a_foreign_file_is_replaced(tmp_path: Path, content: str) -> None:
    """A file that is broken or not ours is named in the log, and the next refusal makes a good one of it."""
    path = tmp_path / "capabilities.json"
    path.write_text(content)
    with capture_logs() as logs:
        memory = Memory(HERE, path)
    memory.learn("m", Capabilities(rung="text"))

    assert [(entry["log_level"], entry["file"]) for entry in logs] == [("warning", str(path))]
    assert Memory(HERE, path).of("m").rung == "text"


def test_a_home_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    """The process goes on with what it has found, and the log says why nobody else will know."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    memory = Memory(HERE, blocked / "capabilities.json")
    with capture_logs() as logs:
        memory.learn("m", Capabilities(rung="text"))

    assert memory.of("m").rung == "text"
    assert [entry["event"] for entry in logs] == ["capabilities are not kept"]
