"""Decide without a model whether the sentences of a source support a claim, refute it or leave it open.

A sentence supports a claim if both are the same words in the same order. Only differences that change no meaning are
allowed: articles, numerals, contractions, punctuation, the place of an opening adjunct ("In 1990, …"), and clauses of
the sentence that neither deny nor restrict the rest. Negation, numbers, units, direction, roles, quantifiers and
conditions therefore agree, and a paraphrase stays open. A sentence refutes a claim if the two contradict each other as
sources do, or if they compare the same two things the other way round. Word lists are English; a claim in another
language is supported by the whole sentence alone.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from tenure.algorithms.claims.contradictions import detect_contradiction
from tenure.algorithms.text.sentences import is_non_english, split_sentences

SupportVerdict = Literal["supported", "refuted", "neutral"]
"""Verdict on a claim; `neutral` leaves it open."""
Tokens = tuple[str, ...]

MAX_DIVIDED_CHARACTERS: Final = 1_000
"""Maximum characters of a sentence whose clauses are compared as well; a longer one is compared as a whole."""
MAX_STATEMENTS: Final = 24  # Each part that can be left out doubles the number of statements, and four parts give 16.

# A number keeps its sign ("-40 °C" is not "40 °C"), but the dash of "5-10 mg" is none. Symbols such as "<" count.
_TOKEN = re.compile(r"(?<![\w)])[-−–+]?\d+(?:[.,]\d+)*|[^\W_]+(?:['’][^\W_]+)*|[^\s\w.,;:!?'\"‘’“”„«»()\[\]{}…*`|–—-]")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # The comma of "12,000", not that of "1,2".
_CITATION_MARK = re.compile(r"\[\d{1,3}(?:, ?\d{1,3}){0,9}\]")  # "[3]", "[1, 4]".
_NUMERALS = {word: str(n) for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_FORMS: Final[dict[str, Tokens]] = {
    **{word: (number,) for word, number in _NUMERALS.items()},
    "cannot": ("can", "not"),
    "can't": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "it's": ("it", "is"),
    "there's": ("there", "is"),
    "percent": ("%",),
}
"""Words with another spelling of the same meaning."""
_OMITTED: Final = frozenset(("a", "an", "the", "that"))
"""Words without meaning of their own: articles, and "that" after a verb of saying."""
_INDEFINITE: Final = frozenset(("few", "little"))
"""Words whose meaning an article turns around: "few survive", "a few survive"."""

# The opening of "In 1990, the mill closed." or "If it rains, it closes." may also be at the end.
_OPENING = re.compile(
    r"(?:in|on|at|from|since|until|during|within|before|after|for|under|over|with|without|if|when|unless|because|"
    r"although|while|except)\s[^,;]{1,200}",
    re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"\s?\([^()]{1,300}\)")  # " (built in 1990)".
# ", which was approved in 2011," and ", a ruin since the fire of 1702,"
_INSERTION = re.compile(r",\s(?:which|who|whose|where|a|an|the)\s[^,;]{1,300},")
# "…, and children take half of it", "…; it is new". "But" is missing, because it often restricts what precedes it.
_CLAUSE_BREAK = re.compile(r";\s|,\s(?=(?:and|while|whereas|although|so|which|who|where)\s)")
# The "and" of ", and children take half of it", which is then a sentence of its own.
_CONJUNCTION = re.compile(r"(?:and|while|whereas|although|so)\s")
# The "which" of ", which is new": without the clause before it, it is no sentence.
_RELATIVE = re.compile(r"(?:which|who|where)\s")
_RESTRICTION = re.compile(
    r"\b(?:except|but|only|if|unless|until|when|provided|otherwise|may|might|could|would|should|perhaps|possibly|"
    r"probably|likely|unlikely|apparently|rarely|seldom|sometimes|often|usually|mostly|partly|almost|nearly|"
    r"false|untrue|wrong|incorrect|myths?|sa(?:y|ys|id)|according|claim\w*|alleg\w+|argu\w+|belie\w+|think\w*|thought|"
    r"report\w*|suggest\w*|expect\w*|assum\w+|suppos\w+|den(?:y|ies|ied)|doubt\w*|disput\w+|predict\w*|propos\w+|"
    r"plan\w*|hop(?:e|es|ed)|fear\w*|rumou?r\w*|want\w*)\b",
    re.IGNORECASE,
)
"""Words by which a clause may restrict, deny or attribute the others; such a clause is never left out."""
# "not", "isn't", "without", "hardly".
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|\w{1,20}n[’']t|hardly|barely)\b", re.IGNORECASE
)


def judge_claim(claim: str, evidence: Sequence[str]) -> SupportVerdict:
    """Return whether texts support each sentence of a claim, refute it or leave it open, as do both sides together."""
    sentences = tuple(dict.fromkeys(sentence for text in evidence for sentence in _list_sentences(text)))
    verdicts = {_judge_sentence(sentence, sentences) for sentence in _list_sentences(claim)}
    if verdicts == {"supported"}:
        return "supported"
    return "refuted" if "refuted" in verdicts else "neutral"


def _judge_sentence(claim: str, sentences: Sequence[str]) -> SupportVerdict:
    stated = normalize_statement(_move_opening(claim))
    verdicts = {_compare(claim, stated, sentence) for sentence in sentences}
    if {"supported", "refuted"} <= verdicts:
        return "neutral"
    return "supported" if "supported" in verdicts else "refuted" if "refuted" in verdicts else "neutral"


def _compare(claim: str, stated: Tokens, sentence: str) -> SupportVerdict:
    """Compare a claim, whose statement is given, with a sentence.

    Long claims are compared with hundreds of sentences, so nothing here reads one from beginning to end unless the
    sentence is about as long.
    """
    if not stated or _is_question(sentence) != _is_question(claim):
        return "neutral"
    statements = _list_statements(sentence)
    if any(stated == other for other in statements):
        return "supported"
    is_denied = any(_is_forbidden(stated, other) or _is_exchanged(stated, other) for other in statements)
    return "refuted" if is_denied or detect_contradiction(claim, sentence) else "neutral"


def _is_question(sentence: str) -> bool:
    """Return whether a sentence ends with a question mark."""
    end = sentence[-20:].rstrip()
    return (end or sentence.rstrip()).endswith("?")


@lru_cache(maxsize=2048)
def _list_sentences(text: str) -> tuple[str, ...]:
    texts = tuple(dict.fromkeys(sentence.text for sentence in split_sentences(text)))
    return texts or ((text,) if text.strip() else ())


@lru_cache(maxsize=4096)
def normalize_statement(text: str) -> Tokens:
    """Return the words, numbers and symbols of a text that decide on its meaning, in order."""
    bare = _THOUSANDS.sub("", _CITATION_MARK.sub(" ", text)).replace("’", "'").lower().replace("per cent", "percent")
    words = [form for word in _TOKEN.findall(bare) for form in _spell(word)]
    return tuple(word for word, after in pairwise((*words, "")) if word not in _OMITTED or after in _INDEFINITE)


def _spell(word: str) -> Tokens:
    """Return the one spelling of a word: "two" and "2", "isn't" and "is not", "−4" and "-4"."""
    if word in _FORMS:
        return _FORMS[word]
    if word.endswith("n't"):
        return (word[:-3], "not")
    return (f"-{word[1:]}",) if word[0] in "−–" and len(word) > 1 else (word,)


@lru_cache(maxsize=4096)
def _list_statements(sentence: str) -> frozenset[Tokens]:
    """Return the statements of a sentence: the whole, and what is left without clauses that can be left out."""
    texts = {sentence: None}
    if len(sentence) <= MAX_DIVIDED_CHARACTERS and not is_non_english(sentence):
        queue = [sentence]
        while queue and len(texts) < MAX_STATEMENTS:
            new = [text for text in _shorten(queue.pop()) if text not in texts]
            texts.update(dict.fromkeys(new))
            queue += new
    return frozenset(normalize_statement(_move_opening(text)) for text in texts)


def _shorten(text: str) -> Iterator[str]:
    """Yield a sentence without each of its parts that can be left out."""
    for match in (*_PARENTHESIS.finditer(text), *_INSERTION.finditer(text)):
        if not _is_qualifying(match.group()):
            yield f"{text[: match.start()]}{text[match.end() :]}"
    for match in _CLAUSE_BREAK.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if not _is_qualifying(after):
            yield before
        # The meaning of a first clause may extend to the next: "In mice, …", "She wrote that …".
        extends = _RESTRICTION.search(before) or _OPENING.match(before) or " that " in before
        if not _RELATIVE.match(after) and not extends:
            yield _CONJUNCTION.sub("", after, count=1)


def _is_qualifying(part: str) -> bool:
    return bool(_RESTRICTION.search(part) or _DENIAL.search(part))


def _move_opening(sentence: str) -> str:
    """Return a sentence with its opening adjunct at the end: "The mill closed in 1990" for "In 1990, the mill …"."""
    opening = _OPENING.match(sentence)
    if not opening or not sentence.startswith(", ", opening.end()):
        return sentence
    rest = sentence[opening.end() + 2 :].rstrip(" .!")
    # "In 1990, A closed, and B opened": it is not plain which clause the opening belongs to.
    return sentence if "," in rest or ";" in rest else f"{rest} {opening.group()}"


def _is_forbidden(a: Tokens, b: Tokens) -> bool:
    """Return whether one statement says "must not" where the other says "may"."""
    shorter, longer = sorted((len(a), len(b)))
    if 2 * shorter < longer:  # "may" is half as long as "must not"
        return False
    texts = " ".join(a), " ".join(b)
    allowed = [text.replace(" must not ", " may ") for text in texts]
    return allowed[0] == allowed[1] and texts[0] != texts[1]


def _is_exchanged(a: Tokens, b: Tokens) -> bool:
    """Return whether one statement says "A is denser than B" and the other "B is denser than A"."""
    if len(a) != len(b) or "than" not in b or not {"no", "not", "never"}.isdisjoint(b):
        return False
    verb, other_verb = _find_verb(b), _find_verb(a)
    than = b.index("than")
    # "Other than" and "rather than" compare nothing.
    if not 0 < verb < than or other_verb < 1 or b[than - 1] in ("other", "rather"):
        return False
    first, comparison, rest = b[:verb], b[verb : than + 1], b[than + 1 :]
    return a == (*rest[:other_verb], *comparison, *first, *rest[other_verb:]) and first != rest[:other_verb]


def _find_verb(statement: Tokens) -> int:
    """Return the position of the first form of "be"; -1 for none."""
    return next((n for n, word in enumerate(statement) if word in ("is", "are", "was", "were")), -1)
