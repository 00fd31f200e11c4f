"""Compare two result documents: the findings, sources and conclusions that only one of them has.

Two statements are equal if their words are equal. They are versions of one finding if most of their stems agree, or
if some agree and both cite the same quote. Sources are compared by URI, since ids and numbers differ per report.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tenure.algorithms.coding.patches import build_patch
from tenure.algorithms.text.sentences import normalize_sentence, stem_words
from tenure.contracts.result.changes import QuotedSource
from tenure.contracts.result.diff import (
    ChangedConclusion,
    ChangedFinding,
    ChangedMetric,
    CitedSource,
    ConclusionPart,
    DiffSide,
    DiffStatement,
    RunDiff,
    UnsharedContradiction,
)
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultContradiction, Synthesis
from tenure.report.layout.program import map_texts

MIN_OVERLAP = 0.6
"""Minimum share of common stems for two versions of one finding."""
MIN_OVERLAP_SAME_QUOTE = 0.25
"""The same for two statements that cite the same quote."""


class Pairing(NamedTuple):
    """Correspondence between the statements of two reports."""

    pairs: tuple[tuple[DiffStatement, DiffStatement], ...]
    """Versions of one finding, in the order of the first report."""
    only_a: tuple[DiffStatement, ...]
    """Statements of the first report only."""
    only_b: tuple[DiffStatement, ...]
    """Statements of the second report only."""


def compare_results(a: Result, b: Result) -> RunDiff:
    """Return the difference between two result documents."""
    pairing = pair_statements(list_statements(a), list_statements(b))
    moved_up, moved_down = (
        pair_statements(pairing.only_a, list_abstract_statements(b)),
        pair_statements(pairing.only_b, list_abstract_statements(a)),
    )
    versions = [_changed(first, other) for first, other in pairing.pairs]
    changed = tuple(pair for pair in versions if pair.text_differs or pair.support_differs or pair.evidence_differs)
    ours, theirs = _sources(a), _sources(b)
    return RunDiff(
        a=_describe_side(a, moved_up.only_a, ours, theirs, b.contradictions),
        b=_describe_side(b, moved_down.only_a, theirs, ours, a.contradictions),
        changed=changed,
        unchanged=len(versions) - len(changed) + len(moved_up.pairs) + len(moved_down.pairs),
        common_sources=tuple(source for uri, source in ours.items() if uri in theirs),
        conclusions=tuple(_compare_conclusions(a, b)),
        metrics=tuple(_compare_figures(a, b)),
        program=build_patch(map_texts(a.files), map_texts(b.files)),
    )


def list_statements(result: Result) -> tuple[DiffStatement, ...]:
    """Return the statements of a report's sections without duplicates, with their citations."""
    return _stated(result, [(section.topic, section.claims) for section in result.sections])


def list_abstract_statements(result: Result) -> tuple[DiffStatement, ...]:
    """Return the statements of the abstract, which are not findings missing from the sections."""
    return _stated(result, [("Abstract", result.abstract_claims)])


def _stated(result: Result, parts: Iterable[tuple[str, Iterable[ResultClaim]]]) -> tuple[DiffStatement, ...]:
    by_number = {source.n: source for source in result.sources}

    def quote(citation: ResultCitation) -> QuotedSource:
        source = by_number[citation.source]
        return QuotedSource(uri=source.uri, title=source.title, quote=citation.quote)

    statements: dict[str, DiffStatement] = {}
    for topic, claims in parts:
        for claim in claims:
            quotes = tuple(quote(citation) for citation in claim.citations)
            stated = DiffStatement(topic=topic, text=claim.statement, status=claim.status, quotes=quotes)
            statements.setdefault(normalize_sentence(claim.statement), stated)
    return tuple(statements.values())


def pair_statements(a: Sequence[DiffStatement], b: Sequence[DiffStatement]) -> Pairing:
    """Pair the statements of two reports that are versions of one finding, the most similar first."""
    rest_a, rest_b = dict(enumerate(a)), dict(enumerate(b))
    pairs: dict[int, tuple[DiffStatement, DiffStatement]] = {}
    for _, m, n in sorted(_iterate_overlaps(a, b), key=lambda overlap: (-overlap[0], overlap[1:])):
        if m in rest_a and n in rest_b:
            pairs[m] = rest_a.pop(m), rest_b.pop(n)
    return Pairing(tuple(pairs[m] for m in sorted(pairs)), tuple(rest_a.values()), tuple(rest_b.values()))


def _iterate_overlaps(a: Sequence[DiffStatement], b: Sequence[DiffStatement]) -> Iterator[tuple[float, int, int]]:
    """Yield the overlaps of statements that may be versions of one finding, with their indices."""
    others = [(normalize_sentence(other.text), frozenset(stem_words(other.text)), _quoted(other)) for other in b]
    for m, statement in enumerate(a):
        words, print_ = frozenset(stem_words(statement.text)), normalize_sentence(statement.text)
        quotes = _quoted(statement)
        for n, (other_print, other_words, other_quotes) in enumerate(others):
            common = len(words & other_words) / (len(words | other_words) or 1)
            likeness = 1.0 if print_ == other_print else common
            if likeness >= (MIN_OVERLAP_SAME_QUOTE if quotes & other_quotes else MIN_OVERLAP):
                yield likeness, m, n


def _quoted(statement: DiffStatement) -> frozenset[tuple[str, str]]:
    return frozenset((quote.uri, normalize_sentence(quote.quote)) for quote in statement.quotes)


def _changed(a: DiffStatement, b: DiffStatement) -> ChangedFinding:
    return ChangedFinding(
        a=a,
        b=b,
        text_differs=normalize_sentence(a.text) != normalize_sentence(b.text),
        support_differs=a.status != b.status,
        evidence_differs={quote.uri for quote in a.quotes} != {quote.uri for quote in b.quotes},
    )


def _sources(result: Result) -> dict[str, CitedSource]:
    return {source.uri: CitedSource(uri=source.uri, title=source.title) for source in result.sources}


def _describe_side(
    result: Result,
    findings: tuple[DiffStatement, ...],
    own: dict[str, CitedSource],
    others: dict[str, CitedSource],
    other_contradictions: Iterable[ResultContradiction],
) -> DiffSide:
    """Return one run with the parts that the other lacks; `other_contradictions` are those of the other."""
    shared = {_clash(contradiction) for contradiction in other_contradictions}
    titles = {source.n: source.title for source in result.sources}
    return DiffSide(
        id=result.id,
        question=result.question,
        status=result.status,
        findings=findings,
        sources=tuple(source for uri, source in own.items() if uri not in others),
        contradictions=tuple(
            UnsharedContradiction(
                a=contradiction.a.quote,
                b=contradiction.b.quote,
                about=contradiction.about,
                a_title=titles[contradiction.a.source],
                b_title=titles[contradiction.b.source],
            )
            for contradiction in result.contradictions
            if _clash(contradiction) not in shared
        ),
    )


def _clash(contradiction: ResultContradiction) -> frozenset[str]:
    return frozenset((normalize_sentence(contradiction.a.quote), normalize_sentence(contradiction.b.quote)))


def _compare_conclusions(a: Result, b: Result) -> Iterator[ChangedConclusion]:
    ours, theirs = _concluded(a), _concluded(b)
    for part, text in ours.items():
        if normalize_sentence(text) != normalize_sentence(theirs[part]):
            yield ChangedConclusion(part=part, a=text, b=theirs[part])


def _concluded(result: Result) -> dict[ConclusionPart, str]:
    synthesis = result.synthesis or Synthesis()
    return {
        "abstract": _text(result.abstract_claims),
        "resolution": _text(synthesis.resolution),
        "gaps": _text(synthesis.gaps),
        "comparison": _text(synthesis.comparison),
    }


def _text(claims: Iterable[ResultClaim]) -> str:
    return " ".join(claim.statement for claim in claims)


def _compare_figures(a: Result, b: Result) -> Iterator[ChangedMetric]:
    """Yield the figures that differ, those of the first report first."""
    ours, theirs = _read_figures(a), _read_figures(b)
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            yield ChangedMetric(name=name, a=ours.get(name), b=theirs.get(name))


def _read_figures(result: Result) -> dict[str, float]:
    usage, verdict, proof = result.usage, result.evaluation, result.verification
    figures: dict[str, float | None] = {
        "statements": float(sum(len(section.claims) for section in result.sections)),
        "sources": float(len(result.sources)),
        "cycles of research": float(len(result.information_gain)),
        "model calls": float(usage.model_calls),
        "critical path in model calls": float(usage.critical_path),
        "tokens": float(usage.tokens_in + usage.tokens_out),
        "cost in USD": usage.cost_usd,
        "parts of the question without an answer": float(len(verdict.missing)) if verdict else None,
        "tests passed": float(proof.passed) if proof else None,
        **{f"coverage of “{topic}”": coverage for topic, coverage in result.coverage.items()},
    }
    return {name: round(value, 4) for name, value in figures.items() if value is not None}
