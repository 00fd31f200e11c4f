"""What a page of the web is worth: its flaws, by what it says, and a score from its domain, its age and its flaws.

Phrases can only hint: a flaw may be said in other words, and a page may also be about such phrases. So what is found
is told with the source and lowers its worth; nothing is dropped for it.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from tenure.algorithms.retrieval.page_phrases import ERROR_HEAD, ERROR_TITLE, ORDERS, PAYWALL, says
from tenure.contracts.evidence.web import Flaw

NEUTRAL: Final = 0.7
"""Authority of a domain of which nothing is known."""

_SHORT: Final = 1_500
"""Characters of main text up to which a page can be an error page, or the beginning of what is sold."""
_EMPTY: Final = 80
"""Characters up to which a page says next to nothing."""
_WIDE: Final = 3
"""Letters of an alphabet that a sign stands for in the scripts whose signs are words or syllables."""
_HEAD: Final = 400
"""Characters at the beginning of a page that say what it is."""

_WORTH: Final[dict[Flaw, float]] = {
    "error_page": 0.05,
    "empty": 0.2,
    "instructions": 0.3,
    "paywall": 0.6,
    "near_duplicate": 0.6,
}
"""What share of its worth a flaw leaves a page."""
_NEWS: Final = 0.8
"""What share of its worth age leaves a page in the end."""
_HALF_YEARS: Final = 4.0
"""Years in which a page loses half of what age can take."""

_WORDS: Final[dict[Flaw, str]] = {
    "error_page": "it is an error message, although the server delivered it as a page",
    "paywall": "it shows a beginning and keeps the rest for subscribers",
    "empty": "it has hardly any text",
    "near_duplicate": "it says the same as another page",
    "instructions": "it holds text that gives orders to programs which read it",
}

_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Judgement(NamedTuple):
    """What is wrong with a page."""

    flaws: tuple[Flaw, ...]
    """Its flaws."""
    note: str
    """The same in words for a reader, none of them the page's own; empty where nothing is wrong."""


def judge(title: str, text: str, *, visible: str = "", hidden: str = "", locked: bool = False) -> Judgement:
    """Return what is wrong with a page, by what it says.

    Args:
        title: Its title.
        text: Its main text.
        visible: All words that a reader sees, also those around the main text; empty for the main text alone.
        hidden: Words that it does not show to readers.
        locked: Whether it says itself that not everybody may read all of it.
    """
    size = _size(text)
    around = visible or text
    found: list[Flaw] = []
    if size <= _SHORT and (says(title, ERROR_TITLE) or says(text[:_HEAD], ERROR_HEAD)):
        found.append("error_page")
    elif size <= _EMPTY:
        found.append("empty")
    elif size <= _SHORT and (locked or says(around, PAYWALL)):
        found.append("paywall")
    secret = says(hidden, ORDERS)
    if secret or says(f"{title}\n{around}", ORDERS) or (visible and says(text, ORDERS)):
        found.append("instructions")
    return Judgement(tuple(found), words(found) + (", where no reader sees them" if secret else ""))


def words(flaws: Sequence[Flaw]) -> str:
    """Return flaws in words for a reader."""
    return ", and ".join(_WORDS[flaw] for flaw in flaws)


def score(host: str, published: str, today: str, flaws: Sequence[Flaw], authority: Mapping[str, float]) -> float:
    """Return what a page is worth, from 0 to 1.

    Args:
        host: The host of its address.
        published: The day it was published, ISO 8601; empty where unknown, which counts as middle-aged.
        today: The day it is read, ISO 8601.
        flaws: What is wrong with it.
        authority: What domains are worth, from 0 to 1; a domain speaks for its subdomains.
    """
    worth = _authority(host, authority) * _age(published, today)
    for flaw in dict.fromkeys(flaws):
        worth *= _WORTH[flaw]
    return round(worth, 4)


def _authority(host: str, authority: Mapping[str, float]) -> float:
    """Return the authority of the longest domain that a host is of."""
    labels = host.lower().strip(".").split(".")
    domains = (".".join(labels[start:]) for start in range(len(labels)))
    return next((authority[domain] for domain in domains if domain in authority), NEUTRAL)


def _age(published: str, today: str) -> float:
    if not published:
        return (1 + _NEWS) / 2
    years = max(0, (date.fromisoformat(today[:10]) - date.fromisoformat(published[:10])).days) / 365.25
    return float(_NEWS + (1 - _NEWS) * 0.5 ** (years / _HALF_YEARS))


def _size(text: str) -> int:
    """Return the length of a text as it would be in letters."""
    return len(text) + (_WIDE - 1) * len(_SIGN.findall(text[: _SHORT + 1]))
