"""Test the requests that `start` builds from its arguments."""

from pathlib import Path

import pytest

from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.rerank import RerankOptions
from tenure.contracts.run.budget import Price
from tenure.contracts.run.run import RunRequest
from tenure.files.discovery import discover_files
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import StartRequest
from tenure.runs.paths import find_manual
from tenure.runs.start import plan_run, render_details
from tenure.settings import Settings
from tests.runs.command_lines import build_run, parse


def request(*arguments: str, settings: Settings | None = None) -> RunRequest:
    return build_run(*arguments, settings=settings)


def test_manual_is_read_where_nothing_is_named() -> None:
    """Without --docs and --corpus the repository's own documents are read, in the run."""
    made = request("Why?")

    assert made.corpora == ("manual",)
    assert [Path(path).name for path in made.ingest[0].paths] == ["docs"]


def test_the_manual_has_no_screenshots() -> None:
    """The pictures of its site are no documents, whose text a report would cite."""
    found = {Path(file.path).suffix for file in discover_files([find_manual()]).files}

    assert found >= {".md"}
    assert not found & {".png", ".webp", ".svg"}


def test_docs_alone_leave_the_manual_out(tmp_path: Path) -> None:
    """Named documents make one corpus of their own, and nothing else is read."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b.txt").write_text("b")
    made = request("Why?", "--docs", str(tmp_path / "a"), "--docs", str(tmp_path / "b.txt"))

    assert made.ingest[0].paths == (str(tmp_path / "a"), str(tmp_path / "b.txt"))
    assert made.corpora == (made.ingest[0].corpus,)


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    """A question that only an empty folder could answer is refused; with other sources the folder is named."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "b.txt").write_text("b")
    docs = ("--docs", str(tmp_path / "empty"))
    with pytest.raises(InvalidRequest, match=r"docs: .*/empty: nothing is in it"):
        request("Why?", *docs)

    assert request("Why?", *docs, "--web").limits.web
    mixed = parse(StartRequest, "start", "Why?", *docs, "--docs", str(tmp_path / "b.txt"))
    assert plan_run(mixed, Settings(_env_file=None)).notes == (f"{tmp_path / 'empty'} is empty",)


def test_files_of_a_program_imply_the_coding_path(tmp_path: Path) -> None:
    """A request with files reads no manual, unless a mode is chosen."""
    log = tmp_path / "log.txt"
    log.write_text("08:00\n")
    made = request("Sum up the log", "--files", str(log))

    assert (made.mode, made.corpora) == ("code", ())
    assert request("Sum up the log", "--files", str(log), "--mode", "research").mode == "research"


@pytest.mark.parametrize("option", ["--reasoning tree", "--mcp maps"])
def test_what_only_a_model_can_do_is_refused_without_one(option: str) -> None:
    """An option that only a model carries out is refused without one, with the settings that name a model."""
    field = option.split()[0].removeprefix("--")
    with pytest.raises(InvalidRequest, match=f"{field}: it needs a chat model, which OPENAI_API_KEY"):
        request("Why?", *option.split())
    named = Settings(openai_base_url="http://127.0.0.1:1/v1", _env_file=None)
    assert request("Why?", *option.split(), settings=named).limits.has_model
    assert request("Why?", "--reasoning", "none").limits.reasoning == "none"


def test_an_existing_corpus_is_not_read_again(tmp_path: Path) -> None:
    """--corpus adds an existing corpus to those of --docs."""
    made = request("Why?", "--docs", str(tmp_path), "--corpus", "shelf")

    assert len(made.ingest) == 1
    assert made.corpora[1:] == ("shelf",)


def test_manual_by_name_is_made_in_the_run() -> None:
    """The default corpus can be named without having been made before."""
    made = request("Why?", "--corpus", "manual", "--corpus", "shelf")

    assert made.corpora == ("manual", "shelf")
    assert [one.corpus for one in made.ingest] == ["manual"]


def test_memory_is_on_unless_somebody_says_otherwise() -> None:
    """A run learns from earlier ones; an option comes before the setting."""
    forgetful = Settings(memory=False, _env_file=None)

    assert request("Why?").memory
    assert not request("Why?", "--no-memory").memory
    assert not request("Why?", settings=forgetful).memory
    assert request("Why?", "--memory", settings=forgetful).memory


def test_path_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    """A path is looked for before anything starts."""
    with pytest.raises(InvalidRequest, match="nowhere does not exist"):
        request("Why?", "--docs", str(tmp_path / "nowhere"))


def test_flags_stand_over_settings() -> None:
    """A limit comes from the command line where it is given, else from the settings."""
    settings = Settings(max_sections=5, max_report_revisions=4, min_relevance=0.5, _env_file=None)
    limits = request("Why?", "--max-sections", "2", settings=settings).limits

    assert (limits.max_sections, limits.max_report_revisions, limits.min_relevance) == (2, 4, 0.5)


def test_filters_are_part_of_the_request() -> None:
    """Filter conditions are part of the run's limits, and its web UI page lists them."""
    made = request("Why?", "--filter", "published>=2020", "--filter", "suffix=.md,.rst")

    assert made.limits.filters == (
        Filter(field="published", min="2020"),
        Filter(field="suffix", any_of=(".md", ".rst")),
    )
    assert "published >= 2020; suffix is one of .md, .rst" in render_details(made, "r")
    assert "Only passages" not in render_details(request("Why?"), "r")


def test_reranking_is_part_of_the_request() -> None:
    """The reranking steps are part of the request; a rerank server without a weight gets all of it."""
    settings = Settings(rerank=RerankOptions(diversity=0.2), rerank_model="m", _env_file=None)

    assert request("Why?", settings=settings).limits.rerank == RerankOptions(diversity=0.2, endpoint=1.0)


def test_overlong_question_is_a_usage_error() -> None:
    """A question beyond the contract's length is refused here and not by the server."""
    with pytest.raises(InvalidRequest, match=r"question: .*at most 20000"):
        request("x" * 20_001)


def test_details_say_how_to_steer() -> None:
    """The page in the web UI names the run's commands and what it reads, within the server's bound."""
    text = render_details(request("y" * 20_000), "r1")

    assert 'client.py feedback r1 "TEXT"' in text
    assert "manual" in text
    assert len(text.encode()) < 20_000


def test_budgets_come_with_the_prices_they_are_reserved_by(tmp_path: Path) -> None:
    """Money is reserved by the dearest input and the dearest output of all models that may answer."""
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.large]\ninput = 1\noutput = 10\n[models.small]\ninput = 2\noutput = 4\n")
    settings = Settings(
        openai_base_url="http://127.0.0.1:1/v1",
        model="large",
        fast_model="small",
        prices=prices,
        max_output=700,
        _env_file=None,
    )
    limits = request("Why?", "--max-cost", "0.5", "--deadline", "2m", settings=settings).limits
    assert (limits.max_cost_usd, limits.max_seconds, limits.max_call_output) == (0.5, 120.0, 700)
    assert limits.highest_price == Price(input=2, output=10)


def test_a_cost_limit_needs_known_prices(tmp_path: Path) -> None:
    """A cost limit is refused if a model has no known price, with the file to add it to; offline it is accepted."""
    settings = Settings(home=tmp_path, openai_base_url="http://127.0.0.1:1/v1", model="large", _env_file=None)
    with pytest.raises(InvalidRequest, match=r"the price of large is unknown: add it to .*prices\.toml"):
        request("Why?", "--max-cost", "0.5", settings=settings)
    offline = Settings(home=tmp_path, openai_base_url=None, openai_api_key=None, _env_file=None)
    assert request("Why?", "--max-cost", "0.5", settings=offline).limits.max_cost_usd == 0.5


def test_an_invalid_price_file_is_a_usage_error(tmp_path: Path) -> None:
    """An error in the price file is reported before anything starts."""
    (tmp_path / "prices.toml").write_text("[models.large]\ninput = 1\n")
    with pytest.raises(InvalidRequest, match=r"models\.large\.output"):
        request("Why?", settings=Settings(home=tmp_path, _env_file=None))
