"""Open the knowledge base when it is first used: importing its database takes a second.

The imports of this module are light, so a worker can poll before the knowledge base is open.
"""

import threading
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from tenure.models.factory import create_embedding_model, create_rerank_model, create_transcription_model
from tenure.settings.knowledge import KnowledgeSettings

if TYPE_CHECKING:
    from tenure.knowledge.answers import AnswerCipher
    from tenure.knowledge.base import KnowledgeBase
    from tenure.knowledge.pages.fetching import PageFetcher, PageFetching
    from tenure.knowledge.store.metrics import SearchObserver
    from tenure.models.embedding import EmbeddingModel

T = TypeVar("T")


class Deferred(Generic[T]):
    """Object that is created when it is first needed, once; safe to share between threads.

    Args:
        create: function that creates the object. If it fails, the next use calls it again.
    """

    def __init__(self, create: Callable[[], T]) -> None:
        self._create = create
        self._lock = threading.Lock()
        self._created: list[T] = []

    def get(self) -> T:
        """Return the object; a thread that comes while another one creates it waits."""
        if not self._created:
            with self._lock:
                if not self._created:
                    self._created.append(self._create())
        return self._created[0]

    @property
    def proxy(self) -> T:
        """Proxy of the object: the first access to one of its attributes creates it."""
        return cast(T, _Proxy(self))


class _Proxy:
    def __init__(self, deferred: Deferred[Any]) -> None:
        self._deferred = deferred

    def __getattr__(self, name: str) -> Any:
        return getattr(self._deferred.get(), name)


def prepare_knowledge(
    settings: KnowledgeSettings,
    observer: "SearchObserver | None",
    cipher: "AnswerCipher | None",
    readable_files: Callable[[Iterable[str], str], Collection[str]] | None,
    load_embedding: "Callable[[], EmbeddingModel] | None" = None,
) -> "Deferred[KnowledgeBase]":
    """Return the knowledge base of the settings; creating it raises `StoreUnreachable` if it cannot be accessed.

    Without `load_embedding`, which returns a model that several bases share, it has an embedding model of its own.
    """

    def create() -> "KnowledgeBase":
        from tenure.knowledge.base import KnowledgeBase
        from tenure.knowledge.store.metrics import SearchMetrics

        return KnowledgeBase(
            settings.knowledge_uri,
            load_embedding() if load_embedding else create_embedding_model(settings),
            settings,
            metrics=SearchMetrics(settings.owner_home / "searches.db", observer),
            rerank_model=create_rerank_model(settings),
            transcription_model=create_transcription_model(settings),
            answer_cipher=cipher,
            readable_files=readable_files,
        )

    return Deferred(create)


def prepare_fetching(
    knowledge: "KnowledgeBase", fetcher: "PageFetcher", max_age: timedelta, *, refetch: bool = False
) -> "PageFetching":
    """Return a proxy of the page fetching of a fetcher."""

    def create() -> "PageFetching":
        from tenure.knowledge.pages.fetching import PageFetching

        return PageFetching(knowledge.pages, fetcher, max_age, refetch=refetch)

    return Deferred(create).proxy
