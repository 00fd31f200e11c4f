"""Test the relations of an entity and the sentences that state them."""

from pathlib import Path

import pytest

from tenure.contracts.knowledge.graph import CO_OCCURRENCE, RelatedReply, RelatedRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch, UnknownCorpus
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow

PAGES = {
    "press": "In Ghent, an iron press was built. The iron press of Ghent stands in a damp cellar.",
    "ships": "Timber ships left Ghent with an iron press. Storms came.",
    "tides": "The tides are slow.",
}


@pytest.fixture
def pages(tmp_path: Path, ingest: Ingest) -> Path:
    """Three short documents in a corpus."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    ingest(folder)
    return folder


def _related(knowledge: KnowledgeBase, entity: str, most: int = 20) -> RelatedReply:
    return knowledge.graph.find_relations(RelatedRequest(entity=entity, corpora=("c",), limit=most))


@slow
def test_cooccurrences_are_counted_with_evidence(pages: Path, knowledge: KnowledgeBase) -> None:
    """An entity is found in any spelling, with the entities that share most sentences first."""
    reply = _related(knowledge, "Iron presses")

    assert (reply.entity, reply.kind, reply.passages) == ("iron press", "concept", 2)
    first = reply.relations[0]
    assert (first.subject, first.predicate, first.object) == ("iron press", CO_OCCURRENCE, "Ghent")
    assert (first.count, first.passages) == (3, 2)
    assert first.evidence[0].sentence == "In Ghent, an iron press was built."
    assert {relation.object for relation in reply.relations} == {"Ghent", "damp cellar", "Timber ships"}
    stored = {
        source.uri: source.text
        for source in knowledge.corpora.load_sources([p.source for p in first.evidence]).values()
    }
    assert all(stored[proof.uri][proof.start : proof.end] == proof.sentence for proof in first.evidence)


def test_limit_keeps_the_strongest_relations(pages: Path, knowledge: KnowledgeBase) -> None:
    """The limit keeps the strongest relations, and all passages are counted."""
    reply = _related(knowledge, "ghent", most=1)

    assert [relation.object for relation in reply.relations] == ["iron press"]
    assert (reply.entity, reply.kind, reply.passages) == ("Ghent", "name", 2)


def test_unknown_entity_returns_similar_entities(pages: Path, knowledge: KnowledgeBase) -> None:
    """Entities that share a word are suggested; others are not."""
    reply = _related(knowledge, "wooden press")

    assert (reply.entity, reply.kind, reply.relations) == ("wooden press", None, ())
    assert reply.similar_entities == ("iron press", "press")
    assert _related(knowledge, "glacier").similar_entities == ()


@slow
def test_invalid_entities_are_rejected(pages: Path, knowledge: KnowledgeBase) -> None:
    """An entity without a letter, a very long one, and an unknown corpus raise clear errors."""
    for entity in ("…", "x" * 201):
        with pytest.raises(InvalidSearch):
            _related(knowledge, entity)
    with pytest.raises(UnknownCorpus):
        knowledge.graph.find_relations(RelatedRequest(entity="Ghent", corpora=("nowhere",)))
