"""Tests of folders that try to reach other files, to stop the worker, or contain secrets by mistake."""

import os
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.tables import QueryRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion.scanning import scan_files
from tenure.knowledge.store.errors import KnowledgeError, WorkCancelled
from tenure.knowledge.store.schema import SOURCES
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow

SECRET = "The password of the vault is swordfish."
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n" * 8 + "-----END PRIVATE KEY-----\n"


def _read_texts(uri: str) -> str:
    """Return everything that is stored of all sources."""
    return "\n".join(map(str, Store(uri).read_rows(SOURCES, ["uri", "title", "text"]).to_pylist()))


def _reasons(report: IngestReport) -> dict[str, str]:
    return {Path(skip.path).name: skip.reason for skip in report.skipped}


@pytest.fixture
def hostile(tmp_path: Path, docs: Path) -> Path:
    """Folder with documents, and links to files outside and to hidden ones."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "notes.md").write_text(SECRET, encoding="utf-8")
    (tmp_path / "outside" / "table.csv").write_text(f"who,what\nvault,{SECRET}\n", encoding="utf-8")
    (docs / ".git").mkdir()
    (docs / ".git" / "config").write_text(SECRET, encoding="utf-8")
    (docs / "notes.md").symlink_to(tmp_path / "outside" / "notes.md")
    (docs / "table.csv").symlink_to("../outside/table.csv")
    (docs / "folder").symlink_to(tmp_path / "outside")
    (docs / "config.txt").symlink_to(".git/config")
    (docs / "git").symlink_to(".git")
    (docs / "code" / "up").symlink_to("..")
    return docs


def test_links_reach_nothing_foreign(ingest: Ingest, hostile: Path, uri: str) -> None:
    """Files outside and hidden files are not read through links, and the links are reported."""
    report = ingest(hostile)

    assert report.added == 3
    assert set(_reasons(report)) == {"notes.md", "table.csv", "folder", "config.txt", "git"}
    assert all("symbolic link" in reason for reason in _reasons(report).values())
    assert "swordfish" not in _read_texts(uri)


@slow
def test_a_file_that_became_a_link_is_removed(ingest: Ingest, docs: Path, tmp_path: Path, uri: str) -> None:
    """A second reading removes the text of a file that was exchanged with a link, also one of equal size and time."""
    ingest(docs)
    target = tmp_path / "outside.md"
    target.write_bytes(b"x" * (docs / "bees.md").stat().st_size)
    times = (docs / "bees.md").stat()
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    (docs / "bees.md").unlink()
    (docs / "bees.md").symlink_to(target)
    report = ingest(docs)

    assert (report.removed, report.unchanged, set(_reasons(report))) == (1, 2, {"bees.md"})
    assert "Honeybees" not in _read_texts(uri)


@slow
def test_a_corpus_whose_folder_became_a_link_is_not_read(ingest: Ingest, docs: Path, tmp_path: Path, uri: str) -> None:
    """The path of a watched corpus that is exchanged with a link to another folder is refused permanently."""
    ingest(docs)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "notes.md").write_text(SECRET, encoding="utf-8")
    docs.rename(tmp_path / "aside")
    docs.symlink_to(tmp_path / "outside")

    with pytest.raises(KnowledgeError, match=str(docs)):
        ingest(docs)
    assert "swordfish" not in _read_texts(uri)
    assert "Honeybees" in _read_texts(uri)


@slow
def test_a_table_that_became_a_link_is_not_queried(knowledge: KnowledgeBase, ingest: Ingest, tmp_path: Path) -> None:
    """A query opens no file through a link, whatever the format of the table was at the ingestion."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "people.csv").write_text("name,age\nAda,36\n", encoding="utf-8")
    (folder / "lines.jsonl").write_text('{"name": "Ada"}\n', encoding="utf-8")
    for name in ("base.db", "secret.db"):
        with sqlite3.connect(tmp_path / name) as base:
            base.execute("CREATE TABLE t (name TEXT)")
            base.execute("INSERT INTO t VALUES (?)", ("swordfish" if name == "secret.db" else "Ada",))
        base.close()
    (tmp_path / "base.db").rename(folder / "base.db")
    (tmp_path / "people.csv").write_text("name,age\nswordfish,1\n", encoding="utf-8")
    (tmp_path / "lines.jsonl").write_text('{"name": "swordfish"}\n', encoding="utf-8")
    ingest(folder)
    statements = ("SELECT name FROM people", "SELECT name FROM lines", "SELECT name FROM base.t")
    before = [knowledge.tables.query(QueryRequest(sql=sql, corpora=("c",), return_rows=True)) for sql in statements]
    for name, target in {"people.csv": "people.csv", "lines.jsonl": "lines.jsonl", "base.db": "secret.db"}.items():
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / target)
    after = [knowledge.tables.query(QueryRequest(sql=sql, corpora=("c",), return_rows=True)) for sql in statements]

    assert [reply.rows for reply in before] == [(("Ada",),)] * 3
    assert [reply.rows for reply in after] == [()] * 3
    assert all("symbolic link" in reply.problem for reply in after)


@slow
def test_an_exchange_during_the_ingestion_reads_nothing_foreign(
    ingest: Ingest, docs: Path, tmp_path: Path, uri: str
) -> None:
    """While a program exchanges files with links, no ingestion stores foreign text."""
    (tmp_path / "outside.md").write_text(SECRET, encoding="utf-8")
    (tmp_path / "outside.csv").write_text(f"who,what\nvault,{SECRET}\n", encoding="utf-8")
    (docs / "table.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    ended = threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            for name, target in (("bees.md", "outside.md"), ("table.csv", "outside.csv")):
                own, link = tmp_path / f"own-{name}", tmp_path / f"link-{name}"
                link.symlink_to(tmp_path / target)
                (docs / name).rename(own)
                link.rename(docs / name)
                (docs / name).unlink()
                own.rename(docs / name)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for number in range(5):
            ingest(docs, corpus=f"c{number}")
    finally:
        ended.set()
        thread.join()

    assert "swordfish" not in _read_texts(uri)


def test_hostile_patterns_and_names_do_not_stop_a_worker(ingest: Ingest, docs: Path) -> None:
    """Patterns with many stars, a long name and deep folders cost no more than their own files."""
    (docs / ("a" * 200 + "b.md")).write_text("# Long\n\nA document with a long name.\n", encoding="utf-8")
    (docs / ".gitignore").write_text("*a" * 60 + "*c\n" + "**/a*a*a*a*a*" * 20 + "/c\n", encoding="utf-8")
    (docs / "rules").mkdir()
    (docs / "rules" / ".gitignore").write_bytes(b"*a" * 5_000)
    (docs / "deep" / "/".join("d" * 70)).mkdir(parents=True)
    report = ingest(docs)

    assert report.added == 4
    assert sum("folders deep" in reason for reason in _reasons(report).values()) == 1
    assert "line of more than 4,096 characters" in _reasons(report)["rules"]


@slow
def test_very_deep_folders_are_final(ingest: Ingest, docs: Path) -> None:
    """Thousands of folders in each other raise no RecursionError, now or at a repetition."""
    subprocess.run(["sh", "-c", "for i in $(seq 2000); do mkdir d && cd -P d || exit 1; done"], cwd=docs, check=True)
    try:
        assert ingest(docs).added == 3
        assert ingest(docs).unchanged == 3
    finally:
        subprocess.run(["rm", "-rf", str(docs / "d")], check=True)


def test_a_folder_that_cannot_be_listed_in_time_is_final(docs: Path) -> None:
    """A search for files that hangs is killed, and the error names the path and is no transient one."""
    with pytest.raises(KnowledgeError, match=str(docs)):
        scan_files([docs], lambda: None, timeout=0.0)


def test_a_search_for_files_can_be_cancelled(knowledge: KnowledgeBase, docs: Path) -> None:
    """The ingestion stops while files are listed."""
    request = IngestRequest(corpus="c", paths=(str(docs),))
    stages: list[IngestProgress] = []
    with pytest.raises(WorkCancelled):
        knowledge.corpora.ingest(request, stages.append, lambda: bool(stages))
    assert [progress.stage for progress in stages] == ["scanning"]


@slow
def test_files_with_secrets_are_skipped_unless_included(ingest: Ingest, knowledge: KnowledgeBase, docs: Path) -> None:
    """Names and contents count; included files are removed by a reading without them."""
    (docs / "id_rsa").write_text("private words", encoding="utf-8")
    (docs / "setup.md").write_text(f"# Setup\n\nUse this key:\n\n{KEY}", encoding="utf-8")
    report = ingest(docs)
    request = IngestRequest(corpus="c", paths=(str(docs),), include_secrets=True)
    included = knowledge.corpora.ingest(request, lambda progress: None)
    again = ingest(docs)

    assert set(_reasons(report)) == {"id_rsa", "setup.md"}
    assert all("--include-secrets" in reason for reason in _reasons(report).values())
    assert (included.added, included.skipped_total) == (2, 0)
    assert (again.removed, set(_reasons(again))) == (2, {"id_rsa", "setup.md"})
    found = knowledge.retrieval.search(SearchRequest(query="private key words", corpora=("c",), k=50)).passages
    assert not any("MIIE" in passage.text for passage in knowledge.corpora.load_passages(found))


def test_names_that_are_no_text_do_not_stop_an_ingestion(ingest: Ingest, docs: Path) -> None:
    """A name that is not UTF-8, or holds a line break, is reported with escapes; the report can be sent."""
    for name in (b"a\xff.md", b"two\nlines.md"):
        (docs / os.fsdecode(name)).write_text("x", encoding="utf-8")
    report = ingest(docs)

    assert (report.added, report.skipped_total, report.files) == (3, 2, 5)
    assert set(_reasons(report)) == {"a\\xff.md", "two\\u000alines.md"}
    assert IngestReport.model_validate_json(report.model_dump_json()) == report
