"""Run a small measurement of ingestion."""

from pathlib import Path

from benchmarks.ingest import measure, shared
from tenure.settings import Settings
from tests.support.tiers import exhaustive


@exhaustive
def test_documents_are_measured_with_and_without_embeddings(tmp_path: Path) -> None:
    """One process and two processes write chunks in both ways; unchanged documents are written once."""
    documents, settings = tmp_path / "documents", Settings(home=tmp_path / "home")
    documents.mkdir()
    for number in range(4):
        (documents / f"{number}.md").write_text(f"# Loaf {number}\n\nLoaf {number} is made from flour.\n")

    figures = measure([str(documents)], tmp_path / "store", settings)

    assert (figures["files"], figures["chunks"]) == (4, 4)
    assert figures["chunks_per_second"] > 0 and figures["read_chunks_per_second"] > 0
    assert all(shared([str(documents)], 2, settings, embeds=embeds) > 0 for embeds in (True, False))
