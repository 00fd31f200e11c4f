"""Match feedback of users with sections of the report."""

from collections.abc import Sequence

from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.run.run import Feedback


def match_headings(feedback: Feedback, headings: Sequence[str]) -> tuple[str, ...]:
    """Return the headings that feedback refers to, in order.

    If feedback names a topic: the equal heading, else headings that contain it, else headings that share most words
    with it. Otherwise headings that share words with the feedback, or all headings if none does.
    """
    if feedback.topic:
        return _match_topic(feedback.topic, headings)
    stems = set(stem_words(feedback.text))
    sharing = [heading for heading in headings if stems.intersection(stem_words(heading))]
    return tuple(sharing or headings)


def _match_topic(topic: str, headings: Sequence[str]) -> tuple[str, ...]:
    name = topic.casefold().strip()
    exact = [heading for heading in headings if heading.casefold() == name]
    if naming := exact or [heading for heading in headings if name in heading.casefold()]:
        return tuple(naming)
    stems = set(stem_words(topic))
    shared = {heading: len(stems.intersection(stem_words(heading))) for heading in headings}
    best = max(shared.values(), default=0)
    return tuple(heading for heading in headings if best and shared[heading] == best)
