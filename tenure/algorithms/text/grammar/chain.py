"""Divide a message into questions that can be searched for one by one, in order."""

import re
from typing import NamedTuple

from tenure.algorithms.text.coreference import is_follow_up
from tenure.algorithms.text.grammar.clauses import Clause, split_clauses
from tenure.algorithms.text.grammar.noun_phrases import find_noun_phrases
from tenure.algorithms.text.grammar.references import find_reference, has_unresolvable_reference, resolve_by_antecedent
from tenure.algorithms.text.sentences import stem_words

_ROLE = re.compile(r"^(?:what|which|who)\s+(?:is|are|was|were)\b", re.IGNORECASE)
"""Pattern of a question whose subject is what it asks for ("What is the capital of France?")."""
_WHO = re.compile(r"^who\b", re.IGNORECASE)
_PLURAL = re.compile(r"\b(?:they|them|their)\b", re.IGNORECASE)


class LinkedQuestion(NamedTuple):
    """Question of a message."""

    text: str
    """The question, with the statements that give its context."""
    needs: tuple[int, ...] = ()
    """Number, from 1, of the question to whose answer it refers."""


def link_questions(message: str) -> tuple[LinkedQuestion, ...]:
    """Divide a message into its questions.

    A reference to an earlier question is replaced by what it refers to; a reference to an earlier answer ("who … he")
    is kept and linked. With any other reference the message is one question.
    """
    whole = (LinkedQuestion(" ".join(message.split())),)
    clauses = split_clauses(message)
    found: list[LinkedQuestion] = []
    bare: list[str] = []
    for clause in clauses:
        linked = _link(clause, found, bare)
        if linked is None or not stem_words(linked.text):
            return whole
        if linked.text.casefold() not in (known.text.casefold() for known in found):
            found.append(linked)
            bare.append(linked.text.removeprefix(clause.context).strip())
    return tuple(found)


def _link(clause: Clause, found: list[LinkedQuestion], bare: list[str]) -> LinkedQuestion | None:
    """Return a clause with its reference resolved or linked; None if it can be neither."""
    if not found or clause.context:
        return LinkedQuestion(clause.question)
    if has_unresolvable_reference(clause.text):
        return None
    if find_reference(clause.text) is None:
        return LinkedQuestion(clause.question)
    for number in range(len(bare), 0, -1):
        follows = is_follow_up(clause.text, bare[number - 1])
        if follows and not _names_referent(bare[number - 1], clause.text):
            return LinkedQuestion(clause.text, (number,))
        if resolved := resolve_by_antecedent(clause.text, bare[number - 1]):
            return LinkedQuestion(resolved)
        if follows:
            return LinkedQuestion(clause.text, (number,))
    return None


def _names_referent(earlier: str, question: str) -> bool:
    """Return whether a question rather refers to a noun of the earlier question than to its answer.

    That is its subject ("What role does X play, and how does it work?"), or a plural noun after "who".
    """
    if _ROLE.match(earlier):
        return False
    if _WHO.match(earlier):
        return bool(_PLURAL.search(question))
    return bool(find_noun_phrases(earlier).subject)
