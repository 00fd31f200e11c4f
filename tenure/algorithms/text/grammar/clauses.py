"""Split a message into its questions and their clauses.

A message has sentences: questions, requests ("Explain …") and statements that give the context. A question or request
may join several clauses ("How is bread made, and why does it rise?"). A clause that has no content of its own ("and
why?") or that is no question alone ("… when it rains and when it snows") stays with the clause before it.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.algorithms.text.grammar.masking import MASK, mask_text
from tenure.algorithms.text.grammar.vocabulary import (
    AUXILIARIES,
    AUXILIARY_WORDS,
    PREPOSITIONS,
    WH_WORDS,
    is_base_verb,
    is_finite_verb,
    is_participle,
)

MAX_MESSAGE_CHARACTERS: Final = 2_000
"""Maximum characters of a message that is split; a longer one contains pasted text and stays whole."""

_PREPOSITION = r"(?:(?:in|to|at|by|from|on|for|of|with|under|since|until)\s+)?"  # The "in" of "In which year …".
_REQUEST_VERBS = (
    r"tell\s+(?:me|us)|explain|describe|show(?:\s+me)?|find\s+out|say|summari[sz]e|discuss|list|name|identify|outline"
    r"|state|give(?:\s+me)?|analy[sz]e|compare|contrast|clarify|research|investigate|look\s+up|define"
)
REQUEST: Final = re.compile(
    r"^(?:(?:please|kindly)\s*,?\s+)?(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
    rf"(?:(?:{_REQUEST_VERBS})(?:\s+to\s+me)?\b(?:\s+about\b)?"
    r"|(?:i|we)(?:\s+would|['’]d)?\s+(?:want|need|like|wish)\s+to\s+(?:know|understand|learn|find\s+out)\b(?:\s+about\b)?"
    r"|do\s+you\s+know\b|(?:i|we)\s+(?:wonder|am\s+wondering|was\s+wondering|do\s+not\s+know|don['’]t\s+know)\b)\s*,?\s+",
    re.IGNORECASE,
)
"""Pattern of a request at the start of a clause."""
_WH_START = rf"(?:and\s+|but\s+|also\s+)?{_PREPOSITION}(?:{WH_WORDS})\b"
# "Why? And how", "It stops. The next", "a; b", and line breaks before an item or a question.
_SENTENCE_END = re.compile(
    rf"(?<=[?!])\s+(?=[A-Z\d\"“({MASK}]|[^\W\da-z_]|(?i:{_WH_START}))|(?<=\.)\s+(?=[A-Z\"“({MASK}]|[^\W\da-z_])"
    rf"|(?<!\s)\s*;\s*|(?<=[?!.:])\s*\n\s*|(?<!\s)\s*\n\s*(?=\n|[-*•]\s|\d+[.)]\s|(?i:{_WH_START}))"
)
_CONJUNCTION = r"(?:and|or|but)\s+(?:(?:also|then|finally)\s+)?"
# ", and why" in "How is it made, and why does it rise?", " and explain", ", which".
_JOINT = re.compile(
    rf"(?:\s*,\s*|\s+){_CONJUNCTION}(?={_PREPOSITION}(?:{WH_WORDS}|{AUXILIARIES}|whether|{_REQUEST_VERBS})\s)"
    rf"|\s*,\s*(?={_PREPOSITION}(?:{WH_WORDS}|whether)\s)",
    re.IGNORECASE,
)
# "- ", "1) ", "and then " at the start of a clause.
_LEADING = re.compile(rf"^(?:[\s,;:]+|[-*•]\s+|\d+[.)](?:\s+|$)|{_CONJUNCTION})+", re.IGNORECASE)
# "How", "In which", "what's".
_WH = re.compile(rf"^{_PREPOSITION}(?P<wh>{WH_WORDS}|whether)(?:['’]s)?\b", re.IGNORECASE)
_AUXILIARY = re.compile(rf"^(?:{AUXILIARIES})\b", re.IGNORECASE)  # "Does it …", "Isn't it …".
# "does it", "is the mill", "did Curie"; not "is red".
_AUXILIARY_AND_SUBJECT = re.compile(
    rf"^(?:{AUXILIARIES})\s+(?i:not\s+)?(?:(?i:it|they|he|she|there|the|an?|this|that|these|those|i|we|you|my|your|our|its"
    rf"|their|any|all|some|both|one)\b|[A-Z\"“{MASK}])"
)
# "What is it", "Why does it rise", "How many are"; not "why it rises".
_INVERTED = re.compile(
    rf"^{_PREPOSITION}(?:(?:what|which|whose|who|whom)\b|(?:how|why|when|where)(?:['’]s)?\s+(?:[\w'’-]+\s+){{0,4}}?"
    rf"(?:{AUXILIARIES})\s|how\s+(?:many|much)\s|how\s+to\s|(?:how|why|when|where)['’]s\s)",
    re.IGNORECASE,
)
# "If it rains, what happens".
_CONDITIONAL = re.compile(rf"^(?:if|when|suppose)\b[^?.]*,\s*(?:{WH_WORDS}|{AUXILIARIES})\s", re.IGNORECASE)
# "explain how it works", "list the rules": a request with its object, which may begin with any letter.
_REQUESTED_THING = re.compile(rf"^(?:{_REQUEST_VERBS})(?:\s+to\s+me)?\s+[A-Z\d\"“{MASK}]", re.IGNORECASE)
_HOW_TO = re.compile(r"^how\s+to\s", re.IGNORECASE)  # "how to bake bread": a heading, no question.
# ", which lies at the Zenne": it belongs to the clause before it.
_RELATIVE_CLAUSE = re.compile(r"^(?:which|whose|whom|where|who)\b", re.IGNORECASE)
# The "it" of "who built it": its noun is in another clause.
_EXTERNAL_OBJECT = re.compile(r"\b(?:it|them|they|he|she|him)\b", re.IGNORECASE)
# "What is known?", "which are the oldest", "which one": they need the clause before them.
_SUBJECTLESS = re.compile(
    rf"^(?:what|which|who)\s+(?:(?:{AUXILIARIES}|has\s+been|have\s+been)\s+)?(?:\w+ed|lost|done|made|known|left|meant|said"
    r"|told|kept|held|given|taken|written|shown|found|won|paid)\W*$"
    r"|^which\s+(?:(?:ones?|of\s+\w+)\s+)?(?:is|are|was|were|has|have|had|do|does|did|can|of)\b|^which\s+\w+\W*$|^\w+\s+\w+\s+(?:i|we|you)\s+\w+\W*$"
    rf"|^(?:{_PREPOSITION})(?:what|which)\s+\w+\W*$",
    re.IGNORECASE,
)
# "what are the differences": of what?
_INCOMPLETE_NOUN = re.compile(
    r"^(?:what|which|who)\s+(?:is|are|was|were)\s+(?:the|some|other)\s+(?P<noun>[^?.]*)", re.IGNORECASE
)
# "Hi there!", "Thanks in advance".
_COURTESY = re.compile(
    r"^\W*(?:(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|evening)|thanks?|thank\s+you|many\s+thanks|cheers|please)"
    r"(?:\s+(?:there|all|everyone|team|you|so|very|much|a\s+lot|in\s+advance|for\s+your\s+help))*)\W*$",
    re.IGNORECASE,
)
_FUNCTION_WORDS = frozenset(
    f"""{WH_WORDS.replace("|", " ")} whether if not and or but also so it its they them their this that these those he
    she him her his one ones there here the a an as be been much many else then i we you me us please now exactly mean
    means happen happens""".split()
)
_WORD = re.compile(r"[\w'’-]+")  # "isn't", "read-only".


class Clause(NamedTuple):
    """Clause of a message that can be asked alone."""

    text: str
    context: str = ""
    """Statements before it."""

    @property
    def question(self) -> str:
        """The clause with the statements before it."""
        return f"{self.context} {self.text}".strip()


class _Piece(NamedTuple):
    start: int
    end: int
    prefix: str = ""
    context: str = ""
    ending: str = ""


def split_clauses(message: str) -> tuple[Clause, ...]:
    """Split a message at sentence ends and conjunctions into clauses, without resolving their references.

    Statements belong to the question after them, or to the last one. Courtesies are omitted. A message that asks
    nothing or is longer than `MAX_MESSAGE_CHARACTERS` is one clause.
    """
    single = Clause(" ".join(message.split()))
    if len(message) > MAX_MESSAGE_CHARACTERS:
        return (single,)
    masked = mask_text(message)
    pieces: list[_Piece] = []
    context = ""
    for start, end in _find_sentences(masked):
        sentence = masked[start:end]
        if _COURTESY.match(sentence):
            continue
        if not _is_asking(sentence):
            context = " ".join([context, *message[start:end].split()]).strip()
            continue
        sentence_pieces = list(_split_sentence(masked, start, end))
        if pieces and not context and not _stands_alone(sentence[: sentence_pieces[0].end - start]):
            pieces[-1] = pieces[-1]._replace(end=sentence_pieces.pop(0).end)
        elif context:
            sentence_pieces[0] = sentence_pieces[0]._replace(context=context)
        context = ""
        pieces += sentence_pieces
    if context and pieces:
        pieces[-1] = pieces[-1]._replace(ending=context)
    if not pieces:
        return (single,)
    clauses = tuple(Clause(_format_sentence(message, masked, piece), piece.context) for piece in pieces)
    is_whole = len(clauses) == 1 and not clauses[0].context
    return (single,) if is_whole and clauses[0].question.casefold().startswith(single.text.casefold()) else clauses


def strip_request(text: str) -> str:
    """Remove a request at the start of a clause ("Explain …", "I need to know …")."""
    return text[len(match[0]) :] if (match := REQUEST.match(text)) else text


def is_inverted(text: str) -> bool:
    """Return whether a clause has the word order of a question ("Why does it rise?", not "why it rises")."""
    return bool(_INVERTED.match(text) or _AUXILIARY.match(text))


def is_direct_question(text: str) -> bool:
    """Return whether a text without a request before it asks a question, whatever mark it ends with."""
    return is_inverted(f"{text} ") and not _HOW_TO.match(text)


def has_several_clauses(text: str) -> bool:
    """Return whether a question joins a second question that cannot be split off."""
    return any(match for match in _JOINT.finditer(mask_text(text)) if is_inverted(text[match.end() :]))


def _find_sentences(masked: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a message, without marks and conjunctions at their start."""
    start = 0
    for match in (*_SENTENCE_END.finditer(masked), None):
        end = match.start() if match else len(masked)
        lead = _LEADING.match(masked[start:end])
        first = start + (lead.end() if lead else 0)
        if masked[first:end].strip():
            yield first, end
        start = match.end() if match else end


def _is_asking(sentence: str) -> bool:
    stripped = sentence.rstrip(" \"'”’)")
    if stripped.endswith("?") or REQUEST.match(sentence) or _CONDITIONAL.match(sentence):
        return True
    return bool(_INVERTED.match(sentence)) or (bool(_AUXILIARY.match(sentence)) and not stripped.endswith("."))


def _split_sentence(masked: str, start: int, end: int) -> Iterator[_Piece]:
    """Yield the clauses of a question or request."""
    sentence = masked[start:end]
    request = REQUEST.match(sentence)
    if not request and not _WH.match(sentence) and not _AUXILIARY.match(sentence):
        yield _Piece(start, end)
        return
    # "Explain when …" embeds a question.
    prefix = request[0] if request and _WH.match(sentence[request.end() :]) else ""
    joints = list(_JOINT.finditer(sentence, len(prefix)))
    current = _Piece(start, end)
    for number, joint in enumerate(joints):
        right_end = joints[number + 1].start() if number + 1 < len(joints) else len(sentence)
        left, right = sentence[current.start - start : joint.start()], sentence[joint.end() : right_end]
        if joint[0].strip() == "," and not _is_listed(sentence, joint, joints[number + 1 :]):
            continue
        if _is_clause(left.removeprefix(prefix), right, is_request=bool(request)):
            yield current._replace(end=start + joint.start())
            takes_prefix = prefix and _WH.match(right)
            current = _Piece(start + joint.end(), end, prefix if takes_prefix else "")
    yield current


def _is_listed(sentence: str, joint: re.Match[str], later: list[re.Match[str]]) -> bool:
    """Return whether a clause after a comma is an item of a list that ends with "and how …", no relative clause."""
    closing = next((match for match in later if match[0].strip() != ","), None)
    if closing is None:
        return False
    item = sentence[joint.end() : closing.start()]
    return not _RELATIVE_CLAUSE.match(item) or bool(_EXTERNAL_OBJECT.search(item)) or " did " in item or " is " in item


def _is_clause(before: str, after: str, *, is_request: bool) -> bool:
    """Return whether the text after a conjunction is a question or request of its own."""
    wh = _WH.match(after)
    if wh:
        body = before[match.end() :] if (match := _WH.match(before)) else before
        repeats = rf"\b(?:{wh['wh']}|that)\b" if _RELATIVE_CLAUSE.match(wh["wh"]) else rf"\b{wh['wh']}\b"
        if re.search(repeats, body, re.IGNORECASE) or not (is_request or _INVERTED.match(after)):
            return False
    elif _AUXILIARY.match(after):
        if is_request or not _AUXILIARY_AND_SUBJECT.match(after):
            return False
    elif not is_request or not _REQUESTED_THING.match(after):
        return False
    return _stands_alone(before) and _stands_alone(after)


def _stands_alone(text: str) -> bool:
    """Return whether a clause has a verb, something that it asks about, and no noun whose complement is missing."""
    words = [word.lower() for word in _WORD.findall(strip_request(text))]
    if len(words) < (2 if REQUEST.match(text) else 3) or _SUBJECTLESS.match(text):
        return False
    noun = _INCOMPLETE_NOUN.match(text)
    if noun and not any(
        word.lower() in PREPOSITIONS or word[0].isupper() or word.startswith(MASK) or word[0].isdigit()
        for word in _WORD.findall(noun["noun"])
    ):
        return False
    is_verbal = bool(REQUEST.match(text) or _HOW_TO.match(text)) or any(
        word in AUXILIARY_WORDS or is_base_verb(word) or is_finite_verb(word) or is_participle(word) for word in words
    )
    return is_verbal and any(
        word not in _FUNCTION_WORDS and word not in AUXILIARY_WORDS and word not in PREPOSITIONS for word in words
    )


def _format_sentence(message: str, masked: str, piece: _Piece) -> str:
    """Return a piece of a message as a sentence with a capital and a final mark."""
    text = " ".join(f"{piece.prefix}{message[piece.start : piece.end]}".split()).strip(" ,;")
    text = text[0].upper() + text[1:]
    if masked[piece.start : piece.end].rstrip()[-1:] not in ("?", "!", "."):
        is_asked = is_inverted(text) and (not REQUEST.match(text) or _AUXILIARY.match(text))
        text += "?" if is_asked else "."
    return f"{text} {piece.ending[:1].upper()}{piece.ending[1:]}".strip()
