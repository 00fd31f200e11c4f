"""Find the calculation that a question contains: arithmetic, percentages, conversions, dates and means of numbers."""

import re
from typing import Final

from tenure.algorithms.calculator.calculator import evaluate
from tenure.algorithms.calculator.quantities import CalculationError
from tenure.algorithms.text.dates import parse_date_range

MAX_QUESTION_CHARACTERS: Final = 2_000
"""Maximum characters of a question in which a calculation is sought, as workflows seek one."""
_NUMBER = r"(?<!\d)(?<!\d,)\d++(?:,++\d++)*+(?:\.\d++)?+"
"""A number as in `12,000.5`. It starts at its first digit and returns none, so long rows of digits are read once."""
_SHARE_WORD = r"(?:percent(?:age)?|per ?cent|share)"  # "what percentage of", "which share of".
_ARITHMETIC: Final = re.compile(
    r"(?<![(\s])(?:(?:(?<=[\w.])|(?<=\d,))\()?+(?P<expression>[(\s]*+(?<![\w.])(?<!\d,)\d[\d.,]*+"
    r"(?:[()\s]*+(?:[+*/^×÷]|(?<=\s)[-–−](?=\s)|\*\*)[()\s]*+\d[\d.,]*+)+\)*(?![\w]))"
)
"""A calculation with the parentheses before it, without one directly after a word, as in `f(2 + 3)`."""
_OPERATORS: Final = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "multiplied by": "*",
    "divided by": "/",
    "to the power of": "^",
}
# "12,000 divided by 5", not "version 2.1.3 plus 4".
_WORDED: Final = re.compile(rf"(?<![\w.])(?P<a>{_NUMBER})\s+(?P<op>{'|'.join(_OPERATORS)})\s+(?P<b>{_NUMBER})")
_CALCULATION_WORDS: Final = frozenset(
    "what whats is are s how much the result value of answer to please calculate compute evaluate work out tell me "
    "give can you does do make makes equal equals and a".split()
)
"""Words around an arithmetic expression in a question that asks for nothing else."""
# "15 % of 80", not "15 % of 80 %" and not "5% of 10 to 20".
_PERCENT: Final = re.compile(
    rf"(?P<share>(?<!\d)\d++(?:\.\d++)?+)\s*(?:%|per ?cent)\s+of\s+(?P<whole>{_NUMBER})(?!\s*(?:%|to\b))"
)
# "20 is what percent of 80", "what share of 80 is 20", "what percentage is 20 out of 80".
_SHARES: Final = (
    re.compile(rf"(?P<part>{_NUMBER})\s+(?:is|are|as)\s+(?:what|which|a)\s+{_SHARE_WORD}\s+of\s+(?P<whole>{_NUMBER})"),
    re.compile(rf"(?:what|which)\s+{_SHARE_WORD}\s+of\s+(?P<whole>{_NUMBER})\s+(?:is|are)\s+(?P<part>{_NUMBER})"),
    re.compile(
        rf"(?:what|which)\s+{_SHARE_WORD}\s+(?:is|are)\s+(?P<part>{_NUMBER})\s+(?:out )?of\s+(?P<whole>{_NUMBER})"
    ),
)
# "percentage increase from 80 to 100".
_CHANGE: Final = re.compile(
    rf"(?:percent(?:age)?|per ?cent|relative)\s+(?:change|increase|decrease|growth|decline|rise|drop)\s+from\s+"
    rf"(?P<before>{_NUMBER})\s+to\s+(?P<after>{_NUMBER})"
)
_UNIT = r"[a-z°µ][a-z°µ/]*"  # "km", "°c", "km/h"; questions are in lower case here.
_AMOUNT = rf"(?P<number>{_NUMBER}|an?)\s*(?P<from>{_UNIT})"  # "5 km", "a mile".
# "how much is 5 miles in km", "how many feet are in a mile".
_CONVERSIONS: Final = (
    re.compile(
        rf"\b(?:convert|how (?:much|many|long|far|heavy) (?:is|are)|what (?:is|are))\s+{_AMOUNT}\s+"
        rf"(?:in|to|into)\s+(?P<to>{_UNIT})\b"
    ),
    re.compile(rf"\bhow many\s+(?P<to>{_UNIT})\s+(?:is|are|make|in)\s+(?:there\s+in\s+)?{_AMOUNT}"),
)
# "average of 3, 4 and 5".
_LIST: Final = re.compile(
    r"\b(?P<name>average|mean|median|sum|total|product|maximum|minimum)\s+of\s+"
    rf"(?P<numbers>{_NUMBER}(?:(?:,\s+|,?\s+and\s+){_NUMBER})+)"
)
_LIST_FUNCTIONS: Final = {"average": "mean", "total": "sum", "maximum": "max", "minimum": "min"}
_ROOT: Final = re.compile(rf"\bsquare root of\s+(?P<number>{_NUMBER})")  # "square root of 2".
_MONTH = r"[a-z]{3,9}\.?"  # "march", "sept."; the parser of dates decides whether it is a month.
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"  # "3", "3rd".
# "2024-03-01", "1st of march 2024", "march 1, 2024".
_DATE = rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|{_DAY}\s+(?:of\s+)?{_MONTH},?\s+\d{{4}}|{_MONTH}\s+{_DAY},?\s+\d{{4}})"
# "how many weeks between 2024-01-01 and 1 march 2024", "how long is it from … to …".
_BETWEEN: Final = re.compile(
    r"\b(?:(?:how many|number of)\s+(?:full\s+|whole\s+|calendar\s+)?(?P<unit>days|weeks|years)\b|"
    rf"how (?:long|much time))[^.?!\d]*?\b(?:between|from)\s+(?P<first>{_DATE})\s+(?:and|to|until|till)\s+"
    rf"(?P<last>{_DATE})"
)
# "which date is 30 days after 2024-03-01".
_SHIFTED: Final = re.compile(
    rf"\b(?:what|which)\s+(?:date|day)\s+(?:is|was|will be|falls|comes)?\s*(?P<count>{_NUMBER})\s+"
    rf"(?P<unit>days?|weeks?)\s+(?P<side>after|before|from)\s+(?P<date>{_DATE})"
)
_WORDED_PATTERNS: Final = (_BETWEEN, _SHIFTED, _PERCENT, _CHANGE, *_SHARES, *_CONVERSIONS, _LIST, _ROOT)


def extract_calculable(question: str) -> str:
    """Return the calculation that a question asks for if the calculator accepts it; otherwise an empty text.

    Signs between numbers, as in `2010 - 2020`, are a calculation only if the question contains little else.
    """
    text = _normalize_question(question)
    readings = (read(text) for read in (_read_dates, _read_percentages, _read_conversion, _read_list))
    expression = next(filter(None, readings), "") or ("" if _has_other_words(text) else _read_arithmetic(text))
    try:
        evaluate(expression)
    except CalculationError:
        return ""
    return expression


def is_pure_calculation(question: str) -> bool:
    """Return whether a question asks for nothing but a calculation, whose result is then the whole answer."""
    text = _normalize_question(question)
    if not extract_calculable(text):
        return False
    rest = text.lower()
    for pattern in _WORDED_PATTERNS:
        if match := pattern.search(rest):
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
            break
    return not _has_other_words(rest)


def _normalize_question(question: str) -> str:
    """Return a question with single spaces; empty if it is too long, as a part of it may state another calculation."""
    return " ".join(question.split()) if len(question) <= MAX_QUESTION_CHARACTERS else ""


def _has_other_words(text: str) -> bool:
    """Return whether a question asks for more than an arithmetic expression."""
    words = re.findall(r"[^\W\d_]+", _WORDED.sub(" ", text.lower()))
    return not _CALCULATION_WORDS.issuperset(words)


def _read_dates(text: str) -> str:
    if match := _BETWEEN.search(text.lower()):
        first, last = _to_iso(match["first"]), _to_iso(match["last"])
        if not first or not last:
            return ""
        if match["unit"] == "years":
            return f"years({first}, {last})"
        return f"{last} - {first} to weeks" if match["unit"] == "weeks" else f"{last} - {first}"
    if match := _SHIFTED.search(text.lower()):
        sign, day = "-" if match["side"] == "before" else "+", _to_iso(match["date"])
        return f"{day} {sign} {_strip_commas(match['count'])} {match['unit']}" if day else ""
    return ""


def _to_iso(text: str) -> str:
    """Return a day in ISO 8601; empty if the text is no single day."""
    days = parse_date_range(text.replace(" of ", " "), only_english=True)
    return days.first if days and days.first == days.last else ""


def _read_percentages(text: str) -> str:
    lower = text.lower()
    if match := _PERCENT.search(lower):
        return f"{match['share']}% of {_strip_commas(match['whole'])}"
    if match := _CHANGE.search(lower):
        return f"change({_strip_commas(match['before'])}, {_strip_commas(match['after'])})"
    for pattern in _SHARES:
        if match := pattern.search(lower):
            return f"percent({_strip_commas(match['part'])}, {_strip_commas(match['whole'])})"
    return ""


def _read_conversion(text: str) -> str:
    for pattern in _CONVERSIONS:
        if match := pattern.search(text.lower()):
            number = "1" if match["number"] in ("a", "an") else _strip_commas(match["number"])
            # Symbols of units such as Pa and K are written as in the question.
            unit, target = (text[match.start(name) : match.end(name)] for name in ("from", "to"))
            return f"{number} {unit} to {target}"
    return ""


def _read_list(text: str) -> str:
    if match := _LIST.search(text.lower()):
        listed = re.findall(r"\d(?:[\d,]*\d)?(?:\.\d+)?", match["numbers"])
        numbers = ", ".join(map(_strip_commas, listed))
        return f"{_LIST_FUNCTIONS.get(match['name'], match['name'])}({numbers})"
    if match := _ROOT.search(text.lower()):
        return f"sqrt({_strip_commas(match['number'])})"
    return ""


def _read_arithmetic(text: str) -> str:
    if match := _WORDED.search(text.lower()):
        return f"{_strip_commas(match['a'])} {_OPERATORS[match['op']]} {_strip_commas(match['b'])}"
    match = _ARITHMETIC.search(text)
    return _normalize_expression(match["expression"]) if match else ""


def _strip_commas(number: str) -> str:
    return number.replace(",", "")


def _normalize_expression(expression: str) -> str:
    """Return a calculation in ASCII operators; unbalanced parentheses are removed."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", expression)
    for sign, plain in (("×", "*"), ("÷", "/"), ("–", "-"), ("−", "-"), ("**", "^")):
        text = text.replace(sign, plain)
    text = " ".join(text.strip().rstrip(".,").split())
    return text if text.count("(") == text.count(")") else text.replace("(", "").replace(")", "")
