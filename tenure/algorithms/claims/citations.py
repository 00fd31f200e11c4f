"""Citations by construction: a claim names passages, this finds the words in them (DESIGN §6).

A writer can only name positions of passages it was given. The quote is cut from the passage itself,
so it is verbatim whatever the writer wrote.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tenure.algorithms.text.excerpts import standing
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import Sentence, fingerprint, sentences, stems
from tenure.contracts.evidence.passages import Citation, Claim

MAX_CITATIONS = 4
"""Citations of one claim at the most; further passages that say the same add nothing but weight."""
MAX_QUOTE = 600
"""Characters of a quote at the most."""


def cite(text: str, numbers: Iterable[int], passages: Sequence[Passage]) -> Claim:
    """Return the claim with a citation per passage it names.

    A number that names no passage is refused. A claim left with no citation is `invalid_source` if it
    named something, else `missing_citation`; a claim that is itself the words of a quote is `supported`.
    """
    named = list(dict.fromkeys(numbers))
    known = [passages[number - 1] for number in named if 1 <= number <= len(passages)][:MAX_CITATIONS]
    citations = tuple(_citation(text, passage) for passage in known)
    if not citations:
        return Claim(text=text, status="invalid_source" if named else "missing_citation")
    verbatim = any(_says(text, c.quote, p.title) for c, p in zip(citations, known, strict=True))
    return Claim(
        text=text,
        status="supported" if verbatim else "unverified",
        confidence=1.0 if verbatim else None,
        citations=citations,
    )


def _says(text: str, quote: str, title: str) -> bool:
    """Tell whether a claim is one or more whole sentences of a quote, as they may open a paragraph."""
    whole = [sentence.text for sentence in sentences(quote)] or [quote]
    windows = {" ".join(whole[i:j]) for i in range(len(whole)) for j in range(i + 1, len(whole) + 1)}
    forms = {
        fingerprint(form) for window in windows for form in (window, standing(window, ""), standing(window, title))
    }
    return bool(fingerprint(text)) and fingerprint(text) in forms


def _citation(text: str, passage: Passage) -> Citation:
    start, end = _best_span(text, passage)
    return Citation(
        source=passage.source,
        chunk=passage.chunk,
        start=passage.start + start,
        end=passage.start + end,
        quote=passage.text[start:end],
    )


def _best_span(text: str, passage: Passage) -> tuple[int, int]:
    spans = _spans(passage.text)
    wanted = fingerprint(text)
    for start, end in spans:
        if wanted in fingerprint(passage.text[start:end]):
            return start, end
    return max(spans, key=lambda span: (_overlap(text, passage.text[span[0] : span[1]]), -span[0]))


def _overlap(claim: str, span: str) -> float:
    """Return the F-measure of shared stems; a long span pays for what the claim does not say."""
    wanted, given = set(stems(claim)), set(stems(span))
    shared = len(wanted & given)
    return 2 * shared / (len(wanted) + len(given)) if shared else 0.0


def _spans(text: str) -> list[tuple[int, int]]:
    """Return what can be quoted: sentences, pairs of neighbours, and where there is no prose the lines."""
    found = sentences(text)
    singles = [(s.start, min(s.end, s.start + MAX_QUOTE)) for s in found] or _lines(text)
    return singles + [(a.start, b.end) for a, b in pairwise(found) if _neighbours(a, b)]


def _neighbours(a: Sentence, b: Sentence) -> bool:
    return a.block == b.block and a.kind == "prose" and b.end - a.start <= MAX_QUOTE


def _lines(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare:
            start = offset + line.index(bare[0])
            spans.append((start, min(start + len(bare), start + MAX_QUOTE)))
        offset += len(line)
    return spans or [(0, min(len(text), MAX_QUOTE))]
