"""What a tool has found, told in short: each passage with its number, its title and its sentences on the subject.

A thought has to read many observations, so each is cut to what it is about; whole passages are for those who write.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import Sentence, sentences, stems
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.contracts.research.tools import ComparedPoint, Relation

LEAST = 160
"""Characters that a passage gets; where there is no room for so many of each, the last ones are left out."""
_TITLE = 80


class Numbered(NamedTuple):
    """A passage with the number that a model knows it by."""

    number: int
    """The number."""
    passage: Passage
    """The passage."""


def told(found: Sequence[Numbered], about: str, most: int) -> str:
    """Return passages in short, a paragraph for each, within so many characters.

    Args:
        found: the passages, best first.
        about: what they were looked for.
        most: characters at the most.
    """
    shown = found[: max(1, most // (LEAST + 1))]
    paragraphs: list[str] = []
    left = most
    for place, one in enumerate(shown):
        share = left // (len(shown) - place) - 1
        paragraphs.append(_paragraph(one, about, share))
        left -= len(paragraphs[-1]) + 1
    return "\n".join(paragraphs)[:most]


def _paragraph(one: Numbered, about: str, most: int) -> str:
    opening = f"[{one.number}] {shorten(one.passage.title, _TITLE)}: "
    return shorten(opening + _said(one.passage, about, most - len(opening)), most)


def _said(passage: Passage, about: str, most: int) -> str:
    """Return the sentences of a passage that share most words with a subject, in their order; of code all of it."""
    found = sentences(passage.text) if passage.kind == "prose" else ()
    wanted = set(stems(about))
    kept: list[Sentence] = []
    for sentence in sorted(found, key=lambda one: (-len(wanted.intersection(stems(one.text))), one.start)):
        if sum(len(one.text) + 1 for one in kept) + len(sentence.text) <= most:
            kept.append(sentence)
    joined = " ".join(one.text for one in sorted(kept, key=lambda one: one.start))
    return joined or " ".join(passage.text.split())


_RELATIONS: Final[Mapping[Relation, str]] = {
    "same": "Both say the same",
    "different": "They differ",
    "only_first": "Only the first says",
    "only_second": "Only the second says",
}


def stated(claims: Iterable[Claim], numbers: Mapping[ChunkId, int]) -> list[str]:
    """Return claims as lines, each with the numbers of the passages that it cites."""
    return [_marked(claim, numbers) for claim in claims]


def compared(point: ComparedPoint, numbers: Mapping[ChunkId, int]) -> str:
    """Return a point of a comparison as a line."""
    about = f" ({point.about})" if point.about else ""
    sides = [_marked(side, numbers) for side in (point.first, point.second) if side]
    return f"{_RELATIONS[point.relation]}{about}: {' / '.join(sides)}"


def quoted(citations: Iterable[Citation], numbers: Mapping[ChunkId, int]) -> list[str]:
    """Return quotes as lines, each behind the number of its passage."""
    return [f"[{numbers[one.chunk]}] {' '.join(one.quote.split())}" for one in citations if one.chunk in numbers]


def fitted(lines: Sequence[str], most: int) -> str:
    """Return lines within so many characters, the last ones left out where there is no room."""
    return shorten("\n".join(lines), most)


def _marked(claim: Claim, numbers: Mapping[ChunkId, int]) -> str:
    cited = dict.fromkeys(numbers[one.chunk] for one in claim.citations if one.chunk in numbers)
    return f"{claim.text} {''.join(f'[{number}]' for number in cited)}".strip()
