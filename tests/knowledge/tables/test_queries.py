"""Test SQL over tables of corpora: offered tables, stored results, and their isolation."""

from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from tenure.contracts.evidence.computing import ComputationRequest, ProgramInput, TableFileRequest
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TablesRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import KnowledgeError
from tenure.knowledge.store.schema import SOURCES
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors
from tests.sources.pdfs import SENTENCES, typeset
from tests.sources.table_files import inserted, sqlite, table_file
from tests.support.tiers import slow

SQL = "SELECT region, sum(revenue) AS total FROM sales GROUP BY region ORDER BY region"


@pytest.fixture
def sales(tmp_path: Path, ingest: Ingest) -> Path:
    """Folder with a table of sales, ingested into the corpus c."""
    folder = tmp_path / "tables"
    folder.mkdir()
    table_file(folder, "sales.csv")
    ingest(folder)
    return folder


def asked(knowledge: KnowledgeBase, sql: str = SQL, **fields: object) -> QueryReply:
    request = QueryRequest(sql=sql, corpora=("c",), question="total by region", title="Total by region")
    return knowledge.tables.query(request.model_copy(update=fields))


@slow
def test_tables_are_offered_with_their_columns_and_values(sales: Path, knowledge: KnowledgeBase) -> None:
    """Names, types and values of columns are returned, and whether the list of values is complete."""
    (table,) = knowledge.tables.list_tables(TablesRequest(question="What is the total revenue?", corpora=("c",)))
    region, _, revenue, _ = table.columns

    assert (table.name, table.rows) == ("sales", 4)
    assert (region.kind, region.examples, region.complete) == ("text", ("North", "South", "West"), True)
    assert (revenue.kind, revenue.examples, revenue.complete) == ("number", ("50", "200"), False)


@slow
def test_result_is_stored_as_a_source(sales: Path, knowledge: KnowledgeBase) -> None:
    """A result is a source with its table and its SQL, and its passages are the rows in sentences."""
    reply = asked(knowledge)
    passages = knowledge.corpora.load_passages(reply.passages)
    (source,) = knowledge.corpora.load_sources([passages[0].source]).values()

    assert (reply.columns, reply.row_count, reply.truncated, reply.problem) == (("region", "total"), 3, False, "")
    assert all(source.text[p.start : p.end] == p.text for p in passages)
    assert "For region North, the total is 150.5" in source.text
    assert all(p.start < source.text.index("| region |") for p in passages)
    assert "| South | 200 |" in source.text and f"    {SQL}" in source.text
    assert source.title == "Total by region"
    assert source.uri.startswith(f"{sales / 'sales.csv'}#sql=")
    assert all(passage.relevance <= 1 for passage in reply.passages)


@slow
def test_the_same_query_leaves_one_source(sales: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """A retried activity stores the same rows; after a change of the table the result is replaced."""
    first = asked(knowledge)
    assert asked(knowledge).passages == first.passages
    before = Store(uri).count_rows(SOURCES)
    (sales / "sales.csv").write_text("region,revenue\nEast,7\n")
    asked(knowledge)

    assert Store(uri).count_rows(SOURCES) == before == 2


@slow
def test_results_are_not_searchable(sales: Path, knowledge: KnowledgeBase) -> None:
    """No search finds a result, no corpus lists it, and it is deleted with the corpus of its table."""
    reply = asked(knowledge)
    found = knowledge.retrieval.search(SearchRequest(query="Total by region", corpora=("c",), k=50))
    sources = {passage.source for passage in reply.passages}

    assert not sources & {passage.source for passage in found.passages}
    assert [(one.corpus, one.sources) for one in knowledge.corpora.load_stats()] == [("c", 1)]
    assert knowledge.corpora.drop("c")
    assert knowledge.corpora.load_sources(sorted(sources)) == {}


@slow
@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DROP TABLE sales", "only SELECT is permitted"),
        ("SELECT nothing FROM sales", "nothing"),
        ("SELECT * FROM read_text('x')", "is not permitted in FROM"),
        ("SELECT * FROM elsewhere", "there is no table 'elsewhere'; there are: sales"),
    ],
)
def test_sql_errors_are_returned_in_the_reply(sales: Path, knowledge: KnowledgeBase, sql: str, problem: str) -> None:
    """An invalid query gives a reply with the error, so that it can be corrected."""
    reply = asked(knowledge, sql)

    assert problem in reply.problem
    assert reply.passages == ()


@slow
def test_rows_are_returned_on_request(sales: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """A query of a person returns its rows and stores nothing."""
    reply = asked(knowledge, keep=False, return_rows=True)

    assert reply.rows == (("North", 150.5), ("South", 200.0), ("West", None))
    assert reply.passages == ()
    assert Store(uri).count_rows(SOURCES) == 1


def test_corpus_without_tables_offers_none(docs: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """No table is offered, and a query returns an error."""
    ingest(docs)

    assert knowledge.tables.list_tables(TablesRequest(question="Why?", corpora=("c",))) == ()
    assert asked(knowledge).problem == "there are no tables in c"
    assert knowledge.tables.query(QueryRequest(sql=SQL, corpora=())).problem == "there are no tables in what was named"


@slow
def test_tables_that_match_the_question_are_offered_first(
    tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase
) -> None:
    """Files that share words with the question come first, and a broken file is skipped."""
    for number in range(9):
        (tmp_path / f"town{number}.csv").write_text("mayor,river\nAnna,Tiber\nBob,Seine\n")
    table_file(tmp_path, "sales.csv")
    ingest(tmp_path)
    (tmp_path / "town0.csv").write_bytes(b"\x00\xff\x00")

    offered = knowledge.tables.list_tables(TablesRequest(question="What is the revenue of a product?", corpora=("c",)))

    assert offered[0].name == "sales"
    assert len(offered) <= 8


@slow
def test_missing_file_is_skipped(sales: Path, knowledge: KnowledgeBase) -> None:
    """A file deleted after its ingestion offers no table and raises no error."""
    (sales / "sales.csv").unlink()

    assert knowledge.tables.list_tables(TablesRequest(question="total revenue", corpora=("c",))) == ()
    assert "cannot be opened" in asked(knowledge).problem


def test_unknown_database_is_rejected(knowledge: KnowledgeBase) -> None:
    """The error lists the configured databases, but no address."""
    with pytest.raises(KnowledgeError, match="no database 'shop' is configured"):
        knowledge.tables.list_tables(TablesRequest(question="Why?", corpora=(), databases=("shop",)))
    with pytest.raises(KnowledgeError):
        knowledge.tables.query(QueryRequest(sql=SQL, corpora=(), databases=("shop",)))


@slow
def test_mixed_sqlite_columns_are_read_as_text(tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """A database whose values differ from the declared types can be described and queried."""
    path = table_file(tmp_path, "shop.db")
    sqlite(path, inserted({"region": "East", "product": "wine", "revenue": "unknown", "day": "2026-01-05"}))
    report = ingest(tmp_path)

    assert report.skipped_total == 0
    assert asked(knowledge, "SELECT revenue FROM shop.sales ORDER BY day DESC", return_rows=True).rows[0] == (
        "unknown",
    )


@slow
def test_results_corpus_cannot_be_named(knowledge: KnowledgeBase, sales: Path) -> None:
    """An ingestion or a search of that name does not touch the results."""
    asked(knowledge)

    assert catalogue.derive_results_corpus("c") not in {one.corpus for one in knowledge.corpora.load_stats()}
    knowledge.corpora.ingest(IngestRequest(corpus="c", paths=(str(sales),)), lambda progress: None)
    assert len(knowledge.corpora.load_passages(asked(knowledge).passages)) == 1


@slow
def test_result_is_exported_completely_or_not_at_all(sales: Path, knowledge: KnowledgeBase) -> None:
    """A program gets the complete CSV file with a header, or an error."""
    whole = knowledge.tables.export_result(TableFileRequest(sql=SQL, corpora=("c",)))
    large = knowledge.tables.export_result(TableFileRequest(sql=SQL, corpora=("c",), max_bytes=20))
    many = knowledge.tables.export_result(TableFileRequest(sql="SELECT 1 FROM range(40)", corpora=("c",), max_bytes=20))
    wrong = knowledge.tables.export_result(TableFileRequest(sql="DROP TABLE sales", corpora=("c",)))

    assert (whole.text, whole.tables) == ("region,total\nNorth,150.5\nSouth,200.0\nWest,\n", ("sales",))
    assert (large.text, many.text, wrong.text) == ("", "", "")
    assert "more than 20 bytes" in large.problem and "more than 20 bytes" in many.problem
    assert "only SELECT is permitted" in wrong.problem


def computation(**others: object) -> ComputationRequest:
    request = ComputationRequest(
        question="total by region",
        title="Spread of the total",
        inputs=(ProgramInput(name="input1.csv", sql=SQL, tables=("sales",)),),
        code="print('spread')",
        output="spread of the total: 49.5\nregions: 3",
        artifacts=("spread.png",),
        corpora=("c",),
    )
    return request.model_copy(update=others)


@slow
def test_program_output_is_stored_with_its_code(sales: Path, knowledge: KnowledgeBase) -> None:
    """Figures can be cited; the source also contains query, code and files."""
    passages = knowledge.corpora.load_passages(knowledge.tables.store_computation(computation()))
    (source,) = knowledge.corpora.load_sources([passages[0].source]).values()

    assert "spread of the total: 49.5" in "".join(p.text for p in passages)
    assert not any("print(" in p.text for p in passages)
    assert all(source.text[p.start : p.end] == p.text for p in passages)
    assert f"    {SQL}" in source.text and "    print('spread')" in source.text and "spread.png" in source.text
    assert source.uri.startswith(f"{sales / 'sales.csv'}#program=")


@slow
def test_the_same_program_leaves_one_source(sales: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """A retried activity stores the same rows, and another program over the same tables has its own source."""
    first = knowledge.tables.store_computation(computation())
    assert knowledge.tables.store_computation(computation()) == first
    before = Store(uri).count_rows(SOURCES)
    knowledge.tables.store_computation(computation(code="print('other')"))

    assert Store(uri).count_rows(SOURCES) == before + 1 == 3


def test_computation_over_deleted_tables_is_not_stored(knowledge: KnowledgeBase, uri: str) -> None:
    """After its corpus was dropped a result is not stored."""
    assert knowledge.tables.store_computation(computation()) == ()
    assert Store(uri).count_rows(SOURCES) == 0


def test_files_that_left_the_document_roots_are_not_opened(tmp_path: Path) -> None:
    """A query opens only the files that are still readable for their corpus."""
    table = tmp_path / "sales.csv"
    table.write_text("region\nNorth\n")
    asked_for: list[tuple[list[str], str]] = []

    def select(paths: Iterable[str], corpus: str) -> Collection[str]:
        asked_for.append((list(paths), corpus))
        return {"ann~c": [str(table)]}.get(corpus, [])

    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors(), readable_files=select)
    for corpus in ("ann~c", "bob~c"):
        knowledge.corpora.ingest(IngestRequest(corpus=corpus, paths=(str(table),)), lambda progress: None)
    query = QueryRequest(sql="SELECT region FROM sales", corpora=("ann~c",), return_rows=True, keep=False)

    assert knowledge.tables.query(query).rows == (("North",),)
    refused = knowledge.tables.query(query.model_copy(update={"corpora": ("bob~c",)}))
    assert refused.rows == () and refused.problem
    assert asked_for == [([str(table)], "ann~c"), ([str(table)], "bob~c")]


@slow
def test_tables_of_a_pdf_are_queried(tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """A table of a PDF is offered and queried with types like a file; a PDF without one is not offered."""
    folder = tmp_path / "reports"
    folder.mkdir()
    cells = "[Station], [Honey (kg)], [Moor], [1,140.5], [Hill], [82], [Coast], [–]"
    (folder / "bees 2026.pdf").write_bytes(typeset(f"{SENTENCES[0]}\n\n#table(columns: 2, {cells})"))
    (folder / "letter.pdf").write_bytes(typeset(SENTENCES[1]))
    ingest(folder)
    offered = knowledge.tables.list_tables(TablesRequest(question="How much honey?", corpora=("c",)))
    reply = asked(knowledge, 'SELECT Station, "Honey (kg)" FROM bees_2026.table_1 ORDER BY 2 DESC', return_rows=True)

    assert [(t.name, t.rows, [c.kind for c in t.columns]) for t in offered] == [
        ("bees_2026.table_1", 3, ["text", "number"])
    ]
    assert reply.rows == (("Moor", 1140.5), ("Hill", 82), ("Coast", None))
