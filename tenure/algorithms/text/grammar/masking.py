"""Mask the parts of a question whose words and marks have no grammatical role: quotations, brackets, abbreviations.

A masked text has the length of the original, so positions found in it are valid in the original.
"""

import re
from typing import Final

MASK: Final = "ǁ"
"""Character that replaces a masked one; patterns see it as a letter."""

MAX_ANALYZED_CHARACTERS: Final = 4_000
"""Characters of a text that patterns of grammar see; all after them are masked, which bounds their backtracking."""

# "“to be, or not”", "`a and b`", "(see below)", "[1]".
_PROTECTED = re.compile(
    r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|„[^“”\n]{1,200}[“”]|«[^»\n]{1,200}»|‘[^’\n]{1,200}’(?!\w)"
    r"|`[^`\n]{1,200}`|\([^()\n]{1,300}\)|\[[^\[\]\n]{1,300}\]"
)
# "e.g.", "U.S.", "J. ", "Dr. ".
_ABBREVIATION = re.compile(
    r"\b(?:(?:[^\W\d_]\.){2,}|(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|Nos|Inc|Ltd|Co|Corp|approx|ca|cf|etc|Fig|Eq"
    r"|Vol|ed|pp?)\.(?=\s|,))"
)


def mask_text(text: str) -> str:
    """Replace quotations, brackets and the full stops of abbreviations by masks of the same length."""
    masked = _PROTECTED.sub(lambda match: MASK * len(match[0]), text[:MAX_ANALYZED_CHARACTERS])
    words = _ABBREVIATION.sub(lambda match: match[0].replace(".", MASK), masked)
    return words + MASK * (len(text) - len(words))
