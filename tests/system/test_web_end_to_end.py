"""Runs that read the web, with nothing replaced: client, worker and parsers as processes, and a web on the loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.result.result import Result
from tenure.knowledge.store.catalogue import load_sources
from tenure.knowledge.store.store import Store
from tests.support.homes import Home, home
from tests.support.tiers import slow
from tests.web.pages import LIGHTHOUSES
from tests.web.server import Web

WATCHED = Path(__file__).parents[1] / "web" / "watched"
GOAL = LIGHTHOUSES[0]
QUESTION = f"Who was the first keeper of {GOAL.name}, and when was it lit?"
TRAPS = "What of Slow Bay, Loud Bay, Round Bay, Hollow Bay, Foghorn Bay and Cinder Bay lighthouse?"
BRIEF = (
    "--web",
    "--max-cycles",
    "1",
    "--max-sections",
    "1",
    "--report-revisions",
    "1",
    "--json",
)


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    """A web of two hundred pages and all kinds of traps, with a search engine."""
    with Web() as serving:
        yield serving


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Iterator[Home]:
    """A home that may read that web and no other, and notes where its processes connect to."""
    folder = tmp_path_factory.mktemp("reading")
    settings = {"TENURE_SEARXNG_URL": web.search, "TENURE_FETCH_ALLOW": web.allow, "TENURE_FETCH_DELAY_SECONDS": "0"}
    limits = {"TENURE_FETCH_SECONDS": "2", "TENURE_FETCH_MEGABYTES": "1", "TENURE_WEB": "true"}
    watched = {"PYTHONPATH": str(WATCHED), "TMPDIR": str(folder)}
    with home(folder, **settings, **limits, **watched) as made:
        yield made


def asked(reading: Home, question: str, *arguments: str) -> Result:
    """Return the result of a question, whatever its exit code says."""
    done = reading.run("start", question, *arguments)
    assert done.returncode in (0, 3), done.stderr
    return Result.model_validate(json.loads(done.stdout))


@pytest.fixture(scope="module")
def result(reading: Home) -> Result:
    """Return the result of the first run on the question."""
    return asked(reading, QUESTION, *BRIEF)


@slow
def test_the_page_with_the_answer_is_found_and_quoted(reading: Home, web: Web, result: Result) -> None:
    """Among two hundred similar pages the page with the whole answer is cited, and every quote is on its page."""
    assert result.status == "done"
    assert web.build_url(GOAL.path) in {source.uri for source in result.sources}
    said = result.abstract + result.sections[0].markdown
    assert GOAL.keeper in said and str(GOAL.lit) in said
    stored = load_sources(Store(reading.settings.knowledge_uri), [SourceId(source.id) for source in result.sources])
    text = {source.n: stored[SourceId(source.id)].text for source in result.sources}
    quote_list = [c for section in result.sections for claim in section.claims for c in claim.citations]
    assert quote_list and all(text[c.source][c.start : c.end] == c.quote for c in quote_list)


@slow
def test_the_same_question_fetches_no_page_again(reading: Home, web: Web, result: Result) -> None:
    """A second run on the same question takes the pages that the first has read from the cache, and answers alike."""
    assert result.web is not None
    cached = {page.url.removeprefix(web.origin) for page in result.web.pages if page.status == "read"}
    known = len(web.requests)
    again = asked(reading, QUESTION, *BRIEF)

    assert cached and cached.isdisjoint(request.path for request in web.requests[known:])
    assert again.status == "done" and GOAL.keeper in again.abstract + again.sections[0].markdown


@slow
def test_traps_cost_no_more_than_their_own_limit(reading: Home, web: Web) -> None:
    """Slow pages, decompression bombs, loops, empty pages and injected instructions are reported and end no run."""
    result = asked(reading, TRAPS, *BRIEF, "--pages", "8")

    assert result.web is not None
    became = {page.url.removeprefix(web.origin): page for page in result.web.pages}
    assert {became[path].status for path in ("/drip", "/bomb.gz", "/loop/a") if path in became} == {"failed"}
    assert became["/injected"].flaws == ("instructions",)
    assert web.count("/private/keeper") == 0
    assert "compromised" not in result.abstract
    assert result.usage.seconds < 90


@slow
def test_without_the_web_no_process_connects_to_anything_but_the_local_stack(
    reading: Home, web: Web, tmp_path: Path
) -> None:
    """With --no-web no socket leaves the machine, although an engine is set up and the setting wants the web."""
    (tmp_path / "bread.md").write_text("# Bread\n\nBread rises for two hours before it is baked.\n", encoding="utf-8")
    before = web.accepted
    result = asked(reading, "How long does bread rise?", "--docs", str(tmp_path), "--no-web", "--json")

    assert result.status == "done" and result.web is None
    assert web.accepted == before
    noted = (reading.settings.home.parent / "connects").read_text().split()
    assert noted and set(noted) <= {"127.0.0.1", "::1", "localhost"}
