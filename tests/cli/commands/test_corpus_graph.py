"""Test the output of `corpus graph` and the options of each action of `corpus`."""

import pytest

from tenure.cli.commands.corpora import _check_arguments
from tenure.cli.commands.corpus_graph import _print
from tenure.cli.parser import build_parser
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.knowledge.graph import CO_OCCURRENCE, EntityRelation, RelatedReply, RelationEvidence
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
        ["drop", "drafts", "--most", "3"],
    ],
)
def test_options_of_another_action_are_refused(arguments: list[str]) -> None:
    """An option that the action does not use is named in the error."""
    with pytest.raises(InvalidRequest, match="corpus graph"):
        _check_arguments(build_parser().parse_args(["corpus", *arguments]))


@pytest.mark.parametrize("arguments", [["list"], ["graph", "drafts", "Ghent", "--most", "3"]])
def test_options_of_the_action_are_accepted(arguments: list[str]) -> None:
    """Each action takes its own."""
    _check_arguments(build_parser().parse_args(["corpus", *arguments]))


def test_relations_are_printed_with_their_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    """A fact is printed as a sentence, a co-occurrence with its neighbour, both escaped."""
    relations = (
        EntityRelation(
            subject="Ghent", predicate="had", object="iron press", count=2, passages=1, evidence=(PROOF, PROOF)
        ),
        EntityRelation(subject="Ghent", predicate=CO_OCCURRENCE, object="Bruges", count=1, passages=1),
    )
    _print(RelatedReply(entity="Ghent", kind="name", passages=1, relations=relations))
    printed = capsys.readouterr()

    assert printed.out.splitlines() == [
        "Ghent (name): in 1 passage",
        "",
        "Ghent had iron press  [2 sentences, 1 passage]",
        "    “[b]Ghent[/b] had an iron press.” Presses",
        "",
        "beside Bruges  [1 sentence, 1 passage]",
    ]
