"""Tests of the relation extractor's fallback."""

from tenure.algorithms.retrieval.relations import StatedRelation, filter_grounded_relations
from tenure.contracts.knowledge.graph import CO_OCCURRENCE
from tenure.roles.base import Evidence
from tenure.roles.retrieval.relation_extractor import MAX_PASSAGES, RelationExtractorInput, fallback
from tests.support.passages import passage

TEXT = "In Ghent, an iron press was built. The iron press of Ghent stands in a damp cellar."


def test_entities_of_one_sentence_are_related() -> None:
    """Each passage gets its entities and a limited number of relations, with sentences that it contains."""
    read = fallback(RelationExtractorInput(max_relations=2), Evidence((passage("Nothing."), passage(TEXT)))).passages

    assert [one.passage for one in read] == [1, 2]
    assert (read[0].entities, read[0].relations) == ((), ())
    assert [(one.name, one.kind) for one in read[1].entities] == [
        ("Ghent", "name"),
        ("iron press", "concept"),
        ("damp cellar", "concept"),
    ]
    first = read[1].relations[0]
    assert (len(read[1].relations), first.subject, first.predicate, first.object) == (
        2,
        "Ghent",
        CO_OCCURRENCE,
        "iron press",
    )
    stated = [StatedRelation(one.subject, one.predicate, one.object, one.sentence) for one in read[1].relations]
    assert len(filter_grounded_relations(TEXT, stated)) == 2


def test_the_number_of_passages_is_limited() -> None:
    """The fallback's output fits its schema, whatever the number of passages."""
    evidence = Evidence((passage(TEXT),) * (MAX_PASSAGES + 1))

    assert len(fallback(RelationExtractorInput(), evidence).passages) == MAX_PASSAGES
