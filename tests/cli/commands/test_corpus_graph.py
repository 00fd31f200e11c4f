"""Test the output of `corpus graph` and the options of each action of `corpus`."""

import pytest

from tenure.cli.commands.corpora import _check_arguments
from tenure.cli.commands.corpus_graph import _line, _print
from tenure.cli.parser import build_parser
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.knowledge.graph import CO_OCCURRENCE, EntityRelation, RelatedReply, RelateReport, RelationEvidence
from tenure.contracts.run.run import Usage
from tenure.runs.errors import InvalidRequest

PROOF = RelationEvidence(
    chunk=ChunkId("c"),
    source=SourceId("s"),
    title="Presses",
    uri="presses.md",
    start=0,
    end=9,
    sentence="[b]Ghent[/b] had\nan iron press.",
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["graph", "drafts"],
        ["list", "drafts", "Ghent"],
        ["relate", "drafts", "--most", "3"],
        ["graph", "drafts", "Ghent", "--max-calls", "3"],
        ["stats", "--max-cost", "0.5"],
    ],
)
def test_options_of_another_action_are_refused(arguments: list[str]) -> None:
    """An option that the action does not use is named in the error."""
    with pytest.raises(InvalidRequest, match=r"corpus (graph|relate)"):
        _check_arguments(build_parser().parse_args(["corpus", *arguments]))


@pytest.mark.parametrize(
    "arguments", [["list"], ["graph", "drafts", "Ghent", "--most", "3"], ["relate", "drafts", "--max-tokens", "9000"]]
)
def test_options_of_the_action_are_accepted(arguments: list[str]) -> None:
    """Each action takes its own."""
    _check_arguments(build_parser().parse_args(["corpus", *arguments]))


def test_relations_are_printed_with_their_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    """An extracted relation is printed as a sentence, a co-occurrence with its neighbour, both escaped."""
    relations = (
        EntityRelation(
            subject="Ghent", predicate="had", object="iron press", count=2, passages=1, evidence=(PROOF, PROOF)
        ),
        EntityRelation(subject="Ghent", predicate=CO_OCCURRENCE, object="Bruges", count=1, passages=1),
    )
    _print(
        RelatedReply(entity="Ghent", kind="place", passages=1, relations=relations, read_passages=1, total_passages=2)
    )
    printed = capsys.readouterr()

    assert printed.out.splitlines() == [
        "Ghent (place): in 1 passage",
        "",
        "Ghent had iron press  [2 sentences, 1 passage]",
        "    “[b]Ghent[/b] had an iron press.” Presses",
        "",
        "beside Bruges  [1 sentence, 1 passage]",
    ]
    assert "a model has read 1 of 2 passages" in printed.err


def test_an_extraction_is_reported_in_one_line() -> None:
    """Passages, relations, model calls and tokens are reported, and the cost if prices are known."""
    report = RelateReport(corpus="drafts", total=10, unread=4, passages=6, relations=7, refused=1)

    assert "6 of 10 passages read" in _line(report) and "USD" not in _line(report)
    assert _line(report.model_copy(update={"usage": Usage(cost_usd=0.5)})).endswith("0.5000 USD")
