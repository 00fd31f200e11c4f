"""Find the position that a question contains, on which sources can take sides."""

import re
from typing import Final

from tenure.algorithms.text.grammar.clauses import split_clauses

MAX_QUESTION_CHARACTERS: Final = 2_000
"""Characters of a question that patterns read."""
_POSITION = re.compile(
    r"^(?:"
    r"should\b|ought\b|what (?:are the (?:pros and cons|advantages and disadvantages)|speaks (?:for|against))\b|"
    r"is it (?:true|correct|false|a myth|safe|worth|better|worse|wise|right|wrong|necessary|useful|harmful)\b|"
    r"(?:is|are|was|were)(?:n[’']t)?\b.{1,200}?\b(?:superior|inferior|preferable|better|worse|safe|unsafe|harmful|"
    r"harmless|effective|ineffective|useful|useless|worth|worthwhile|good|bad|healthy|unhealthy|dangerous|beneficial|"
    r"necessary|justified|overrated|overkill|enough|sufficient|suitable|a myth|(?:more|less) (?!than\b)\w+ than|"
    r"(?!other\b|rather\b|old|young|tall|earli|lat|larg|small)\w{2,}er than)\b|"
    r"(?:do|does|did|can|could|will|would)(?:n[’']t)?\b.{1,200}?\b(?:cause|prevent|increase|decrease|reduce|improve|"
    r"worsen|help|harm|make sense|pay off|recommend|lead to|cure|protect|raise|lower|hurt|boost|benefit|outperform|"
    r"(?:make|makes)\b.{1,100}?\b(?:better|worse|\w{2,}er))\b"
    r")",
    re.IGNORECASE,
)
"""Questions that assert something on which sources can take sides: advice, evaluations, comparisons, effects."""
# "Should we add a learner first or remove the old member?"; not "Should we move or not?" and "with one or two nodes".
_CHOICE = re.compile(
    r"\b(?<!one )(?<!two )(?<!three )or\b(?! (?:not|no|any|other|so|more|less|two|three|four)\b)", re.IGNORECASE
)


def find_position(question: str) -> str:
    """Return the first part of a question that contains a position; empty if none does.

    A choice has none, since a passage for one of its alternatives is neither for nor against the question.
    """
    parts = (clause.text for clause in split_clauses(question[:MAX_QUESTION_CHARACTERS]))
    return next((part for part in parts if _POSITION.match(part) and not is_choice(part)), "")


def is_choice(question: str) -> bool:
    """Return whether a question names alternatives."""
    return bool(_CHOICE.search(question))


def choose_position(query: str, question: str) -> str:
    """Return the position that a task is to be searched for from both sides.

    It is the position of its query, otherwise that of the question of the run; without one it is the query itself.
    """
    return find_position(query) or find_position(question) or query
