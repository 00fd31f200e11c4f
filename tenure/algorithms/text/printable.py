"""Write characters that act on a terminal or hide from a reader as visible escapes.

Text of documents, models and errors is untrusted: a control sequence can set the clipboard or overwrite earlier lines,
a change of direction can make one name look like another, and invisible characters can hide words. Ordinary text of
all scripts stays unchanged: joiners between letters and in emoji, direction marks next to right-to-left letters,
variation selectors after the character they belong to, and the flags of regions.
"""

import json
import re
from typing import Any, Final

_RIGHT_TO_LEFT: Final = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"

_UNSAFE: Final = re.compile(
    "(?P<ordinary>"
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
    f"|(?<=[^\x00-\x7f{_CONTROLS}\u200b-\u200f\u2028-\u202e\u2060-\u206f])[\u200c\u200d]"
    f"(?=[^\x00-\x7f{_CONTROLS}{_INVISIBLE}])"
    f"|(?<=[{_RIGHT_TO_LEFT}])[\u200e\u200f](?![\u200b-\u200f])|(?<![\u200b-\u200f])[\u200e\u200f](?=[{_RIGHT_TO_LEFT}])"
    f"|(?<=[^\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f{_CONTROLS}{_INVISIBLE}])[\ufe00-\ufe0f]"
    "|(?<=[\u3400-\u9fff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
    f")|[{_CONTROLS}{_INVISIBLE}]"
)


_LINE_BREAK: Final = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Line breaks that are control characters; they separate words."""

_SPACE: Final = re.compile(r"\s+")  # Any run of white space, line breaks included.


def escape_control_characters(text: str) -> str:
    """Return a text with every character that acts on a terminal or is invisible written as an escape."""
    return _UNSAFE.sub(lambda match: match["ordinary"] or _escape_character(match[0]), text)


def remove_control_characters(text: str) -> str:
    r"""Return a text without these characters, and with `\n` as line break."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub(lambda match: match["ordinary"] or "", text)


def collapse_spaces(text: str) -> str:
    """Return a text without these characters on one line, each run of white space as one space."""
    return _SPACE.sub(" ", remove_control_characters(_LINE_BREAK.sub(" ", text)))


def flatten(text: str) -> str:
    """Return a text without these characters on one line, and without white space at its ends."""
    return collapse_spaces(text).strip()


def format_json(document: Any) -> str:
    """Return a document as JSON in which these characters are JSON escapes, so that nothing is lost."""
    return escape_json(json.dumps(document, indent=2, ensure_ascii=False))


def escape_json(text: str) -> str:
    """Return JSON with these characters as JSON escapes."""
    return _UNSAFE.sub(lambda match: match["ordinary"] or json.dumps(match[0])[1:-1], text)


def _escape_character(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
