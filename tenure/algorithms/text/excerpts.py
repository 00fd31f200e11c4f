"""Decide which sentences can be quoted without their context, and make them the start of a paragraph."""

import re
from itertools import pairwise

from tenure.algorithms.text.grammar.vocabulary import AUXILIARY_WORDS, is_finite_verb
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import Sentence, split_words

MIN_SENTENCE_WORDS = 5
"""Minimum words of a sentence that can be quoted alone."""
MAX_SENTENCE_WORDS = 65
MAX_SENTENCE_CHARACTERS = 1000
"""Maximum characters of a sentence; a single word can be as long as a data line."""
MAX_TITLE_CHARACTERS = 200
"""Maximum characters of a title that is quoted in a sentence."""

# "However, it closes": the sentence is complete without it.
_CONNECTIVE = re.compile(
    r"^(?:however|therefore|thus|also|moreover|furthermore|in addition|additionally|consequently|hence|similarly|"
    r"finally|nevertheless|likewise|as a result|in other words|in particular|in short|of course|note that|note|notably|"
    r"certainly|again|indeed|importantly|specifically|essentially|basically|ultimately|unfortunately|fortunately|"
    r"obviously|clearly|naturally|in practice|on top of that|that said|with that said|admittedly)[,:]?\s+",
    re.IGNORECASE,
)
# "This is why …", "The latter …", "For example …", not "There is a mill".
_BACK_REFERENCE = re.compile(
    r"^(?:th(?:is|at|ese|ose)|it|its|they|their|them|he|she|such|but|and|or|so|then|otherwise|instead|for example|"
    r"for instance|e\.g\.|i\.e\.|here|there(?!\s+(?:is|are)\b)|the (?:former|latter|same|above|following|other|"
    r"second|third|last|rest)|the results? (?:is|was|are|were)|both|neither|either|another|one of (?:these|them)|"
    r"on the other hand|"
    r"if (?:so|not)|because|second|third|first|next|again|yes|no(?=,)|all (?:of )?(?:this|these)|each of|"
    r"in (?:this|that|these|those|such) |at (?:this|that)|from (?:this|that|here)|with (?:this|that|these)|"
    r"by (?:this|that|doing)|to do (?:so|this|that)|when (?:this|that|it) |even (?:so|then)|still|yet|"
    r"unlike (?:this|that)|similar|as (?:above|before|such|noted))\b",
    re.IGNORECASE,
)
# "In 1990 it closed", "After this, they left".
_EARLY_PRONOUN = re.compile(r"^(?:[\w-]+,? ){1,3}(?:it|they|this|these|those|them)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^[A-Z]{2,6}[ -]?\d+(?=:)")  # The "PEP 484" of "PEP 484: Type Hints".
# "This document describes …": the title can replace it.
_DEIXIS = re.compile(
    r"^this (?:pep|document|page|proposal|paper|report|specification|guide|chapter|article|manual|note|rfc)\b",
    re.IGNORECASE,
)
# "see below", "as follows", "Figure 3", "described above".
_POINTER = re.compile(
    r"\b(?:see (?:below|above|also|the|section)|as follows|following (?:example|code|table|list|section)|"
    r"shown (?:below|above|here)|(?:above|below|previous|next) (?:example|section|code|table|figure)|"
    r"(?:fig(?:ure)?|table|section|listing) \d|described (?:above|below|here)|mentioned (?:above|earlier)|"
    r"this (?:section|page|example)|(?:as|the) follow(?:s|ing)|(?:above|below)(?=[.,;:)]))\b",
    re.IGNORECASE,
)
_CITATION_MARK = re.compile(r"\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]")  # "[3]", "[1, 4–6]".
# "Thanks to …", "The authors are grateful".
_THANKS = re.compile(r"\b(?:thank(?:s| you)?|grateful|acknowledg\w+)\b", re.IGNORECASE)
# "1. ", "a) ", "B) ": the marker of an item inside a paragraph.
_ENUMERATED = re.compile(r"^(?:(?:\d{1,3}|[a-z])[.)]|[A-Z]\))\s")
_INFLECTED = re.compile(r"(?<!['’s])s$")
"""End of "bakes"; that of "class" and of "baker's" is not inflected like a verb."""
_BEFORE_NOUN = frozenset("a an the of for in on by with and or to from at as its their these those this that".split())
BACK_MATTER_HEADINGS = frozenset(
    """references acknowledgements acknowledgments acknowledgement copyright footnotes bibliography changelog credits
    license thanks contents""".split()
) | {"table of contents", "topics covered"}
"""Headings of sections without content on the subject."""
# "I think", "let us": its author is unknown to the reader.
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|my|me|let's|let us)\b")
_ANNOUNCEMENT = re.compile(r":\s*[.!]$")
"""End of a sentence whose announced address or list is missing."""
_ENDS = tuple('.!)"”’%')


def is_complete_sentence(sentence: Sentence, min_words: int = MIN_SENTENCE_WORDS, *, needs_verb: bool = True) -> bool:
    """Return whether a sentence is quotable: complete, of reasonable length, without references to other places."""
    text = sentence.text
    count = len(split_words(text))
    first = text.lstrip("\"“'‘(")[:1]
    letters = sum(character.isalpha() or character.isspace() for character in text)
    return (
        min_words <= count <= MAX_SENTENCE_WORDS
        and len(text) <= MAX_SENTENCE_CHARACTERS
        and text.endswith(_ENDS)
        and (first.isupper() or first.isdigit())
        and not _ENUMERATED.match(text)
        and (not needs_verb or _has_verb(text))
        and text.count("(") == text.count(")")
        and text.count('"') % 2 == 0
        and "?" not in text
        and not _THANKS.search(text)
        and not _CITATION_MARK.search(text)
        and letters >= 0.75 * len(text)
        and not _POINTER.search(text)
        and not _ANNOUNCEMENT.search(text)
        and not _FIRST_PERSON.search(text)
    )


def _has_verb(text: str) -> bool:
    """Return whether a text has a finite verb: a known one, or an inflected word in a verb position."""
    words = split_words(text)
    return any(word in AUXILIARY_WORDS or is_finite_verb(word) for word in words) or any(
        len(word) > 3 and _INFLECTED.search(word) and before not in _BEFORE_NOUN
        for before, word in pairwise(words[:10])
    )


def has_back_reference(sentence: str) -> bool:
    """Return whether a sentence refers to the sentence before it, or is a remark on it in parentheses."""
    if sentence.startswith("("):
        return True
    text = _CONNECTIVE.sub("", sentence)
    return bool(_BACK_REFERENCE.match(text) or _EARLY_PRONOUN.match(text)) and not _DEIXIS.match(text)


def make_standalone(text: str, title: str) -> str:
    """Rewrite a sentence as the start of a paragraph.

    A leading connective is removed, and the title, or the number at its start, replaces "this document".
    """
    stripped = _CONNECTIVE.sub("", text)
    numbered = _NUMBERED.match(title)
    name = numbered.group() if numbered else f"“{shorten(title, MAX_TITLE_CHARACTERS)}”"
    standalone = _DEIXIS.sub(lambda _: name, stripped) if title else stripped
    return standalone if standalone == text else standalone[0].upper() + standalone[1:]


def is_back_matter(passage: Passage) -> bool:
    """Return whether a passage belongs to back matter, such as references."""
    return bool(passage.headings) and passage.headings[-1].strip(" :.").casefold() in BACK_MATTER_HEADINGS
