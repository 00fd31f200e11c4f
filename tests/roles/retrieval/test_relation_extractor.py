"""The relation extractor's twin."""

from tenure.algorithms.retrieval.relations import Stated, held
from tenure.contracts.knowledge.graph import BESIDE
from tenure.roles.base import Evidence
from tenure.roles.retrieval.relation_extractor import MOST_PASSAGES, RelationExtractorInput, offline
from tests.passages import passage

TEXT = "In Ghent, an iron press was built. The iron press of Ghent stands in a damp cellar."


def test_what_stands_in_one_sentence_is_related() -> None:
    """Each passage gets its entities and, as many as are wanted, its relations, with sentences that it holds."""
    read = offline(RelationExtractorInput(most=2), Evidence((passage("Nothing."), passage(TEXT)))).passages

    assert [one.passage for one in read] == [1, 2]
    assert (read[0].entities, read[0].relations) == ((), ())
    assert [(one.name, one.kind) for one in read[1].entities] == [
        ("Ghent", "name"),
        ("iron press", "concept"),
        ("damp cellar", "concept"),
    ]
    first = read[1].relations[0]
    assert (len(read[1].relations), first.subject, first.predicate, first.object) == (2, "Ghent", BESIDE, "iron press")
    stated = [Stated(one.subject, one.predicate, one.object, one.sentence) for one in read[1].relations]
    assert len(held(TEXT, stated)) == 2


def test_more_passages_than_fit_are_left_for_another_call() -> None:
    """The twin answers within its schema, however much it is given."""
    evidence = Evidence((passage(TEXT),) * (MOST_PASSAGES + 1))

    assert len(offline(RelationExtractorInput(), evidence).passages) == MOST_PASSAGES
