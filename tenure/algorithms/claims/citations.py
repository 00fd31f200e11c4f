"""Attach citations to claims: find the citation span in each passage that a claim names.

A writer can only name positions of the passages that it received. The quote is copied from the passage, so it is
verbatim whatever the writer wrote.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from tenure.algorithms.injection.taint import has_instructions
from tenure.algorithms.text.excerpts import make_standalone
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import Sentence, normalize_sentence, split_sentences, stem_words
from tenure.contracts.evidence.passages import Citation, Claim, ClaimKind, ClaimStatus

KINDS_WITH_SOURCES: Final[tuple[ClaimKind, ...]] = ("fact", "inference")
"""Kinds of sentences that need passages."""
MAX_CITATIONS: Final = 8
"""Maximum citations of a claim; prompts and schemas of writers name the same limit."""
MAX_QUOTE_CHARACTERS = 600
"""Maximum characters of a quote."""


def cite_claim(text: str, numbers: Iterable[int], passages: Sequence[Passage], *, kind: ClaimKind = "fact") -> Claim:
    """Return a claim with one citation per passage that it names.

    Numbers without a passage are ignored. A claim without any citation is `invalid_source` if it named a passage, else
    `missing_citation`; a gap or a lead-in needs none and is `unverified`. A claim that repeats a quote verbatim is
    `supported`. A claim that cites a passage with instructions to language models is tainted.
    """
    distinct_numbers = list(dict.fromkeys(numbers))
    cited = [passages[number - 1] for number in distinct_numbers if 1 <= number <= len(passages)][:MAX_CITATIONS]
    citations = tuple(cite_nearest(text, passage) for passage in cited)
    if not citations:
        status: ClaimStatus = "invalid_source" if distinct_numbers else "missing_citation"
        return Claim(text=text, kind=kind, status=status if kind in KINDS_WITH_SOURCES else "unverified")
    tainted = any(has_instructions(passage) for passage in cited)
    verbatim = any(_is_verbatim(text, c.quote, p.title) for c, p in zip(citations, cited, strict=True))
    return Claim(
        text=text,
        kind=kind,
        status="supported" if verbatim else "unverified",
        confidence=1.0 if verbatim else None,
        citations=citations,
        tainted=tainted,
    )


def cite_sentence(passage: Passage, sentence: Sentence) -> Citation:
    """Return a verbatim citation of a sentence of a passage, shortened if it is very long."""
    return _cite_span(passage, sentence.start, min(sentence.end, sentence.start + MAX_QUOTE_CHARACTERS))


def cite_nearest(text: str, passage: Passage) -> Citation:
    """Return a verbatim citation of the part of a passage that resembles a text most."""
    return _cite_span(passage, *_find_best_span(text, passage))


def _is_verbatim(text: str, quote: str, title: str) -> bool:
    """Return whether a claim consists of whole sentences of a quote, verbatim or as standalone sentences."""
    quote_sentences = [sentence.text for sentence in split_sentences(quote)] or [quote]
    windows = {
        " ".join(quote_sentences[i:j])
        for i in range(len(quote_sentences))
        for j in range(i + 1, len(quote_sentences) + 1)
    }
    forms = {
        normalize_sentence(form)
        for window in windows
        for form in (window, make_standalone(window, ""), make_standalone(window, title))
    }
    return bool(normalize_sentence(text)) and normalize_sentence(text) in forms


def _cite_span(passage: Passage, start: int, end: int) -> Citation:
    return Citation(
        source=passage.source,
        chunk=passage.chunk,
        start=passage.start + start,
        end=passage.start + end,
        quote=passage.text[start:end],
    )


def _find_best_span(text: str, passage: Passage) -> tuple[int, int]:
    spans = _list_spans(passage.text)
    normalized = normalize_sentence(text)
    for start, end in spans:
        if normalized in normalize_sentence(passage.text[start:end]):
            return start, end
    return max(spans, key=lambda span: (_compute_overlap(text, passage.text[span[0] : span[1]]), -span[0]))


def _compute_overlap(claim: str, span: str) -> float:
    """Return the F1 score of shared stems, which penalises long spans."""
    claim_stems, span_stems = set(stem_words(claim)), set(stem_words(span))
    shared = len(claim_stems & span_stems)
    return 2 * shared / (len(claim_stems) + len(span_stems)) if shared else 0.0


def _list_spans(text: str) -> list[tuple[int, int]]:
    """List the quotable spans: sentences, pairs of adjacent sentences, or lines if there is no prose."""
    found_sentences = split_sentences(text)
    singles = [(s.start, min(s.end, s.start + MAX_QUOTE_CHARACTERS)) for s in found_sentences] or _list_lines(text)
    return singles + [(a.start, b.end) for a, b in pairwise(found_sentences) if _are_adjacent(a, b)]


def _are_adjacent(a: Sentence, b: Sentence) -> bool:
    return a.block == b.block and a.kind == "prose" and b.end - a.start <= MAX_QUOTE_CHARACTERS


def _list_lines(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if bare:
            start = offset + line.index(bare[0])
            spans.append((start, min(start + len(bare), start + MAX_QUOTE_CHARACTERS)))
        offset += len(line)
    return spans or [(0, min(len(text), MAX_QUOTE_CHARACTERS))]
