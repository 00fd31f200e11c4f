"""Test the arguments of `table query` and how rows are printed."""

from pathlib import Path

import pytest

from tenure.cli.commands.tables import _print
from tenure.contracts.evidence.tables import QueryReply, SqlRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import SqlBody
from tenure.runs.tables import build_request
from tests.runs.command_lines import build_run, parse


def request(*arguments: str) -> SqlRequest:
    return build_request(parse(SqlBody, "table", "query", " SELECT 1 ", *arguments))


def test_tables_of_documents_corpora_and_databases_may_be_asked(tmp_path: Path) -> None:
    """Documents become a corpus that is read first; corpora and databases are named."""
    made = request("--docs", str(tmp_path), "--corpus", "shelf", "--database", "shop", "--database", "shop")

    assert (made.sql, made.databases) == ("SELECT 1", ("shop",))
    assert made.ingest[0].paths == (str(tmp_path),)
    assert made.corpora == (made.ingest[0].corpus, "shelf")


def test_a_query_needs_something_to_read() -> None:
    """Without documents, corpus and database the command says what is missing."""
    with pytest.raises(InvalidRequest, match="name the tables"):
        request()


def test_a_run_over_a_database_reads_nothing_else() -> None:
    """--database alone leaves the manual out, and brings the corpus of the database's descriptions."""
    made = build_run("Why?", "--database", "shop")

    assert (made.databases, made.corpora, made.ingest) == (("shop",), ("database-shop",), ())


def test_rows_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers lose their noise, nothing is taken for markup, and a cut result says so."""
    rows = (("[bold]Rome[/bold]", 0.1 + 0.2), (None, None))
    _print(QueryReply(columns=("[x]", "sum"), rows=rows, row_count=2, truncated=True))
    printed = capsys.readouterr()

    assert "[bold]Rome[/bold]" in printed.out and "[x]" in printed.out
    assert "0.3 " in printed.out and "0.30000" not in printed.out
    assert "only the first 2 rows" in printed.err
