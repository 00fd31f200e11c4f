"""Tests of SQL for unambiguous questions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.tables.translation import translate_question
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo

SALES = TableInfo(
    name="sales",
    rows=40,
    columns=(
        ColumnInfo(name="region", kind="text", examples=("North", "South", "O'Hara Bay"), complete=True),
        ColumnInfo(name="product", kind="text", examples=("bread", "cheese"), complete=True),
        ColumnInfo(name="note", kind="text", examples=("late",)),
        ColumnInfo(name="unitPrice", kind="number"),
        ColumnInfo(name="revenue", kind="number"),
        ColumnInfo(name="tags", kind="other"),
        ColumnInfo(name="shipping day", kind="date", minimum="2024-01-02", maximum="2025-11-30"),
    ),
)
ORDERS = TableInfo(name="shop.orders", columns=(ColumnInfo(name="revenue", kind="number"),))


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        (
            "What is the total revenue by region?",
            'SELECT "region", sum("revenue") AS "total revenue" FROM "sales" GROUP BY 1 ORDER BY 2 DESC, 1',
        ),
        ("What is the average revenue?", 'SELECT avg("revenue") AS "average revenue" FROM "sales"'),
        (
            "What is the lowest unit price of cheese?",
            'SELECT min("unitPrice") AS "lowest unit price" FROM "sales" WHERE "product" = \'cheese\'',
        ),
        ("How many rows does sales have?", 'SELECT count(*) AS "number of rows" FROM "sales"'),
        (
            "How many sales are there in O'Hara Bay?",
            'SELECT count(*) AS "number of rows" FROM "sales" WHERE "region" = \'O\'\'Hara Bay\'',
        ),
        (
            "How much revenue is there in the North?",
            'SELECT sum("revenue") AS "total revenue" FROM "sales" WHERE "region" = \'North\'',
        ),
        (
            "Which region has the highest total revenue?",
            'SELECT "region", sum("revenue") AS "total revenue" FROM "sales" GROUP BY 1 '
            'HAVING sum("revenue") IS NOT NULL ORDER BY 2 DESC, 1 LIMIT 10',
        ),
        (
            "Which product has the lowest average revenue?",
            'SELECT "product", avg("revenue") AS "average revenue" FROM "sales" GROUP BY 1 '
            'HAVING avg("revenue") IS NOT NULL '
            "ORDER BY 2 ASC, 1 LIMIT 10",
        ),
        (
            "number of sales per shipping day",
            'SELECT CAST("shipping day" AS DATE) AS "day", count(*) AS "number of rows" FROM "sales" '
            "GROUP BY 1 ORDER BY 1",
        ),
        (
            "What is the revenue of bread?",
            'SELECT sum("revenue") AS "total revenue" FROM "sales" WHERE "product" = \'bread\'',
        ),
        (
            "What is the total revenue without the North?",
            'SELECT sum("revenue") AS "total revenue" FROM "sales" '
            'WHERE ("region" IS NULL OR "region" NOT IN (\'North\'))',
        ),
        (
            "What is the total revenue in 2025?",
            'SELECT sum("revenue") AS "total revenue" FROM "sales" '
            "WHERE \"shipping day\" >= DATE '2025-01-01' AND \"shipping day\" < DATE '2026-01-01'",
        ),
    ],
)
def test_unambiguous_questions_become_sql(question: str, sql: str) -> None:
    """Aggregate, column, value and grouping explain every content word."""
    found = translate_question(question, [SALES]).query

    assert found is not None
    assert found.sql == sql


@pytest.mark.parametrize(
    "question",
    [
        "",
        "bread",
        "What is the total profit by region?",
        "What is the total revenue by tags?",
        "What is the total revenue before March?",
        "What is the average revenue of sales over 100?",
        "What is the total of region?",
        "What is the total revenue and the average revenue?",
        "What is the total average revenue?",
        "What is the total average revenue by region?",
        "What is the total revenue and unit price?",
        "How much revenue did late make?",
        "Why is the total revenue so high?",
        "What is the total?",
    ],
)
def test_ambiguous_questions_give_no_query(question: str) -> None:
    """Unexplained words, qualifiers and unclear shapes are rejected."""
    assert translate_question(question, [SALES]).query is None


def test_two_matching_tables_give_no_query() -> None:
    """Two matching tables give no query."""
    assert translate_question("What is the total revenue?", [SALES, ORDERS]).query is None
    named = translate_question("What is the total revenue of the shop orders?", [SALES, ORDERS]).query
    assert named is not None and named.sql == 'SELECT sum("revenue") AS "total revenue" FROM "shop"."orders"'


@pytest.mark.parametrize(
    ("question", "shows"),
    [
        ("What is the total revenue by region?", "Total revenue by region in sales"),
        ("What is the highest unit price of cheese?", "Highest unit price in sales, product cheese"),
    ],
)
def test_title_describes_the_result(question: str, shows: str) -> None:
    """Title describes the result."""
    found = translate_question(question, [SALES]).query

    assert found is not None
    assert found.title == shows


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What is the total profit by region?", "“profit” is neither a column nor a value of the table sales"),
        ("What is the total revenue and the average revenue?", "it names more than one operation (sum, avg)"),
        ("What is the total revenue by tags?", "the part about tags is not understood"),
        ("What is the total revenue before March?", "“before” is not understood there"),
        ("Who wrote Middlemarch?", ""),
        ("What does the note say?", ""),
    ],
)
def test_the_reason_is_said_in_one_line(question: str, reason: str) -> None:
    """A question for tables without a query has a reason; a question for texts has none."""
    found = translate_question(question, [SALES])

    assert found.query is None
    assert found.reason == reason
    assert "\n" not in found.reason


@pytest.mark.parametrize("name", ['ev"il', "O'Neil; DROP TABLE sales", "a.b", "x--y"])
def test_names_and_values_are_quoted(name: str) -> None:
    """Names and values of tables never become SQL of their own."""
    values = ColumnInfo(name=name, kind="text", examples=("it's -- here",), complete=True)
    table = TableInfo(name=name.replace(".", ""), columns=(values, ColumnInfo(name="revenue", kind="number")))
    found = translate_question("total revenue of it's -- here", [table]).query

    assert found is not None
    quoted = name.replace('"', '""')
    assert f"WHERE \"{quoted}\" = 'it''s -- here'" in found.sql


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_accepted(question: str) -> None:
    """Any text is accepted."""
    assert translate_question(question, [SALES, ORDERS]).query is None or question.strip()
