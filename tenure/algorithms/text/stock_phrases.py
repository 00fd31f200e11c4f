"""Find stock phrases in texts by regular expressions with hints.

Matching is fast on whole pages because a pattern is tried only if one of its hints occurs, and gaps are bounded.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

# No separator ends a sentence: "which snapshots to forget. For all remove operations, two commands are called".
_SEP = r"(?:(?![.!?]\s)\W){1,4}"
_GAP = rf"(?:\w{{1,30}}{_SEP}){{0,4}}?"  # Up to four words: `forget ~rules` finds "forget all of these rules".
_OPTIONAL_SEP = r"\W{0,4}"  # `ai ?助手` finds "ai助手" and "ai 助手".


class PhrasePattern(NamedTuple):
    """Pattern of a stock phrase."""

    hints: tuple[str, ...]
    """Lower-case strings, one of which occurs in every match; empty for a pattern that is always tried."""
    pattern: re.Pattern[str]


def contains_phrase(text: str, phrases: Sequence[PhrasePattern]) -> bool:
    """Return whether a text contains one of the phrases; only those with a hint in the text are searched for."""
    lower = text.lower()
    return any(
        (not phrase.hints or any(hint in lower for hint in phrase.hints)) and phrase.pattern.search(text)
        for phrase in phrases
    )


def compile_phrase(hints: str, pattern: str) -> PhrasePattern:
    """Compile a phrase.

    In a pattern a space matches any separator, a space with a question mark an optional one, and `~` up to four words.
    """
    expanded = pattern.replace(" ?", _OPTIONAL_SEP).replace(" ", _SEP).replace("~", _GAP)
    compiled = re.compile(expanded, re.IGNORECASE | re.MULTILINE)
    return PhrasePattern(tuple(hints.split("|")) if hints else (), compiled)
