"""Extract numbers, dates, names and quotations of a statement and find unsupported ones.

A statement may omit details, but the details that it gives must occur in its source. "The 1970s" matches 1975 and 12
matches "twelve"; a capital letter at the start of a sentence does not make a name.
"""

import calendar
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from tenure.algorithms.text.languages.detection import is_foreign
from tenure.algorithms.text.sentences import (
    STOP_WORDS,
    is_non_english,
    normalize_sentence,
    split_words,
    stem_words,
)

MAX_COUNT: Final = 20
"""Largest whole number that may count what a text lists, as in "these three"."""
_REMEMBERED_TEXTS: Final = 512
"""Texts whose words and numbers are kept, since many claims are compared with the same passages."""
# "12,000.5", and the decades "1970s" and "1970's"; not the 2 of "v2". In scripts without blanks a character may be next
# to a number: "保存30天".
_NUMBER = re.compile(
    r"(?<![^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?<!\.)(\d[\d,]*+(?:\.\d+)?)(s\b|['’]s\b)?"
)
# "1.234,56" and "1 234,56" of most European languages, "1\u202f234" with a narrow blank, "1'234" of Switzerland, and
# "1.234.567 Einwohner", while an address such as "192.168.100.200" has four parts.
_GROUPED = re.compile(
    r"(?<![\w.,])(?P<whole>\d{1,3}(?P<mark>[.\u00a0\u202f ])\d{3}(?:(?P=mark)\d{3})*),(?P<decimals>\d{1,2})(?!\d)"
    r"|(?<![\w.,])\d{1,3}(?:(?:[\u00a0\u202f]\d{3})+|(?:['’]\d{3})+|(?:\.\d{3}){2})(?!\.?\d)"
)
# "1 234 habitants", with the blank of a typewriter; in English these are two numbers.
_BLANKS = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+(?!\d)")
_ARABIC_MARKS = str.maketrans("\u066b\u066c", ".,")  # Marks of decimals and of thousands.
# "12万", "3.5億": ten thousands and hundred millions of Chinese and Japanese.
_MYRIADS = re.compile(r"(\d[\d,]*(?:\.\d+)?)([万萬만億亿억])")
_ISO_MONTH = re.compile(r"\b\d{4}-(0[1-9]|1[0-2])\b")  # The month of "2024-03".
# "https://example.org/a", "www.example.org", without the full stop after it.
_URL = re.compile(r"(?:https?://|www\.)[^\s<>()\"”]{0,2000}[\w/]", re.IGNORECASE)
_QUOTED = re.compile(r"[“„\"«]([^“”„\"«»]+)[”“\"»]")  # “as it says”, "as it says", «as it says».
_MIN_QUOTATION_BLANKS = 2
"""Minimum blanks in quoted text that counts as a quotation."""
_FRACTION = re.compile(r"\d++,\d{1,2}")  # "3,14" in European notation.
_SCALES = (1.0, 1e3, 1e6, 1e9)
"""Ratios between units of the same number: 1.5 km is 1,500 m, 2 million is 2,000,000."""
_DOTTED = re.compile(r"(?<!\d)\d++(?:\.\d++){2,}+")  # A version or an address: "3.11.2", "127.0.0.1".
_NUMBER_WORDS = {
    word: float(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty""".split()
    )
} | {
    **{word: 10.0 * tens for tens, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)},
    **{"hundred": 100.0, "thousand": 1000.0, "million": 1e6, "billion": 1e9, "dozen": 12.0, "twice": 2.0},
    **{
        word: float(value)
        for value, word in enumerate("third fourth fifth sixth seventh eighth ninth tenth".split(), 3)
    },
}
_AMBIGUOUS_NUMBER_WORDS = frozenset(("one", "hundred", "thousand", "million", "billion"))
"""Number words that are often not used as numbers."""
_NUMBERED_NAME = re.compile(r"\b[A-Za-z]+-\d+\b")
"""Name with a number, such as SHA-256."""
# "the Zenne", not the first word of a text or a sentence.
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<!^[\"“‘(])\b[A-Z][\w'’-]+")
_MONTHS = frozenset(name.lower() for name in calendar.month_name if name and name != "May")


class NumberMention(NamedTuple):
    """Number in a text."""

    value: float
    is_decade: bool = False
    """Whether it means a decade, as in "the 1970s"."""


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def extract_numbers(text: str, *, include_words: bool = True) -> frozenset[NumberMention]:
    """Extract the numbers of a text, by default including number words."""
    plain = _MYRIADS.sub(_multiply, _GROUPED.sub(_ungroup, text.translate(_ARABIC_MARKS)))
    numbers = {_parse_number(match) for match in _NUMBER.finditer(_DOTTED.sub(" ", plain))}
    if include_words:
        numbers |= {
            NumberMention(_NUMBER_WORDS[word])
            for word in split_words(text)
            if word in _NUMBER_WORDS and word not in _AMBIGUOUS_NUMBER_WORDS
        }
    return frozenset(numbers)


def _ungroup(match: re.Match[str]) -> str:
    """Return a number whose thousands are grouped by points or blanks as Python writes it."""
    parts = match.groupdict()
    whole = "".join(filter(str.isdigit, parts.get("whole") or match.group()))
    return f"{whole}.{parts['decimals']}" if parts.get("decimals") else whole


def _multiply(match: re.Match[str]) -> str:
    value = float(match[1].replace(",", "")) * (1e4 if match[2] in "万萬만" else 1e8)
    return f"{value:.0f} "


def _parse_number(match: re.Match[str]) -> NumberMention:
    digits = match.group(1)
    # One or two digits after a comma are a fraction (European notation); three digits are thousands.
    value = float(digits.replace(",", ".") if _FRACTION.fullmatch(digits) else digits.replace(",", ""))
    return NumberMention(value, bool(match.group(2)) and value >= 1000 and value % 10 == 0)


def find_missing_numbers(text: str, *sources: str) -> frozenset[NumberMention]:
    """Return the numbers of a text that its sources lack."""
    words = frozenset[str]().union(*map(_list_forms, sources))
    source_numbers = frozenset[NumberMention]().union(*map(_list_stated_numbers, sources))
    # The number of a name is part of it: "SHA-256" for "sha256".
    bare = _NUMBERED_NAME.sub(
        lambda match: " " if match.group().replace("-", "").lower() in words else match.group(), text
    )
    # Another language may spell a small number as a word: "zwölf", "двенадцать", "十二".
    max_spelled = MAX_COUNT if any(map(is_foreign, sources)) else -1
    return frozenset(
        number
        for number in extract_numbers(_BLANKS.sub(_ungroup, bare) if is_foreign(text) else bare)
        if not any(_is_match(number, other) for other in source_numbers)
        and not (number.value <= max_spelled and number.value.is_integer())
    )


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _list_stated_numbers(text: str) -> frozenset[NumberMention]:
    """Return the numbers of a text, those in words that are often none included, and "4.3" for "4.3.0"."""
    series = {NumberMention(float(".".join(version.split(".")[:2]))) for version in _DOTTED.findall(text)}
    words = _list_forms(text)
    spelled = {NumberMention(value) for word, value in _NUMBER_WORDS.items() if word in words}
    grouped = {mention for match in _BLANKS.finditer(text) for mention in extract_numbers(_ungroup(match))}
    return extract_numbers(text) | grouped | series | spelled


def _is_match(a: NumberMention, b: NumberMention) -> bool:
    if a.is_decade and not b.is_decade:
        return a.value <= b.value < a.value + 10
    if b.is_decade and b.value <= a.value < b.value + 10:
        return True
    return any(math.isclose(a.value * scale, b.value) or math.isclose(a.value, b.value * scale) for scale in _SCALES)


def extract_proper_nouns(text: str) -> tuple[str, ...]:
    """Extract the capitalised words of a text, except at the start of a sentence."""
    names = (match.group() for match in _NAME.finditer(text))
    return tuple(dict.fromkeys(name for name in names if name.lower() not in STOP_WORDS))


def find_missing_names(text: str, *sources: str) -> tuple[str, ...]:
    """Return the names of a text that its sources do not mention in any case.

    Return nothing if the text or a source is in a language other than English, where capitals and spelling of names may
    differ: "Munich" is "München", and "Kazan" is "Казань".
    """
    if is_non_english(text) or any(map(is_foreign, sources)):
        return ()
    return tuple(
        name
        for name in extract_proper_nouns(text)
        for forms in [{name.lower(), name.lower().replace("-", ""), *stem_words(name), *_split_name(name)}]
        if all(forms.isdisjoint(_list_forms_and_stems(source)) for source in sources)
    )


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _list_forms(text: str) -> frozenset[str]:
    """Return the words of a text, with the parts of compounds and dates, the "MB" of "1MB", and no hyphens."""
    words = split_words(text)
    parts = (part for word in words for part in _split_name(word))
    units = (word.lstrip("0123456789") for word in words if word[0].isdigit())
    return frozenset({*words, *(word.replace("-", "") for word in words), *parts, *units})


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _list_forms_and_stems(text: str) -> frozenset[str]:
    return _list_forms(text).union(stem_words(text))


def _split_name(name: str) -> Iterable[str]:
    """Split a name at its apostrophes and hyphens: "Constantinople's", "Anglo-Saxon"."""
    return (part.lower() for part in re.split(r"['’-]", name) if len(part) > 1)


def find_unsupported_details(claim: str, *sources: str) -> tuple[str, ...]:
    """Return the numbers, dates, names, URLs and quotations of a claim that its sources lack."""
    numbers = sorted(f"{number.value:g}" for number in find_missing_numbers(claim, *sources))
    versions, months, *literal = _find_missing_literals(claim, sources)
    names = [name for name in find_missing_names(claim, *sources) if name.lower() not in _MONTHS]
    return (*numbers, *versions, *months, *names, *itertools.chain(*literal))


def _find_missing_literals(claim: str, sources: Sequence[str]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the versions, months, URLs and quotations of a claim that its sources lack."""
    return (
        [
            version
            for version in dict.fromkeys(_DOTTED.findall(_GROUPED.sub(_ungroup, claim)))
            if not _contain(sources, version)
        ],
        [
            word.capitalize()
            for word in dict.fromkeys(split_words(claim))
            if word in _MONTHS
            and not any({word, word[:3]} & _list_months(source) or is_foreign(source) for source in sources)
        ],
        [url for url in dict.fromkeys(_URL.findall(claim)) if not _contain(sources, url)],
        _find_misquotations(claim, sources),
    )


def _contain(sources: Sequence[str], part: str) -> bool:
    return any(part in source for source in sources)


def _list_months(text: str) -> frozenset[str]:
    """Return the words of a text, and the names of the months of its dates."""
    return _list_forms(text).union(calendar.month_name[int(month)].lower() for month in _ISO_MONTH.findall(text))


_MIN_SHARED_PREFIX = 4
"""Minimum common first letters of a name and another form of it, as of "Scotland" and "Scottish"."""
_MEASURES = frozenset(
    stem_words(
        """seconds minutes hours days weeks months years decades centuries percent degrees metres meters kilometres
        kilometers miles feet inches grams kilograms pounds tons litres liters gallons bytes kilobytes megabytes
        gigabytes terabytes watts volts dollars euros points"""
    )
)
"""Stems of units; a number of them is no count of what a text lists."""
# "4 nodes" and "three nodes", but not the "11.0 Cargo" of "1.11.0 Cargo".
_QUANTITY = re.compile(
    rf"\b(?<!\d[,.])(\d[\d,]*+(?:\.\d++)?+|{'|'.join(_NUMBER_WORDS)})[\s-]++([^\W\d_]{{2,}})", re.IGNORECASE
)


def find_conflicting_details(claim: str, sources: Sequence[str], context: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the details of a claim that outweigh the judgement of a reader who found it supported.

    In contrast to `find_unsupported_details`, a claim may count, round, compute or conclude: a small number conflicts
    only if it is a measure, or larger than every number of the same thing in the evidence; any other number may be the
    rounded form of a number of the source, or follow from two of them; and a name only has to occur somewhere in the
    evidence, in any form of the word: in the sources, or in the context, which the author of the claim has read too.
    """
    missing = [
        number
        for number in find_missing_numbers(claim, *sources)
        if number.value > MAX_COUNT or not number.value.is_integer()
    ]
    values = sorted({mention.value for source in sources for mention in extract_numbers(source)}) if missing else []
    numbers = sorted(f"{mention.value:g}" for mention in missing if not _is_derived(mention.value, values))
    names = [
        name
        for name in find_missing_names(claim, *sources, *context)
        if name.lower() not in _MONTHS
        and not any(name.lower()[:_MIN_SHARED_PREFIX] in _list_prefixes(text) for text in (*sources, *context))
    ]
    literals = itertools.chain(*_find_missing_literals(claim, sources))
    return (*numbers, *_find_replaced_counts(claim, sources, context), *names, *literals)


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _list_prefixes(text: str) -> frozenset[str]:
    return frozenset(word[:_MIN_SHARED_PREFIX] for word in split_words(text))


_MIN_QUOTIENT_DIGITS = 3
"""Minimum significant digits of a share, a rate of change or a ratio; shorter ones agree with some pair by chance."""


def _is_derived(value: float, numbers: Sequence[float]) -> bool:
    """Return whether a number is a rounded known one, or follows from two of them, which are in ascending order."""
    digits = f"{value:.10g}"
    decimals = len(digits.partition(".")[2])
    tolerance = 0.5 * 10**-decimals + 1e-9
    has_quotients = len(digits.replace(".", "").lstrip("0")) >= _MIN_QUOTIENT_DIGITS
    rounded = any(abs(number - value) <= tolerance for number in numbers)
    return rounded or any(
        abs(derived - value) <= tolerance
        for lower, upper in itertools.combinations(numbers, 2)
        if not (_is_year(value) and (_is_year(lower) or _is_year(upper)))
        for derived in _derive_numbers(lower, upper, with_quotients=has_quotients)
    )


def _is_year(value: float) -> bool:
    """Return whether a number may be a year, with which nothing is computed but another date."""
    return 1000 <= value < 2200 and value == int(value)


def _derive_numbers(lower: float, upper: float, *, with_quotients: bool) -> Iterable[float]:
    """Yield the sum and the difference of two numbers, and as percentages their share and their rates of change."""
    yield from (upper - lower, upper + lower)
    if with_quotients and lower > 0:
        quotient = upper / lower
        yield from (quotient, 100 / quotient, 100 * (quotient - 1), 100 * (1 - 1 / quotient))


def _find_replaced_counts(claim: str, sources: Sequence[str], context: Sequence[str]) -> list[str]:
    """Return the small numbers of a claim that are measures or exceed every number of the thing in the evidence.

    A smaller one may count a part of them: four of the five branches.
    """
    stated = _group_quantities(claim)
    in_sources = {noun: _list_quantities(noun, sources) for noun in stated}
    return [
        f"{value:g} {noun}"
        for noun, values in stated.items()
        for in_evidence in [in_sources[noun] | _list_quantities(noun, context)]
        for value in sorted(values)
        if value <= MAX_COUNT
        and value not in in_sources[noun]
        and (noun in _MEASURES or (in_evidence and value > max(in_evidence)))
        and find_missing_numbers(f"{value:g}", *sources)
    ]


def _list_quantities(noun: str, texts: Sequence[str]) -> set[float]:
    return {value for text in texts for value in _group_quantities(text).get(noun, ())}


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _group_quantities(text: str) -> Mapping[str, set[float]]:
    """Return the numbers of a text by the stem of the word after each."""
    quantities: dict[str, set[float]] = {}
    for number, noun in _QUANTITY.findall(text):
        value = _NUMBER_WORDS.get(number.lower())
        mentions = {value} if value is not None else {mention.value for mention in extract_numbers(number)}
        for stem in stem_words(noun):
            quantities.setdefault(stem, set()).update(mentions)
    return quantities


def _find_misquotations(claim: str, sources: Sequence[str]) -> list[str]:
    """Return the quotations of a claim that its sources lack; one or two quoted words may only be a term."""
    quotations = [quotation for quotation in _QUOTED.findall(claim) if quotation.count(" ") >= _MIN_QUOTATION_BLANKS]
    texts = [f" {normalize_sentence(source)} " for source in sources] if quotations else []
    return [quotation for quotation in quotations if not _contain(texts, f" {normalize_sentence(quotation)} ")]
