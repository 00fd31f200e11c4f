"""Reader processes: what a file becomes, and what happens when its parser crashes, hangs or loses its parent."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.knowledge.errors import ReaderFailed
from tenure.knowledge.readers import Reader, Readers, readers_for
from tenure.knowledge.reading import BadFile, ReadFile, ReadTask, Recipe, SameFile, read
from tests.knowledge.word_vectors import WordVectors


def kill_reader(text: str) -> int:
    """Stand for a parser that crashes over some texts."""
    if "crash" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())


@pytest.fixture
def recipe() -> Recipe:
    """A recipe with the test's model."""
    return Recipe(60, 254, WordVectors().count_tokens)


@pytest.fixture
def reader() -> Iterator[Reader]:
    """A reader that crashes when told."""
    made = Reader(Recipe(60, 254, kill_reader))
    yield made
    made.close()


def test_chunks_are_embedded_in_context(docs: Path, recipe: Recipe) -> None:
    """What stands for a chunk names title and headings before its text; what is stored is verbatim."""
    outcome = read(ReadTask(str(docs / "bread.md")), recipe)

    assert isinstance(outcome, ReadFile)
    for chunk in outcome.chunks:
        assert chunk.text == outcome.document.text[chunk.start : chunk.end]
        assert chunk.embedded.startswith("Sourdough")
        assert chunk.embedded.endswith(chunk.text)
        assert chunk.search_text.endswith(chunk.text)


def test_context_never_pushes_the_text_out_of_the_models_window(tmp_path: Path) -> None:
    """Headings that do not fit beside the text are left out."""
    (tmp_path / "long.md").write_text("# " + "title " * 30 + "\n\n" + "word " * 50, encoding="utf-8")
    outcome = read(ReadTask(str(tmp_path / "long.md")), Recipe(100, 100, WordVectors().count_tokens))

    assert isinstance(outcome, ReadFile)
    assert all(len(chunk.embedded.split()) <= 100 for chunk in outcome.chunks)


def test_known_bytes_are_not_parsed(docs: Path, recipe: Recipe) -> None:
    """A file whose hash is known is only hashed."""
    path = str(docs / "bread.md")
    first = read(ReadTask(path), recipe)

    assert isinstance(first, ReadFile)
    assert SameFile(path) == read(ReadTask(path, first.content_hash), recipe)


def test_a_vanished_file_is_a_bad_file(tmp_path: Path, recipe: Recipe) -> None:
    """A file that went between scan and reading is reported, not raised."""
    outcome = read(ReadTask(str(tmp_path / "gone.md")), recipe)

    assert isinstance(outcome, BadFile)
    assert "No such file" in outcome.reason


def test_a_crash_costs_one_file(tmp_path: Path, reader: Reader) -> None:
    """When the process dies over a file, that file is bad, and the next is read by a new process."""
    for name in ("crash", "calm"):
        (tmp_path / f"{name}.md").write_text(f"# Title\n\nThis text is about a {name}.\n", encoding="utf-8")

    assert BadFile(str(tmp_path / "crash.md"), "crashed its parser") == reader.read(
        ReadTask(str(tmp_path / "crash.md"))
    )
    assert isinstance(reader.read(ReadTask(str(tmp_path / "calm.md"))), ReadFile)


class Unpicklable:
    """Stands for a model that another process cannot build."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Fail in the reader, not here."""
        return int, ("no number",)

    def __call__(self, text: str) -> int:
        """Count nothing."""
        return 0


def test_a_reader_that_cannot_start_blames_no_file(docs: Path) -> None:
    """When the process cannot even take its recipe, the ingestion fails with the process's last words."""
    reader = Reader(Recipe(60, 254, Unpicklable()))

    with pytest.raises(ReaderFailed, match="no number"):
        reader.read(ReadTask(str(docs / "bread.md")))


def test_a_reader_is_told_no_secret(docs: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that parses foreign files sees neither keys nor addresses of any server."""
    for name in ("OPENAI_API_KEY", "TEMPORAL_API_KEY", "TENURE_LANCEDB_URI", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "sk-very-secret")
    reader.read(ReadTask(str(docs / "bread.md")))

    (process,) = [child for child in psutil.Process().children() if "tenure.knowledge.reading" in str(child.cmdline())]
    seen = process.environ()
    assert "sk-very-secret" not in seen.values()
    assert seen["PATH"] == os.environ["PATH"]


def test_a_hanging_parser_is_given_up(docs: Path, recipe: Recipe) -> None:
    """A file that takes too long is bad, and its process is ended."""
    reader = Reader(recipe, timeout=0.0)
    outcome = reader.read(ReadTask(str(docs / "bread.md")))

    assert BadFile(str(docs / "bread.md"), "took longer than 0 s to parse") == outcome


def test_outcomes_keep_the_order_of_the_tasks(docs: Path, recipe: Recipe) -> None:
    """However many readers there are, outcomes come in the order asked for, and no process is left."""
    paths = [str(docs / name) for name in ("bread.md", "bees.md", "code/queue.py")] * 20
    with Readers(recipe, count=2) as readers:
        outcomes = list(readers.outcomes(map(ReadTask, paths), lambda: None))

    assert paths == [outcome.path for outcome in outcomes]
    children = psutil.Process().children()
    assert not [child for child in children if "tenure.knowledge.reading" in " ".join(child.cmdline())]


def test_few_files_get_one_reader() -> None:
    """A reader takes a second to start, so that there are more of them only where each has files to read."""
    assert readers_for(0) == readers_for(20) == 1
    assert readers_for(100_000) == min(8, os.cpu_count() or 1)
