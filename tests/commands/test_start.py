"""What `start` makes of its arguments, before anything is started."""

from pathlib import Path

import pytest

from commands.errors import UsageError
from commands.parser import build_parser
from commands.start import build_request, details
from tenure.contracts.run import RunRequest
from tenure.settings import Settings


def request(*arguments: str, settings: Settings | None = None) -> RunRequest:
    return build_request(build_parser().parse_args(["start", *arguments]), settings or Settings(_env_file=None))


def test_manual_is_read_where_nothing_is_named() -> None:
    """Without --docs and --corpus the repository's own documents are read, in the run."""
    made = request("Why?")

    assert made.corpora == ("manual",)
    assert [Path(path).name for path in made.ingest[0].paths] == ["docs"]


def test_docs_alone_leave_the_manual_out(tmp_path: Path) -> None:
    """Named documents make one corpus of their own, and nothing else is read."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b.txt").write_text("b")
    made = request("Why?", "--docs", str(tmp_path / "a"), "--docs", str(tmp_path / "b.txt"))

    assert made.ingest[0].paths == (str(tmp_path / "a"), str(tmp_path / "b.txt"))
    assert made.corpora == (made.ingest[0].corpus,)


def test_corpus_made_before_is_not_read_again(tmp_path: Path) -> None:
    """--corpus adds a corpus without an ingestion, beside what --docs names."""
    made = request("Why?", "--docs", str(tmp_path), "--corpus", "shelf")

    assert len(made.ingest) == 1
    assert made.corpora[1:] == ("shelf",)


def test_manual_by_name_is_made_in_the_run() -> None:
    """The default corpus can be named without having been made before."""
    made = request("Why?", "--corpus", "manual", "--corpus", "shelf")

    assert made.corpora == ("manual", "shelf")
    assert [one.corpus for one in made.ingest] == ["manual"]


def test_path_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    """A path is looked for before anything starts."""
    with pytest.raises(UsageError, match="nowhere does not exist"):
        request("Why?", "--docs", str(tmp_path / "nowhere"))


def test_flags_stand_over_settings() -> None:
    """A limit comes from the command line where it is given, else from the settings."""
    settings = Settings(max_sections=5, max_revisions=4, min_relevance=0.5, _env_file=None)
    limits = request("Why?", "--max-sections", "2", settings=settings).limits

    assert (limits.max_sections, limits.max_revisions, limits.min_relevance) == (2, 4, 0.5)


def test_overlong_question_is_a_usage_error() -> None:
    """A question beyond the contract's length is refused here and not by the server."""
    with pytest.raises(UsageError, match=r"question: .*at most 20000"):
        request("x" * 20_001)


def test_details_say_how_to_steer() -> None:
    """The page in the web UI names the run's commands and what it reads, within the server's bound."""
    text = details(request("y" * 20_000), "r1")

    assert 'client.py feedback r1 "TEXT"' in text
    assert "manual" in text
    assert len(text.encode()) < 20_000
