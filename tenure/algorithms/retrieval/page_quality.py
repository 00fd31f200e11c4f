"""Assess the quality of web pages: flaws by their text, and a score from domain authority, age and flaws.

Phrases are only hints: a flaw may be expressed in other words, and a page may discuss such phrases. A flaw is therefore
reported with the source and lowers its score, but never removes the page.

    score = authority of the domain * age factor * product of the flaw factors
    age factor = 0.8 + 0.2 * 0.5^(years / 4)
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from tenure.algorithms.injection.detection import contains_instructions
from tenure.algorithms.retrieval.page_phrases import ERROR_PAGE_OPENINGS, ERROR_PAGE_TITLES, PAYWALL_NOTICES
from tenure.algorithms.text.stock_phrases import contains_phrase
from tenure.contracts.evidence.web import PageFlaw

DEFAULT_AUTHORITY: Final = 0.7

_MAX_SHORT_CHARACTERS: Final = 1_500
"""Maximum characters of main text of an error page or of the free part of a paywalled page."""
_MAX_EMPTY_CHARACTERS: Final = 80
"""Maximum characters of main text of an empty page."""
_IDEOGRAPH_WEIGHT: Final = 3
"""Letters that an ideograph or syllable sign counts as."""
_OPENING_CHARACTERS: Final = 400
"""Characters at the start of a page that identify an error page."""

_FLAW_FACTORS: Final[dict[PageFlaw, float]] = {
    "error_page": 0.05,
    "empty": 0.2,
    "instructions": 0.3,
    "paywall": 0.6,
    "near_duplicate": 0.6,
}
"""Factor by which each flaw multiplies the score."""
_MIN_AGE_FACTOR: Final = 0.8
"""Limit of the age factor for old pages."""
_HALF_LIFE_YEARS: Final = 4.0
"""Years after which the reducible part of the age factor is halved."""

_FLAW_DESCRIPTIONS: Final[dict[PageFlaw, str]] = {
    "error_page": "it is an error message that the server delivered as a page",
    "paywall": "it shows only the free part of a paywalled article",
    "empty": "it has hardly any text",
    "near_duplicate": "it is a near-duplicate of another page",
    "instructions": "it contains instructions to language models (prompt injection)",
}

_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # Kana, Chinese characters and Hangul.


class PageAssessment(NamedTuple):
    """Flaws of a page."""

    flaws: tuple[PageFlaw, ...]
    note: str
    """Description of the flaws for readers, without any text of the page; empty for a page without flaws."""


def assess_page(
    title: str, text: str, *, visible: str = "", hidden: str = "", is_paywalled: bool = False
) -> PageAssessment:
    """Detect the flaws of a page by its title and main text, all visible text if there is more, and its hidden text.

    A page whose metadata declares restricted access is paywalled.
    """
    size = _measure_length(text)
    around = visible or text
    flaws: list[PageFlaw] = []
    if size <= _MAX_SHORT_CHARACTERS and (
        contains_phrase(title, ERROR_PAGE_TITLES) or contains_phrase(text[:_OPENING_CHARACTERS], ERROR_PAGE_OPENINGS)
    ):
        flaws.append("error_page")
    elif size <= _MAX_EMPTY_CHARACTERS:
        flaws.append("empty")
    elif size <= _MAX_SHORT_CHARACTERS and (is_paywalled or contains_phrase(around, PAYWALL_NOTICES)):
        flaws.append("paywall")
    has_hidden_injection = contains_instructions(hidden)
    if has_hidden_injection or contains_instructions(f"{title}\n{around}") or (visible and contains_instructions(text)):
        flaws.append("instructions")
    return PageAssessment(
        tuple(flaws), describe_flaws(flaws) + (", in text that readers do not see" if has_hidden_injection else "")
    )


def describe_flaws(flaws: Sequence[PageFlaw]) -> str:
    """Describe flaws for a reader."""
    return ", and ".join(_FLAW_DESCRIPTIONS[flaw] for flaw in flaws)


def score_page(
    host: str, published: str, today: str, flaws: Sequence[PageFlaw], authority: Mapping[str, float]
) -> float:
    """Return the quality score of a page, from 0 to 1.

    Args:
        host: Host of the page's URL.
        published: Publication date, ISO 8601; empty if unknown, which counts as middle-aged.
        today: Date of access, ISO 8601.
        flaws: Flaws of the page.
        authority: Authority of domains, from 0 to 1; the longest one that the host belongs to counts.
    """
    labels = host.lower().strip(".").split(".")
    domains = (".".join(labels[start:]) for start in range(len(labels)))
    of_host = next((authority[domain] for domain in domains if domain in authority), DEFAULT_AUTHORITY)
    factors = (_FLAW_FACTORS[flaw] for flaw in dict.fromkeys(flaws))
    return round(of_host * _compute_age_factor(published, today) * math.prod(factors), 4)


def _compute_age_factor(published: str, today: str) -> float:
    if not published:
        return (1 + _MIN_AGE_FACTOR) / 2
    years = max(0, (date.fromisoformat(today[:10]) - date.fromisoformat(published[:10])).days) / 365.25
    return float(_MIN_AGE_FACTOR + (1 - _MIN_AGE_FACTOR) * 0.5 ** (years / _HALF_LIFE_YEARS))


def _measure_length(text: str) -> int:
    """Return the length of a text in letters; ideographs count as several."""
    return len(text) + (_IDEOGRAPH_WEIGHT - 1) * len(_IDEOGRAPH.findall(text[: _MAX_SHORT_CHARACTERS + 1]))
