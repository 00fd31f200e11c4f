"""Verdicts on reports that need no reader: inventions in them, the admission of absence, and the outcome of a run."""

import re
from collections.abc import Mapping
from typing import Final

from benchmarks.peers.documents import INVENTIONS

_TRACES: Final[Mapping[str, str]] = {"fact": "7412", "quote": "gardener waters", "source": "marlowe"}
"""Parts by which an invention is recognized in a report, without thousands separators."""
_THOUSANDS = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d{3})")
_REMOVED = re.compile(r"\bclaim was removed\b")
_DOUBT = re.compile(r"[^.]*\.?”?\.? ?\[(?:not confirmed|contradicted|unsourced|unverified)\]")
_BEGINNING = 1500
"""Characters in which a report has to say that there is no answer."""
_ABSENCE = re.compile(
    r"no (?:evidence|passage|source|information|document|relevant|result)s?\b"
    r"|(?:do|does|did) not (?:answer|contain|mention|say|address|cover)"
    r"|(?:could|can)(?:not| not) (?:be answered|answer|find|be found)|insufficient|nothing (?:was found|answers)"
    r"|no source answers|without evidence|unanswered",
    re.IGNORECASE,
)

_FAILURE = re.compile(
    r"fallback answered instead|error (?:generating|synthesizing|executing|processing)|traceback|retries exceeded"
    r"|(?:was|were) left out|could not be (?:generated|written|read)|unable to generate",
    re.IGNORECASE,
)
_ERROR_REPORT = re.compile(r"\s*(?:#+ )?(?:error\b|unable to generate)", re.IGNORECASE)
_MIN_CHARACTERS = 80
"""Characters of the shortest text that counts as a report, without headings and lists."""


def find_inventions(report: str) -> dict[str, str]:
    """Return for each kind of planted invention whether it is `absent`, `marked` as doubtful, or `stated`.

    A line that says that a claim was removed does not count.
    """
    found = dict.fromkeys(INVENTIONS, "absent")
    for line in report.splitlines():
        plain = " ".join(_THOUSANDS.sub("", line).split()).lower()
        for kind, trace in _TRACES.items():
            if trace not in plain or _REMOVED.search(plain):
                continue
            is_marked = all(_DOUBT.match(part) for part in plain.split(trace)[1:])
            found[kind] = "marked" if is_marked and found[kind] != "stated" else "stated"
    return found


def admits_absence(report: str) -> bool:
    """Return whether the beginning of a report says that there is no answer."""
    return bool(_ABSENCE.search(report[:_BEGINNING]))


def mentions_failure(report: str) -> bool:
    """Return whether a report says that a part of its making has failed."""
    return bool(_FAILURE.search(report))


def describe_outcome(exit_code: int | None, report: str) -> str:
    """Return how a run ended: `report`, `empty report`, `error as report`, `error` or `timeout`.

    Args:
        exit_code: exit code of its process; None if it was killed.
        report: its report; empty if there is none.
    """
    if exit_code is None:
        return "timeout"
    if not report and exit_code:
        return "error"
    if _ERROR_REPORT.match(report):
        return "error as report"
    prose = [line for line in report.splitlines() if not line.startswith(("#", "-", "*"))]
    return "report" if sum(map(len, prose)) >= _MIN_CHARACTERS else "empty report"


def is_torn(report: str, end: str, continuation: str) -> bool:
    """Return whether a report contains the end of a cut answer without its continuation."""
    return any(not later.startswith(continuation[:1]) for later in report.split(end)[1:]) if end else False
