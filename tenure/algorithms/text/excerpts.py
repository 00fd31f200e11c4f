"""Excerpts: pieces of a passage that can stand in a report on their own.

An extractive report reads well only if no sentence needs the one that was left behind. So the unit
of choice is not the sentence but the excerpt: a sentence that starts a thought with those that carry
it on, or a list together with the sentence that introduces it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import Sentence, sentences, words

MAX_RUN = 3
"""Sentences of one excerpt at the most."""
MAX_RUN_WORDS = 75
"""Words from which a run takes no further sentence."""
MAX_SENTENCE, MAX_TITLE = 1000, 200
"""Characters of a sentence, and of a title within one; a word can be as long as a data line."""

_CONNECTIVE = re.compile(
    r"^(?:however|therefore|thus|also|moreover|furthermore|in addition|additionally|consequently|hence|similarly|"
    r"finally|nevertheless|likewise|as a result|in other words|in particular|in short|of course|note that|note|notably|"
    r"certainly|again|indeed|importantly|specifically|essentially|basically|ultimately|unfortunately|fortunately|"
    r"obviously|clearly|naturally|in practice|on top of that|that said|with that said|admittedly)[,:]?\s+",
    re.IGNORECASE,
)
_LEANING = re.compile(
    r"^(?:th(?:is|at|ese|ose)|it|its|they|their|them|he|she|such|but|and|or|so|then|otherwise|instead|for example|"
    r"for instance|e\.g\.|i\.e\.|here|there(?!\s+(?:is|are)\b)|the (?:former|latter|same|above|following|other|"
    r"second|third|last|rest)|the results? (?:is|was|are|were)|both|neither|either|another|one of (?:these|them)|"
    r"on the other hand|"
    r"if (?:so|not)|because|second|third|first|next|again|yes|no|all (?:of )?(?:this|these)|each of|"
    r"in (?:this|that|these|those|such) |at (?:this|that)|from (?:this|that|here)|with (?:this|that|these)|"
    r"by (?:this|that|doing)|to do (?:so|this|that)|when (?:this|that|it) |even (?:so|then)|still|yet|"
    r"unlike (?:this|that)|similar|as (?:above|before|such|noted))\b",
    re.IGNORECASE,
)
_EARLY_PRONOUN = re.compile(r"^(?:[\w-]+,? ){1,3}(?:it|they|this|these|those|them)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^[A-Z]{2,6}[ -]?\d+(?=:)")
_DEIXIS = re.compile(
    r"^this (?:pep|document|page|proposal|paper|report|specification|guide|chapter|article|manual|note|rfc)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:see (?:below|above|also|the|section)|as follows|following (?:example|code|table|list|section)|"
    r"shown (?:below|above|here)|(?:above|below|previous|next) (?:example|section|code|table|figure)|"
    r"(?:fig(?:ure)?|table|section|listing) \d|described (?:above|below|here)|mentioned (?:above|earlier)|"
    r"this (?:section|page|example)|(?:as|the) follow(?:s|ing)|(?:above|below)(?=[.,;:)]))\b",
    re.IGNORECASE,
)
_FOREIGN_MARK = re.compile(r"\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]")
_THANKS = re.compile(r"\b(?:thank(?:s| you)?|grateful|acknowledg\w+)\b", re.IGNORECASE)
_ENUMERATED = re.compile(r"^(?:\d{1,3}|[a-z])[.)]\s", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|could|may|might|must|shall|should|will|would|does|do|did|isn't|"
    r"aren't|can't|cannot|don't|doesn't|won't|becomes?|became|uses?|used|makes?|made|gives?|gave|takes?|took|needs?|"
    r"means?|meant|keeps?|kept|runs?|ran|goes|went|comes?|came|gets?|got|holds?|held|says?|said|tells?|told|shows?|"
    r"showed|works?|worked|allows?|allowed|provides?|provided|defines?|defined|describes?|described|contains?|returns?|"
    r"returned|requires?|required|supports?|supported|proposes?|proposed|adds?|added|creates?|created|calls?|called|"
    r"reads?|writes?|wrote|starts?|started|stops?|stopped|ends?|ended|leads?|led|causes?|caused|includes?|included|"
    r"applies|applied|follows?|followed|specif(?:y|ies|ied)|introduced?s?|replaced?s?|depends?|expects?|treats?|"
    r"stores?|stored|sends?|sent|waits?|waited|finds?|found|chooses?|chose|lets?|remains?|consists?|refers?|ensures?|"
    r"enables?|enabled|prevents?|avoids?|reduces?|reduced|increases?|increased|improves?|improved|changes?|changed)\b",
    re.IGNORECASE,
)
_INFLECTED = re.compile(r"(?<!['’s])s$|ed$")
_BEFORE_NOUN = frozenset("a an the of for in on by with and or to from at as its their these those this that".split())
BACK_MATTER = frozenset(
    """references acknowledgements acknowledgments acknowledgement copyright footnotes bibliography changelog credits
    license thanks""".split()
)
"""Headings under which nothing is said about a subject."""
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
        and len(text) <= MAX_SENTENCE
        and text.endswith(_ENDS)
        and (text[0].isupper() or text[0].isdigit())
        and not _ENUMERATED.match(text)
        and _has_verb(text)
        and text.count("(") == text.count(")")
        and text.count('"') % 2 == 0
        and "?" not in text
        and not _THANKS.search(text)
        and not _FOREIGN_MARK.search(text)
        and letters >= 0.75 * len(text)
        and not _POINTING.search(text)
        and not _FIRST_PERSON.search(text)
    )


def _has_verb(text: str) -> bool:
    """Tell whether a text has a finite verb: a common one, or a word that looks like one where a verb can stand."""
    return bool(_VERB.search(text)) or any(
        len(word) > 3 and _INFLECTED.search(word) and before not in _BEFORE_NOUN
        for before, word in pairwise(words(text)[:10])
    )


def points_back(sentence: str) -> bool:
    """Tell whether a sentence needs the one before it to be understood."""
    text = _CONNECTIVE.sub("", sentence)
    return bool(_LEANING.match(text) or _EARLY_PRONOUN.match(text)) and not _DEIXIS.match(text)


def standing(text: str, title: str) -> str:
    """Return a sentence as it can open a paragraph: connectives dropped, "this document" named by its title."""
    bare = _CONNECTIVE.sub("", text)
    named = _DEIXIS.sub(lambda _: _short(title), bare) if title else bare
    return named if named == text else named[0].upper() + named[1:]


def _short(title: str) -> str:
    """Return how a sentence names a document: by its number where the title starts with one, else in quotes."""
    numbered = _NUMBERED.match(title)
    return numbered.group() if numbered else f"“{shorten(title, MAX_TITLE)}”"


def excerpts(passages: Sequence[Passage]) -> list[Excerpt]:
    """Return every excerpt of prose passages, in order of passage and position."""
    return [
        excerpt
        for number, passage in enumerate(passages, 1)
        if passage.kind == "prose" and not _back_matter(passage)
        for excerpt in _of_passage(number, sentences(passage.text))
    ]


def _back_matter(passage: Passage) -> bool:
    return bool(passage.heading_path) and passage.heading_path[-1].strip(" :.").casefold() in BACK_MATTER


def _of_passage(number: int, found: Sequence[Sentence]) -> Iterable[Excerpt]:
    blocks = [tuple(group) for _, group in groupby(found, key=lambda sentence: sentence.block)]
    for position, block in enumerate(blocks):
        following = blocks[position + 1] if position + 1 < len(blocks) else ()
        if block[0].kind == "prose":
            yield from _runs(number, block)
            if block[-1].text.endswith(":") and following and following[0].kind == "item":
                yield from _list(number, block[-1], following)
        else:
            yield from (
                Excerpt(number, "run", (item,)) for item in block if presentable(item) and not points_back(item.text)
            )


def _runs(number: int, block: Sequence[Sentence]) -> Iterable[Excerpt]:
    """Cut a paragraph into runs: each opens with a sentence that stands alone and goes on while it reads well."""
    first = 0
    while first < len(block):
        last = first
        if presentable(block[first]) and not points_back(block[first].text):
            last = _end_of_run(block, first)
            yield Excerpt(number, "run", tuple(block[first:last]))
        first = max(last, first + 1)


def _end_of_run(block: Sequence[Sentence], first: int) -> int:
    last, length = first + 1, len(words(block[first].text))
    while last < len(block) and last - first < MAX_RUN and presentable(block[last]):
        length += len(words(block[last].text))
        if length > MAX_RUN_WORDS:
            break
        last += 1
    return last


def _list(number: int, introduction: Sentence, items: Sequence[Sentence]) -> Iterable[Excerpt]:
    short = all(len(sentence.text) <= MAX_SENTENCE for sentence in (introduction, *items))
    whole = all(4 <= len(words(item.text)) <= 45 and not _FIRST_PERSON.search(item.text) for item in items)
    opens = (
        len(words(introduction.text)) >= 4
        and not points_back(introduction.text)
        and not _POINTING.search(introduction.text)
    )
    if short and whole and opens and 2 <= len(items) <= 8:
        yield Excerpt(number, "list", (introduction, *items))
