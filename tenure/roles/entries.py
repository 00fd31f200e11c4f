"""Split an answer in text into entries, each with a keyword at the start of a line.

An entry ends before the next one. Lines that belong to no entry are ignored: models introduce and sum up what they
write.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

MAX_TEXT_CHARACTERS: Final = 2000
"""Maximum length of the text of an entry in one line."""


class Entry(NamedTuple):
    """An entry of an answer."""

    keyword: str
    """Its keyword."""
    text: str
    """The text after the keyword, up to the next entry."""


def split_entries(pattern: re.Pattern[str], text: str) -> Iterator[Entry]:
    """Yield the entries of a text; the pattern matches the start of one, with the groups `keyword` and `rest`."""
    found = list(pattern.finditer(text))
    for match, (_, end) in zip(found, pairwise([*(match.start() for match in found), len(text)]), strict=True):
        yield Entry(match["keyword"], text[match.start("rest") : end].strip(" \t\n*`"))


def join_lines(text: str) -> str:
    """Return the first paragraph of an entry in one line; a text after it is a remark of the model."""
    paragraph = re.split(r"\n[ \t]*\n", text, maxsplit=1)[0]
    return " ".join(paragraph.split()).lstrip(" :*`–—-")[:MAX_TEXT_CHARACTERS]
