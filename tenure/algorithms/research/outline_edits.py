"""Apply an outline that a user has set to the topics of a run.

An outline is set as a whole, so that its meaning does not depend on when a part of the run receives it. A topic is
matched by the name it was renamed from, else by its heading, else by a heading that it had in an earlier outline, which
a part of the run may have missed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenure.contracts.research.report import Topic
from tenure.contracts.run.control import OutlineRevision, OutlineTopic


@dataclass(frozen=True)
class OutlineChange:
    """Outline after a change by a user."""

    topics: tuple[Topic, ...]
    previous_headings: Mapping[str, str]
    """Previous headings of existing topics, by their new heading."""
    dropped: tuple[str, ...]


def revise_outline(previous: OutlineRevision | None, new_topics: Sequence[OutlineTopic]) -> OutlineRevision:
    """Return the next revision of an outline; each topic keeps its earlier headings."""
    earlier = {topic.heading.casefold(): topic for topic in previous.topics} if previous else {}
    topics: list[OutlineTopic] = []
    for topic in new_topics:
        heading, renamed_from = _normalize_whitespace(topic.heading), _normalize_whitespace(topic.renamed_from)
        existing = earlier.get((renamed_from or heading).casefold())
        names = (existing.renamed_from, *existing.earlier_headings) if existing else ()
        fields = {"heading": heading, "renamed_from": renamed_from, "question": _normalize_whitespace(topic.question)}
        topics.append(
            topic.model_copy(update={**fields, "earlier_headings": tuple(dict.fromkeys(filter(None, names)))})
        )
    return OutlineRevision(number=previous.number + 1 if previous else 1, topics=tuple(topics))


def apply_outline(topics: Sequence[Topic], outline: OutlineRevision) -> OutlineChange:
    """Match the topics of a run with an outline that a user has set."""
    existing = {topic.heading.casefold(): topic for topic in topics}
    revised_topics: list[Topic] = []
    before: dict[str, str] = {}
    for revised in outline.topics:
        names = (name.casefold() for name in (revised.renamed_from, revised.heading, *revised.earlier_headings) if name)
        former = next((existing[name] for name in names if name in existing), None)
        question = revised.question or (former.question if former else revised.heading)
        topic = former if former and former.question == question else Topic(heading=revised.heading, question=question)
        revised_topics.append(topic.model_copy(update={"heading": revised.heading}))
        if former:
            before[revised.heading] = former.heading
    dropped = tuple(topic.heading for topic in topics if topic.heading not in before.values())
    return OutlineChange(topics=tuple(revised_topics), previous_headings=before, dropped=dropped)


def describe_dropped_topics(change: OutlineChange) -> list[str]:
    """Return a sentence for the report on each topic that a user removed."""
    return [f"“{name}” was taken out of the outline by a person." for name in change.dropped]


def _normalize_whitespace(text: str) -> str:
    return " ".join(text.split())
