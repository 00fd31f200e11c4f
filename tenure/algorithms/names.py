"""Names: what passages speak of that a question does not, the bridges to a next search."""

import re
from collections.abc import Sequence

from tenure.algorithms.passages import Passage
from tenure.algorithms.text import stems

_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+(?:(?:of|the|de|van|von|and)\s+)?[A-Z][\w'’-]+){0,3}")
MAX_NAME = 80
"""Characters of a name at the most."""


def new_names(question: str, passages: Sequence[Passage]) -> list[str]:
    """Return names that passages have and the question has not, best first.

    A name counts by the words that its passages share with the question, the better the passage the more;
    titles are names as well. A single capitalised word may only begin a sentence and counts less.
    """
    known = set(stems(question))
    weight: dict[str, float] = {}
    for rank, passage in enumerate(passages, 1):
        shared = len(known & set(stems(f"{passage.title} {passage.text}"))) / rank**0.5
        names = [passage.title, *(found.group() for found in _NAME.finditer(passage.text))]
        for name in dict.fromkeys(names):
            if set(stems(name)) - known and len(name) <= MAX_NAME:
                weight[name] = weight.get(name, 0.0) + shared * (1.0 if len(name.split()) > 1 else 0.5)
    return sorted(weight, key=lambda name: (-weight[name], name))
