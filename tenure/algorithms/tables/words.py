"""Define the words by which questions about tables name operations, columns and parts of columns."""

import calendar
import re
from typing import Final, Literal

Aggregate = Literal["count", "distinct", "sum", "avg", "median", "max", "min"]
"""Operation over the rows of a table or group."""

AGGREGATES: Final[dict[Aggregate, str]] = {
    "count": r"how many|(?:total |overall )?(?:number|count) of|count",
    "sum": r"(?:sum|grand) total|in total|totals?|sum(?:med)?(?: up)?|how much|overall|altogether|in all",
    "avg": r"on average|averages?|mean",
    "median": r"medians?",
    "max": r"highest|largest|biggest|greatest|maximum|max|peak",
    "min": r"lowest|smallest|minimum|min",
}
"""Phrases by operation, the longer ones first."""

ALIASES: Final[dict[Aggregate, str]] = {
    "count": "number",
    "distinct": "number of different",
    "sum": "total",
    "avg": "average",
    "median": "median",
    "max": "highest",
    "min": "lowest",
}
"""Words for computed columns."""

DESCENDING: Final = r"most|highest|largest|biggest|greatest|top|best|maximum|max"
"""Words for the end of a ranking that comes first in descending order."""
ASCENDING: Final = r"least|fewest|lowest|smallest|bottom|worst|minimum|min"
"""Words for the end of a ranking that comes first in ascending order."""

ADJECTIVES: Final[dict[str, tuple[Literal["max", "min"], str]]] = {
    "most expensive": ("max", "price cost"),
    "least expensive": ("min", "price cost"),
    "cheapest": ("min", "price cost"),
    "priciest": ("max", "price cost"),
    "most populous": ("max", "population inhabitants"),
    "least populous": ("min", "population inhabitants"),
    "longest": ("max", "length duration distance"),
    "shortest": ("min", "length duration distance height"),
    "tallest": ("max", "height"),
    "heaviest": ("max", "weight mass"),
    "lightest": ("min", "weight mass"),
    "oldest": ("max", "age"),
    "youngest": ("min", "age"),
    "best paid": ("max", "salary wage pay"),
    "worst paid": ("min", "salary wage pay"),
    "best rated": ("max", "rating score stars"),
    "worst rated": ("min", "rating score stars"),
    "best selling": ("max", "units quantity qty pieces"),
}
"""Superlatives that name a column, as an operation and the possible columns."""

SYNONYMS: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(group.split())
    for group in (
        "revenue sales turnover",
        "units quantity qty pieces",
        "salary wage wages pay earnings",
        "staff employees headcount",
        "country nation",
        "town city",
        "department dept",
        "price prices",
        "population inhabitants people",
        "customer client buyer",
    )
)
"""Groups of names that people use for the same column."""

VERBS: Final[dict[str, str]] = {
    "cost": "price cost",
    "costs": "price cost",
    "earn": "salary wage pay",
    "earns": "salary wage pay",
    "weigh": "weight mass",
    "weighs": "weight mass",
    "sold": "units quantity qty pieces",
    "sell": "units quantity qty pieces",
    "sells": "units quantity qty pieces",
    "paid": "salary wage pay",
}
"""Verbs that name a column, with the possible columns."""

INTENSIVE_STEMS: Final = frozenset(
    """price rate ratio share percent percentag age score rate temperatur speed height weight length width depth salari
    wage averag mean median margin discount level grade densiti index latitud longitud durat pay rank star""".split()
)
"""Stems of quantities of which a sum over rows has no meaning."""

ADDITIVE_STEMS: Final = frozenset(
    """revenu sale turnov amount unit quantiti qti piec profit incom cost spend expens order visit download popul
    inhabit total volum count number attende budget export import product consumpt emiss sold ticket hour kwh
    passeng visitor student goal point gdp""".split()
)
"""Stems of quantities that are added over rows."""

STOCK_STEMS: Final = frozenset("popul inhabit staff employe headcount stock inventori balanc member".split())
"""Stems of quantities that exist at a point in time, so that a sum over time has no meaning."""

UNIT_WORDS: Final = frozenset(
    """eur usd gbp chf jpy euro euros dollar dollars km kg kwh mwh gwh mm cm percent pct celsius meters metres
    hectares tonnes millions thousands billions mio""".split()
)
"""Words for units, which end the names of columns and are seldom repeated in questions."""

ENTITY_SUFFIXES: Final = ("name", "title", "label", "id", "no", "number", "code", "key", "nr")
"""Last words of column names that identify what the other words name, the most readable first."""

MONTHS: Final[dict[str, int]] = {
    **{name.lower(): number for number, name in enumerate(calendar.month_name) if name},
    **{name.lower(): number for number, name in enumerate(calendar.month_abbr) if name},
    "sept": 9,
}
"""Numbers of months by name."""

PERIOD_UNITS: Final[dict[str, Literal["year", "quarter", "month", "day"]]] = {
    "year": "year",
    "years": "year",
    "annual": "year",
    "annually": "year",
    "yearly": "year",
    "quarter": "quarter",
    "quarters": "quarter",
    "quarterly": "quarter",
    "month": "month",
    "months": "month",
    "monthly": "month",
    "day": "day",
    "days": "day",
    "daily": "day",
}
"""Units of time by their words."""

NEUTRAL_WORDS: Final = frozenset(
    """a an the of in on at for from to with by per is are was were be been being has have had do does did there
    that this these those it its their our your us me we you i please show tell give list find compute calculate
    report return display what how much many all any each every row rows entry entries record records value
    values data dataset table tables file figure figures column made make makes making generated generate
    achieved recorded registered reported according as will would can could say s come came comes got get
    different distinct unique single individual one ones here exist exists occur occurred belong belongs placed
    work works working worked employed live lives located situated based stood stand stands people persons
    person take took taken handled handle arrived arrive dealt received receive submitted filed created
    opened""".split()
)
"""Words that change nothing once the operations and columns of a question are known."""

QUALIFIERS: Final = re.compile(
    r"\b(?:not|no|never|without|except|excluding|besides|other|before|after|since|until|between|during|more|less|"
    r"fewer|greater|higher|lower|than|over|under|above|below|if|why|should|or|and|both|either|neither|only|but|"
    r"compared|versus|vs|percent|percentage|share|ratio|difference|correlation|predict|forecast|last|next|previous|"
    r"first|second|third|now|today|yesterday|current|currently|recent|recently|ago)\b"
)
"""Words that change the meaning of a question, and must be understood as part of a condition."""
