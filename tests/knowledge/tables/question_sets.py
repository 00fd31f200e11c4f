"""Tables of different shapes with questions about them, and the answers computed in Python.

The tables are sales by day in a CSV file, persons in a SQLite database whose dates are texts, countries by year in a
Parquet file, and support requests with times in a TSV file. In `CASES`, even questions were used to choose the rules of
the translation, and odd ones measured it. `NEW_CASES` were written afterwards and measured once before any rule was
changed for them.
"""

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tests.sources.table_files import inserted, sqlite

Row = dict[str, Any]

Form = Literal["figure", "label", "groups", "share", "rows", "none"]
"""Place of the answer in a result: last cell of the only row, first cell of the first row, a row per group, first cell
of the only row, first cells of all rows; or no query at all."""


class TableCase(NamedTuple):
    """A question with its answer."""

    question: str
    form: Form
    answer: Any = None


def build_sales() -> list[Row]:
    """Return two sales per month, region and year, in the West only every third month."""
    chance = random.Random(7)
    prices = {"Laptop": 900.0, "Desk Lamp": 35.5, "Office Chair": 120.0, "Monitor": 250.0}
    rows: list[Row] = []
    for year in (2021, 2022, 2023):
        for month in range(1, 13):
            for day in (3, 17):
                for region in ("North", "South", "East", "West"):
                    if region == "West" and month % 3:
                        continue
                    product = chance.choice(list(prices))
                    units = chance.randint(1, 9) + (year - 2021) * (2 if region == "East" else 1)
                    rows.append(
                        {
                            "order_id": 1001 + len(rows),
                            "order_date": f"{year}-{month:02}-{day:02}",
                            "region": region,
                            "product": product,
                            "units": units,
                            "unit_price_eur": prices[product],
                            "revenue": units * prices[product],
                        }
                    )
    return rows


def build_staff() -> list[Row]:
    """Return 24 persons, each in one department and office."""
    chance = random.Random(11)
    names = [f"{first} {last}" for first in ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn") for last in ("Moss", "Stone")]
    names += [f"{first} {last}" for first in ("Gus", "Hana", "Ines", "Jon", "Kim", "Lea") for last in ("Hill", "Brook")]
    return [
        {
            "employee_id": number,
            "full_name": name,
            "department": chance.choice(["Engineering", "Sales", "Finance", "Support"]),
            "office": chance.choice(["Berlin", "Oslo", "Lyon"]),
            "salary": 40_000 + 500 * chance.randint(0, 120) + number,
            "age": chance.randint(21, 63),
            "hired_on": f"{chance.randint(2012, 2024)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        }
        for number, name in enumerate(names, 1)
    ]


def build_countries() -> list[Row]:
    """Return a row per country and year."""
    countries = [
        ("France", "Europe", 65, 1.005),
        ("Spain", "Europe", 46, 1.004),
        ("Norway", "Europe", 5.2, 1.007),
        ("Japan", "Asia", 127, 0.996),
        ("India", "Asia", 1300, 1.011),
        ("Vietnam", "Asia", 92, 1.009),
        ("Kenya", "Africa", 47, 1.022),
        ("Nigeria", "Africa", 180, 1.026),
        ("Ghana", "Africa", 28, 1.02),
        ("Brazil", "South America", 205, 1.007),
        ("Chile", "South America", 18, 1.01),
        ("Peru", "South America", 30, 1.012),
        ("Canada", "North America", 36, 1.011),
        ("Mexico", "North America", 122, 1.01),
    ]
    return [
        {
            "country": country,
            "continent": continent,
            "year": year,
            "population_millions": round(base * growth ** (year - 2015), 3),
            "gdpPerCapita": round(1000 * base**0.5 * 1.02 ** (year - 2015), 1),
            "co2_emissions": round(base * 2.1 * 0.99 ** (year - 2015), 2),
        }
        for country, continent, base, growth in countries
        for year in range(2015, 2024)
    ]


def build_tickets() -> list[Row]:
    """Return support requests with the time of their arrival."""
    chance = random.Random(5)
    agents = ["Priya Nair", "Tom Okafor", "Lin Wei", "Sara Lund", "Max Orban"]
    return [
        {
            "TicketID": f"T-{number:04}",
            "OpenedAt": f"2024-{chance.randint(1, 6):02}-{chance.randint(1, 28):02} {chance.randint(8, 17):02}:15:00",
            "Agent": chance.choice(agents),
            "Priority": chance.choice(["low", "normal", "urgent"]),
            "Channel": chance.choice(["email", "phone", "chat"]),
            "MinutesToSolve": chance.randint(3, 240),
            "Satisfaction_Score": chance.randint(1, 5),
        }
        for number in range(1, 151)
    ]


SALES, STAFF, COUNTRIES, TICKETS = build_sales(), build_staff(), build_countries(), build_tickets()


def write_tables(folder: Path) -> dict[str, Path]:
    """Write the tables into files."""
    with (folder / "sales.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(SALES[0]))
        writer.writeheader()
        writer.writerows(SALES)
    with (folder / "tickets.tsv").open("w", newline="") as file:
        rows = csv.DictWriter(file, list(TICKETS[0]), delimiter="\t")
        rows.writeheader()
        rows.writerows(TICKETS)
    pq.write_table(pa.Table.from_pylist(COUNTRIES), folder / "countries.parquet")
    staff = folder / "company.db"
    columns = "employee_id INTEGER, full_name TEXT, department TEXT, office TEXT, salary INTEGER, age INTEGER"
    sqlite(
        staff,
        f"CREATE TABLE employees ({columns}, hired_on TEXT)",
        *(inserted(row).replace("INTO sales", "INTO employees") for row in STAFF),
    )
    return {
        "sales": folder / "sales.csv",
        "staff": staff,
        "countries": folder / "countries.parquet",
        "tickets": folder / "tickets.tsv",
    }


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return rows with values; `year` also selects by the year of a date."""
    found = list(rows)
    for name, value in values.items():
        if name == "year" and found and "year" not in found[0]:
            key = "order_date" if "order_date" in found[0] else "hired_on"
            found = [row for row in found if row[key].startswith(str(value))]
        else:
            found = [row for row in found if row[name] == value]
    return found


def total(rows: Iterable[Row], name: str) -> float:
    """Return the sum of a column."""
    return sum(float(row[name]) for row in rows)


def group(rows: Iterable[Row], key: Callable[[Row], Any] | str, of: Callable[[list[Row]], float]) -> dict[Any, float]:
    """Return a figure per group."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[key] if isinstance(key, str) else key(row)].append(row)
    return {name: of(members) for name, members in groups.items()}


def best(figures: dict[Any, float], *, lowest: bool = False) -> Any:
    """Return the group with the highest figure."""
    return (min if lowest else max)(figures, key=lambda name: figures[name])


def sums(name: str) -> Callable[[list[Row]], float]:
    """Return the function that sums a column."""
    return lambda rows: total(rows, name)


def change(rows: list[Row], name: str, first: int, last: int) -> float:
    """Return the change of a total between two years in percent."""
    before, after = (total(select(rows, year=year), name) for year in (first, last))
    return 100 * (after - before) / before


def year_of(row: Row) -> int:
    """Return the year of a sale."""
    return int(row["order_date"][:4])


SALES_CASES = [
    TableCase(
        "total revenue of the North region in 2023",
        "figure",
        total(select(SALES, region="North", year=2023), "revenue"),
    ),
    TableCase(
        "What did the South region take in revenue during 2022?",
        "figure",
        total(select(SALES, region="South", year=2022), "revenue"),
    ),
    TableCase(
        "What is the average revenue per year?",
        "groups",
        group(SALES, year_of, lambda r: mean(x["revenue"] for x in r)),
    ),
    TableCase(
        "average units per order by region", "groups", group(SALES, "region", lambda r: mean(x["units"] for x in r))
    ),
    TableCase(
        "Which region grew fastest?",
        "label",
        best({r: change(select(SALES, region=r), "revenue", 2021, 2023) for r in ("North", "South", "East", "West")}),
    ),
    TableCase(
        "Which product's revenue grew the least between 2021 and 2023?",
        "label",
        best(
            {
                p: change(select(SALES, product=p), "revenue", 2021, 2023)
                for p in ("Laptop", "Desk Lamp", "Office Chair", "Monitor")
            },
            lowest=True,
        ),
    ),
    TableCase("How many orders were placed in March?", "figure", sum(row["order_date"][5:7] == "03" for row in SALES)),
    TableCase(
        "How many orders came in during May 2022?", "figure", sum(row["order_date"][:7] == "2022-05" for row in SALES)
    ),
    TableCase("highest price", "figure", 900.0),
    TableCase("What's the lowest unit price?", "figure", 35.5),
    TableCase(
        "How many laptops were sold in 2022?", "figure", total(select(SALES, product="Laptop", year=2022), "units")
    ),
    TableCase(
        "How many monitors did the East sell in 2023?",
        "figure",
        total(select(SALES, product="Monitor", region="East", year=2023), "units"),
    ),
    TableCase(
        "What were the top 3 products by revenue in 2023?",
        "rows",
        sorted((g := group(select(SALES, year=2023), "product", sums("revenue"))), key=lambda n: -g[n])[:3],
    ),
    TableCase(
        "Name the two best-selling products of 2021.",
        "rows",
        sorted((h := group(select(SALES, year=2021), "product", sums("units"))), key=lambda n: -h[n])[:2],
    ),
    TableCase("How much did revenue grow from 2021 to 2023?", "figure", round(change(SALES, "revenue", 2021, 2023), 2)),
    TableCase(
        "By how much did the number of units increase between 2021 and 2022?",
        "figure",
        round(change(SALES, "units", 2021, 2022), 2),
    ),
    TableCase(
        "What share of revenue comes from the East region?",
        "share",
        round(100 * total(select(SALES, region="East"), "revenue") / total(SALES, "revenue"), 2),
    ),
    TableCase(
        "What percentage of orders in 2022 were for monitors?",
        "share",
        round(100 * len(select(SALES, product="Monitor", year=2022)) / len(select(SALES, year=2022)), 2),
    ),
    TableCase(
        "Which product sold the fewest units?", "label", best(group(SALES, "product", sums("units")), lowest=True)
    ),
    TableCase("Which region had the fewest orders in 2021?", "label", "West"),
    TableCase("total revenue by year", "groups", group(SALES, year_of, sums("revenue"))),
    TableCase(
        "Show me revenue by quarter for 2023",
        "groups",
        group(select(SALES, year=2023), lambda r: f"2023-Q{(int(r['order_date'][5:7]) + 2) // 3}", sums("revenue")),
    ),
    TableCase(
        "How many orders did the South have with more than 5 units?",
        "figure",
        sum(row["units"] > 5 for row in select(SALES, region="South")),
    ),
    TableCase(
        "How many orders had a revenue of at least 1,000?", "figure", sum(row["revenue"] >= 1000 for row in SALES)
    ),
    TableCase(
        "In which month of 2022 was revenue highest?",
        "label",
        best(group(select(SALES, year=2022), lambda r: r["order_date"][:7], sums("revenue"))),
    ),
    TableCase(
        "Which year had the lowest total revenue?", "label", best(group(SALES, year_of, sums("revenue")), lowest=True)
    ),
    TableCase(
        "What is the average monthly revenue?",
        "figure",
        mean(group(SALES, lambda r: r["order_date"][:7], sums("revenue")).values()),
    ),
    TableCase(
        "Compare the revenue of North and West in 2022",
        "groups",
        {r: total(select(SALES, region=r, year=2022), "revenue") for r in ("North", "West")},
    ),
    TableCase(
        "What was the total revenue outside the North?",
        "figure",
        total([r for r in SALES if r["region"] != "North"], "revenue"),
    ),
    TableCase(
        "How much revenue was made since 2022 with office chairs?",
        "figure",
        total([r for r in select(SALES, product="Office Chair") if r["order_date"] >= "2022"], "revenue"),
    ),
    TableCase("What is the total profit by region?", "none"),
    TableCase("Why did revenue fall in the North?", "none"),
    TableCase(
        "What is the revenue of North and East combined?",
        "figure",
        total([r for r in SALES if r["region"] in ("North", "East")], "revenue"),
    ),
    TableCase("How many regions have a revenue over 100000?", "none"),
    TableCase("total revenue this year", "none"),
    TableCase("What is the most recent order?", "none"),
    TableCase("revenue in the first quarter", "none"),
    TableCase("total revenue of orders with no units", "none"),
]

STAFF_CASES = [
    TableCase("How many employees work in Berlin?", "figure", len(select(STAFF, office="Berlin"))),
    TableCase("How many people work in Support?", "figure", len(select(STAFF, department="Support"))),
    TableCase(
        "What is the average salary in Engineering?",
        "figure",
        mean(r["salary"] for r in select(STAFF, department="Engineering")),
    ),
    TableCase(
        "What do people in Finance earn on average?",
        "figure",
        mean(r["salary"] for r in select(STAFF, department="Finance")),
    ),
    TableCase("Who has the highest salary?", "label", max(STAFF, key=lambda r: r["salary"])["full_name"]),
    TableCase("Who is the youngest employee?", "figure", min(r["age"] for r in STAFF)),
    TableCase("What is Ada Moss's salary?", "figure", STAFF[0]["salary"]),
    TableCase("How old is the oldest person in Oslo?", "figure", max(r["age"] for r in select(STAFF, office="Oslo"))),
    TableCase("How many people were hired after 2018?", "figure", sum(r["hired_on"] >= "2019" for r in STAFF)),
    TableCase(
        "How many employees were hired before 2020 in Lyon?",
        "figure",
        sum(r["hired_on"] < "2020" for r in select(STAFF, office="Lyon")),
    ),
    TableCase(
        "Which department has the most employees?", "figure", max(Counter(r["department"] for r in STAFF).values())
    ),
    TableCase("Which office has the fewest employees?", "figure", min(Counter(r["office"] for r in STAFF).values())),
    TableCase("median salary by office", "groups", group(STAFF, "office", lambda r: median(x["salary"] for x in r))),
    TableCase(
        "What is the mean age per department?",
        "groups",
        group(STAFF, "department", lambda r: mean(x["age"] for x in r)),
    ),
    TableCase("How many departments are there?", "figure", len({r["department"] for r in STAFF})),
    TableCase("How many different offices do we have?", "figure", len({r["office"] for r in STAFF})),
    TableCase(
        "Who earns the least in Sales?",
        "label",
        min(select(STAFF, department="Sales"), key=lambda r: r["salary"])["full_name"],
    ),
    TableCase(
        "Which department pays the highest average salary?",
        "label",
        best(group(STAFF, "department", lambda r: mean(x["salary"] for x in r))),
    ),
    TableCase(
        "List the employees who earn more than 90000.",
        "rows",
        sorted(r["full_name"] for r in STAFF if r["salary"] > 90000),
    ),
    TableCase("Which employees are under 30?", "none"),
    TableCase(
        "How many employees in Engineering earn less than 60,000?",
        "figure",
        sum(r["salary"] < 60000 for r in select(STAFF, department="Engineering")),
    ),
    TableCase("What is the total of all salaries?", "figure", total(STAFF, "salary")),
    TableCase("Who is the manager of Ada Moss?", "none"),
    TableCase("Which employee is the happiest?", "none"),
]

COUNTRY_CASES = [
    TableCase(
        "What was the population of Kenya in 2020?",
        "figure",
        select(COUNTRIES, country="Kenya", year=2020)[0]["population_millions"],
    ),
    TableCase(
        "What were Japan's CO2 emissions in 2018?",
        "figure",
        select(COUNTRIES, country="Japan", year=2018)[0]["co2_emissions"],
    ),
    TableCase("Which country had the highest population in 2023?", "label", "India"),
    TableCase("Which African country had the lowest population in 2019?", "none"),
    TableCase("Which continent's population grew the most from 2015 to 2023?", "label", "Asia"),
    TableCase("Which country's population grew fastest between 2016 and 2021?", "label", "Nigeria"),
    TableCase(
        "total co2 emissions by continent in 2022",
        "groups",
        group(select(COUNTRIES, year=2022), "continent", sums("co2_emissions")),
    ),
    TableCase(
        "What was the total population of Europe in 2021?",
        "figure",
        total(select(COUNTRIES, continent="Europe", year=2021), "population_millions"),
    ),
    TableCase("How many countries are in Africa?", "figure", 3),
    TableCase("How many countries does the table have?", "figure", 14),
    TableCase("Which country has the lowest gdp per capita in 2019?", "label", "Norway"),
    TableCase(
        "What are the five countries with the highest GDP per capita in 2023?",
        "rows",
        [r["country"] for r in sorted(select(COUNTRIES, year=2023), key=lambda r: -r["gdpPerCapita"])[:5]],
    ),
    TableCase(
        "What is the average gdp per capita of Europe in 2021?",
        "figure",
        mean(r["gdpPerCapita"] for r in select(COUNTRIES, continent="Europe", year=2021)),
    ),
    TableCase(
        "average CO2 emissions per continent in 2015",
        "groups",
        group(select(COUNTRIES, year=2015), "continent", lambda r: mean(x["co2_emissions"] for x in r)),
    ),
    TableCase("Which country's population declined most since 2015?", "label", "Japan"),
    TableCase(
        "How did the population of Ghana change from 2015 to 2020?",
        "figure",
        round(change(select(COUNTRIES, country="Ghana"), "population_millions", 2015, 2020), 2),
    ),
    TableCase("Which country grew fastest?", "none"),
    TableCase("What is the total population of Asia?", "none"),
]

NEW_CASES: dict[str, list[TableCase]] = {
    "tickets": [
        TableCase(
            "How many tickets were opened in April 2024?",
            "figure",
            sum(r["OpenedAt"][:7] == "2024-04" for r in TICKETS),
        ),
        TableCase("What is the average time to solve urgent tickets?", "none"),
        TableCase(
            "average minutes to solve by priority",
            "groups",
            group(TICKETS, "Priority", lambda r: mean(x["MinutesToSolve"] for x in r)),
        ),
        TableCase("Which agent handled the most tickets?", "label", best(group(TICKETS, "Agent", len))),
        TableCase(
            "How many urgent tickets did Priya Nair have?",
            "figure",
            len(select(TICKETS, Priority="urgent", Agent="Priya Nair")),
        ),
        TableCase(
            "What is the mean satisfaction score of Tom Okafor?",
            "figure",
            mean(r["Satisfaction_Score"] for r in select(TICKETS, Agent="Tom Okafor")),
        ),
        TableCase("tickets per month", "groups", group(TICKETS, lambda r: r["OpenedAt"][:7], len)),
        TableCase(
            "Which agent has the best average satisfaction score?",
            "label",
            best(group(TICKETS, "Agent", lambda r: mean(x["Satisfaction_Score"] for x in r))),
        ),
        TableCase(
            "What share of tickets came by phone?",
            "share",
            round(100 * len(select(TICKETS, Channel="phone")) / len(TICKETS), 2),
        ),
        TableCase(
            "How many tickets took more than 120 minutes to solve?",
            "figure",
            sum(r["MinutesToSolve"] > 120 for r in TICKETS),
        ),
        TableCase(
            "How many tickets arrived by chat or email before March 2024?",
            "groups",
            {c: sum(r["OpenedAt"] < "2024-03" for r in select(TICKETS, Channel=c)) for c in ("chat", "email")},
        ),
        TableCase("What was the longest time to solve a ticket in the second quarter of 2024?", "none"),
        TableCase(
            "median MinutesToSolve per channel",
            "groups",
            group(TICKETS, "Channel", lambda r: median(x["MinutesToSolve"] for x in r)),
        ),
        TableCase("How many tickets were not urgent?", "figure", sum(r["Priority"] != "urgent" for r in TICKETS)),
    ],
    "sales": [
        TableCase(
            "Give me the sum of revenue for desk lamps", "figure", total(select(SALES, product="Desk Lamp"), "revenue")
        ),
        TableCase(
            "How many units did we sell in Q2 2022?",
            "figure",
            total([r for r in select(SALES, year=2022) if "04" <= r["order_date"][5:7] <= "06"], "units"),
        ),
        TableCase(
            "Which region made the least revenue in 2022?",
            "label",
            best(group(select(SALES, year=2022), "region", sums("revenue")), lowest=True),
        ),
        TableCase(
            "What was the maximum revenue of a single order in the East?",
            "figure",
            max(r["revenue"] for r in select(SALES, region="East")),
        ),
        TableCase("On which date was order 1005 placed?", "none"),
        TableCase(
            "How did monitor revenue develop from 2021 to 2023?",
            "figure",
            round(change(select(SALES, product="Monitor"), "revenue", 2021, 2023), 2),
        ),
    ],
    "staff": [
        TableCase("When was Ben Stone hired?", "figure", select(STAFF, full_name="Ben Stone")[0]["hired_on"]),
        TableCase("In which office does Kim Brook work?", "figure", select(STAFF, full_name="Kim Brook")[0]["office"]),
        TableCase(
            "What is the average age of employees in Oslo?",
            "figure",
            mean(r["age"] for r in select(STAFF, office="Oslo")),
        ),
        TableCase("Top 3 salaries in Engineering", "none"),
        TableCase("How many employees per office?", "groups", group(STAFF, "office", len)),
    ],
    "countries": [
        TableCase(
            "What was the GDP per capita of Chile in 2016?",
            "figure",
            select(COUNTRIES, country="Chile", year=2016)[0]["gdpPerCapita"],
        ),
        TableCase("Which European countries are in the table?", "none"),
        TableCase("How much CO2 did India emit in 2020?", "none"),
        TableCase(
            "Population of Brazil by year",
            "groups",
            {r["year"]: r["population_millions"] for r in select(COUNTRIES, country="Brazil")},
        ),
        TableCase("Which three countries had the smallest population in 2015?", "rows", ["Norway", "Chile", "Ghana"]),
        TableCase("Which continent had the highest total CO2 emissions in 2023?", "label", "Asia"),
    ],
}

CASES = {"sales": SALES_CASES, "staff": STAFF_CASES, "countries": COUNTRY_CASES}
"""Questions by table."""
