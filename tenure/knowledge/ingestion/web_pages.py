"""Intake: pages of the page cache become sources of a run's own corpus.

Pages are read apart from the worker like files, judged, cut and stored. A page that says what another one of
the corpus says is no second source, or a copied mistake would count as confirmed. Repeating an intake, also
after an interruption, leads to the same rows.
"""

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from tenure.algorithms.retrieval.page_quality import score, words
from tenure.algorithms.text.near_duplicates import SAME, Fingerprint, similarity
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.evidence.web import Flaw, PageStatus, ReadPagesReply, ReadPagesRequest, WebSource
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter
from tenure.knowledge.ingestion.readers import Readers
from tenure.knowledge.pages import readings
from tenure.knowledge.pages.cache import CachedPage, PageCache
from tenure.knowledge.pages.readings import Reading
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.locks import alone
from tenure.knowledge.store.schema import source_id
from tenure.knowledge.store.store import Store
from tenure.sources.document.document import NO_TEXT
from tenure.sources.parsers.reading import BadFile, Outcome, PageTask, ReadFile, ReadPage

_USELESS: frozenset[Flaw] = frozenset({"error_page", "empty"})
"""Flaws of pages that are no sources at all."""

_SHORTENED = "it is so long that only its beginning was read"

_LONGEST_NOTE = 300


class Intake:
    """One go at the pages that were fetched for one query."""

    def __init__(
        self,
        store: Store,
        writer: CorpusWriter,
        readers: Readers,
        authority: Mapping[str, float],
        request: ReadPagesRequest,
        report: Callable[[IngestProgress], None],
    ) -> None:
        """Take what `run` needs; nothing is touched yet.

        Args:
            store: where corpora and the page cache are.
            writer: writes into the request's corpus.
            readers: processes that read pages.
            authority: what domains are worth, from 0 to 1.
            request: the pages.
            report: told that it goes on.
        """
        self._store, self._writer, self._readers, self._authority = store, writer, readers, authority
        self._request, self._corpus = request, request.corpus
        self._report = report
        self._titles = {hit.address: hit.title for hit in request.hits}
        self._dates = {hit.address: hit.published for hit in request.hits}
        self._known: dict[str, Reading] = {}
        self._readings: dict[str, Reading] = {}
        self._sources: list[WebSource] = []
        self._left_out: list[WebSource] = []
        self._wordless: list[str] = []

    def run(self) -> ReadPagesReply:
        """Read what is new, and write down what became of everything."""
        with alone(self._store.folder, self._corpus, self._tell):
            self._writer.claim(keeps_others=True)
            self._keep_answers()
            self._known = readings.pages(self._store, self._corpus)
            for page in self._request.fetched:
                if not page.page:
                    self._note(page.address, "refused" if page.status == "refused" else "failed", page.note)
            for outcome in self._readers.outcomes(self._tasks(), self._tell):
                self._take(outcome)
            self._writer.flush()
            if self._sources:
                self._writer.embed()
            self._writer.finish(changed=bool(self._sources))
            # Last: a page counts as read only when its chunks are there.
            readings.keep_pages(self._store, self._corpus, self._readings.values())
        return ReadPagesReply(
            sources=tuple(self._sources), left_out=tuple(self._left_out), wordless=tuple(self._wordless)
        )

    def _tasks(self) -> Iterator[PageTask]:
        """Yield the pages that the corpus has not read yet, or not as a browser shows them."""
        wanted = dict.fromkeys(page.page for page in self._request.fetched if page.page)
        again = {page.address for page in self._known.values() if page.status != "read" and self._request.shown}
        new = [address for address in wanted if address not in self._known or address in again]
        for cached in PageCache(self._store).pages(new):
            yield _task(cached)

    def _take(self, outcome: Outcome) -> None:
        if isinstance(outcome, BadFile):
            self._note(outcome.path, "failed", outcome.reason)
            if outcome.reason == NO_TEXT:
                self._wordless.append(outcome.path)
        elif isinstance(outcome, ReadPage):
            self._judge(outcome)
        self._tell()

    def _judge(self, page: ReadPage) -> None:
        """Make a page a source, unless it says nothing, or nothing that the corpus does not have."""
        twin = self._twin(page.file.path, page.fingerprint)
        flaws: tuple[Flaw, ...] = (*page.judgement.flaws, "near_duplicate") if twin else page.judgement.flaws
        note = f"it says the same as {twin}" if twin else page.judgement.note or words(flaws)
        if page.shortened:
            note = f"{note}, and {_SHORTENED}" if note else _SHORTENED
        read = not twin and _USELESS.isdisjoint(flaws)
        published = page.published or self._dates.get(page.path, "")
        source = WebSource(
            source=source_id(self._corpus, page.file.path),
            address=page.file.path,
            title=page.file.document.title,
            published=published,
            chunks=len(page.file.chunks) if read else 0,
            quality=score(urlsplit(page.file.path).hostname or "", published, catalogue.now(), flaws, self._authority),
            flaws=flaws,
            note=note[:_LONGEST_NOTE],
        )
        (self._sources if read else self._left_out).append(source)
        if read:
            self._add(page.file)
        elif not twin:
            self._wordless.append(page.path)
        self._keep(page, source, "read" if read else "left_out")

    def _twin(self, address: str, own: Fingerprint) -> str:
        """Return the address of a source that says the same; empty where there is none."""
        others = [*self._known.values(), *self._readings.values()]
        return next(
            (
                other.address
                for other in others
                if other.status == "read" and other.address != address and similarity(other.fingerprint, own) >= SAME
            ),
            "",
        )

    def _add(self, file: ReadFile) -> None:
        # Redirects and canonical links may lead two addresses to one source.
        self._writer.add(file, known=file.path in self._known or file.path in self._readings)

    def _keep(self, page: ReadPage, source: WebSource, status: PageStatus) -> None:
        """Write a page down under the address it is cited by, and the one it was asked for under."""
        own = page.file.path
        self._readings[page.path] = Reading(
            address=page.path, status="moved", query=self._request.query, cycle=self._cycle(page.path)
        )
        self._readings[own] = Reading(
            address=own,
            status=status,
            query=self._request.query,
            cycle=self._cycle(own),
            source_id=source.source if status == "read" else "",
            title=source.title,
            quality=source.quality,
            flaws=source.flaws,
            note=source.note,
            fingerprint=page.fingerprint,
        )

    def _note(self, address: str, status: PageStatus, note: str) -> None:
        """Write down that a page could not be read, unless it was read before."""
        if address not in self._known:
            self._readings[address] = Reading(
                address=address,
                status=status,
                query=self._request.query,
                cycle=self._request.cycle,
                title=self._titles.get(address, ""),
                quality=0.0,
                note=note[:_LONGEST_NOTE],
            )

    def _cycle(self, address: str) -> int:
        """Return the cycle since which a page is a source: coming upon it again changes nothing about that."""
        known = self._known.get(address)
        return known.cycle if known and known.status in ("read", "moved") else self._request.cycle

    def _keep_answers(self) -> None:
        request = self._request
        readings.keep_answers(self._store, self._corpus, request.query, request.cycle, request.answers)

    def _tell(self) -> None:
        self._report(IngestProgress(stage="reading", files_done=len(self._readings)))


def _task(cached: CachedPage) -> PageTask:
    return PageTask(cached.known.address, cached.body, cached.known.media_type, cached.known.charset)
