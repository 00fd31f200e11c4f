"""Related questions for the benchmark of learning, and the ways to choose a strategy."""

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.learning import Outcome, Pair, Ran, figures, pairs
from benchmarks.research.strategies import STRATEGIES, Tried, choosing, misleading
from benchmarks.support.datasets import Collection, Document, Question
from tenure.contracts.base import RunId
from tests.support.tiers import slow

MUSIQUE = {
    "question": "Where does the composer of Nabucco rest?",
    "decomposition": [
        {"question": "Nabucco >> composer", "answer": "Verdi", "paragraph_support_idx": 0},
        {"question": "#1 >> resting place", "answer": "Milan", "paragraph_support_idx": 1},
    ],
    "paragraphs": [
        {"title": "Nabucco", "text": "By Verdi.", "is_supporting": True},
        {"title": "Verdi", "text": "Rests in Milan.", "is_supporting": True},
        {"title": "Milan", "text": "A city.", "is_supporting": False},
    ],
}
HOTPOT = {
    "question": "Are Nabucco and Aida operas?",
    "supporting_facts": [["Nabucco", 0], ["Aida", 0], ["Aida", 1]],
    "paragraphs": [
        {"title": "Nabucco", "sentences": ["An opera."]},
        {"title": "Aida", "sentences": ["Another one.", " Of 1871."]},
        {"title": "Milan", "sentences": ["A city."]},
    ],
}


def written(folder: Path, row: Mapping[str, object]) -> Path:
    """Write the same row four times."""
    file = folder / "rows.jsonl"
    file.write_text("\n".join([json.dumps(row)] * 4), encoding="utf-8")
    return file


def test_a_question_is_related_to_its_last_step(tmp_path: Path) -> None:
    """The subject that was to be found out is filled in; two pairs go from the whole to the step, two back."""
    whole, step = MUSIQUE["question"], "What is the resting place of Verdi?"
    both = frozenset({"Nabucco\nBy Verdi.", "Verdi\nRests in Milan."})

    there, again, *back = pairs(written(tmp_path, MUSIQUE))

    assert there == again == Pair(str(whole), step, frozenset({"Verdi\nRests in Milan."}))
    assert back == [Pair(step, str(whole), both)] * 2


def test_a_question_is_related_to_one_about_its_pages(tmp_path: Path) -> None:
    """Both need the same evidence."""
    there, _, back, _ = pairs(written(tmp_path, HOTPOT))

    assert there.second == back.first == "What is known about Nabucco and Aida?"
    assert there.evidence == back.evidence == {"Nabucco\nAn opera.", "Aida\nAnother one. Of 1871."}


def test_figures_are_means_over_pairs() -> None:
    """Calls and recall are reported for each way of asking the second question."""
    ran = [Ran(RunId("r"), calls, recall, calls < 5) for calls, recall in ((8, 0.5), (4, 1.0), (9, 0.0))]

    assert figures([Outcome(*ran)]) == {
        "pairs": 1,
        "without_calls": 8,
        "without_recall": 50.0,
        "with_memory_calls": 4,
        "with_memory_recall": 100.0,
        "misled_calls": 9,
        "misled_recall": 0.0,
        "remembered": 1,
    }


@slow
def test_misleading_records_cost_every_second_question() -> None:
    """The suggested strategy is the better one: without other records it stays."""
    questions = tuple(Question(f"Who was the father of the composer of opera {n}?", {"a": 1.0}) for n in range(100))
    collection = Collection("operas", {"a": Document("a", "a")}, questions)
    much = ("b", "c", "d", "e", "a")
    found = {name: [Tried(name, much if name == "multi_hop" else ("b",), 1)] * 100 for name in STRATEGIES}

    recall = {row.strategy: row.halves["all"].recall for row in choosing(collection, found)}

    assert recall["suggested"] == 100
    assert recall["learned"] == 100
    assert 50 <= recall["misled"] < 60
    assert {record.score for record in misleading()} == {0.0, 40.0}
