"""What an entity is related to: counted over passages, proved by their sentences."""

from pathlib import Path

import pytest

from tenure.contracts.knowledge.graph import BESIDE, RelatedReply, RelatedRequest, UnreadRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.graph.graph import Graph
from tenure.knowledge.store.errors import InvalidSearch, UnknownCorpus
from tenure.knowledge.store.schema import RELATIONS, STATEMENTS
from tenure.knowledge.store.store import Store
from tenure.roles.retrieval.relation_extractor import RelationExtractorOutput
from tests.knowledge.conftest import Ingest

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
    return knowledge.related(RelatedRequest(entity=entity, corpora=("c",), most=most))


def _read(knowledge: KnowledgeBase, *relations: tuple[str, str, str, str]) -> tuple[int, int, int]:
    """Have a model read everything, and find the same relations in each passage."""
    unread = knowledge.unread(UnreadRequest(corpus="c"))
    said = [dict(zip(("subject", "predicate", "object", "sentence"), one, strict=True)) for one in relations]
    entities = [{"name": "Iron Press", "kind": "work"}, {"name": "…", "kind": "name"}]
    output = RelationExtractorOutput.model_validate(
        {
            "passages": [
                {"passage": n, "entities": entities, "relations": said} for n in range(1, len(unread.passages) + 1)
            ]
        }
    )
    kept = knowledge.keep_relations("reader", knowledge.passages(unread.passages), output)
    knowledge.refresh_relations("c")
    return kept.passages, kept.relations, kept.refused


def test_what_shares_sentences_is_counted_and_proved(pages: Path, knowledge: KnowledgeBase) -> None:
    """An entity is found in whatever form it is asked for, with what it stands beside, most sentences first."""
    reply = _related(knowledge, "Iron presses")

    assert (reply.entity, reply.kind, reply.passages, reply.of, reply.read) == ("iron press", "concept", 2, 3, 0)
    first = reply.relations[0]
    assert (first.subject, first.predicate, first.object) == ("iron press", BESIDE, "Ghent")
    assert (first.count, first.passages) == (3, 2)
    assert first.proofs[0].sentence == "In Ghent, an iron press was built."
    assert {relation.object for relation in reply.relations} == {"Ghent", "damp cellar", "Timber ships"}
    stored = {source.uri: source.text for source in knowledge.sources([p.source for p in first.proofs]).values()}
    assert all(stored[proof.uri][proof.start : proof.end] == proof.sentence for proof in first.proofs)


def test_as_many_relations_as_are_wanted(pages: Path, knowledge: KnowledgeBase) -> None:
    """A bound keeps the strongest relations, and still counts all passages."""
    reply = _related(knowledge, "ghent", most=1)

    assert [relation.object for relation in reply.relations] == ["iron press"]
    assert (reply.entity, reply.kind, reply.passages) == ("Ghent", "name", 2)


def test_an_unknown_entity_is_answered_with_those_that_are_like_it(pages: Path, knowledge: KnowledgeBase) -> None:
    """Where nothing is related, entities that share a word are named; a stranger has none."""
    reply = _related(knowledge, "wooden press")

    assert (reply.entity, reply.kind, reply.relations) == ("wooden press", None, ())
    assert reply.alike == ("iron press", "press")
    assert _related(knowledge, "glacier").alike == ()


def test_what_cannot_be_looked_up_is_refused(pages: Path, knowledge: KnowledgeBase) -> None:
    """An entity without a letter, one of a page's length, and a corpus that is not there are clear errors."""
    for entity in ("…", "x" * 201):
        with pytest.raises(InvalidSearch):
            _related(knowledge, entity)
    with pytest.raises(UnknownCorpus):
        knowledge.related(RelatedRequest(entity="Ghent", corpora=("nowhere",)))


def test_what_a_model_has_read_comes_first(pages: Path, uri: str, knowledge: KnowledgeBase) -> None:
    """Statements that their passages hold are kept and shown with their predicates; others are refused."""
    sentence = "In Ghent, an iron press was built."
    told = _read(
        knowledge, ("iron press", "was built in", "Ghent", sentence), ("iron press", "fell on", "Bruges", sentence)
    )
    reply = _related(knowledge, "iron press")

    assert told[0] == 3
    assert told[1:] == (1, 5)
    first = reply.relations[0]
    assert (first.subject, first.predicate, first.object, first.count) == ("iron press", "was built in", "Ghent", 1)
    assert [proof.sentence for proof in first.proofs] == [sentence]
    assert [relation.object for relation in reply.relations[1:]] == ["damp cellar", "Timber ships"]
    assert (reply.kind, reply.read) == ("work", 3)
    [row] = Store(uri).rows(RELATIONS, ["pair", "predicates", "count"]).to_pylist()
    assert row == {"pair": "\tghent\tiron press\t", "predicates": ["was built in"], "count": 3}


def test_a_passage_is_read_once(pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase) -> None:
    """What was read stays read when its file is; what changes or goes is to be read, or forgotten."""
    before = knowledge.unread(UnreadRequest(corpus="c", most=2))
    after = knowledge.unread(UnreadRequest(corpus="c", after=before.passages[-1].chunk))
    _read(knowledge, ("tides", "are", "slow", "The tides are slow."))

    assert (len(before.passages), before.left, before.of) == (2, 3, 3)
    assert (len(after.passages), after.left, after.of) == (1, 1, 3)
    assert knowledge.unread(UnreadRequest(corpus="c")).left == 0

    (pages / "press.md").write_text("# press\n\nThe press is gone.\n", encoding="utf-8")
    (pages / "ships.md").unlink()
    ingest(pages)
    assert knowledge.unread(UnreadRequest(corpus="c")).left == 1
    assert Store(uri).count(STATEMENTS) == 1
    assert knowledge.drop("c")
    assert Store(uri).count(STATEMENTS) == Store(uri).count(RELATIONS) == 0


def test_a_reading_without_a_model_keeps_nothing(pages: Path, uri: str, knowledge: KnowledgeBase) -> None:
    """What stands in one sentence is known already; so the passages stay unread."""
    passages = knowledge.passages(knowledge.unread(UnreadRequest(corpus="c")).passages)

    assert knowledge.keep_relations("", passages, RelationExtractorOutput(passages=())).passages == 0
    assert Store(uri).count(STATEMENTS) == 0


def test_a_source_that_goes_while_it_is_read_leaves_nothing(
    pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase
) -> None:
    """Statements are kept only for documents that are still there."""
    passages = knowledge.passages(knowledge.unread(UnreadRequest(corpus="c")).passages)
    (pages / "ships.md").unlink()
    ingest(pages)

    assert knowledge.keep_relations("reader", passages, RelationExtractorOutput(passages=())).passages == 2
    assert Store(uri).count(STATEMENTS) == 2


def test_what_was_read_is_a_link(tmp_path: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase) -> None:
    """Two passages of which a model has read the same pair are linked, though no sentence of theirs holds both."""
    for name, text in (("a", "Zora built boats. She settled in Ghent."), ("b", "Zora was famous. She left for Ghent.")):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nThey saw Zora.\n\n{text}\n", encoding="utf-8")
    ingest(tmp_path)
    unread = knowledge.unread(UnreadRequest(corpus="c")).passages
    start = {str(unread[0].chunk): 1.0}
    before = Store(uri).count(RELATIONS)
    said = [
        {"subject": "Zora", "predicate": "lived in", "object": "Ghent", "sentence": sentence}
        for sentence in ("She settled in Ghent.", "She left for Ghent.")
    ]
    output = RelationExtractorOutput.model_validate(
        {"passages": [{"passage": n, "entities": [], "relations": said} for n in (1, 2)]}
    )
    kept = knowledge.keep_relations("reader", knowledge.passages(unread), output)
    knowledge.refresh_relations("c")

    assert (before, kept.relations, kept.refused) == (0, 2, 2)
    assert Store(uri).rows(RELATIONS, ["chunk_count"])["chunk_count"].to_pylist() == [2]
    assert len(Graph(Store(uri), ["c"]).walk("nothing known", start)) == 2
