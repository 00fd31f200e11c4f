"""Query the graph of entities and relations of one store."""

from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
from tenure.knowledge.graph.related import find_relations
from tenure.knowledge.store.store import Store


class KnowledgeGraph:
    """Entities and relations of one store; safe to share between threads."""

    def __init__(self, store: Store, dimensions: int) -> None:
        self._store, self._dimensions = store, dimensions

    def find_relations(self, request: RelatedRequest) -> RelatedReply:
        """Return the relations of an entity, with the sentences that state them.

        Raises:
            InvalidSearch: the name of the entity is too long or contains no word.
            UnknownCorpus: a corpus was never ingested.
        """
        return find_relations(self._store, self._dimensions, request)
