"""Test the measurement of single mechanisms over small corpora, with the built-in model."""

import json
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the dependency group evals is not installed")

from benchmarks.retrieval import Bench
from evals import mechanisms
from evals.figures import render_mechanisms
from tenure.settings import Settings

SUBJECTS = (
    "rye bread,blue cheese,green tea,red wine,black salt,white rice,wild honey,old cider,hot soup,raw milk".split(",")
)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Return questions on pages with hypothetical answers, next to the folder of the pages."""
    (tmp_path / "pages").mkdir()
    rows = []
    for name in SUBJECTS:
        (tmp_path / "pages" / f"{name}.md").write_text(f"# {name}\n\nThe {name} of the valley ripens slowly.\n")
        rows.append({"question": f"How does {name} ripen?", "hypothetical": f"{name} ripens.", "pages": [f"{name}.md"]})
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_each_mechanism_is_compared_on_the_same_questions(questions: Path, tmp_path: Path) -> None:
    """Every mechanism of a search and of an excerpt has effects on both halves; here each finds the page."""
    task = mechanisms.load_task(questions, tmp_path / "pages", None)
    bench = Bench(tmp_path / "home", Settings(_env_file=None))
    bench.ingest(task.collection.name, [task.collection])
    searches, excerpts = mechanisms.measure_searches(task, bench), mechanisms.measure_excerpts(task, bench)

    assert searches.keys() == mechanisms.SEARCHES.keys()
    assert excerpts.keys() == mechanisms.EXCERPTS.keys()
    assert {effect["questions"] for effect in (*searches.values(), *excerpts.values())} == {len(SUBJECTS)}
    assert searches["HyDE"]["Recall@5"]["all"] == (0, 0, 0)
    assert excerpts["chains of documents"]["Recall"].keys() == {"even", "odd", "all"}


def test_the_tables_name_mechanism_and_task() -> None:
    """Effects are in points, bold if both halves agree and the interval excludes 0."""
    clear = {"even": (0.1, 0.0, 0.2), "odd": (0.2, 0.1, 0.3), "all": (0.15, 0.08, 0.22)}
    unclear = {"even": (-0.1, -0.2, 0.0), "odd": (0.2, 0.1, 0.3), "all": (0.05, -0.02, 0.12)}
    effects = {"graph": {"hops": {"Recall": clear, "ms": 12.345, "questions": 60, "date": "", "commit": ""}}}
    effects["words"] = {"hops": {"Recall": unclear, "ms": 1.0, "questions": 60}}

    heading, table = render_mechanisms({"mechanisms": {"search": effects}})

    assert heading == "## What mechanisms of one search bring"
    assert table.splitlines()[2:] == [
        "| graph | hops, 60 | **+15.0 (+8.0 … +22.0)** | +12.3 |",
        "| words | hops, 60 | +5.0 (-2.0 … +12.0) | +1 |",
    ]
