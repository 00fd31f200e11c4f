"""Test the scenarios of the comparison with small real processes."""

import importlib.util
from pathlib import Path

import pytest

from benchmarks.peers.documents import QUESTIONS, Corpus, copy_documents
from benchmarks.peers.environments import PeerEnvironments
from benchmarks.peers.model import PeerModel
from benchmarks.peers.scenarios import SCENARIOS, Comparison, Stage, measure_crash
from benchmarks.peers.systems import System, find_system
from tests.support.tiers import exhaustive, slow

PLAIN = System("plain", "tests.benchmarks.peers.plain_starter", can_resume=True)
FORGETFUL = System("forgetful", "tests.benchmarks.peers.plain_starter")


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """A comparison without latency, in which nothing is installed."""
    return Comparison(tmp_path / "work", PeerEnvironments(tmp_path / "environments", "python"), latency=0.0)


@exhaustive
def test_a_system_with_a_memory_repeats_nothing(comparison: Comparison) -> None:
    """A resumed process continues after the answered call; one without resume asks it again."""
    resumed = comparison.measure(PLAIN, ("cost", "crash"), questions=1)["crash"]
    restarted = comparison.measure(FORGETFUL, ("cost", "crash"), questions=1)["crash"]

    assert (resumed["calls_before"], resumed["calls_after"], resumed["repeated_calls"]) == (1, 1, 0)
    assert (restarted["calls_before"], restarted["calls_after"], restarted["repeated_calls"]) == (1, 2, 1)
    assert restarted["repeated_tokens"] > 0 and resumed["outcome"] == restarted["outcome"] == "report"


@slow
def test_every_scenario_has_figures(comparison: Comparison) -> None:
    """A naive system reports from the documents, fails on errors, invents, and admits nothing."""
    figures = comparison.measure(PLAIN, SCENARIOS, questions=2)

    assert [row["calls"] for row in figures["cost"]] == [2, 2]
    assert all(row["sentences"] and row["tokens_in"] and row["embedded_tokens"] for row in figures["cost"])
    assert [run["outcome"] for run in figures["broken"]["500"]] == ["error", "error", "report"]
    assert figures["absent"]["outcome"] == "report" and not figures["absent"]["admits"]
    assert {figures["invented"][kind] for kind in ("fact", "quote", "source")} == {"stated"}


@slow
def test_the_graph_continues_from_its_checkpoints(comparison: Comparison) -> None:
    """A killed LangGraph process repeats no call."""
    if importlib.util.find_spec("langgraph") is None:
        pytest.skip("langgraph is not installed")
    graph = System("graph", "benchmarks.peers.starters.run_langgraph", can_resume=True)

    crash = comparison.measure(graph, ("cost", "crash"), questions=1)["crash"]

    assert crash["repeated_calls"] == 0 and crash["outcome"] == "report"


@exhaustive
def test_tenure_continues_and_repeats_nothing(tmp_path: Path) -> None:
    """All processes of Tenure are killed in the middle of a run, and no answered call is asked again."""
    environments = PeerEnvironments(tmp_path / "environments", "python")
    corpus = Corpus(copy_documents(tmp_path / "corpus"))
    with PeerModel(0.0, corpus) as model:
        stage = Stage(find_system("Tenure"), tmp_path / "stage", model, environments)
        try:
            crash = measure_crash(stage, QUESTIONS[0], calls=10)
        finally:
            stage.close()

    assert (crash["calls_before"], crash["repeated_calls"], crash["outcome"]) == (5, 0, "report")
