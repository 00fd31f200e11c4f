"""Split an answer in text into entries, each with a keyword at the start of a line.

An entry ends before the next one. Lines that belong to no entry are ignored: models introduce and sum up what they
write.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

MAX_TEXT_CHARACTERS: Final = 2000
"""Maximum length of the text of an entry in one line."""


_NOTHING: Final = ("", "none", "nothing")
"""Texts of an entry that a model writes although it has nothing to say."""


class Entry(NamedTuple):
    """An entry of an answer."""

    keyword: str
    """Its keyword."""
    text: str
    """The text after the keyword, up to the next entry."""


def split_entries(pattern: re.Pattern[str], text: str) -> Iterator[Entry]:
    """Yield the entries of a text; the pattern matches the start of one, with the groups `keyword` and `rest`."""
    matches = list(pattern.finditer(text))
    for match, (_, end) in zip(matches, pairwise([*(match.start() for match in matches), len(text)]), strict=True):
        yield Entry(match["keyword"], text[match.start("rest") : end].strip())


def extract_paragraph(text: str) -> str:
    """Return the text up to a blank line; a text after it is a remark of the model."""
    return re.split(r"\n[ \t]*\n", text.strip(), maxsplit=1)[0]


def join_lines(text: str) -> str:
    """Return the first paragraph of an entry in one line, without a mark before it and emphasis around it."""
    return " ".join(extract_paragraph(text).split()).lstrip(" :*`–—-").rstrip(" *`")[:MAX_TEXT_CHARACTERS]


def list_texts(entries: Sequence[Entry], keyword: str, max_characters: int = MAX_TEXT_CHARACTERS) -> tuple[str, ...]:
    """Return the distinct texts of the entries of a keyword, each in one line, without “none” and “nothing”."""
    texts = (join_lines(entry.text)[:max_characters] for entry in entries if entry.keyword == keyword)
    return tuple(dict.fromkeys(text for text in texts if text.strip(" .–—-").casefold() not in _NOTHING))
