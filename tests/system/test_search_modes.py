"""Test the option `--search` with real processes: client, Temporal server and worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tenure.contracts.choices import SearchMode
from tests.knowledge.search.test_search_modes import PAGES, QUESTION, write_pages
from tests.support.homes import Home, home
from tests.support.tiers import RUN_ALL, slow

pytestmark = slow

MODES: tuple[SearchMode, ...] = get_args(SearchMode) if RUN_ALL else ("sparse", "graph")
NO_LINKS = "found no links between passages and ranked them as `hybrid` does"


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home without a chat model."""
    with home(tmp_path_factory.mktemp("offline")) as made:
        yield made


def test_modes_can_be_chosen_for_a_run(offline: Home, tmp_path: Path) -> None:
    """Report and trace name the mode; the first passages for the question are not the same in all modes."""
    pages, found = write_pages(tmp_path / "pages", PAGES), set()
    for mode in MODES:
        done = offline.run("start", QUESTION, "--docs", str(pages), "--search", mode, "--id", f"by-{mode}")
        assert (done.returncode, f"Searches used the mode `{mode}`, as requested." in done.stdout) == (0, True), mode
        assert NO_LINKS not in done.stdout
        trace = offline.json("trace", f"by-{mode}")
        assert {
            task["search_mode"] for cycle in trace["cycles"] for plan in cycle["plans"] for task in plan["tasks"]
        } <= {mode}
        found.add(tuple(finding["passage"]["chunk"] for finding in trace["initial_findings"]))

    assert len(found) > 1


def test_a_run_along_links_without_links_says_so(offline: Home, tmp_path: Path) -> None:
    """The report of a run with `--search graph` over documents without shared names says how they were ranked."""
    weather = {
        "rain": "It rained at dawn, and the rain was heavy and cold until noon.",
        "snow": "It snowed at dusk, and nobody went out.",
    }
    pages = write_pages(tmp_path / "weather", weather)
    done = offline.run(
        "start", "How heavy was the rain at dawn?", "--docs", str(pages), "--search", "graph", "--id", "no-links"
    )

    assert NO_LINKS in done.stdout, done.stderr


def test_a_follow_up_question_chooses_its_own_mode(offline: Home, tmp_path: Path) -> None:
    """`ask --search` searches in another mode than the run, and an unknown mode is a usage error in one line."""
    pages = write_pages(tmp_path / "pages", PAGES)
    assert offline.run("start", QUESTION, "--docs", str(pages), "--id", "asked").returncode == 0
    asked = offline.run("ask", "asked", "Who was the first president of the Weavers Guild?", "--search", "sparse")
    unknown = offline.run("ask", "asked", "Who?", "--search", "magic")

    assert (asked.returncode, unknown.returncode) == (0, 2)
    assert "Loom" in asked.stdout
    assert "--search: invalid choice: 'magic'" in unknown.stderr
