"""Test the web scope of a run from its command line and the settings."""

from pathlib import Path

import pytest

from tenure.contracts.evidence.web import WebScope
from tenure.contracts.run.run import RunRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.start import render_details
from tenure.settings import Settings
from tests.runs.command_lines import build_run


def request(*arguments: str, web: bool = False) -> RunRequest:
    return build_run("Why?", *arguments, settings=Settings(_env_file=None, web=web))


def test_the_web_is_read_only_where_it_is_asked_for() -> None:
    """Without --web nothing of the web is read; with it alone nothing local is."""
    assert request().limits.web is None

    made = request("--web")
    assert made.limits.web == WebScope()
    assert made.corpora == () and made.ingest == ()


def test_documents_exclude_the_web(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A run over documents does not read the web, whatever the setting says, unless the command asks for it."""
    docs = str(tmp_path_factory.mktemp("docs"))
    Path(docs, "a.txt").write_text("a")

    assert request(web=True).limits.web is not None
    assert request("--no-web", web=True).limits.web is None
    assert request("--docs", docs, web=True).limits.web is None
    both = request("--docs", docs, "--web")
    assert both.limits.web is not None and len(both.corpora) == 1


def test_how_the_web_is_read_travels_with_the_run() -> None:
    """Engines, domains to read and to leave, age and number of pages are kept, and shown in the web UI."""
    made = request(
        *("--web", "--provider", "brave", "--domain", "example.org", "--domain=-ads.example.org"),
        *("--since", "month", "--pages", "7"),
        *("--url", "https://example.org/a", "--url", "https://example.org/a"),
    )

    assert made.limits.web == WebScope(
        urls=("https://example.org/a",),
        max_pages=7,
        providers=("brave",),
        domains=("example.org",),
        excluded_domains=("ads.example.org",),
        time_range="month",
    )
    assert "**Web** brave" in render_details(made, "run-1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--provider", "brave"], "providers: it applies only to runs that read the web"),
        (["--pages", "3"], "pages: it applies only"),
        (["--web", "--domain", "https://example.org/page"], "is not a domain"),
        (["--url", "https://example.org/"], "urls: it applies only"),
        (["--web", "--url", "example.org"], "is not the URL of a web page"),
    ],
)
def test_invalid_web_options_are_refused(arguments: list[str], said: str) -> None:
    """A web option without the web, and an invalid domain, are errors."""
    with pytest.raises(InvalidRequest, match=said):
        request(*arguments)
