"""Find the noun phrases of a question to which a pronoun in a later question may refer.

A question has a subject ("How did gradual typing come to Python?"), objects ("How do I install nginx?") and complements
("the population of Tokyo and New York"). Words whose role is not certain end the search, so that a missing noun phrase
leaves a reference unresolved instead of resolving it wrongly.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.grammar.clauses import strip_request
from tenure.algorithms.text.grammar.masking import MASK, mask_text
from tenure.algorithms.text.grammar.vocabulary import (
    ADJECTIVES,
    ADVERBS,
    AUXILIARY_WORDS,
    COPULAS,
    DETERMINERS,
    PLURAL_NOUNS,
    PREPOSITIONS,
    SPEAKERS,
    WH_WORDS,
    is_base_verb,
    is_finite_verb,
    is_participle,
)

MAX_PHRASE_WORDS: Final = 14
"""Maximum words of a noun phrase that may replace a pronoun."""

_WH_WORDS = frozenset(WH_WORDS.split("|"))
_TOKEN = re.compile(rf"[\w{MASK}&./+#'’\"“”„«»()\[\]`-]*[\w{MASK}\"”»+#)\]`]")
_SUBORDINATE = re.compile(
    r"[,;:]|\s[–—]\s|\b(?:when|if|while|because|since|unless|although|though|whereas|after|before|during|that|which|who|whose|where"
    r"|why|how|according|compared|instead|used|called|named|based)\b",
    re.IGNORECASE,
)
_LIST = re.compile(r",\s*(?:the|an?)\s[^,]+?(?:,\s*|\s+)(?:and|or)\s+(?:the|an?)\s", re.IGNORECASE)
"""Pattern of an enumeration, of which a pronoun may mean any item or all."""
_OVERVIEW = re.compile(
    r"^(?:an?|the)\s+(?:(?:short|brief|quick)\s+)?(?:overview|summary|explanation|description|list|history)\s+(?:of|on|about)\s+",
    re.IGNORECASE,
)
_RIVAL_VERBS: Final = frozenset(
    """beat defeat buy bought acquire acquired sue sued overtake replace replaced merge fight fought marry
    married succeed succeeded join joined attack attacked invade invaded invent discover write paint build
    design found create compose develop direct publish make compete""".split()
)
"""Verbs whose subject and object may both be meant by a later pronoun."""
_SINGULAR_ENDINGS = ("ss", "us", "is", "ics", "news")


class NounPhrases(NamedTuple):
    """Noun phrases of a question."""

    subject: str = ""
    """The subject, or the noun that is asked about ("What is X?"); empty if uncertain."""
    object: str = ""
    """The direct object."""
    complements: tuple[str, ...] = ()
    """Noun phrases after prepositions in the subject."""
    asked: str = ""
    """The noun after the question word ("how many moons")."""
    is_rivalry: bool = False
    """Whether subject and object have the same role, so that a pronoun may mean either ("Why did A beat B?")."""

    def exclude(self, phrase: str) -> "NounPhrases":
        """Return the noun phrases of the other number than one that a pronoun has replaced."""
        plural = is_agreeing(phrase, plural=True)
        kept = {p for p in (self.subject, self.object, *self.complements) if p and not is_agreeing(p, plural=plural)}
        return NounPhrases(
            self.subject if self.subject in kept else "",
            self.object if self.object in kept else "",
            tuple(p for p in self.complements if p in kept),
        )


class _Token(NamedTuple):
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.lower().replace("’", "'")


def find_noun_phrases(question: str) -> NounPhrases:
    """Find the noun phrases of a question or request."""
    clause = " ".join(strip_request(question).split()).rstrip(" ?.!")
    masked = mask_text(clause)
    tokens = [_Token(match[0], *match.span()) for match in _TOKEN.finditer(masked)]
    if tokens and tokens[0].word in PREPOSITIONS:
        tokens = tokens[1:]
    if not tokens or _LIST.search(masked):
        return NounPhrases()
    is_request = clause != " ".join(question.split()).rstrip(" ?.!")
    subject, object_ = _Parser(masked, tokens).parse(is_request=is_request)
    return NounPhrases(
        subject=_cut(clause, subject),
        object=_cut(clause, object_),
        complements=tuple(_cut(clause, span) for span in _find_complements(masked, subject)),
        asked=_find_asked_noun(tokens),
        is_rivalry=bool(subject and object_) and any(token.word in _RIVAL_VERBS for token in tokens),
    )


def _find_asked_noun(tokens: Sequence[_Token]) -> str:
    """Return the noun after "which", "what" or "how many"; empty if there is none."""
    words = [token.word for token in tokens]
    first = 2 if words[:2] in (["how", "many"], ["how", "much"]) else 1 if words[0] in ("which", "what") else len(words)
    end = next((n for n in range(first, len(words)) if words[n] in AUXILIARY_WORDS or is_finite_verb(words[n])), first)
    return words[end - 1] if end > first else ""


def is_agreeing(phrase: str, *, plural: bool) -> bool:
    """Return whether a noun phrase agrees with a pronoun in number; a name with an s at its end may be either."""
    masked = mask_text(phrase)
    if re.search(r"\sor\s", masked):
        return False
    if re.search(r"\sand\s", _strip_complement(masked)):
        return plural
    words = _TOKEN.findall(_strip_complement(masked))
    head = next((word for word in reversed(words) if not word[0].isdigit()), "")
    lower = head.lower()
    if lower in PLURAL_NOUNS:
        return plural
    if lower in ("data", "media", "series", "species"):
        return True
    if head.isupper():
        return not plural
    if head[:1].isupper() and head[1:].islower() and head.endswith("s"):
        return plural or not phrase.lower().startswith("the ")
    is_plural = lower.endswith("s") and not lower.endswith(_SINGULAR_ENDINGS) and not lower.endswith(("'s", "’s"))
    return is_plural == plural


def _strip_complement(phrase: str) -> str:
    """Return a noun phrase up to its first preposition."""
    for match in re.finditer(r"\S+", phrase):
        if match.start() and match[0].lower() in PREPOSITIONS:
            return phrase[: match.start()].rstrip()
    return phrase


def _cut(clause: str, span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    phrase = clause[slice(*span)].strip(" ,;:")
    words = phrase.split()
    if not words or len(words) > MAX_PHRASE_WORDS or words[0].lower() in SPEAKERS or words[0].lower() in PREPOSITIONS:
        return ""
    if words[0].lower() in ("this", "that", "these", "those", "which", "what", "its", "their", "his", "her"):
        return ""
    return "" if all(word.lower() in DETERMINERS for word in words) else phrase


def _find_complements(masked: str, span: tuple[int, int] | None) -> list[tuple[int, int]]:
    """Return the spans of the noun phrases after the prepositions of a noun phrase."""
    if span is None:
        return []
    starts = [
        match.end() + 1
        for match in re.finditer(r"\S+", masked[: span[1]])
        if match.start() > span[0] and match[0].lower() in PREPOSITIONS
    ]
    ends = [masked.rfind(" ", 0, start - 1) for start in starts[1:]] + [span[1]]
    return list(zip(starts, ends, strict=True)) if starts else []


class _Parser:
    """Parser of one clause: question words, auxiliary, subject, verb, object."""

    def __init__(self, masked: str, tokens: Sequence[_Token]) -> None:
        self.masked = masked
        self.tokens = tokens

    def parse(self, *, is_request: bool) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """Return the spans of subject and object."""
        first = self.tokens[0].word
        if first in AUXILIARY_WORDS:
            return self._parse_after_auxiliary(0, wh="")
        if first.removesuffix("'s") in _WH_WORDS and first.endswith("'s"):
            return self._parse_after_auxiliary(0, wh=first.removesuffix("'s"), auxiliary="is")
        if first not in _WH_WORDS and first != "whether":
            return (self._parse_requested_thing(), None) if is_request else (None, None)
        if len(self.tokens) > 1 and self.tokens[1].word == "to":
            return None, self._find_object(3) if len(self.tokens) > 2 else None
        auxiliary = next((n for n, token in enumerate(self.tokens) if n and token.word in AUXILIARY_WORDS), None)
        verb = next((n for n, token in enumerate(self.tokens) if n and self._is_main_verb(n)), None)
        if is_request and (auxiliary != 1) and first not in ("who", "what", "which"):
            ends = [n for n in (auxiliary, verb) if n is not None and n > 1]
            return (self._span(1, min(ends)), self._find_object(min(ends) + 1)) if ends else (None, None)
        if auxiliary is not None and (verb is None or auxiliary < verb):
            return self._parse_after_auxiliary(auxiliary, wh=first)
        return (None, self._find_object(verb + 1)) if verb is not None else (None, None)

    def _is_main_verb(self, n: int) -> bool:
        """Return whether a token is the verb of a question on its subject ("Who wrote …", "What causes …")."""
        before, token = self.tokens[n - 1].word, self.tokens[n]
        if n == 1 and before in ("which", "what") and n + 1 < len(self.tokens) and self._begins_predicate(n + 1):
            return False
        if before in DETERMINERS or before in PREPOSITIONS or before in ("many", "much", "often", "long"):
            return False
        return token.text.islower() and (is_finite_verb(token.text) or (n > 1 and is_base_verb(token.text)))

    def _begins_predicate(self, n: int) -> bool:
        word = self.tokens[n].text
        return word in AUXILIARY_WORDS or (word.islower() and (is_finite_verb(word) or is_base_verb(word)))

    def _parse_requested_thing(self) -> tuple[int, int] | None:
        start = self.tokens[0].start
        overview = _OVERVIEW.match(self.masked[start:])
        start += overview.end() if overview else 0
        return start, self._find_subordinate(start)

    def _parse_after_auxiliary(
        self, n: int, wh: str, auxiliary: str = ""
    ) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        word = auxiliary or self.tokens[n].word
        first = n + 1
        while first < len(self.tokens) and self.tokens[first].word in ("not", "there"):
            first += 1
        if first >= len(self.tokens):
            return None, None
        if word in COPULAS:
            return self._find_copula_subject(first, wh, has_wh_noun=n > 1), None
        for verb in range(first + 1, len(self.tokens)):
            if self._is_base_verb_after_subject(verb, is_perfect=word in ("has", "have", "had")):
                end = verb
                while end - 1 > first and self.tokens[end - 1].word in ADVERBS:
                    end -= 1
                return self._span(first, end), self._find_object(verb + 1)
        name = self._find_name_end(first)
        return (self._span(first, name) if first < name < len(self.tokens) else None), None

    def _is_base_verb_after_subject(self, n: int, *, is_perfect: bool) -> bool:
        token, before = self.tokens[n], self.tokens[n - 1].word
        if not token.text.islower() or before in DETERMINERS or before in PREPOSITIONS or before in ADJECTIVES:
            return False
        if is_perfect:
            return is_participle(token.text)
        follows = (
            n + 1 < len(self.tokens) and is_base_verb(self.tokens[n + 1].text) and self.tokens[n + 1].text.islower()
        )
        return (is_base_verb(token.text) or token.word in ("be", "have", "do")) and not follows

    def _find_copula_subject(self, first: int, wh: str, *, has_wh_noun: bool) -> tuple[int, int] | None:
        """Return the span of the noun phrase after "is": up to a participle or adjective, else the whole rest."""
        limit = self._find_subordinate(self.tokens[first].start)
        within = [n for n in range(first, len(self.tokens)) if self.tokens[n].start < limit]
        name_end = self._find_name_end(first)
        for n in within[1:]:
            token, before = self.tokens[n], self.tokens[n - 1].word
            is_predicate = token.text.islower() and before not in DETERMINERS and before not in PREPOSITIONS
            if is_predicate and (
                (is_participle(token.text) and before not in ADJECTIVES)
                or token.word in ("being", "going")
                or (token.word in ADJECTIVES and not self._continues_noun(n))
                or token.word in ADVERBS
            ):
                return self._span(first, n)
            if n == name_end and token.word in DETERMINERS:
                return self._span(first, n)
        if wh in ("what", "who", "where") or wh == "how" or len(within) == 1 or has_wh_noun or limit < len(self.masked):
            return self.tokens[first].start, limit
        return self._span(first, name_end) if first < name_end < len(self.tokens) else None

    def _continues_noun(self, n: int) -> bool:
        """Return whether an adjective is followed by a noun ("the red blood cells")."""
        if n + 1 >= len(self.tokens):
            return False
        after = self.tokens[n + 1].word
        return not (after in PREPOSITIONS or after in ("than", "and", "or", "enough") or after in ADVERBS)

    def _find_name_end(self, first: int) -> int:
        """Return the number of the token after a run of capitalised words, masks and numbers."""
        n = first + (self.tokens[first].word == "the")
        start = n
        while n < len(self.tokens) and (
            self.tokens[n].text[0].isupper()
            or self.tokens[n].text[0] == MASK
            or (n > start and self.tokens[n].text[0].isdigit())
        ):
            n += 1
        return n if n > start else first

    def _find_object(self, first: int) -> tuple[int, int] | None:
        """Return the span of the noun phrase after a verb, up to the first preposition other than "of"."""
        if first + 1 < len(self.tokens) and self.tokens[first].word in PREPOSITIONS:
            first += 1
        if first >= len(self.tokens) or self.tokens[first].word in PREPOSITIONS | ADVERBS | AUXILIARY_WORDS:
            return None
        limit = self._find_subordinate(self.tokens[first].start)
        last = first
        while last < len(self.tokens) and self.tokens[last].start < limit:
            word = self.tokens[last].word
            if last > first and (
                (word in PREPOSITIONS and word != "of") or word in ADVERBS or word in AUXILIARY_WORDS or word == "and"
            ):
                break
            last += 1
        return self._span(first, last)

    def _find_subordinate(self, start: int) -> int:
        """Return the offset of the first subordinate clause or mark after an offset."""
        match = _SUBORDINATE.search(self.masked, start + 1)
        return match.start() if match else len(self.masked)

    def _span(self, first: int, end: int) -> tuple[int, int] | None:
        return (self.tokens[first].start, self.tokens[end - 1].end) if first < end else None
