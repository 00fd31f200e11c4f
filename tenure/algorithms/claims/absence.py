"""Find the statements of a report that something is absent from its sources, and the searches that test them.

Such a statement is a claim on the whole corpus that is made from the passages that its author has read. No passage can
support it, so it is searched for before it is printed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.claims.removal import remove_claims
from tenure.algorithms.claims.verification import replace_claims
from tenure.contracts.evidence.passages import Claim
from tenure.contracts.research.dossier import Gap
from tenure.contracts.research.report import ReportPartKind, ReportText

_CODE_SPAN = re.compile(r"`[^`]*`")  # "`no_limit`": a name in code denies nothing.
_SOURCES = r"(?:sources?|passages?|excerpts?|documents?|documentation|docs|manuals?|guides?|pages?|notes|texts?)"
_SAID = (
    r"(?:said|stated|named|mentioned|given|described|documented|listed|specified|explained|defined|promised|guaranteed|"
    r"quantified|recorded|compared|marked|covered|known|say|state|mention|describe|settle)"
)
_NEAR = r"(?:[^.;]|\.(?=\d)){0,80}"  # Text of the same sentence; the point of "2.1" ends none.
_ABSENCES: Final = (
    # "The sources name no metric", "The consumer guide, which names no version", "The manual is silent on it"; not
    # "Packages fail to install from source, because they specify no encoding".
    re.compile(
        rf"(?<!from )\b{_SOURCES}\b{_NEAR}\b(?:no|not|none|nothing|never|neither|nowhere|silent)\b", re.IGNORECASE
    ),
    # "No number of cores is stated", "It is not documented"; not "If no warning can be given".
    re.compile(rf"(?<!\bif )\b(?:no|not|none|nothing|never|nowhere)\b{_NEAR}\b{_SAID}\b", re.IGNORECASE),
    # "The alarm is described without differences between versions".
    re.compile(rf"\b{_SAID}\b{_NEAR}\bwithout\b", re.IGNORECASE),
    re.compile(r"\b(?:unknown|undocumented|unspecified|unstated|leaves? open|left open)\b", re.IGNORECASE),
    # "The oldest dated entry", "the only documented way", "The first mention in the release notes"; not "the first film
    # of the series code-named Blue".
    re.compile(
        rf"\b(?:oldest|earliest|newest|latest|first|only)\b{_NEAR}(?<!-)\b"
        rf"(?:dated|mentions?|{_SAID}|in the {_SOURCES})\b",
        re.IGNORECASE,
    ),
)
"""Forms of statements on what the sources lack: 6 of 235 sentences of five drafts have one, 3 of them with reason."""
MAX_QUERY_CHARACTERS: Final = 300
NOT_SEARCHED: Final = "(not said in the passages that were read; not searched for further)"
"""Addition to a gap that was not searched for."""


class Absence(NamedTuple):
    """A statement of absence."""

    number: int
    """Number of its sentence in the report, from 1."""
    claim: Claim

    @property
    def gap(self) -> Gap:
        """The gap and its search; an empty cell is searched by row and column. Sentences and cells have less room."""
        claim = self.claim
        if claim.query:
            return Gap(statement=claim.statement, query=claim.query)
        if _is_empty_cell(claim):
            return Gap(query=f"{claim.label} {claim.column}", max_passages=1)
        return Gap(query=claim.statement[:MAX_QUERY_CHARACTERS], max_passages=2)


def list_absences(text: ReportText) -> list[Absence]:
    """Return the statements of absence of a report: gaps first, then sentences on what sources lack, then empty cells.

    Excerpts of a brief and gaps that the program states are none.
    """
    kinds = [part.kind for part in text.parts for _ in part.draft.claims]
    numbered = [Absence(number, claim) for number, claim in enumerate(text.claims, 1)]
    gaps = (absence for absence in numbered if absence.claim.query)
    stated = (absence for absence, kind in zip(numbered, kinds, strict=True) if _states_absence(absence.claim, kind))
    return [*gaps, *stated, *(absence for absence in numbered if _is_empty_cell(absence.claim))]


def _is_empty_cell(claim: Claim) -> bool:
    return bool(claim.column) and claim.kind == "gap" and not claim.query


def _states_absence(claim: Claim, part: ReportPartKind) -> bool:
    """Return whether a sentence that is not marked as a gap says that something is absent from the sources."""
    if claim.kind in ("gap", "lead_in") or claim.part or "\n" in claim.text:
        return False
    text = _CODE_SPAN.sub(" ", claim.text)
    return part == "gaps" or any(form.search(text) for form in _ABSENCES)


def find_unread_gaps(text: ReportText, searches: Mapping[str, Sequence[int]], first_new: int) -> list[Absence]:
    """Return the gaps for which searches (numbers of passages by query) found what their author has not read.

    The passages from `first_new` on were not read; 0 for none of them.
    """
    return [
        item
        for item in list_absences(text)
        if first_new and _is_printed_gap(item.claim) and any(n >= first_new for n in searches.get(item.gap.query, ()))
    ]


def withdraw_gaps(
    text: ReportText, searches: Mapping[str, Sequence[int]], first_new: int
) -> tuple[ReportText, list[str]]:
    """Return a text without the gaps whose passages its author has not read, and those gaps.

    A gap that was not searched for says so.
    """
    unread = find_unread_gaps(text, searches, first_new)
    drafts = [part.draft for part in text.parts]
    unsearched = {
        item.number - 1: item.claim.model_copy(update={"text": f"{item.claim.text.rstrip(' .')} {NOT_SEARCHED}"})
        for item in list_absences(text)
        if _is_printed_gap(item.claim) and item.gap.query not in searches
    }
    remaining = remove_claims(replace_claims(drafts, unsearched), [item.number - 1 for item in unread])
    return text.replace_drafts(remaining), [item.claim.text for item in unread]


def describe_withdrawal(gap: str) -> str:
    """Return a note on a gap that is left out."""
    return f"A statement of absence was left out, since no review has compared it with what was found on it: “{gap}”"


def _is_printed_gap(claim: Claim) -> bool:
    """Return whether a claim only says that something is unknown, so that the text reads on without it."""
    return claim.kind == "gap" and bool(claim.query) and not claim.column
