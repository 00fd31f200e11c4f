"""Excerpts: pieces of a passage that can stand in a report on their own.

An extractive report reads well only if no sentence needs the one that was left behind. So the unit
of choice is not the sentence but the excerpt: a sentence that starts a thought with the sentences
that lean on it ("This …", "It …"), or a list together with the sentence that introduces it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from tenure.algorithms.passages import Passage
from tenure.algorithms.text import Sentence, sentences, words

MAX_RUN = 3
"""Sentences of one excerpt at the most."""

_CONNECTIVE = re.compile(
    r"^(?:however|therefore|thus|also|moreover|furthermore|in addition|additionally|consequently|hence|similarly|"
    r"finally|nevertheless|likewise|as a result|in other words|in particular|in short|of course|note that|note),?\s+",
    re.IGNORECASE,
)
_LEANING = re.compile(
    r"^(?:th(?:is|at|ese|ose)|it|its|they|their|them|he|she|such|but|and|or|so|then|otherwise|instead|for example|"
    r"for instance|e\.g\.|i\.e\.|here|there(?!\s+(?:is|are)\b)|the (?:former|latter|same|above|following|other|"
    r"second|third|last|rest|result)|both|neither|either|another|one of (?:these|them)|on the other hand|"
    r"if (?:so|not)|because|second|third|first|next|again|yes|no|all (?:of )?(?:this|these)|each of|"
    r"in (?:this|that|these|those|such) |at (?:this|that)|from (?:this|that|here)|with (?:this|that|these)|"
    r"by (?:this|that|doing)|to do (?:so|this|that)|when (?:this|that|it) |even (?:so|then)|still|yet|"
    r"unlike (?:this|that)|similar|as (?:above|before|such|noted))\b",
    re.IGNORECASE,
)
_DEIXIS = re.compile(
    r"^this (?:pep|document|page|proposal|paper|report|specification|guide|chapter|article|manual|note|rfc)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:see (?:below|above|also|the|section)|as follows|following (?:example|code|table|list|section)|"
    r"shown (?:below|above|here)|(?:above|below|previous|next) (?:example|section|code|table|figure)|"
    r"(?:fig(?:ure)?|table|section|listing) \d|described (?:above|below|here)|mentioned (?:above|earlier)|"
    r"this (?:section|page|example))\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|my|me|let's|let us)\b")
_ENDS = tuple('.!)"”’%')


@dataclass(frozen=True)
class Excerpt:
    """A piece of a passage that stands on its own."""

    passage: int
    """Position of the passage, from 1."""
    kind: Literal["run", "list"]
    """Sentences that follow each other, or a list with its introduction first."""
    sentences: tuple[Sentence, ...]
    """The sentences; of a list the first is the introduction."""

    @property
    def text(self) -> str:
        """The excerpt as one string."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def order(self) -> int:
        """Where it starts in its passage."""
        return self.sentences[0].start


def presentable(sentence: Sentence) -> bool:
    """Tell whether a sentence is whole prose: of reasonable length, ended, with no pointer to elsewhere."""
    text = sentence.text
    count = len(words(text))
    letters = sum(character.isalpha() or character.isspace() for character in text)
    return (
        5 <= count <= 55
        and text.endswith(_ENDS)
        and (text[0].isupper() or text[0].isdigit() or text[0] in "\"“'‘`(")
        and letters >= 0.75 * len(text)
        and not _POINTING.search(text)
        and not _FIRST_PERSON.search(text)
    )


def leans(sentence: Sentence) -> bool:
    """Tell whether a sentence needs the one before it to be understood."""
    text = _CONNECTIVE.sub("", sentence.text)
    return bool(_LEANING.match(text)) and not _DEIXIS.match(text)


def standing(text: str, title: str) -> str:
    """Return a sentence as it can open a paragraph: connectives dropped, "this document" named by its title."""
    bare = _CONNECTIVE.sub("", text)
    named = _DEIXIS.sub(lambda _: f"“{title}”", bare) if title else bare
    return named if named == text else named[0].upper() + named[1:]


def excerpts(passages: Sequence[Passage]) -> list[Excerpt]:
    """Return every excerpt of prose passages, in order of passage and position."""
    return [
        excerpt
        for number, passage in enumerate(passages, 1)
        if passage.kind == "prose"
        for excerpt in _of_passage(number, sentences(passage.text))
    ]


def _of_passage(number: int, found: Sequence[Sentence]) -> Iterable[Excerpt]:
    blocks = [tuple(group) for _, group in groupby(found, key=lambda sentence: sentence.block)]
    for position, block in enumerate(blocks):
        following = blocks[position + 1] if position + 1 < len(blocks) else ()
        if block[0].kind == "prose":
            yield from _runs(number, block)
            if block[-1].text.endswith(":") and following and following[0].kind == "item":
                yield from _list(number, block[-1], following)
        else:
            yield from (Excerpt(number, "run", (item,)) for item in block if presentable(item) and not leans(item))


def _runs(number: int, block: Sequence[Sentence]) -> Iterable[Excerpt]:
    for first, sentence in enumerate(block):
        if presentable(sentence) and not leans(sentence):
            last = first + 1
            while last < len(block) and last - first < MAX_RUN and leans(block[last]) and presentable(block[last]):
                last += 1
            yield Excerpt(number, "run", tuple(block[first:last]))


def _list(number: int, introduction: Sentence, items: Sequence[Sentence]) -> Iterable[Excerpt]:
    whole = all(4 <= len(words(item.text)) <= 45 and not _FIRST_PERSON.search(item.text) for item in items)
    opens = len(words(introduction.text)) >= 4 and not leans(introduction) and not _POINTING.search(introduction.text)
    if whole and opens and 2 <= len(items) <= 8:
        yield Excerpt(number, "list", (introduction, *items))
