"""Wishes: which sections a person's feedback concerns."""

from collections.abc import Sequence

from tenure.algorithms.text.sentences import stems
from tenure.contracts.run.run import Feedback


def concerned(feedback: Feedback, headings: Sequence[str]) -> tuple[str, ...]:
    """Return the headings a piece of feedback is about, in order.

    A named topic decides: the heading that is it, else those that contain it, else those that share
    most words with it. Feedback without a topic concerns the headings that share words with it, and
    all of them where none does.
    """
    if feedback.topic:
        return _named(feedback.topic, headings)
    sharing = [heading for heading in headings if set(stems(heading)) & set(stems(feedback.text))]
    return tuple(sharing or headings)


def _named(topic: str, headings: Sequence[str]) -> tuple[str, ...]:
    name = topic.casefold().strip()
    exact = [heading for heading in headings if heading.casefold() == name]
    if exact:
        return tuple(exact)
    within = [heading for heading in headings if name in heading.casefold()]
    if within:
        return tuple(within)
    shared = {heading: len(set(stems(heading)) & set(stems(topic))) for heading in headings}
    best = max(shared.values(), default=0)
    return tuple(heading for heading in headings if best and shared[heading] == best)
