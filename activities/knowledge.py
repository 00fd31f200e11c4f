"""Knowledge activities: ingestion, search and corpora, on LanceDB and the embedding model."""

from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import PATH_MISSING, translated
from activities.heartbeat import Beat
from tenure.contracts.evidence.corpora import (
    CorpusReply,
    CorpusRequest,
    EmbedReport,
    EmbedRequest,
    IngestProgress,
    IngestReport,
    IngestRequest,
)
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.evidence.retrieval import GroupReply, GroupRequest, Recalled, RecallRequest
from tenure.contracts.evidence.web import ReadPagesReply, ReadPagesRequest
from tenure.contracts.research.fork import Forked, ForkRequest
from tenure.contracts.research.learning import Inherited, InheritRequest
from tenure.contracts.research.spiral import Analysis, AnalysisRequest

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class KnowledgeActivities:
    """Reading and searching, on one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def ingest(self, request: IngestRequest) -> IngestReport:
        """Bring a corpus into the state of its files; the heartbeat's details are an `IngestProgress`."""
        with translated(), Beat(IngestProgress()) as beat:
            try:
                return self._knowledge.ingest(request, beat.tell, activity.is_cancelled)
            except FileNotFoundError as error:
                raise ApplicationError(str(error), type=PATH_MISSING, non_retryable=True) from error

    @activity.defn
    def embed(self, request: EmbedRequest) -> EmbedReport:
        """Make the vectors that a corpus lacks; the heartbeat's details are an `IngestProgress`."""
        with translated(), Beat(IngestProgress(stage="embedding")) as beat:
            return self._knowledge.embed(request, beat.tell, activity.is_cancelled)

    @activity.defn
    def read_pages(self, request: ReadPagesRequest) -> ReadPagesReply:
        """Read fetched pages into a run's corpus."""
        with translated(), Beat(IngestProgress()) as beat:
            return self._knowledge.read_pages(request, beat.tell, activity.is_cancelled)

    @activity.defn
    def fork(self, request: ForkRequest) -> Forked:
        """Give a fork what its origin knew after a cycle."""
        with translated(), Beat(IngestProgress()) as beat:
            return self._knowledge.fork(request, beat.tell, activity.is_cancelled)

    @activity.defn
    def search(self, request: SearchRequest) -> SearchReply:
        """Find passages."""
        with translated(), Beat():
            return self._knowledge.search(request)

    @activity.defn
    def analyze(self, request: AnalysisRequest) -> Analysis:
        """Judge what a cycle of research has found."""
        with translated(), Beat():
            return self._knowledge.analyze(request)

    @activity.defn
    def group(self, request: GroupRequest) -> GroupReply:
        """Group what a search has found."""
        with translated(), Beat():
            return self._knowledge.group(request)

    @activity.defn
    def recall(self, request: RecallRequest) -> Recalled:
        """Look up what earlier research has accepted."""
        with translated(), Beat():
            return self._knowledge.recall(request)

    @activity.defn
    def inherit(self, request: InheritRequest) -> Inherited:
        """Look up what earlier runs on related questions leave to a run."""
        with translated(), Beat():
            return self._knowledge.inherit(request)

    @activity.defn
    def corpora(self, request: CorpusRequest) -> CorpusReply:
        """Tell what corpora hold, or drop one."""
        with translated():
            dropped = request.action == "drop" and self._knowledge.drop(request.corpus or "")
            there = self._knowledge.corpora()
            store = self._knowledge.stats() if request.action == "stats" else None
        wanted = request.corpus if request.action == "stats" else None
        return CorpusReply(corpora=tuple(c for c in there if wanted in (None, c.corpus)), dropped=dropped, store=store)
