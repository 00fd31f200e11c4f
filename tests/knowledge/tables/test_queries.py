"""Tables of corpora in SQL: what is offered, what is kept, what stays out of other people's searches."""

from pathlib import Path

import pytest

from tenure.contracts.evidence.computing import ComputationRequest, ProgramInput, TableFileRequest
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TablesRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import UnknownDatabase
from tenure.knowledge.store.schema import SOURCES
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.sources.table_files import inserted, sqlite, table_file

SQL = "SELECT region, sum(revenue) AS total FROM sales GROUP BY region ORDER BY region"


@pytest.fixture
def sales(tmp_path: Path, ingest: Ingest) -> Path:
    """A folder with a table of sales, ingested into the corpus c."""
    folder = tmp_path / "tables"
    folder.mkdir()
    table_file(folder, "sales.csv")
    ingest(folder)
    return folder


def asked(knowledge: KnowledgeBase, sql: str = SQL, **fields: object) -> QueryReply:
    request = QueryRequest(sql=sql, corpora=("c",), question="total by region", title="Total by region")
    return knowledge.query(request.model_copy(update=fields))


def test_tables_are_offered_with_their_columns_and_values(sales: Path, knowledge: KnowledgeBase) -> None:
    """Names, kinds and values of columns are told, and whether the values are all there are."""
    (table,) = knowledge.tables(TablesRequest(question="What is the total revenue?", corpora=("c",))).tables
    region, _, revenue, _ = table.columns

    assert (table.name, table.rows) == ("sales", 4)
    assert (region.kind, region.examples, region.complete) == ("text", ("North", "South", "West"), True)
    assert (revenue.kind, revenue.examples, revenue.complete) == ("number", ("50", "200"), False)


def test_a_result_is_evidence_to_the_letter(sales: Path, knowledge: KnowledgeBase) -> None:
    """What a query returned is a source with its SQL, and passages are cut from its stored text."""
    reply = asked(knowledge)
    passages = knowledge.passages(reply.passages)
    (source,) = knowledge.sources([passages[0].source]).values()

    assert (reply.columns, reply.count, reply.truncated, reply.problem) == (("region", "total"), 3, False, "")
    assert all(source.text[p.start : p.end] == p.text for p in passages)
    assert "For region North, the total is 150.5" in source.text
    assert "| South | 200 |" in source.text and f"    {SQL}" in source.text
    assert source.title == "Total by region"
    assert source.uri.startswith(f"{sales / 'sales.csv'}#sql=")
    assert all(passage.relevance <= 1 for passage in reply.passages)


def test_the_same_query_leaves_one_source(sales: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """A repeated activity stores the same rows; a changed table replaces what the query returned before."""
    first = asked(knowledge)
    assert asked(knowledge).passages == first.passages
    before = Store(uri).count(SOURCES)
    (sales / "sales.csv").write_text("region,revenue\nEast,7\n")
    asked(knowledge)

    assert Store(uri).count(SOURCES) == before == 2


def test_a_result_answers_only_the_run_that_asked(sales: Path, knowledge: KnowledgeBase) -> None:
    """No search finds a result, no corpus lists it, and it goes with the corpus of its table."""
    reply = asked(knowledge)
    found = knowledge.search(SearchRequest(query="Total by region", corpora=("c",), k=50))
    sources = {passage.source for passage in reply.passages}

    assert not sources & {passage.source for passage in found.passages}
    assert [(one.corpus, one.sources) for one in knowledge.corpora()] == [("c", 1)]
    assert knowledge.drop("c")
    assert knowledge.sources(sorted(sources)) == {}


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DROP TABLE sales", "only SELECT may run"),
        ("SELECT nothing FROM sales", "nothing"),
        ("SELECT * FROM read_text('x')", "may not be read from"),
        ("SELECT * FROM elsewhere", "there is no table 'elsewhere'; there are: sales"),
    ],
)
def test_what_is_wrong_with_a_query_is_said(sales: Path, knowledge: KnowledgeBase, sql: str, problem: str) -> None:
    """A query that cannot run is an answer, not an error: whoever wrote it may write it anew."""
    reply = asked(knowledge, sql)

    assert problem in reply.problem
    assert reply.passages == ()


def test_rows_are_given_to_who_asks_for_them(sales: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """A person's own query returns its rows and stores nothing."""
    reply = asked(knowledge, keep=False, rows=True)

    assert reply.rows == (("North", 150.5), ("South", 200.0), ("West", None))
    assert reply.passages == ()
    assert Store(uri).count(SOURCES) == 1


def test_a_corpus_without_tables_says_so(docs: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """Where there are no tables none is offered, and a query is told so."""
    ingest(docs)

    assert knowledge.tables(TablesRequest(question="Why?", corpora=("c",))).tables == ()
    assert asked(knowledge).problem == "there are no tables in c"
    assert knowledge.query(QueryRequest(sql=SQL, corpora=())).problem == "there are no tables in what was named"


def test_the_tables_nearest_to_the_question_are_offered(
    tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase
) -> None:
    """Of many files those that share words with the question come first, and a broken one spoils nothing."""
    for number in range(9):
        (tmp_path / f"town{number}.csv").write_text("mayor,river\nAnna,Tiber\nBob,Seine\n")
    table_file(tmp_path, "sales.csv")
    ingest(tmp_path)
    (tmp_path / "town0.csv").write_bytes(b"\x00\xff\x00")

    offered = knowledge.tables(TablesRequest(question="What is the revenue of a product?", corpora=("c",))).tables

    assert offered[0].name == "sales"
    assert len(offered) <= 8


def test_a_missing_file_is_no_table(sales: Path, knowledge: KnowledgeBase) -> None:
    """A file that has gone since it was read leaves no table to ask, and no error."""
    (sales / "sales.csv").unlink()

    assert knowledge.tables(TablesRequest(question="total revenue", corpora=("c",))).tables == ()
    assert "cannot be opened" in asked(knowledge).problem


def test_a_database_that_is_not_set_is_named(knowledge: KnowledgeBase) -> None:
    """An unknown name is refused with those that are known, and no address."""
    with pytest.raises(UnknownDatabase, match="no database 'shop' is set"):
        knowledge.tables(TablesRequest(question="Why?", corpora=(), databases=("shop",)))
    with pytest.raises(UnknownDatabase):
        knowledge.query(QueryRequest(sql=SQL, corpora=(), databases=("shop",)))


def test_columns_of_sqlite_that_hold_anything_are_read_as_texts(
    tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase
) -> None:
    """A database whose values are not what they declare is described and asked all the same."""
    path = table_file(tmp_path, "shop.db")
    sqlite(path, inserted({"region": "East", "product": "wine", "revenue": "unknown", "day": "2026-01-05"}))
    report = ingest(tmp_path)

    assert report.skipped_total == 0
    assert asked(knowledge, "SELECT revenue FROM shop.sales ORDER BY day DESC", rows=True).rows[0] == ("unknown",)


def test_where_results_are_kept_cannot_be_named(knowledge: KnowledgeBase, sales: Path) -> None:
    """The place of results is no corpus: an ingestion or a search of that name does not meet it."""
    asked(knowledge)

    assert catalogue.results_corpus("c") not in {one.corpus for one in knowledge.corpora()}
    knowledge.ingest(IngestRequest(corpus="c", paths=(str(sales),)), lambda progress: None)
    assert len(knowledge.passages(asked(knowledge).passages)) == 1


def test_a_result_becomes_a_file_or_a_reason(sales: Path, knowledge: KnowledgeBase) -> None:
    """A program gets the whole of a result, names of columns first, or none of it and what is wrong with that."""
    whole = knowledge.table_file(TableFileRequest(sql=SQL, corpora=("c",)))
    large = knowledge.table_file(TableFileRequest(sql=SQL, corpora=("c",), most=20))
    many = knowledge.table_file(TableFileRequest(sql="SELECT 1 FROM range(40)", corpora=("c",), most=20))
    wrong = knowledge.table_file(TableFileRequest(sql="DROP TABLE sales", corpora=("c",)))

    assert (whole.text, whole.read) == ("region,total\nNorth,150.5\nSouth,200.0\nWest,\n", ("sales",))
    assert (large.text, many.text, wrong.text) == ("", "", "")
    assert "more than 20 bytes" in large.problem and "more than 20 bytes" in many.problem
    assert "only SELECT may run" in wrong.problem


def computation(**others: object) -> ComputationRequest:
    request = ComputationRequest(
        question="total by region",
        title="Spread of the total",
        inputs=(ProgramInput(name="input1.csv", sql=SQL, read=("sales",)),),
        code="print('spread')",
        printed="spread of the total: 49.5\nregions: 3",
        artifacts=("spread.png",),
        corpora=("c",),
    )
    return request.model_copy(update=others)


def test_what_a_program_printed_is_evidence_with_its_code(sales: Path, knowledge: KnowledgeBase) -> None:
    """Figures can be quoted; query, code and files stand in the same source, and no passage offers them as figures."""
    passages = knowledge.passages(knowledge.keep_computation(computation()).passages)
    (source,) = knowledge.sources([passages[0].source]).values()

    assert "spread of the total: 49.5" in "".join(p.text for p in passages)
    assert not any("print(" in p.text for p in passages)
    assert all(source.text[p.start : p.end] == p.text for p in passages)
    assert f"    {SQL}" in source.text and "    print('spread')" in source.text and "spread.png" in source.text
    assert source.uri.startswith(f"{sales / 'sales.csv'}#program=")


def test_the_same_program_leaves_one_source(sales: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """A repeated activity stores the same rows, and other code over the same tables a source of its own."""
    first = knowledge.keep_computation(computation())
    assert knowledge.keep_computation(computation()) == first
    before = Store(uri).count(SOURCES)
    knowledge.keep_computation(computation(code="print('other')"))

    assert Store(uri).count(SOURCES) == before + 1 == 3


def test_where_the_tables_have_gone_nothing_is_kept(knowledge: KnowledgeBase, uri: str) -> None:
    """A corpus that was dropped meanwhile leaves no place for a result."""
    assert knowledge.keep_computation(computation()).passages == ()
    assert Store(uri).count(SOURCES) == 0
