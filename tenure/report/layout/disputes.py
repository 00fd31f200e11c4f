"""Set disputes between sources: evidence for and against positions, and contradictions."""

from collections.abc import Iterator, Mapping, Sequence

from tenure.algorithms.claims.disputes import OUTCOMES
from tenure.algorithms.text.printable import flatten
from tenure.contracts.evidence.disputes import DisputeSide
from tenure.contracts.result.result import (
    Result,
    ResultCitation,
    ResultContradiction,
    ResultDisputeOutcome,
    ResultPosition,
)
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.text import format_words, make_line
from tenure.report.layout.tree import BlockNode, Line, ListNode, ParagraphNode, TextSpan
from tenure.report.translation import mark_message, translate

SEVERITIES = {"low": mark_message("low"), "medium": mark_message("medium"), "high": mark_message("high")}
"""Words for the severity of a contradiction."""


class DisputeLayout:
    """Layout of the disputes of a report."""

    def __init__(self, result: Result, claims: ClaimLayout) -> None:
        self._titles = {source.n: flatten(source.title) for source in result.sources}
        self._claims = claims

    def set_position(self, position: ResultPosition) -> Iterator[BlockNode]:
        """Yield the evidence for and against a position."""
        counts = translate(
            "Passages: {supporting} for, {contradicting} against, {neutral} neutral.",
            supporting=position.supporting_passages,
            contradicting=position.contradicting_passages,
            neutral=position.neutral_passages,
        )
        sides = [
            *((translate("For"), quote) for quote in position.supporting),
            *((translate("Against"), quote) for quote in position.contradicting),
            *_list_further(
                position.outcome,
                {
                    "a": translate("For, found by the last search"),
                    "b": translate("Against, found by the last search"),
                },
            ),
        ]
        yield from self._set_dispute(f"{position.position} {counts}", sides, position.outcome)

    def set_contradiction(self, contradiction: ResultContradiction) -> Iterator[BlockNode]:
        """Yield the two statements of a contradiction."""
        about = f" ({contradiction.about})" if contradiction.about else ""
        further = _list_further(
            contradiction.outcome,
            {"a": translate("Agrees with the first"), "b": translate("Agrees with the second")},
        )
        sides = [("", contradiction.a), ("", contradiction.b), *further]
        yield from self._set_dispute(
            f"{translate('Severity:')} {translate(SEVERITIES[contradiction.severity])}{about}",
            sides,
            contradiction.outcome,
        )

    def _set_dispute(
        self, subject: str, sides: Sequence[tuple[str, ResultCitation]], outcome: ResultDisputeOutcome | None
    ) -> Iterator[BlockNode]:
        yield ParagraphNode(make_line(subject), "note")
        yield ListNode(tuple(self._set_side(label, quote, outcome) for label, quote in sides))
        if outcome and outcome.reason:
            yield ParagraphNode(format_words(f"{translate(OUTCOMES[outcome.status])}: {outcome.reason}"))

    def _set_side(self, label: str, quote: ResultCitation, outcome: ResultDisputeOutcome | None) -> Line:
        standing = _describe_standing(outcome, quote)
        return make_line(
            *((TextSpan(f"{label}:", "em"), " ") if label else ()),
            self._titles[quote.source],
            f" ({standing})" if standing else "",
            f": “{flatten(quote.quote)}”",
            self._claims.cite_quote(quote),
        )


def _list_further(
    outcome: ResultDisputeOutcome | None, labels: Mapping[DisputeSide, str]
) -> Iterator[tuple[str, ResultCitation]]:
    """Yield the quotes that the search for a primary or newer source found."""
    for source in outcome.sources if outcome else ():
        if source.found:
            yield labels[source.side], source.citation


def _describe_standing(outcome: ResultDisputeOutcome | None, quote: ResultCitation) -> str:
    """Return date and origin of the source of a quote; empty if both are unknown."""
    for source in outcome.sources if outcome else ():
        if source.citation == quote:
            primary = translate("primary source: {reason}", reason=source.primary) if source.primary else ""
            return "; ".join(filter(None, (source.published, primary)))
    return ""
