"""Decode the character references of HTML, such as `&amp;` and `&#65;`."""

import html
import re
from typing import Final

_NUMBER: Final = re.compile(r"(?<=&#)0*([0-9]{1,8})[0-9]*+")
"""Number of a character, of which eight digits count: `int` refuses more than 4,300 digits, and the largest number of a
character, 1114111, has seven."""


def decode_character_references(text: str) -> str:
    """Return a text with its character references decoded; a number that is too large becomes U+FFFD."""
    return html.unescape(_NUMBER.sub(r"\1", text))
