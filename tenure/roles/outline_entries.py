"""Parse an outline: topics in reading order, each with question, hypothetical answer, passages and first searches."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tenure.algorithms.text.questions import shorten
from tenure.roles.base import RoleOutput
from tenure.roles.entries import Entry, join_lines, list_texts, split_entries

MAX_TOPICS: Final = 12
"""Maximum number of topics of an outline, whatever the effort."""
MAX_QUERIES: Final = 8
"""Maximum number of searches of a topic."""
MAX_KNOWN: Final = 8
"""Maximum number of passages that a topic names."""
MAX_HEADING_CHARACTERS, MAX_QUESTION_CHARACTERS, MAX_ANSWER_CHARACTERS, MAX_QUERY_CHARACTERS = 160, 1000, 1000, 300
"""Maximum lengths of a heading, of a topic's question, of its hypothetical answer, and of a query."""

# "TOPIC: Bread", "- **SEARCH**: how is rye bread made", "TOPIC 2: Cheese"; in capitals and with a mark after it, since
# a sentence may begin with such a word.
_ENTRY = re.compile(
    r"^[ \t]{0,8}(?:[-*+•#>`]{1,4}|\d{1,2}[.)])?[ \t]?[*`]{0,3}"
    r"(?P<keyword>TOPIC|QUESTION|ANSWER|KNOWN|SEARCH)(?:[ \t]?\d{1,2})?[*`]{0,3}[ \t]?[:–—-](?P<rest>[^\n]{0,4000})",
    re.MULTILINE,
)
# "3, 12", "[3] [12]", "3 and 12 (the limits)".
_NUMBER = re.compile(r"(?<![\w.])\d{1,4}(?![\w.]*\w)")


class PlannedTopic(RoleOutput):
    """A topic."""

    heading: str
    """Its heading."""
    question: str
    """The question that its section has to answer."""
    answer: str = ""
    """The paragraph of an ideal source on it; empty for none."""
    known: tuple[int, ...] = ()
    """Numbers of the passages shown that state a part of it, most important first."""
    queries: tuple[str, ...] = ()
    """Searches for it besides its question."""


class OutlinerOutput(RoleOutput):
    """The outline."""

    topics: tuple[PlannedTopic, ...]
    """Topics in reading order."""


def parse_outline(text: str) -> OutlinerOutput:
    """Return an outline by its entries; a topic without a question asks for its heading.

    Raises:
        ValueError: the text has no topic; the message is addressed to the model.
    """
    topics = tuple(_read_topics(list(split_entries(_ENTRY, text))))[:MAX_TOPICS]
    if not topics:
        raise ValueError("it contains no topic: write `TOPIC: heading`, and below it QUESTION, ANSWER and SEARCH.")
    return OutlinerOutput(topics=topics)


def _read_topics(entries: list[Entry]) -> Iterator[PlannedTopic]:
    starts = [n for n, entry in enumerate(entries) if entry.keyword == "TOPIC" and entry.text]
    for start, end in pairwise([*starts, len(entries)]):
        heading = shorten(join_lines(entries[start].text.partition("\n")[0]).strip("[]*`"), MAX_HEADING_CHARACTERS)
        own = entries[start + 1 : end]
        # A line after a search or after numbers is a remark of the model.
        lines = [
            line._replace(text=line.text.partition("\n")[0]) for line in own if line.keyword in ("KNOWN", "SEARCH")
        ]
        queries = dict.fromkeys(shorten(query, MAX_QUERY_CHARACTERS) for query in list_texts(lines, "SEARCH"))
        numbers = (int(number) for text in list_texts(lines, "KNOWN") for number in _NUMBER.findall(text))
        yield PlannedTopic(
            heading=heading,
            question=shorten(next(iter(list_texts(own, "QUESTION")), heading), MAX_QUESTION_CHARACTERS),
            answer=shorten(next(iter(list_texts(own, "ANSWER")), ""), MAX_ANSWER_CHARACTERS),
            known=tuple(dict.fromkeys(numbers))[:MAX_KNOWN],
            queries=tuple(queries)[:MAX_QUERIES],
        )
