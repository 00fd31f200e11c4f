"""Detect text that gives instructions to a language model (prompt injection).

A text is searched as it is written and in the forms in which a model would still understand it: without invisible
characters and look-alike letters, without spaces between letters, and decoded from Base64, hexadecimal, URL encoding,
escapes, ROT13 and reversed text. The result is a hint for readers and for prompts; no permission depends on it.
"""

import base64
import codecs
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from tenure.algorithms.injection.instruction_phrases import ALL_ORDERS, FORGED_STRUCTURE, OVERRIDES
from tenure.algorithms.text.character_references import decode_character_references
from tenure.algorithms.text.known_urls import decode_percent
from tenure.algorithms.text.stock_phrases import contains_phrase

MIN_ENCODED_CHARACTERS: Final = 24
"""Minimum length of an encoded part; shorter ones cannot contain an order."""
MAX_CACHED_CHARACTERS: Final = 6_000
"""Maximum length of a text whose result is kept; passages are shorter."""
MAX_ENCODED_PARTS: Final = 200  # A page of keys or hashes has thousands, each of which would be searched for orders.
_MIN_PRINTABLE_SHARE: Final = 0.95
_TAG_CHARACTERS: Final = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Invisible copies of ASCII characters."""
# Soft hyphens, zero-width characters, direction marks, variation selectors and tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\U000e0000-\U000e0fff]"
)
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁԛԝһӏьАВЕКМНОРСТУХІЈЅαεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧɡıӀ",
    "aeopcyxijsdqwhlbABEKMHOPCTYXIJSaeiknoptuxwABEZHIKMNOPTYXgiI",
)
_LATIN_WORD = re.compile(r"[a-zA-Z]")  # A word is mixed if one of its letters is Latin.
_FOREIGN_LETTER = re.compile(
    "[\u0370-\u03ff\u0400-\u04ff\u0500-\u052f\u0261\u0131]"
)  # Greek, Cyrillic, script g and dotless i.
_DIGIT_LETTERS: Final = str.maketrans("013457@$", "oieastas")
_DIGIT_WORD = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[013457])[\w@$]{4,20}\b")  # "1gn0re", not "2024" and not "word".
# "i g n o r e  a l l", "i.g.n.o.r.e.a.l.l".
_SPACED_WORDS = re.compile(r"(?<!\w)\w(?:[ .\-_*·|]\w(?!\w)){7,}|(?<!\w)\w(?:(?:[ .\-_*·|]|\s{2,4})\w(?!\w)){11,}")
# The marks in "ig**nore**", "<b>ignore</b>", "<!-- ignore -->".
_MARKUP = re.compile(
    r"[*_`~]{1,3}(?=\w)|(?<=\w)[*_`~]{1,3}|<!--|-->|</?(?:b|i|u|em|strong|span|font|wbr|br)\b[^>]{0,80}>"
)
_JOINED_ORDER = re.compile(
    r"(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|of)*(?:previous|prior|earlier|above|system)?\w{0,10}?"
    r"(?:instructions|prompts?|rules|guidelines)",
    re.IGNORECASE,
)
"""Order without separators."""
# "aWdub3JlIGFsbCBpbnN0cnVj…".
_BASE64 = re.compile(rf"(?:[A-Za-z0-9+/_-]{{4}}\s?){{{MIN_ENCODED_CHARACTERS // 4},}}[A-Za-z0-9+/_-]{{0,3}}={{0,2}}")
# "69676e6f7265…", "\\x69\\x67…", "69 67 6e …".
_HEX = re.compile(rf"(?:(?:\\x|0x|\s)?[0-9a-fA-F]{{2}}[\s,:]?){{{MIN_ENCODED_CHARACTERS},}}")
_BACKSLASH_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")  # "\\u0069", "\\x69".
# "\\u0069", "&#105;", "%69".
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{1,6};|%[0-9a-fA-F]{2})")


def contains_instructions(text: str) -> bool:
    """Return whether a text contains instructions to a language model."""
    return (_search_text_once if len(text) <= MAX_CACHED_CHARACTERS else _search_text)(text)


def _search_text(text: str) -> bool:
    return any(contains_phrase(form, FORGED_STRUCTURE) for form in (text, fold_text(text))) or contains_orders(text)


def contains_orders(text: str) -> bool:
    """Return whether a text contains orders to a language model; forged structure, such as tags, does not count."""
    plain = fold_text(text)
    return (
        contains_phrase(plain, ALL_ORDERS)
        or bool(_JOINED_ORDER.search(plain))
        or any(contains_phrase(fold_text(part), ALL_ORDERS) for part in _decode_parts(text))
        or any(contains_phrase(form, OVERRIDES) for form in (codecs.encode(plain, "rot13"), plain[::-1]))
    )


_search_text_once = lru_cache(maxsize=4096)(_search_text)
"""The same passages are searched for each prompt and each citation."""


def fold_text(text: str) -> str:
    """Return a text without the disguises of letters: invisible characters, look-alikes, spacing and markup."""
    visible = _INVISIBLE.sub("", text.translate(_TAG_CHARACTERS))
    plain = unicodedata.normalize("NFKC", decode_character_references(visible))
    if _FOREIGN_LETTER.search(plain):
        plain = re.sub(r"\w+", _fold_mixed_word, plain)
    plain = _MARKUP.sub("", plain)
    plain = _DIGIT_WORD.sub(lambda match: match[0].translate(_DIGIT_LETTERS), plain)
    return _SPACED_WORDS.sub(_join_letters, plain)


def _fold_mixed_word(match: re.Match[str]) -> str:
    """Return a word of several scripts in Latin letters; other words are unchanged."""
    folded = match[0].translate(_LOOK_ALIKES)
    return folded if _LATIN_WORD.search(match[0]) or folded.isascii() else match[0]


def _join_letters(match: re.Match[str]) -> str:
    """Return spaced letters as words; wider gaps separate words."""
    return " ".join(re.sub(r"[\W_]", "", word) for word in re.split(r"\s{2,}|[.|]\s|\s[.|]", match[0]))


def _decode_parts(text: str) -> Iterator[str]:
    """Yield the decoded form of encoded parts that are text."""
    if len(_ESCAPES.findall(text)) >= MIN_ENCODED_CHARACTERS // 3:
        plain = _BACKSLASH_ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
        yield decode_percent(decode_character_references(plain))
    for match in islice(_BASE64.finditer(text), MAX_ENCODED_PARTS):
        bare = "".join(match[0].split()).rstrip("=").replace("-", "+").replace("_", "/")
        try:
            encoded = bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4)
            yield from _keep_text(base64.b64decode(encoded))
        except ValueError:
            continue  # an ordinary long word
    for match in islice(_HEX.finditer(text), MAX_ENCODED_PARTS):
        digits = re.sub(r"\\x|0x|[\s,:]", "", match[0])
        yield from _keep_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _keep_text(content: bytes) -> Iterator[str]:
    decoded = content.decode("utf-8", "replace")
    printable = sum(character.isprintable() or character.isspace() for character in decoded) - decoded.count("\ufffd")
    if decoded and printable >= _MIN_PRINTABLE_SHARE * len(decoded):
        yield decoded
