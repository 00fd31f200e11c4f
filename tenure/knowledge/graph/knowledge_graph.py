"""Query and extend the graph of entities and relations of one store."""

from collections.abc import Sequence

from tenure.algorithms.text.passage import Passage
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest, RelationsKept, UnreadReply, UnreadRequest
from tenure.knowledge.graph import graph, statements
from tenure.knowledge.graph.related import find_relations
from tenure.knowledge.store.store import Store
from tenure.roles.retrieval.relation_extractor import RelationExtractorOutput


class KnowledgeGraph:
    """Entities and relations of one store; safe to share between threads."""

    def __init__(self, store: Store, dimensions: int) -> None:
        """Read the chunks with vectors of `dimensions` components."""
        self._store, self._dimensions = store, dimensions

    def find_relations(self, request: RelatedRequest) -> RelatedReply:
        """Return the relations of an entity, with the sentences that state them.

        Raises:
            InvalidSearch: the name of the entity is too long or contains no word.
            UnknownCorpus: a corpus was never ingested.
        """
        return find_relations(self._store, self._dimensions, request)

    def list_unread(self, request: UnreadRequest) -> UnreadReply:
        """Return passages from which no model has extracted relations.

        Raises:
            UnknownCorpus: the corpus was never ingested.
        """
        return statements.list_unread(self._store, self._dimensions, request)

    def store_statements(
        self, model: str, passages: Sequence[Passage], output: RelationExtractorOutput
    ) -> RelationsKept:
        """Store the relations that `model` has extracted and the passages contain; an empty `model` stores none."""
        return statements.store_statements(self._store, model, passages, output)

    def refresh_relations(self, corpus: str) -> None:
        """Update the relations of a corpus from its mentions and statements."""
        graph.refresh_relations(self._store, corpus)
