"""Ingest, embed, fork and drop corpora, and load their sources and passages."""

from collections.abc import Callable, Sequence

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import (
    CorpusDocument,
    CorpusStats,
    DocumentChoice,
    EmbedReport,
    IngestProgress,
    IngestReport,
    IngestRequest,
    QuestionEmbedRequest,
)
from tenure.contracts.evidence.figures import Figure
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.places import parse_cells
from tenure.contracts.evidence.recognition import PagePlace, SheetPlace
from tenure.contracts.evidence.web import ReadPagesReply, ReadPagesRequest, WebReport, WebScope
from tenure.contracts.research.fork import ForkReply, ForkRequest
from tenure.contracts.research.pictures import get_document_path
from tenure.knowledge.answers import delete_answers
from tenure.knowledge.embeddings.backfill import EmbeddingBackfill
from tenure.knowledge.embeddings.background import BackgroundModel
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter, build_recipe
from tenure.knowledge.ingestion.ingest import Ingestion
from tenure.knowledge.ingestion.readers import ReaderPool
from tenure.knowledge.ingestion.transcription import Transcription, get_answer_run
from tenure.knowledge.ingestion.web_pages import WebPageIngestion
from tenure.knowledge.memory.memories import forget_sources
from tenure.knowledge.pages import readings
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.search.forking import fork_run
from tenure.knowledge.search.needed_chunks import list_needed_chunks
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import SourceRecord
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.settings.knowledge import KnowledgeSettings
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.reader_process import DrawnPage, PageTask, ParsedPage, PictureTask, UnreadableFile

PAGE_READERS = 2
"""Processes that parse web pages. They are kept, because starting one takes half a second."""


class Corpora:
    """Corpora of one knowledge base; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        settings: KnowledgeSettings,
        metrics: SearchMetrics | None = None,
        transcribe: Callable[[IngestRequest], Transcription | None] = lambda request: None,
    ) -> None:
        """Transcribe the recordings of an ingestion with what `transcribe` returns."""
        self._transcribe = transcribe
        self._store, self._model, self._cache, self._metrics = store, model, cache, metrics
        self._settings = settings
        self._page_readers = ReaderPool(build_recipe(model, settings.chunk_tokens), PAGE_READERS)

    def ingest(
        self,
        request: IngestRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> IngestReport:
        """Synchronize a corpus with files and folders.

        The operation is idempotent, also after an interruption. If more vectors are missing than an ingestion
        computes itself, `embed` computes them. `report` and `cancelled` are called at least every two seconds.

        Raises:
            FileNotFoundError: a path does not exist.
            KnowledgeError: the files of a path cannot be listed.
            EmbeddingModelMismatch: documents outside the paths were embedded with another model.
            WorkCancelled: `cancelled` returned True.
        """
        return Ingestion(
            *(self._store, self._model, self._cache, self._settings, request, report, cancelled),
            self._transcribe(request),
        ).run()

    def embed(
        self,
        corpus: str,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> EmbedReport:
        """Compute the missing vectors of a corpus at low priority; the next call continues an interrupted one."""
        model = BackgroundModel(self._model)
        cache = EmbeddingCache(self._store, model, self._metrics)
        return EmbeddingBackfill(self._store, model, cache, corpus, report, cancelled).run()

    def embed_for_question(
        self,
        request: QuestionEmbedRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> EmbedReport:
        """Compute the missing vectors that a question needs first, and all others if there is time for them."""
        backfill = EmbeddingBackfill(self._store, self._model, self._cache, request.corpus, report, cancelled)
        needed = list_needed_chunks(self._store, self._model.dimensions, request.corpus, request.question)
        return backfill.embed_first(needed, request.seconds)

    def read_pages(
        self,
        request: ReadPagesRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> ReadPagesReply:
        """Ingest pages of the page cache into a corpus; create the corpus if it does not exist."""
        writer = self._writer(request.corpus, report, cancelled)
        return WebPageIngestion(
            self._store, writer, self._page_readers, self._settings.domain_authority, request, report
        ).run()

    def draw_page(self, source: SourceRecord, start: int, end: int) -> DrawnPage:
        """Return the page of a part of a source with its words marked, or the cells around it if it is in a sheet.

        Words are marked as far as they are on the page on which the part begins.

        Raises:
            Unreadable: the file has changed, cannot be opened, or has no such page or cells.
        """
        place = _find_cells(source, start, end) or _find_page_place(source, start, end)
        return self._draw(PictureTask(source.uri, source.content_hash, source.size, place))

    def draw_figure(self, source: SourceRecord, figure: Figure, side: int, check: str = "") -> DrawnPage:
        """Return a JPEG image of a figure of a source, with a number below it unless that is empty.

        Raises:
            Unreadable: the file has changed, cannot be opened, or has no such picture.
        """
        return self._draw(PictureTask(source.uri, source.content_hash, source.size, figure, side, check))

    def _draw(self, task: PictureTask) -> DrawnPage:
        (outcome,) = self._page_readers.read_all([task], lambda: None)
        if isinstance(outcome, UnreadableFile):
            raise Unreadable(outcome.reason)
        assert isinstance(outcome, DrawnPage)
        return outcome

    def draw_reading(self, reading: SourceRecord, side: int) -> DrawnPage:
        """Return the picture that a model has read as a JPEG image.

        Raises:
            Unreadable: its document is no longer stored, or its file has changed.
        """
        document = catalogue.find_document(self._store, get_document_path(reading.uri))
        if document is None or not reading.figures:
            raise Unreadable("is no longer stored")
        return self.draw_figure(document, reading.figures[0], side)

    def read_page_text(self, url: str) -> Document:
        """Return the text of a page in the page cache, which becomes no source.

        Raises:
            Unreadable: it cannot be parsed.
        """
        for cached in PageCache(self._store).load_pages([url]):
            task = PageTask(url, cached.body, cached.known.media_type, cached.known.charset, is_whole=True)
            (outcome,) = self._page_readers.read_all([task], lambda: None)
            if isinstance(outcome, UnreadableFile):
                raise Unreadable(outcome.reason)
            assert isinstance(outcome, ParsedPage)
            return outcome.file.document
        raise Unreadable("is no longer in the page cache")

    def fork(
        self,
        request: ForkRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> ForkReply:
        """Copy the knowledge of a run up to a cycle for a fork; the operation is idempotent."""
        writer = self._writer(WebScope(run=request.run).corpus, report, cancelled)
        return fork_run(self._store, writer, self._model, request)

    def drop(self, corpus: str) -> bool:
        """Delete a corpus and the memories that only it supports; return False if there is no such corpus."""
        forget_sources(self._store, catalogue.list_source_ids(self._store, corpus))
        delete_answers(self._store, get_answer_run(corpus))
        return catalogue.drop_corpus(self._store, corpus)

    def load_stats(self) -> tuple[CorpusStats, ...]:
        """Return the size and state of each corpus, sorted by name."""
        return catalogue.summarize_corpora(self._store)

    def list_documents(self, corpus: str, chosen: DocumentChoice) -> tuple[tuple[CorpusDocument, ...], int]:
        """Return a page of the documents of a corpus by title, and the number of all that match."""
        return catalogue.list_documents(self._store, corpus, chosen)

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        """Return the passages of references, in their order and with their relevance."""
        return catalogue.load_passages(self._store, self._model.dimensions, refs)

    def load_sources(self, ids: Sequence[SourceId]) -> dict[SourceId, SourceRecord]:
        """Return stored sources with their full texts, without those that are deleted."""
        return catalogue.load_sources(self._store, ids)

    def load_web_account(self, corpus: str) -> WebReport:
        """Return the web pages that a run has read, and the answers of its search providers."""
        return readings.build_web_report(self._store, corpus)

    def close(self) -> None:
        """Stop the processes that parse web pages."""
        self._page_readers.close()

    def _writer(
        self, corpus: str, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> CorpusWriter:
        return CorpusWriter(self._store, self._model, self._cache, self._settings, corpus, report, cancelled)


def _find_cells(source: SourceRecord, start: int, end: int) -> SheetPlace | None:
    """Return the cells of a part of a source, or None if it is in no cells."""
    cells = source.find_cells(start, end)
    if cells is None:
        return None
    # Titles above a table are ranges; the names of its columns are its first single cells.
    singles = filter(None, (parse_cells(place.label) for place in source.places if "cell " in place.label))
    header = next((c.top for c in singles if (c.before, c.left) == (cells.before, cells.left)), cells.top)
    return SheetPlace(cells, header)


def _find_page_place(source: SourceRecord, start: int, end: int) -> PagePlace:
    page = source.find_page(start) or 1
    first, *following = list(source.pages or (0,))[page - 1 :]
    last = following[0] if following else len(source.text)
    return PagePlace(
        page,
        source.text[start : min(end, last)],
        (start - first) / max(1, last - first),
        tuple(word for word in source.find_words(start, end) if word.page in (0, page)),
    )
