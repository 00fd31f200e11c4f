"""Test the output of `corpus graph`."""

import pytest

from tenure.cli.commands.corpora import _print_relations
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.knowledge.graph import CO_OCCURRENCE, EntityRelation, RelatedReply, RelationEvidence

PROOF = RelationEvidence(
    chunk=ChunkId("c"),
    source=SourceId("s"),
    title="Presses",
    uri="presses.md",
    start=0,
    end=9,
    sentence="[b]Ghent[/b] had\nan iron press.",
)


def test_relations_are_printed_with_their_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    """A fact is printed as a sentence, a co-occurrence with its neighbour, both escaped."""
    relations = (
        EntityRelation(
            subject="Ghent", predicate="had", object="iron press", count=2, passages=1, evidence=(PROOF, PROOF)
        ),
        EntityRelation(subject="Ghent", predicate=CO_OCCURRENCE, object="Bruges", count=1, passages=1),
    )
    _print_relations(RelatedReply(entity="Ghent", kind="name", passages=1, relations=relations))
    printed = capsys.readouterr()

    assert printed.out.splitlines() == [
        "Ghent (name): in 1 passage",
        "",
        "Ghent had iron press  [2 sentences, 1 passage]",
        "    “[b]Ghent[/b] had an iron press.” Presses",
        "",
        "beside Bruges  [1 sentence, 1 passage]",
    ]
