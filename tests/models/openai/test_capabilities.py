"""Tests of the cache of server capabilities: storage, sharing and expiry."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tenure.models.openai.capabilities import CACHE_TTL_SECONDS, OUTPUT_MODES, Capabilities, CapabilityCache

HERE = "127.0.0.1:8000/v1/"


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.time = 1_000_000_000.0

    def __call__(self) -> float:
        return self.time


def test_the_default_is_every_capability() -> None:
    """Without a rejection a model is asked in the strictest form."""
    assert CapabilityCache(HERE).get("m") == Capabilities(
        output_mode="json_schema", output_limit="max_completion_tokens", streaming=True, stream_usage=True
    )


def test_restrictions_accumulate() -> None:
    """Each rejection removes one capability and restores none."""
    memory = CapabilityCache(HERE)
    for found in (
        Capabilities(output_mode="text"),
        Capabilities(output_mode="json_object"),
        Capabilities(output_limit="max_tokens"),
        Capabilities(streaming=False),
        Capabilities(stream_usage=False),
    ):
        memory.record("m", found)
    known = memory.get("m")

    assert (known.output_mode, known.output_limit) == ("text", "max_tokens")
    assert (known.streaming, known.stream_usage) == (False, False)
    assert memory.get("other") == Capabilities()


def test_limits_are_cached_across_processes(tmp_path: Path) -> None:
    """The next worker starts with the cached limits, for this endpoint and model only."""
    path = tmp_path / "home" / "capabilities.json"
    CapabilityCache(HERE, path).record("m", Capabilities(output_mode="json_object"))

    assert CapabilityCache(HERE, path).get("m").output_mode == "json_object"
    assert CapabilityCache(HERE, path).get("n").output_mode == "json_schema"
    assert CapabilityCache("elsewhere:80/v1/", path).get("m").output_mode == "json_schema"


def test_entries_expire_after_a_week(tmp_path: Path) -> None:
    """After seven days all capabilities are assumed again, also in a process that runs all the time."""
    clock, path = Clock(), tmp_path / "capabilities.json"
    memory = CapabilityCache(HERE, path, clock)
    memory.record("m", Capabilities(output_mode="text"))
    clock.time += CACHE_TTL_SECONDS - 1
    memory.record("m", Capabilities(streaming=False))
    assert CapabilityCache(HERE, path, clock).get("m").output_mode == memory.get("m").output_mode == "text"

    clock.time += 2

    assert CapabilityCache(HERE, path, clock).get("m") == memory.get("m") == Capabilities()
    memory.record("n", Capabilities(streaming=False))
    assert list(json.loads(path.read_text())[HERE]) == ["n"]


def test_concurrent_workers_lose_no_entry(tmp_path: Path) -> None:
    """Several writers of one file all keep their own limits and those of the others."""
    path = tmp_path / "capabilities.json"

    def learn(number: int) -> None:
        CapabilityCache(f"host{number % 2}", path).record(f"m{number}", Capabilities(output_mode="text"))
        CapabilityCache(f"host{number % 2}", path).record("shared", Capabilities(output_mode=OUTPUT_MODES[number % 3]))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(learn, range(24)))

    for number in range(24):
        assert CapabilityCache(f"host{number % 2}", path).get(f"m{number}").output_mode == "text"
    assert CapabilityCache("host0", path).get("shared").output_mode == "text"


def test_limits_of_other_workers_are_merged(tmp_path: Path) -> None:
    """A worker that writes an entry reads the limits that others have found."""
    path = tmp_path / "capabilities.json"
    mine, theirs = CapabilityCache(HERE, path), CapabilityCache(HERE, path)
    theirs.record("m", Capabilities(output_mode="text"))
    mine.record("m", Capabilities(streaming=False))

    assert (mine.get("m").output_mode, mine.get("m").streaming) == ("text", False)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"x": 1}', '{"x": {"m": {"output_mode": "rope"}}}', "\x00"])
def test_an_invalid_file_is_replaced(tmp_path: Path, content: str) -> None:
    """An invalid file is logged, and the next rejection replaces it."""
    path = tmp_path / "capabilities.json"
    path.write_text(content)
    with capture_logs() as logs:
        memory = CapabilityCache(HERE, path)
    memory.record("m", Capabilities(output_mode="text"))

    assert [(entry["log_level"], entry["file"]) for entry in logs] == [("warning", str(path))]
    assert CapabilityCache(HERE, path).get("m").output_mode == "text"


def test_an_unwritable_home_disables_only_the_cache(tmp_path: Path) -> None:
    """The process continues with its own limits, and the log contains the reason."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    memory = CapabilityCache(HERE, blocked / "capabilities.json")
    with capture_logs() as logs:
        memory.record("m", Capabilities(output_mode="text"))

    assert memory.get("m").output_mode == "text"
    assert [entry["event"] for entry in logs] == ["capabilities are not cached"]
