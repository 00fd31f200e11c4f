"""Comparing two result documents: what one run found, cited and concluded, and the other did not.

Statements of two reports are the same when they say the same words. They are two versions of one finding when most of
their words agree, or some do and both rest on the same words of a source. Sources are the same by their addresses,
since ids and numbers are each report's own.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tenure.algorithms.text.sentences import fingerprint, stems
from tenure.contracts.result.diff import (
    Changed,
    Cited,
    Conclusion,
    Difference,
    Disagreeing,
    Figure,
    Part,
    Quote,
    Side,
    Statement,
)
from tenure.contracts.result.result import Contradiction, Result, ResultCitation, ResultClaim
from tenure.report.render import program
from tenure.report.render.layout import parted

ALIKE = 0.6
"""Share of common stems from which two statements are versions of one finding."""
ALIKE_ON_ONE_QUOTE = 0.25
"""The same for two that rest on the same words of a source."""


class Pairing(NamedTuple):
    """How the statements of two reports belong together."""

    pairs: tuple[tuple[Statement, Statement], ...]
    """Versions of one finding, in the order of the first report."""
    only_a: tuple[Statement, ...]
    """What only the first report says."""
    only_b: tuple[Statement, ...]
    """What only the second report says."""


def difference(a: Result, b: Result) -> Difference:
    """Return what differs between two result documents."""
    pairing = paired(statements(a), statements(b))
    moved_up, moved_down = paired(pairing.only_a, summed_up(b)), paired(pairing.only_b, summed_up(a))
    versions = [_changed(one, other) for one, other in pairing.pairs]
    changed = tuple(one for one in versions if one.words or one.support or one.evidence)
    ours, theirs = _sources(a), _sources(b)
    return Difference(
        a=_side(a, moved_up.only_a, ours, theirs, b.contradictions),
        b=_side(b, moved_down.only_a, theirs, ours, a.contradictions),
        changed=changed,
        same=len(versions) - len(changed) + len(moved_up.pairs) + len(moved_down.pairs),
        common_sources=tuple(source for uri, source in ours.items() if uri in theirs),
        conclusions=tuple(_conclusions(a, b)),
        figures=tuple(_figures(a, b)),
        program=program.difference(a.code, b.code),
    )


def statements(result: Result) -> tuple[Statement, ...]:
    """Return what the sections of a report say, each sentence once, with what it rests on."""
    return _stated(result, [(section.topic, section.claims) for section in result.sections])


def summed_up(result: Result) -> tuple[Statement, ...]:
    """Return the same of the abstract: what it says is no finding that the sections lack."""
    return _stated(result, [("Abstract", result.abstract_claims)])


def _stated(result: Result, parts: Iterable[tuple[str, Iterable[ResultClaim]]]) -> tuple[Statement, ...]:
    by_number = {source.n: source for source in result.sources}

    def quote(citation: ResultCitation) -> Quote:
        source = by_number[citation.source]
        return Quote(uri=source.uri, title=source.title, text=citation.quote)

    said: dict[str, Statement] = {}
    for topic, claims in parts:
        for claim in claims:
            quotes = tuple(quote(citation) for citation in claim.citations)
            stated = Statement(topic=topic, text=claim.text, status=claim.status, quotes=quotes)
            said.setdefault(fingerprint(claim.text), stated)
    return tuple(said.values())


def paired(a: Sequence[Statement], b: Sequence[Statement]) -> Pairing:
    """Find the statements of two reports that are versions of one finding, the most alike first."""
    rest_a, rest_b = dict(enumerate(a)), dict(enumerate(b))
    pairs: dict[int, tuple[Statement, Statement]] = {}
    for _, m, n in sorted(_likenesses(a, b), key=lambda found: (-found[0], found[1:])):
        if m in rest_a and n in rest_b:
            pairs[m] = rest_a.pop(m), rest_b.pop(n)
    return Pairing(tuple(pairs[m] for m in sorted(pairs)), tuple(rest_a.values()), tuple(rest_b.values()))


def _likenesses(a: Sequence[Statement], b: Sequence[Statement]) -> Iterator[tuple[float, int, int]]:
    """Yield how much alike statements are that may be versions of one finding, with their positions."""
    others = [(fingerprint(other.text), frozenset(stems(other.text)), _quoted(other)) for other in b]
    for m, one in enumerate(a):
        words, print_, quotes = frozenset(stems(one.text)), fingerprint(one.text), _quoted(one)
        for n, (other_print, other_words, other_quotes) in enumerate(others):
            common = len(words & other_words) / (len(words | other_words) or 1)
            likeness = 1.0 if print_ == other_print else common
            if likeness >= (ALIKE_ON_ONE_QUOTE if quotes & other_quotes else ALIKE):
                yield likeness, m, n


def _quoted(statement: Statement) -> frozenset[tuple[str, str]]:
    return frozenset((quote.uri, fingerprint(quote.text)) for quote in statement.quotes)


def _changed(a: Statement, b: Statement) -> Changed:
    return Changed(
        a=a,
        b=b,
        words=fingerprint(a.text) != fingerprint(b.text),
        support=a.status != b.status,
        evidence={quote.uri for quote in a.quotes} != {quote.uri for quote in b.quotes},
    )


def _sources(result: Result) -> dict[str, Cited]:
    return {source.uri: Cited(uri=source.uri, title=source.title) for source in result.sources}


def _side(
    result: Result,
    findings: tuple[Statement, ...],
    own: dict[str, Cited],
    others: dict[str, Cited],
    seen: Iterable[Contradiction],
) -> Side:
    """Return one of the runs with what the other lacks; `seen` are the contradictions that the other found."""
    known = {_clash(found) for found in seen}
    return Side(
        id=result.id,
        question=result.question,
        status=result.status,
        findings=findings,
        sources=tuple(source for uri, source in own.items() if uri not in others),
        contradictions=tuple(
            Disagreeing(a=found.a.quote, b=found.b.quote, about=found.about)
            for found in result.contradictions
            if _clash(found) not in known
        ),
    )


def _clash(found: Contradiction) -> frozenset[str]:
    return frozenset((fingerprint(found.a.quote), fingerprint(found.b.quote)))


def _conclusions(a: Result, b: Result) -> Iterator[Conclusion]:
    """Yield the conclusions that do not say the same."""
    ours, theirs = _concluded(a), _concluded(b)
    for part, text in ours.items():
        if fingerprint(text) != fingerprint(theirs[part]):
            yield Conclusion(part=part, a=text, b=theirs[part])


def _concluded(result: Result) -> dict[Part, str]:
    parts = parted(result.synthesis) if result.synthesis else {}
    return {
        "abstract": _text(result.abstract_claims),
        "situation": _text(parts.get("Situation", ())),
        "complication": _text(parts.get("Complication", ())),
        "resolution": _text(parts.get("Resolution", ())),
    }


def _text(claims: Iterable[ResultClaim]) -> str:
    return " ".join(claim.text for claim in claims)


def _figures(a: Result, b: Result) -> Iterator[Figure]:
    """Yield the figures that differ, those of the first report first."""
    ours, theirs = _numbers(a), _numbers(b)
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            yield Figure(name=name, a=ours.get(name), b=theirs.get(name))


def _numbers(result: Result) -> dict[str, float]:
    """Return the figures of a report by name."""
    usage, scores, proof = result.usage, result.evaluation, result.proof
    named: dict[str, float | None] = {
        "statements": float(sum(len(section.claims) for section in result.sections)),
        "sources": float(len(result.sources)),
        "cycles of research": float(len(result.information_gain)),
        "answers of the model": float(usage.model_calls),
        "tokens": float(usage.tokens_in + usage.tokens_out),
        "cost in USD": usage.cost_usd,
        "evaluation": scores.overall if scores else None,
        "tests passed": float(proof.passed) if proof else None,
        **{f"coverage of “{topic}”": coverage for topic, coverage in result.coverage.items()},
    }
    return {name: round(value, 4) for name, value in named.items() if value is not None}
