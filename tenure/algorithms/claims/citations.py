"""Attach citations to claims: find the citation span in each passage that a claim names.

A writer can only name positions of the passages that it received. The quote is copied from the passage, so it is
verbatim whatever the writer wrote.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from tenure.algorithms.claims.entailment import SupportVerdict, judge_claim
from tenure.algorithms.injection.taint import has_instructions
from tenure.algorithms.text.excerpts import make_standalone
from tenure.algorithms.text.languages.terms import list_terms
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import (
    Sentence,
    find_verbatim,
    guess_language,
    normalize_sentence,
    split_sentences,
    stem_words,
)
from tenure.contracts.evidence.passages import Citation, Claim, ClaimKind

MAX_CITATIONS: Final = 8
"""Maximum citations of a claim; the prompts of writers name it."""
MAX_QUOTE_CHARACTERS: Final = 600
"""Maximum characters of a quote of prose."""
MAX_LIST_CHARACTERS: Final = 1000
"""Maximum characters of several quoted items of a list, such as the rows of a query."""
MAX_CODE_CHARACTERS: Final = 1500  # 28 lines of 53 characters, the mean of this repository.
MAX_PASSAGE_CHARACTERS: Final = 1500
"""Maximum characters of a passage that is quoted as a whole."""
MAX_LIST_ITEMS: Final = 12
"""Maximum number of items of a list that are quoted together."""
KINDS_WITH_SOURCES: Final[tuple[ClaimKind, ...]] = ("fact", "inference")
MAX_LEAD_IN_WORDS, MAX_GAP_WORDS = 25, 60
"""Maximum words of a claim that needs no passage; a longer one states facts."""

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")  # "12,000", "3.5", "2.1.3".
_LINE = re.compile(r"\S(?:[^\n]*\S)?")  # A line without the blanks around it.
# "```python" at the beginning and "```" at the end, with which a model wraps code.
_CODE_FENCE = re.compile(r"\A\s*```[^\n`]*\n|\n?```\s*\Z")


def cite_claim(
    text: str,
    numbers: Iterable[int],
    passages: Sequence[Passage],
    *,
    kind: ClaimKind = "fact",
    label: str = "",
    column: str = "",
    question: str = "",
) -> Claim:
    """Return a claim with one citation per passage that it names.

    Numbers, from 1, without a passage are ignored. A claim without any citation is `invalid_source` if it named a
    passage, else `missing_citation`; a gap or a lead-in needs none and is `unverified`. A claim with the words of a
    quote is `supported`. A claim that cites a passage with instructions to language models is tainted. A gap may
    repeat figures of `question`.
    """
    known_texts = [f"{passage.title} {passage.text}" for passage in passages]
    bare = Claim(text=text, kind=_check_kind(text, kind, [question, *known_texts]), label=label, column=column)
    distinct_numbers = list(dict.fromkeys(numbers))
    cited = [passages[number - 1] for number in distinct_numbers if 1 <= number <= len(passages)][:MAX_CITATIONS]
    citations = tuple(cite_nearest(text, passage, bare.statement) for passage in cited)
    if not citations:
        if bare.kind not in KINDS_WITH_SOURCES:
            return bare
        return bare.model_copy(update={"status": "invalid_source" if distinct_numbers else "missing_citation"})
    is_stated = any(
        _judge_by_quote(bare.statement, c.quote, p.title) == "supported" for c, p in zip(citations, cited, strict=True)
    )
    return bare.model_copy(
        update={
            "status": "supported" if is_stated else "unverified",
            "confidence": 1.0 if is_stated else None,
            "citations": citations,
            "tainted": any(has_instructions(passage) for passage in cited),
        }
    )


def combine_claims(claims: Sequence[Claim]) -> Claim:
    """Return a claim with the citations of several; it is as well supported as the weakest of them."""
    weakest = min(claims, key=lambda claim: (claim.status == "supported", claim.confidence or 0.0))
    citations = dict.fromkeys(citation for claim in claims for citation in claim.citations)
    tainted = any(claim.tainted for claim in claims)
    return weakest.model_copy(update={"citations": tuple(citations)[:MAX_CITATIONS], "tainted": tainted})


def _check_kind(text: str, kind: ClaimKind, known_texts: Sequence[str]) -> ClaimKind:
    """Return the kind of a claim; a lead-in or a gap that may contain facts is a fact, so that it needs a passage.

    Figures that no known text contains, and a great length, are signs of facts.
    """
    if kind in KINDS_WITH_SOURCES:
        return kind
    limit = MAX_LEAD_IN_WORDS if kind == "lead_in" else MAX_GAP_WORDS
    invents = any(not any(figure in part for part in known_texts) for figure in _FIGURE.findall(text))
    return "fact" if invents or len(text.split()) > limit else kind


def cite_code(text: str, numbers: Iterable[int], passages: Sequence[Passage]) -> Claim | None:
    """Return code as a claim whose text is the code of a passage; None if no passage contains it verbatim.

    White space may differ. The passages that the claim names are searched first.
    """
    code = _CODE_FENCE.sub("", text)
    named_passages = [passages[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(passages)]
    for passage in (*named_passages, *passages):
        first, end = find_verbatim(passage.text, code) or (0, 0)
        if 0 < end - first <= MAX_CODE_CHARACTERS:
            start = passage.text.rfind("\n", 0, first) + 1
            start = first if passage.text[start:first].strip() else start
            citation = cite_span(passage, start, end)
            return Claim(
                text=textwrap.dedent(citation.quote),
                status="supported",
                confidence=1.0,
                citations=(citation,),
                tainted=has_instructions(passage),
            )
    return None


def cite_sentence(passage: Passage, sentence: Sentence) -> Citation:
    """Return a verbatim citation of a sentence of a passage, shortened if it is very long."""
    return cite_span(passage, sentence.start, min(sentence.end, sentence.start + MAX_QUOTE_CHARACTERS))


def cite_decisive_sentences(claim: str, passages: Sequence[Passage]) -> dict[SupportVerdict, tuple[Citation, ...]]:
    """Return the sentences of passages that state a claim and those that deny it, by the verdict that they give."""
    by_verdict: dict[SupportVerdict, list[Citation]] = {"supported": [], "refuted": [], "neutral": []}
    for passage in passages:
        for sentence in split_sentences(passage.text):
            by_verdict[_judge_by_quote(claim, sentence.text, passage.title)].append(cite_sentence(passage, sentence))
    return {verdict: tuple(citations) for verdict, citations in by_verdict.items()}


def cite_nearest(text: str, passage: Passage, statement: str = "") -> Citation:
    """Return a verbatim citation of the part of a passage that resembles a text most.

    Two languages share names and numbers only. They show the part if no other sentence of the passage has them; without
    any, the whole passage is cited.

    The statement is the text with what completes it, such as row and column of a cell; empty for the same text.
    """
    return cite_span(passage, *_find_best_span(text, passage, statement or text))


def _judge_by_quote(claim: str, quote: str, title: str) -> SupportVerdict:
    """Return the verdict that the sentences of a quote, as they are or without their connectives, give on a claim."""
    sentences = [sentence.text for sentence in split_sentences(quote)] or [quote]
    forms = {form for text in sentences for form in (text, make_standalone(text, ""), make_standalone(text, title))}
    return judge_claim(claim, sorted(forms))


def cite_span(passage: Passage, start: int, end: int) -> Citation:
    """Return a verbatim citation of the part of a passage between two offsets in it."""
    return Citation(
        source=passage.source,
        chunk=passage.chunk,
        start=passage.start + start,
        end=passage.start + end,
        quote=passage.text[start:end],
    )


def _find_best_span(text: str, passage: Passage, statement: str) -> tuple[int, int]:
    is_part = statement != text
    spans = _list_spans(passage.text)
    if is_part:
        spans += [(start, end) for start, end in _list_lines(passage.text) if passage.text.startswith("|", start)]
    if text.endswith("?"):  # "Yes, since 2.1." answers a question, and a heading that repeats it does not
        spans = [(start, end) for start, end in spans if not passage.text[start:end].endswith("?")] or spans
    normalized = normalize_sentence(text)
    containing = [
        (start, end)
        for start, end in spans
        if len(normalized) <= end - start and normalized in normalize_sentence(passage.text[start:end])
    ]
    if containing and not is_part:
        return containing[0]
    candidates = containing or spans
    language = guess_language(passage.text)
    is_translation = guess_language(statement) != language

    def list_stems(part: str) -> set[str]:
        return set(stem_words(part) if language == "en" else list_terms(part, language))

    # The words of the title occur all over the document, so they do not distinguish its sentences.
    stated = list_stems(statement)
    stated = stated - list_stems(passage.title) or stated
    if is_translation:
        counts = Counter(stem for sentence in split_sentences(passage.text) for stem in list_stems(sentence.text))
        stated = {stem for stem in stated if counts[stem] == 1}

    def compute_f2(span: tuple[int, int]) -> float:
        """Return the F2 score of shared stems, which penalises long spans less than what they leave out."""
        stems = list_stems(passage.text[span[0] : span[1]])
        shared = len(stems & stated)
        return 5 * shared / (4 * len(stated) + len(stems)) if shared else 0.0

    if is_translation and not any(map(compute_f2, candidates)):
        return 0, min(len(passage.text), MAX_PASSAGE_CHARACTERS)
    return max(candidates, key=lambda span: (compute_f2(span), -span[0]))


def _list_spans(text: str) -> list[tuple[int, int]]:
    """List the quotable spans: sentences, adjacent sentences and items, or lines if there is no prose."""
    sentences = split_sentences(text)
    singles = [(s.start, min(s.end, s.start + MAX_QUOTE_CHARACTERS)) for s in sentences] or _list_lines(text)
    pairs = [
        (a.start, b.end)
        for a, b in pairwise(sentences)
        if a.block == b.block and a.kind == "prose" and b.end - a.start <= MAX_QUOTE_CHARACTERS
    ]
    return [*singles, *pairs, *_list_item_runs(sentences)]


def _list_item_runs(sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
    """List the runs of items of one list: a sentence that compares rows rests on several of them."""
    items = [sentence for sentence in sentences if sentence.kind == "item"]
    return [
        (first.start, last.end)
        for n, first in enumerate(items)
        for last in items[n + 1 : n + MAX_LIST_ITEMS]
        if last.block == first.block and last.end - first.start <= MAX_LIST_CHARACTERS
    ]


def _list_lines(text: str) -> list[tuple[int, int]]:
    spans = [(line.start(), min(line.end(), line.start() + MAX_QUOTE_CHARACTERS)) for line in _LINE.finditer(text)]
    return spans or [(0, min(len(text), MAX_QUOTE_CHARACTERS))]
