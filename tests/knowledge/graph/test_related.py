"""Test the relations of an entity and the sentences that state them."""

from pathlib import Path

import pytest

from tenure.contracts.knowledge.graph import CO_OCCURRENCE, RelatedReply, RelatedRequest, UnreadRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.graph.walks import EntityGraph
from tenure.knowledge.store.errors import InvalidSearch, UnknownCorpus
from tenure.knowledge.store.schema import RELATIONS, STATEMENTS
from tenure.knowledge.store.store import Store
from tenure.roles.retrieval.relation_extractor import RelationExtractorOutput
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


def _read(knowledge: KnowledgeBase, *relations: tuple[str, str, str, str]) -> tuple[int, int, int]:
    """Store the same extracted relations for every passage."""
    unread = knowledge.graph.list_unread(UnreadRequest(corpus="c"))
    said = [dict(zip(("subject", "predicate", "object", "sentence"), one, strict=True)) for one in relations]
    entities = [{"name": "Iron Press", "kind": "work"}, {"name": "…", "kind": "name"}]
    output = RelationExtractorOutput.model_validate(
        {
            "passages": [
                {"passage": n, "entities": entities, "relations": said} for n in range(1, len(unread.passages) + 1)
            ]
        }
    )
    kept = knowledge.graph.store_statements("reader", knowledge.corpora.load_passages(unread.passages), output)
    knowledge.graph.refresh_relations("c")
    return kept.passages, kept.relations, kept.refused


@slow
def test_cooccurrences_are_counted_with_evidence(pages: Path, knowledge: KnowledgeBase) -> None:
    """An entity is found in any spelling, with the entities that share most sentences first."""
    reply = _related(knowledge, "Iron presses")

    assert (reply.entity, reply.kind, reply.passages, reply.total_passages, reply.read_passages) == (
        "iron press",
        "concept",
        2,
        3,
        0,
    )
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


@slow
def test_extracted_relations_come_first(pages: Path, uri: str, knowledge: KnowledgeBase) -> None:
    """Statements that the passages contain are stored and returned with their predicates; others are rejected."""
    sentence = "In Ghent, an iron press was built."
    told = _read(
        knowledge, ("iron press", "was built in", "Ghent", sentence), ("iron press", "fell on", "Bruges", sentence)
    )
    reply = _related(knowledge, "iron press")

    assert told[0] == 3
    assert told[1:] == (1, 5)
    first = reply.relations[0]
    assert (first.subject, first.predicate, first.object, first.count) == ("iron press", "was built in", "Ghent", 1)
    assert [proof.sentence for proof in first.evidence] == [sentence]
    assert [relation.object for relation in reply.relations[1:]] == ["damp cellar", "Timber ships"]
    assert (reply.kind, reply.read_passages) == ("work", 3)
    [row] = Store(uri).read_rows(RELATIONS, ["pair", "predicates", "count"]).to_pylist()
    assert row == {"pair": "\tghent\tiron press\t", "predicates": ["was built in"], "count": 3}


@slow
def test_passage_is_listed_as_unread_once(pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase) -> None:
    """Unchanged passages stay read; changed ones are unread again, and deleted ones lose their statements."""
    before = knowledge.graph.list_unread(UnreadRequest(corpus="c", limit=2))
    after = knowledge.graph.list_unread(UnreadRequest(corpus="c", after=before.passages[-1].chunk))
    _read(knowledge, ("tides", "are", "slow", "The tides are slow."))

    assert (len(before.passages), before.remaining, before.total) == (2, 3, 3)
    assert (len(after.passages), after.remaining, after.total) == (1, 1, 3)
    assert knowledge.graph.list_unread(UnreadRequest(corpus="c")).remaining == 0

    (pages / "press.md").write_text("# press\n\nThe press is gone.\n", encoding="utf-8")
    (pages / "ships.md").unlink()
    ingest(pages)
    assert knowledge.graph.list_unread(UnreadRequest(corpus="c")).remaining == 1
    assert Store(uri).count_rows(STATEMENTS) == 1
    assert knowledge.corpora.drop("c")
    assert Store(uri).count_rows(STATEMENTS) == Store(uri).count_rows(RELATIONS) == 0


def test_extraction_without_a_model_stores_nothing(pages: Path, uri: str, knowledge: KnowledgeBase) -> None:
    """Co-occurrences are stored already, so the passages stay unread."""
    passages = knowledge.corpora.load_passages(knowledge.graph.list_unread(UnreadRequest(corpus="c")).passages)

    assert knowledge.graph.store_statements("", passages, RelationExtractorOutput(passages=())).passages == 0
    assert Store(uri).count_rows(STATEMENTS) == 0


@slow
def test_statements_of_deleted_sources_are_not_stored(
    pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase
) -> None:
    """Statements are stored only for existing documents."""
    passages = knowledge.corpora.load_passages(knowledge.graph.list_unread(UnreadRequest(corpus="c")).passages)
    (pages / "ships.md").unlink()
    ingest(pages)

    assert knowledge.graph.store_statements("reader", passages, RelationExtractorOutput(passages=())).passages == 2
    assert Store(uri).count_rows(STATEMENTS) == 2


def test_extracted_relations_link_passages(tmp_path: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase) -> None:
    """Two passages with the same extracted pair are linked, though no sentence contains both."""
    for name, text in (("a", "Zora built boats. She settled in Ghent."), ("b", "Zora was famous. She left for Ghent.")):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nThey saw Zora.\n\n{text}\n", encoding="utf-8")
    ingest(tmp_path)
    unread = knowledge.graph.list_unread(UnreadRequest(corpus="c")).passages
    start = {str(unread[0].chunk): 1.0}
    before = Store(uri).count_rows(RELATIONS)
    said = [
        {"subject": "Zora", "predicate": "lived in", "object": "Ghent", "sentence": sentence}
        for sentence in ("She settled in Ghent.", "She left for Ghent.")
    ]
    output = RelationExtractorOutput.model_validate(
        {"passages": [{"passage": n, "entities": [], "relations": said} for n in (1, 2)]}
    )
    kept = knowledge.graph.store_statements("reader", knowledge.corpora.load_passages(unread), output)
    knowledge.graph.refresh_relations("c")

    assert (before, kept.relations, kept.refused) == (0, 2, 2)
    assert Store(uri).read_rows(RELATIONS, ["chunk_count"])["chunk_count"].to_pylist() == [2]
    assert len(EntityGraph(Store(uri), ["c"]).walk("nothing known", start).shares) == 2
