"""Test that the tasks with recorded questions read their files."""

import json
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the dependency group evals is not installed")

from inspect_ai import Task

from evals.multihop import RECORDED
from evals.scifact import scifact
from evals.scorers import CHOICES, FACTS, INSUFFICIENT, SUPPORTING, UNKNOWN
from evals.small import build_tasks
from evals.solvers import DOCS


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Task]:
    """Return the tasks of the small evaluation by name."""
    monkeypatch.setenv("TENURE_HOME", str(tmp_path))
    return {task.name: task for task in build_tasks()}


def test_every_question_has_its_documents(tasks: dict[str, Task]) -> None:
    """The supporting documents, and those of the known facts, are among those that a question is asked over."""
    assert {name: len(task.dataset) for name, task in tasks.items()} == {"litqa": 12, "short_answers": 12, "reports": 6}
    for task in tasks.values():
        for sample in task.dataset:
            assert sample.metadata is not None
            (folder,) = sample.metadata[DOCS]
            assert {path.name for path in Path(folder).iterdir()} >= set(sample.metadata[SUPPORTING])
            assert {fact["source"] for fact in sample.metadata.get(FACTS, ())} <= set(sample.metadata[SUPPORTING])


def test_a_choice_is_offered_in_the_question(tasks: dict[str, Task]) -> None:
    """All choices and the lack of information are listed, in an order that does not change."""
    for sample in tasks["litqa"].dataset:
        assert sample.metadata is not None
        choices = sample.metadata[CHOICES]
        assert INSUFFICIENT in choices and sample.target in choices
        assert str(sample.input).endswith("\n".join(f"- {choice}" for choice in choices))


def test_a_claim_without_evidence_has_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The labels of SciFact are yes, no and unknown."""
    monkeypatch.setenv("TENURE_HOME", str(tmp_path))
    claims, corpus = tmp_path / "claims.jsonl", tmp_path / "corpus.jsonl"
    labels = ("SUPPORT", "NOT_ENOUGH_INFO", "CONTRADICT")
    asked = [
        {"claim_id": n, "claim": "Rye rises.", "label": label, "cited_doc_ids": [7]} for n, label in enumerate(labels)
    ]
    claims.write_text("\n".join(map(json.dumps, asked)))
    corpus.write_text(json.dumps({"_id": "7", "title": "Rye", "text": "Rye rises."}))
    samples = list(scifact(str(claims), str(corpus)).dataset)

    assert [sample.target for sample in samples] == ["yes", UNKNOWN, "no"]
    assert samples[0].metadata is not None
    (folder,) = samples[0].metadata[DOCS]
    assert [path.name for path in Path(folder).iterdir()] == samples[0].metadata[SUPPORTING]


def test_the_licences_of_all_files_are_stated() -> None:
    """The page of the folder names each file."""
    page = (RECORDED / "README.md").read_text(encoding="utf-8")

    assert [path.name for path in RECORDED.iterdir() if path.name != "README.md" and path.name not in page] == []
