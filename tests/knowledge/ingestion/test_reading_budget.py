"""Tests of the time that files and ingestions may take."""

import time
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion.readers import ReaderPool, ReaderProcess
from tenure.knowledge.ingestion.reading_budget import ReadingBudget, limit_file
from tenure.settings.knowledge import KnowledgeSettings
from tenure.sources.parsers.reader_process import FileTask, ParsedFile, ReadingOptions, UnreadableFile
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow


def test_the_limit_of_a_file_grows_with_its_size() -> None:
    """A small file gets little time, a large one more, and none more than the maximum."""
    small, large, largest = (limit_file(size, 180.0) for size in (1_000, 10_000_000, 2_000_000_000))

    assert tuple(map(round, small)) == (20, 60)
    assert large == (70.0, 180.0)
    assert largest == (360.0, 180.0)


def test_ordinary_files_never_exhaust_a_budget() -> None:
    """Each file brings the time that one of its size may need."""
    budget = ReadingBudget(1.0)

    for _ in range(10_000):
        assert budget.start_file(100_000)
        budget.subtract(0.5)


def test_slow_files_exhaust_a_budget() -> None:
    """After the time for slow files no further file is started, and the reason names the setting."""
    budget = ReadingBudget(60.0)
    started = 0
    while budget.start_file(1_000):
        started += 1
        budget.subtract(20.0)

    assert started == 4
    assert "TENURE_INGEST_SECONDS" in budget.reason


def count_slowly(text: str) -> int:
    """Simulate a parser that computes for a while on some texts, and for ever on others."""
    end = time.process_time() + (1.5 if "slow" in text else 1e9 if "endless" in text else 0.0)
    while time.process_time() < end:
        pass
    return len(text.split())


def _write(folder: Path, *names: str) -> list[FileTask]:
    for name in names:
        (folder / f"{name}.md").write_text(f"# Title\n\nThis text is {name.rstrip('0123456789')}.\n", encoding="utf-8")
    return [FileTask(str(folder / f"{name}.md"), size=40) for name in names]


@slow
def test_the_rest_is_skipped_with_a_note(tmp_path: Path) -> None:
    """Files after the exhaustion of the budget are neither read nor lost: each has a reason."""
    tasks = _write(tmp_path, "calm", "slow1", "slow2", "slow3", "quiet")
    budget = ReadingBudget(1.0)
    with ReaderPool(ReadingOptions(60, 254, count_slowly), budget=budget) as readers:
        outcomes = list(readers.read_all(tasks, lambda: None))

    assert isinstance(outcomes[0], ParsedFile)
    assert outcomes[-1] == UnreadableFile(tasks[-1].path, budget.reason)
    assert len(outcomes) == len(tasks)


@slow
def test_computing_time_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that computes for ever is killed by its computing time, and the time it took is recorded."""
    monkeypatch.setattr("tenure.knowledge.ingestion.reading_budget._FILE_CPU_SECONDS", 1.0)
    monkeypatch.setattr("tenure.knowledge.ingestion.reading_budget.WALL_FACTOR", 100.0)
    reader = ReaderProcess(ReadingOptions(60, 254, count_slowly))
    outcome = reader.read(_write(tmp_path, "endless")[0])
    reader.close()

    assert outcome == UnreadableFile(str(tmp_path / "endless.md"), "needed more than 1 s of computing time to parse")
    assert reader.last_seconds >= 1.0


class SlowVectors(WordVectors):
    """Embedding model whose tokens are slow to count in some texts."""

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return count_slowly(text)


@slow
def test_an_ingestion_has_a_budget(tmp_path: Path) -> None:
    """One ingestion skips what comes after its slow files, and the next one reads it without them."""
    folder = tmp_path / "docs"
    folder.mkdir()
    _write(folder, "a", "slow1", "slow2", "slow3", "z")
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), SlowVectors(), KnowledgeSettings(ingest_seconds=1.0))
    request = IngestRequest(corpus="c", paths=(str(folder),))
    first = knowledge.corpora.ingest(request, lambda progress: None)
    for number in (1, 2, 3):
        (folder / f"slow{number}.md").unlink()
    second = knowledge.corpora.ingest(request, lambda progress: None)

    assert "TENURE_INGEST_SECONDS" in {Path(skip.path).name: skip.reason for skip in first.skipped}["z.md"]
    assert first.files == 5
    assert (second.added, second.skipped_total) == (1, 0)
