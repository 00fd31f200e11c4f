"""The outline as a person wants it: what of the present one stays, under which name, and what goes.

An outline is set as a whole, so that it means the same whenever a part of the run hears of it. A topic is known
again by the name it was given up for, else by its own, else by one it had in an outline that a part may have missed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenure.contracts.research.report import Topic
from tenure.contracts.run.control import Outline, OutlineTopic


@dataclass(frozen=True)
class Edited:
    """An outline after a person's change."""

    topics: tuple[Topic, ...]
    """Its topics, in order."""
    before: Mapping[str, str]
    """By heading: what a topic that was there was called."""
    dropped: tuple[str, ...]
    """Headings that are no longer there under any name."""


def following(before: Outline | None, wanted: Sequence[OutlineTopic]) -> Outline:
    """Return the outline that follows another one, each topic with the names it had."""
    earlier = {topic.heading.casefold(): topic for topic in before.topics} if before else {}
    topics: list[OutlineTopic] = []
    for topic in wanted:
        heading, was = _plain(topic.heading), _plain(topic.was)
        known = earlier.get((was or heading).casefold())
        names = (known.was, *known.earlier) if known else ()
        told = {"heading": heading, "was": was, "question": _plain(topic.question)}
        topics.append(topic.model_copy(update={**told, "earlier": tuple(dict.fromkeys(filter(None, names)))}))
    return Outline(number=before.number + 1 if before else 1, topics=tuple(topics))


def edited(topics: Sequence[Topic], outline: Outline) -> Edited:
    """Return the outline that a person has set, with what it keeps of the present one."""
    left = {topic.heading.casefold(): topic for topic in topics}
    kept: list[Topic] = []
    before: dict[str, str] = {}
    for wanted in outline.topics:
        known = next((left[name] for name in _names(wanted) if name in left), None)
        question = wanted.question or (known.question if known else wanted.heading)
        kept.append(Topic(heading=wanted.heading, question=question))
        if known:
            before[wanted.heading] = known.heading
    gone = tuple(topic.heading for topic in topics if topic.heading not in before.values())
    return Edited(topics=tuple(kept), before=before, dropped=gone)


def dropped_in_words(wanted: Edited) -> list[str]:
    """Say for a report which topics a person took out."""
    return [f"“{name}” was taken out of the outline by a person." for name in wanted.dropped]


def _names(topic: OutlineTopic) -> list[str]:
    return [name.casefold() for name in (topic.was, topic.heading, *topic.earlier) if name]


def _plain(text: str) -> str:
    return " ".join(text.split())
