"""The benchmark of languages: the sections and questions it takes from a folder, and a whole measurement."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.languages.__main__ import main, read_language

BODY = "Die Sicherungen werden dreißig Tage lang aufbewahrt und danach gelöscht. " * 3
OTHER = "Der Server wird vor jedem Update angehalten und danach wieder gestartet. " * 3


def _write(folder: Path) -> Path:
    page = f"# Handbuch\n\n## Aufbewahrung der Sicherungen\n\n{BODY}\n\n## Start des Servers\n\n{OTHER}\n"
    (folder / "de").mkdir()
    (folder / "de" / "page.md").write_text(page + f"\n## Kurz\n\n{BODY}\n\n## Ein leerer Abschnitt\n\nNichts.\n")
    return folder


def test_headings_are_questions_and_sections_are_documents(tmp_path: Path) -> None:
    """A section is a document without its heading; short headings and short sections are left out."""
    read = read_language(_write(tmp_path) / "de")

    assert [question.text for question in read.questions] == ["Aufbewahrung der Sicherungen", "Start des Servers"]
    assert len(read.documents) == 3
    assert not any("Aufbewahrung" in document.text for document in read.documents.values())


@pytest.mark.slow
def test_a_folder_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The section of each heading is found by its words, in another form than they are asked for."""
    monkeypatch.setattr(sys, "argv", ["languages", str(_write(tmp_path)), "--json"])
    main()
    [row] = json.loads(capsys.readouterr().out)

    assert (row["language"], row["questions"], row["recall_10"]) == ("de", 2, 100.0)
