"""Ingest pages of the page cache into the corpus of a run.

Pages are parsed in reader processes, assessed, cut and stored. A near duplicate of another page is no second source,
because a copied mistake would count as confirmed. The operation is idempotent, also after an interruption.
"""

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from tenure.algorithms.retrieval.page_quality import describe_flaws, score_page
from tenure.algorithms.text.near_duplicates import MIN_DUPLICATE_SIMILARITY, Fingerprint, estimate_similarity
from tenure.contracts.evidence.corpora import NO_TEXT, IngestProgress
from tenure.contracts.evidence.web import PageFlaw, PageStatus, ReadPagesReply, ReadPagesRequest, WebSource
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter
from tenure.knowledge.ingestion.readers import ReaderPool
from tenure.knowledge.pages import readings
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.pages.readings import PageReading
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.locks import process_lock
from tenure.knowledge.store.schema import make_source_id
from tenure.knowledge.store.store import Store
from tenure.sources.parsers.reader_process import PageTask, ParsedPage, ReaderOutcome, UnreadableFile

_DISQUALIFYING_FLAWS: frozenset[PageFlaw] = frozenset({"error_page", "empty"})
"""Flaws of pages that do not become sources."""

_TRUNCATION_NOTE = "only its beginning was read, because it is too long"

_MAX_NOTE_CHARACTERS = 300


class WebPageIngestion:
    """One ingestion of the pages that were fetched for one query."""

    def __init__(
        self,
        store: Store,
        writer: CorpusWriter,
        readers: ReaderPool,
        authority: Mapping[str, float],
        request: ReadPagesRequest,
        report: Callable[[IngestProgress], None],
    ) -> None:
        self._store, self._writer, self._readers, self._authority = store, writer, readers, authority
        self._request, self._corpus = request, request.corpus
        self._report = report
        self._titles = {hit.url: hit.title for hit in request.hits}
        self._dates = {hit.url: hit.published for hit in request.hits}
        self._earlier: dict[str, PageReading] = {}
        self._readings: dict[str, PageReading] = {}
        self._sources: list[WebSource] = []
        self._left_out: list[WebSource] = []
        self._unrendered: list[str] = []

    def run(self) -> ReadPagesReply:
        """Ingest new pages, and record the outcome of every page."""
        with process_lock(self._store.folder, self._corpus, self._report_progress):
            self._writer.claim(keeps_other_sources=True)
            readings.store_provider_answers(
                self._store, self._corpus, self._request.query, self._request.cycle, self._request.outcomes
            )
            self._earlier = readings.load_readings(self._store, self._corpus)
            for page in self._request.fetched:
                if not page.canonical_url:
                    self._record_failure(page.url, "refused" if page.status == "refused" else "failed", page.note)
            for outcome in self._readers.read_all(self._tasks(), self._report_progress):
                self._handle_outcome(outcome)
            self._writer.flush()
            if self._sources:
                self._writer.embed()
            self._writer.finish(changed=bool(self._sources))
            # Last, because a page counts as read only when its chunks are stored.
            readings.store_readings(self._store, self._corpus, self._readings.values())
        return ReadPagesReply(
            sources=tuple(self._sources), left_out=tuple(self._left_out), unrendered=tuple(self._unrendered)
        )

    def _tasks(self) -> Iterator[PageTask]:
        """Yield the pages that the corpus has not read yet, or only without a browser."""
        fetched = dict.fromkeys(page.canonical_url for page in self._request.fetched if page.canonical_url)
        again = {page.url for page in self._earlier.values() if page.status != "read" and self._request.rendered}
        new = [address for address in fetched if address not in self._earlier or address in again]
        for cached in PageCache(self._store).load_pages(new):
            yield PageTask(cached.known.url, cached.body, cached.known.media_type, cached.known.charset)

    def _handle_outcome(self, outcome: ReaderOutcome) -> None:
        if isinstance(outcome, UnreadableFile):
            self._record_failure(outcome.path, "failed", outcome.reason)
            if outcome.reason == NO_TEXT:
                self._unrendered.append(outcome.path)
        elif isinstance(outcome, ParsedPage):
            self._assess(outcome)
        self._report_progress()

    def _assess(self, page: ParsedPage) -> None:
        """Make a page a source, unless it is useless or a duplicate."""
        duplicate = self._find_duplicate(page.file.path, page.fingerprint)
        flaws: tuple[PageFlaw, ...] = (*page.judgement.flaws, "near_duplicate") if duplicate else page.judgement.flaws
        note = f"near duplicate of {duplicate}" if duplicate else page.judgement.note or describe_flaws(flaws)
        if page.is_truncated:
            note = f"{note}, and {_TRUNCATION_NOTE}" if note else _TRUNCATION_NOTE
        read = not duplicate and _DISQUALIFYING_FLAWS.isdisjoint(flaws)
        published = page.published or self._dates.get(page.path, "")
        source = WebSource(
            source=make_source_id(self._corpus, page.file.path),
            url=page.file.path,
            title=page.file.document.title,
            published=published,
            chunks=len(page.file.chunks) if read else 0,
            quality=score_page(
                urlsplit(page.file.path).hostname or "", published, catalogue.format_utc_now(), flaws, self._authority
            ),
            flaws=flaws,
            note=note[:_MAX_NOTE_CHARACTERS],
        )
        (self._sources if read else self._left_out).append(source)
        if read:
            # Redirects and canonical links may lead two URLs to one source.
            is_known = page.file.path in self._earlier or page.file.path in self._readings
            self._writer.add(page.file, is_known=is_known)
        elif not duplicate:
            self._unrendered.append(page.path)
        self._record_page(page, source, "read" if read else "left_out")

    def _find_duplicate(self, address: str, fingerprint: Fingerprint) -> str:
        """Return the URL of a source with nearly the same text; empty if there is none."""
        others = [*self._earlier.values(), *self._readings.values()]
        return next(
            (
                other.url
                for other in others
                if other.status == "read"
                and other.url != address
                and estimate_similarity(other.fingerprint, fingerprint) >= MIN_DUPLICATE_SIMILARITY
            ),
            "",
        )

    def _record_page(self, page: ParsedPage, source: WebSource, status: PageStatus) -> None:
        """Record a page under its canonical URL and under the requested one."""
        canonical_url = page.file.path
        self._readings[page.path] = PageReading(
            url=page.path, status="moved", query=self._request.query, cycle=self._find_cycle(page.path)
        )
        self._readings[canonical_url] = PageReading(
            url=canonical_url,
            status=status,
            query=self._request.query,
            cycle=self._find_cycle(canonical_url),
            source_id=source.source if status == "read" else "",
            title=source.title,
            quality=source.quality,
            flaws=source.flaws,
            note=source.note,
            fingerprint=page.fingerprint,
        )

    def _record_failure(self, address: str, status: PageStatus, note: str) -> None:
        """Record that a page could not be read, unless it was read before."""
        if address not in self._earlier:
            self._readings[address] = PageReading(
                url=address,
                status=status,
                query=self._request.query,
                cycle=self._request.cycle,
                title=self._titles.get(address, ""),
                quality=0.0,
                note=note[:_MAX_NOTE_CHARACTERS],
            )

    def _find_cycle(self, address: str) -> int:
        """Return the cycle in which a page first became a source."""
        reading = self._earlier.get(address)
        return reading.cycle if reading and reading.status in ("read", "moved") else self._request.cycle

    def _report_progress(self) -> None:
        self._report(IngestProgress(stage="reading", files_done=len(self._readings)))
