"""Format tool results as short observations for a model: number, title and relevant sentences of each passage.

A model reads many observations in one loop, so each passage is reduced to the sentences on the topic; only roles that
write read whole passages.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import Sentence, split_sentences, stem_words
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.contracts.research.tools import ComparedPoint, ComparisonRelation

MIN_PASSAGE_LENGTH = 160
"""Minimum characters per passage; if there is no room for that many, the last passages are left out."""
_MAX_TITLE_LENGTH = 80


class NumberedPassage(NamedTuple):
    """Passage with its number in the prompt."""

    number: int
    passage: Passage


def format_passages(passages: Sequence[NumberedPassage], topic: str, max_length: int) -> str:
    """Return passages, best first, as short paragraphs of the sentences that share words with the topic of a search."""
    selected = passages[: max(1, max_length // (MIN_PASSAGE_LENGTH + 1))]
    paragraphs: list[str] = []
    remaining = max_length
    for index, numbered in enumerate(selected):
        share = remaining // (len(selected) - index) - 1
        opening = f"[{numbered.number}] {shorten(numbered.passage.title, _MAX_TITLE_LENGTH)}: "
        text = _extract_relevant_text(numbered.passage, topic, share - len(opening))
        paragraphs.append(shorten(opening + text, share))
        remaining -= len(paragraphs[-1]) + 1
    return "\n".join(paragraphs)[:max_length]


def _extract_relevant_text(passage: Passage, topic: str, max_length: int) -> str:
    """Return the sentences that share most words with a topic, in their order; the whole text of code."""
    sentences = split_sentences(passage.text) if passage.kind == "prose" else ()
    stems = set(stem_words(topic))
    chosen: list[Sentence] = []
    for sentence in sorted(sentences, key=lambda item: (-len(stems.intersection(stem_words(item.text))), item.start)):
        if sum(len(other.text) + 1 for other in chosen) + len(sentence.text) <= max_length:
            chosen.append(sentence)
    joined = " ".join(item.text for item in sorted(chosen, key=lambda item: item.start))
    return joined or " ".join(passage.text.split())


_RELATIONS: Final[Mapping[ComparisonRelation, str]] = {
    "same": "Both say the same",
    "different": "They differ",
    "only_first": "Found in the first only",
    "only_second": "Found in the second only",
}


def format_comparison(point: ComparedPoint, numbers: Mapping[ChunkId, int]) -> str:
    """Return a point of a comparison as a line."""
    about = f" ({point.about})" if point.about else ""
    sides = [format_claim(side, numbers) for side in (point.first, point.second) if side]
    return f"{_RELATIONS[point.relation]}{about}: {' / '.join(sides)}"


def list_cited_chunks(claims: Iterable[Claim]) -> tuple[ChunkId, ...]:
    """Return the chunks that claims cite, each once."""
    return tuple(dict.fromkeys(citation.chunk for claim in claims for citation in claim.citations))


def format_quotes(citations: Iterable[Citation], numbers: Mapping[ChunkId, int]) -> list[str]:
    """Return quotes as lines, each after the number of its passage."""
    return [
        f"[{numbers[citation.chunk]}] {' '.join(citation.quote.split())}"
        for citation in citations
        if citation.chunk in numbers
    ]


def format_claim(claim: Claim, numbers: Mapping[ChunkId, int]) -> str:
    """Return a claim with the numbers of the passages that it cites."""
    cited = dict.fromkeys(numbers[citation.chunk] for citation in claim.citations if citation.chunk in numbers)
    return f"{claim.text} {''.join(f'[{number}]' for number in cited)}".strip()
