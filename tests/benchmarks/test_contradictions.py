"""Test the pairs of statements on which the detection of contradictions is measured."""

from collections import Counter
from pathlib import Path

from benchmarks.contradictions.__main__ import (
    HALVES,
    measure_documents,
    measure_pairs,
    read_claims,
    read_pairs,
)
from tenure.models.minilm.model import MiniLM
from tests.support.tiers import slow

MIN_PAIRS = 150
MIN_RECALL = 0.7


@slow
def test_no_pair_is_falsely_contradictory(tmp_path: Path) -> None:
    """Both halves have pairs of both labels; no pair is falsely contradictory, and most contradictions are found."""
    pairs = read_pairs()
    figures = measure_pairs(pairs, MiniLM(tmp_path).embed, show=False)

    assert len(pairs) == len(set(pairs)) >= MIN_PAIRS
    assert all(count >= MIN_PAIRS / 5 for count in Counter((pair.half, pair.contradictory) for pair in pairs).values())
    assert [figures[half]["false"] for half in HALVES] == [0, 0]
    assert all(figures[half]["recall"] >= MIN_RECALL for half in HALVES)


LOG = "# Log of the Sandbach reservoir\n\n" + "\n\n".join(
    f"## {year}\n\nThe highest level of the Sandbach reservoir was {year % 7 + 11} metres."
    for year in range(2010, 2022)
)
GUIDE = "# Guide\n\nThe mill was built in 1936. Swimming in the Sandbach reservoir is not allowed."
LEAFLET = "# Leaflet\n\nThe dam has a height of 52 m. Swimming in the Sandbach reservoir is allowed."


def test_a_yearly_log_does_not_contradict_itself(tmp_path: Path) -> None:
    """The years of a log are conditions; a guide and a leaflet that disagree are found next to it."""
    files = [tmp_path / f"{name}.md" for name in ("log", "guide", "leaflet")]
    for file, text in zip(files, (LOG, GUIDE, LEAFLET), strict=True):
        file.write_text(text, encoding="utf-8")
    encode = MiniLM(tmp_path / "model").embed

    assert [measure_documents(paths, encode, show=False)["found"] for paths in (files[:1], files)] == [0, 1]


def test_claims_have_labelled_evidence(tmp_path: Path) -> None:
    """Claims of both formats are read with the sentences of their evidence."""
    file = tmp_path / "claims.jsonl"
    file.write_text(
        '{"claim": "A.", "evidence": [{"text": ["B.", "C."], "label": "CONTRADICT"}]}\n'
        '{"claim": "D.", "gold_evidence": [{"text": "E."}], "label": "SUPPORTS"}\n'
    )

    assert list(read_claims(file)) == [("A.", ["B.", "C."], True), ("D.", ["E."], False)]
