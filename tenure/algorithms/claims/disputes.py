"""Decide disputes between sources by origin and date.

A source is primary if its title or file name says that it is a specification, a standard or an official publication;
that another page refers to it says nothing, since the pages of a manual refer to each other. The newer side is the one
whose newest dated source is later than every source of the other side, all of which have dates. A dispute is resolved
if exactly one side has a primary source or is newer, and origin and date do not point to different sides. Evidence for
and against a position stays disputed, since both can hold under different conditions.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from tenure.algorithms.text.dates import parse_date_range
from tenure.algorithms.text.details import extract_numbers
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.polarity import count_negations
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import Sentence, split_sentences, stem_words
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.disputes import DisputeOutcome, DisputeSide, DisputeSource, DisputeStatus, SourceStanding

MIN_SHARED_STEMS: Final = 0.6
"""Minimum share of the words of two statements that they have in common if they differ in a value, and minimum share of
these common words in a sentence on the same subject. Two long statements that shared only "mirror" and "stream" had
five sentences on other subjects on their sides."""
MAX_QUERY_CHARACTERS: Final = 400
MAX_TITLE_CHARACTERS: Final = 80
"""Maximum characters of a title in a sentence for readers."""
_SIDES: Final[tuple[DisputeSide, ...]] = ("a", "b")
MAX_SAYING_CHARACTERS: Final = 240
"""Maximum characters of a quote in a sentence for readers."""
QUERY_WORDS: Final = "official specification, original source, latest version"
"""Words that a search for a primary or newer source adds to the disputed statement."""
_OFFICIAL = re.compile(
    r"\b(?:specification|technical standard|standard|official|reference manual|release notes|changelog|regulation|"
    r"directive|statute|act of parliament|press release|data ?sheet|original (?:paper|study|report)|census)\b",
    re.IGNORECASE,
)
"""Words of titles and file names of primary sources."""


class _Newer(NamedTuple):
    """The newer side with its newest source and the reason."""

    side: DisputeSide
    reason: str
    source: DisputeSource


def build_dispute_query(a: str, b: str, about: str = "") -> str:
    """Return a query for a primary or newer source: the words that both statements share, in the order of the first."""
    shared = set(stem_words(a)) & set(stem_words(b))
    subject = " ".join(
        word for word in re.findall(r"[^\W_](?:[\w.'’-]*\w)?", a) if shared.intersection(stem_words(word))
    )
    return shorten(f"{subject or about or a}: {QUERY_WORDS}", MAX_QUERY_CHARACTERS)


def judge_sentence(a: str, b: str, sentence: str) -> DisputeSide | None:
    """Return the statement with which a sentence agrees; None if it is on another subject or agrees with neither.

    The statements must share most of their words, and the sentence most of those. It agrees with the statement of which
    it has words or numbers that the other one lacks. If the statements differ only in a negation, its own negation
    decides.
    """
    (terms_a, is_negated_a), (terms_b, is_negated_b), (terms, is_negated) = map(_read_terms, (a, b, sentence))
    shared = terms_a & terms_b
    if not shared or len(shared) < MIN_SHARED_STEMS * max(len(terms_a), len(terms_b)):
        return None
    if len(shared & terms) < MIN_SHARED_STEMS * len(shared):
        return None
    only_a, only_b = terms & (terms_a - terms_b), terms & (terms_b - terms_a)
    if is_negated_a != is_negated_b:
        return "a" if is_negated == is_negated_a else "b"
    if only_a and not only_b:
        return "a"
    return "b" if only_b and not only_a else None


@lru_cache(maxsize=256)
def _read_terms(text: str) -> tuple[frozenset[str], bool]:
    """Return the stems and the values of the numbers of a text, and whether it is negated."""
    stems = {stem for stem in stem_words(text) if not stem.isdigit()}
    return frozenset(stems).union(f"{n.value:g}" for n in extract_numbers(text)), count_negations(text) % 2 == 1


def find_agreeing_sentence(a: str, b: str, passage: Passage) -> tuple[DisputeSide, Sentence] | None:
    """Return the first sentence of a passage that agrees with one of two statements, with its side; None for none."""
    for sentence in split_sentences(passage.text):
        if not sentence.text.rstrip().endswith("?") and (side := judge_sentence(a, b, sentence.text)):
            return side, sentence
    return None


def find_primary_reason(title: str, uri: str) -> str:
    """Return the reason that a source is primary; empty if neither its title nor its file name says so."""
    name = re.split(r"[?#]", uri)[0].rstrip("/").rsplit("/", 1)[-1]
    match = _OFFICIAL.search(f"{title} {name}")
    return f"it is named “{match.group(0).lower()}”" if match else ""


def decide_dispute(
    sources: Sequence[DisputeSource], standings: Sequence[SourceStanding], query: str, *, is_exclusive: bool = True
) -> DisputeOutcome:
    """Return the outcome of a dispute after a search for a primary or newer source.

    Origin and date can decide it only if the two sides cannot both be true (`is_exclusive`).
    """
    standing_by_source = {standing.source: standing for standing in standings}
    complete = tuple(
        source.model_copy(update={"published": standing.published, "primary": standing.primary or source.primary})
        if (standing := standing_by_source.get(source.citation.source))
        else source
        for source in sources
    )
    titles = {id: f"“{shorten(standing.title, MAX_TITLE_CHARACTERS)}”" for id, standing in standing_by_source.items()}
    side, reason = _decide(complete, titles) if is_exclusive else (None, _describe_open(complete, titles))
    status: DisputeStatus = "resolved" if side else "disputed"
    return DisputeOutcome(status=status, side=side, reason=reason, query=query, sources=complete)


def _decide(sources: Sequence[DisputeSource], titles: Mapping[SourceId, str]) -> tuple[DisputeSide | None, str]:
    """Return the side that origin and date favour, None if they decide nothing, and the reason."""
    newer = _find_newer_side(sources, titles)
    primary = [source for source in sources if source.primary]
    if len({source.side for source in primary}) == 1:
        first = primary[0]
        origin = f"{_name(first, titles)} is a primary source ({first.primary}). {_quote(first)}"
        if newer and newer.side != first.side:
            return None, f"{origin} But the other side is newer: {newer.reason}"
        return first.side, f"{origin} It is also the newer side: {newer.reason}" if newer else origin
    if newer:
        return newer.side, f"The newer side is taken: {newer.reason} {_quote(newer.source)}"
    return None, ""  # both quotes show the dispute, and that names and dates decide nothing proves nothing


def _describe_open(sources: Sequence[DisputeSource], titles: Mapping[SourceId, str]) -> str:
    """Return the reason that a position stays disputed, with its newest and its primary sources."""
    words = {"a": "for", "b": "against"}
    dated = [(period, source) for source in sources if (period := parse_date_range(source.published))]
    newest = max(dated, key=lambda pair: pair[0].first)[1] if dated else None
    primary = next((source for source in sources if source.primary), None)
    return " ".join(
        [
            "Evidence for and against can be right under different conditions, so neither origin nor date decides.",
            f"The newest dated source, {_name(newest, titles)}, is {words[newest.side]} it." if newest else "",
            f"{_name(primary, titles)}, a primary source ({primary.primary}), is {words[primary.side]} it."
            if primary
            else "",
        ]
    ).strip()


def _quote(source: DisputeSource) -> str:
    return f"It says: “{shorten(source.citation.quote, MAX_SAYING_CHARACTERS)}”"


def _find_newer_side(sources: Sequence[DisputeSource], titles: Mapping[SourceId, str]) -> _Newer | None:
    """Return the side whose newest source is later than every source of the other side, all of which have dates."""
    dated = [(source, period) for source in sources if (period := parse_date_range(source.published))]
    for side in _SIDES:
        own = [(source, period) for source, period in dated if source.side == side]
        others = [(source, period) for source, period in dated if source.side != side]
        if not own or not others or len(others) < sum(source.side != side for source in sources):
            continue
        newest, first = max(own, key=lambda pair: pair[1].first)
        last, before = max(others, key=lambda pair: pair[1].last)
        if first.first > before.last:
            return _Newer(side, f"{_name(newest, titles)} is later than {_name(last, titles)}.", newest)
    return None


def _name(source: DisputeSource, titles: Mapping[SourceId, str]) -> str:
    title = titles.get(source.citation.source, "a source")
    return f"{title} ({source.published})" if source.published else title


OUTCOMES: Final[Mapping[DisputeStatus, str]] = {
    "resolved": "Resolved",
    "disputed": "Still disputed",
    "not_searched": "Still disputed",
}
"""Words for the status of a dispute."""


def describe_outcome(subject: str, outcome: DisputeOutcome) -> str:
    """Return the outcome of a dispute in a sentence for readers."""
    name = shorten(subject, MAX_TITLE_CHARACTERS)
    reason = f": {outcome.reason}" if outcome.reason else "."
    return f"Sources disagree on “{name}”. {OUTCOMES[outcome.status]}{reason}"
