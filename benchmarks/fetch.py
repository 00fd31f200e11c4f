"""Measure fetching and reading of web pages: `python -m benchmarks.fetch [--pages 500] [--latency 0.02] [--json]`.

A server in a separate process delivers pages on loopback, each after a latency. They are fetched into a temporary page
cache, without rate limits, and read in the reader processes while others are still being fetched. Then all are fetched
again unchanged, first while they are fresh and then with conditional requests. Several rounds over other URLs show
whether memory grows.
"""

import argparse
import asyncio
import json
import multiprocessing
import queue
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tenure.contracts.base import RunId
from tenure.contracts.evidence.web import FetchReply, FetchRequest
from tenure.knowledge.ingestion.readers import ReaderPool
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.pages.fetching import PageFetching
from tenure.knowledge.store.store import Store
from tenure.models.minilm.model import MiniLM
from tenure.settings import Settings
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.fetcher import CrawlPolicy, Fetcher
from tenure.sources.parsers.reader_process import PageTask, ParsedPage, ReadingOptions
from tests.web import LIGHTHOUSES, Reply, Request, Web
from tests.web.pages import page

_AT_ONCE = 32
"""Pages that are fetched at the same time."""
_ASKED = 50
"""Pages of one request, as an activity has them."""
_READERS = 2


def bodies(pages: int, paragraphs: int) -> dict[str, bytes]:
    """Return pages of an article's length, no two alike."""
    chance = random.Random(11)
    sentences = [sentence for one in LIGHTHOUSES for sentence in one.text]
    return {
        f"/article/{number}": page(
            f"Report {number} on {chance.choice(LIGHTHOUSES).name}",
            [
                f"In part {part} of report {number}: {' '.join(chance.sample(sentences, 2))}"
                for part in range(paragraphs)
            ],
        )
        for number in range(pages)
    }


@contextmanager
def served(pages: int, paragraphs: int, latency: float) -> Iterator[tuple[int, int]]:
    """Serve pages in a process of its own; yield its port and the process's id."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, pages, paragraphs, latency), daemon=True)
    process.start()
    try:
        yield ours.recv(), process.pid or 0
    finally:
        ours.send("stop")
        process.join()


def _serve(pipe: Any, pages: int, paragraphs: int, latency: float) -> None:
    there = {path: _answering(body) for path, body in bodies(pages, paragraphs).items()}
    with Web(latency=latency, extra=there) as web:
        pipe.send(web.port)
        pipe.recv()


def _answering(body: bytes) -> Any:
    def answer(request: Request) -> Reply:
        return Reply(body)

    return answer


class Round(NamedTuple):
    """Result of one round."""

    seconds: float
    computed: float
    """Seconds of processors, those of the server left out."""
    pages: int
    chunks: int


def _computed(server: int) -> float:
    """Return the seconds of processors that this process and its readers have used."""
    this = psutil.Process()
    times = [one.cpu_times() for one in (this, *this.children()) if one.pid != server]
    return sum(one.user + one.system for one in times)


class Run:
    """Fetching and reading with one cache."""

    def __init__(self, folder: Path, port: int, server: int, recipe: ReadingOptions) -> None:
        self.now = datetime.now(UTC)
        self._origin = f"http://127.0.0.1:{port}"
        self._cache = PageCache(Store(str(folder)))
        self._recipe = recipe
        self._port, self._server = port, server

    def addresses(self, pages: int, round_: int) -> list[str]:
        """Return addresses of the pages, others in each round."""
        return [f"{self._origin}/article/{number}?round={round_}" for number in range(pages)]

    def read(self, addresses: Sequence[str]) -> Round:
        """Fetch and read pages."""
        fetched: queue.Queue[FetchReply | None] = queue.Queue(maxsize=2)
        fetching = threading.Thread(target=lambda: asyncio.run(self._fetch(addresses, fetched)))
        pages = chunks = 0
        with ReaderPool(self._recipe, _READERS) as readers:
            warm = [PageTask("http://127.0.0.1/", page("Warm", ["Up."])) for _ in range(4 * _READERS)]
            assert len(list(readers.read_all(warm, lambda: None))) == len(warm)  # readers take seconds to start
            started, before = time.perf_counter(), _computed(self._server)
            fetching.start()
            for one in readers.read_all(self._tasks(fetched), lambda: None):
                assert isinstance(one, ParsedPage), one
                pages, chunks = pages + 1, chunks + len(one.file.chunks)
            seconds, computed = time.perf_counter() - started, _computed(self._server) - before
        fetching.join()
        return Round(seconds, computed, pages, chunks)

    def again(self, addresses: Sequence[str]) -> tuple[float, set[str]]:
        """Fetch cached pages; return the seconds, and their outcomes."""
        fetched: queue.Queue[FetchReply | None] = queue.Queue()
        started = time.perf_counter()
        asyncio.run(self._fetch(addresses, fetched))
        seconds = time.perf_counter() - started
        return seconds, {one.status for reply in iter(fetched.get, None) for one in reply.pages}

    async def _fetch(self, addresses: Sequence[str], replies: "queue.Queue[FetchReply | None]") -> None:
        policy = CrawlPolicy(obey_robots=False, max_concurrent=_AT_ONCE, max_per_host=_AT_ONCE, min_interval=0)
        fetcher = Fetcher(AddressGuard([f"127.0.0.1:{self._port}"]), policy=policy)
        fetching = PageFetching(self._cache, fetcher, timedelta(hours=1), lambda: self.now)
        for start in range(0, len(addresses), _ASKED):
            request = FetchRequest(run=RunId("benchmark"), urls=tuple(addresses[start : start + _ASKED]))
            reply = await fetching.fetch(request)
            await asyncio.to_thread(replies.put, reply)
        await asyncio.to_thread(replies.put, None)
        await fetcher.aclose()

    def _tasks(self, replies: "queue.Queue[FetchReply | None]") -> Iterator[PageTask]:
        for reply in iter(replies.get, None):
            for one in self._cache.load_pages([done.canonical_url for done in reply.pages if done.canonical_url]):
                yield PageTask(one.known.url, one.body, one.known.media_type, one.known.charset)


def measure(pages: int, paragraphs: int, latency: float, rounds: int, home: Path, settings: Settings) -> dict[str, Any]:
    """Fetch and read pages in several rounds, and return the figures."""
    model = MiniLM(settings.home.absolute() / "models", threads=1)
    recipe = ReadingOptions(settings.chunk_tokens, model.max_tokens, model.count_tokens)
    this = psutil.Process()
    with served(pages, paragraphs, latency) as (port, server):
        run = Run(home / "knowledge", port, server, recipe)
        results: list[Round] = []
        memory = []
        for number in range(rounds):
            results.append(run.read(run.addresses(pages, number)))
            memory.append(round(this.memory_info().rss / 1e6, 1))
        fresh, of_fresh = run.again(run.addresses(pages, 0))
        run.now += timedelta(hours=2)
        asked, of_asked = run.again(run.addresses(pages, 0))
    assert (of_fresh, of_asked) == ({"cached"}, {"unchanged"}), (of_fresh, of_asked)
    return {
        "pages": pages,
        "page_kilobytes": round(len(bodies(1, paragraphs)["/article/0"]) / 1e3, 1),
        "pages_read": min(one.pages for one in results),
        "chunks": results[0].chunks,
        "pages_per_second": [round(pages / one.seconds, 1) for one in results],
        "processor_milliseconds_per_page": [round(1000 * one.computed / pages, 1) for one in results],
        "fresh_pages_per_second": round(pages / fresh, 1),
        "confirmed_pages_per_second": round(pages / asked, 1),
        "memory_megabytes": memory,
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fetch", description=__doc__)
    parser.add_argument("--pages", type=int, default=500, help="pages of a round")
    parser.add_argument("--paragraphs", type=int, default=12, help="paragraphs of a page")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds before each answer of the server")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over other addresses")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(given.pages, given.paragraphs, given.latency, given.rounds, Path(home), Settings())
    if given.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):28} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
