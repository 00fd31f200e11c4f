"""Test the ingestion of archives and mailboxes."""

import os
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion import ingest as ingestion
from tenure.knowledge.store.errors import WorkCancelled
from tenure.sources.document.recording import NO_MODEL
from tests.files.secret_samples import make_key
from tests.knowledge.conftest import Ingest
from tests.sources.packages import package
from tests.sources.parsers.test_mailbox import MAILBOX
from tests.support.tiers import slow

HONEY = "# Honey\n\nBees collect nectar and turn it into honey.\n"
OATS = "# Oats\n\nOats are sown in March and cut in August.\n"


def list_titles(knowledge: KnowledgeBase, root: Path) -> dict[str, str]:
    """Return the titles of the sources that searches find by their paths in a folder."""
    refs = knowledge.retrieval.search(SearchRequest(query="honey oats Friday day", corpora=("c",), k=50)).passages
    sources = knowledge.corpora.load_sources([ref.source for ref in refs])
    return {str(Path(source.uri).relative_to(root)): source.title for source in sources.values()}


def list_skipped(report: IngestReport, root: Path) -> dict[str, str]:
    """Return the reasons of the files that are not read."""
    return {str(Path(skipped.path).relative_to(root)): skipped.reason for skipped in report.skipped}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder."""
    made = tmp_path / "exports"
    made.mkdir()
    return made


def test_files_in_archives_are_sources(knowledge: KnowledgeBase, ingest: Ingest, folder: Path) -> None:
    """Each file is a source below its archive; hidden ones are left out, and others are named with the reason."""
    more: dict[str, bytes | str] = {
        "b.mp3": "x",
        ".hidden.md": OATS,
        "key.txt": make_key(),
        "id_rsa": "x",
        "inner.zip": package(**{"o.md": OATS}),
    }
    (folder / "all.zip").write_bytes(package(**{"notes__honey.md": HONEY}, **more))
    report = ingest(folder)

    assert list_titles(knowledge, folder) == {"all.zip/notes/honey.md": "Honey", "all.zip/inner.zip/o.md": "Oats"}
    assert (report.files, report.added, report.skipped_total) == (6, 2, 3)
    skipped = list_skipped(report, folder)
    assert skipped["all.zip/b.mp3"] == NO_MODEL
    assert "--include-secrets" in skipped["all.zip/key.txt"] and "--include-secrets" in skipped["all.zip/id_rsa"]


def test_messages_of_a_mailbox_are_sources(knowledge: KnowledgeBase, ingest: Ingest, folder: Path) -> None:
    """Each message has its own title, and a new one is added without reading the others again."""
    (folder / "in.mbox").write_text(MAILBOX, encoding="utf-8")
    ingest(folder)
    titles = list_titles(knowledge, folder)
    (folder / "in.mbox").write_text(f"{MAILBOX}From: x\nSubject: Oats\nMessage-ID: <3@x>\n\n{OATS}", encoding="utf-8")
    report = ingest(folder)

    assert sorted(titles.values()) == ["Plan/costs", "Re: Plan/costs"]
    assert (report.added, report.changed, report.unchanged, report.removed) == (1, 0, 2, 0)
    assert len(list_titles(knowledge, folder)) == 3


@slow
def test_an_unchanged_archive_is_not_unpacked_again(ingest: Ingest, folder: Path) -> None:
    """Its sources stay, also if the file was only touched; those of a changed or deleted archive do not."""
    archive = folder / "all.zip"
    archive.write_bytes(package(**{"honey.md": HONEY, "oats.md": OATS}))
    ingest(folder)
    again = ingest(folder)
    os.utime(archive, (1, 1))
    touched = ingest(folder)
    archive.write_bytes(package(**{"honey.md": HONEY, "oats2.md": OATS}))
    changed = ingest(folder)
    archive.unlink()
    deleted = ingest(folder)

    assert [(r.added, r.unchanged, r.removed) for r in (again, touched, changed, deleted)] == [
        *((0, 1, 0), (0, 1, 0), (1, 1, 1)),
        (0, 0, 3),  # the two files, and the archive
    ]


@slow
def test_what_is_not_read_is_reported_again(ingest: Ingest, folder: Path) -> None:
    """An archive with an unreadable file is unpacked again, so that every report names the file."""
    (folder / "all.zip").write_bytes(package(**{"honey.md": HONEY, "a.pdf": "x"}))

    assert list_skipped(ingest(folder), folder) == {"all.zip/a.pdf": "is not a valid PDF"}
    assert list_skipped(ingest(folder), folder) == {"all.zip/a.pdf": "is not a valid PDF"}


@slow
def test_an_unreadable_archive_loses_its_sources(knowledge: KnowledgeBase, ingest: Ingest, folder: Path) -> None:
    """An archive that was damaged is one line, and its earlier texts are no evidence any more."""
    (folder / "all.zip").write_bytes(package(**{"honey.md": HONEY}))
    (folder / "oats.md").write_text(OATS, encoding="utf-8")
    ingest(folder)
    (folder / "all.zip").write_bytes(b"words")
    report = ingest(folder)

    assert list_skipped(report, folder) == {"all.zip": "is not a valid archive"}
    assert list_titles(knowledge, folder) == {"oats.md": "Oats"}


@slow
def test_an_interrupted_archive_is_finished(
    knowledge: KnowledgeBase, ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An archive whose files were stored in part is unpacked again, and only the missing files are stored."""
    monkeypatch.setattr(ingestion, "_REPORT_SECONDS", 0.0)  # each batch is reported, however fast the machine is
    archive = package(**{f"{n:03}.md": f"# Note {n}\n\nOats number {n}.\n" for n in range(300)})
    (folder / "all.zip").write_bytes(archive)

    def stop(progress: IngestProgress) -> None:
        if progress.chunks:
            raise WorkCancelled

    with pytest.raises(WorkCancelled):
        knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(folder),)), stop)
    report = ingest(folder)

    assert report.added + report.unchanged == 300
    assert report.unchanged >= 256
    assert ingest(folder).unchanged == 1
