"""Find passages of older and newer generations of the same document."""

import re
from collections.abc import Sequence

from tenure.algorithms.text.passage import Passage

_VERSION = re.compile(
    r"(?<![A-Za-z0-9])(?:v\d+(?:[.\-_]\d+){0,3}|\d+(?:\.\d+){1,3}|"
    r"(?:19|20)\d{2}(?:[.\-_]\d{1,2}){0,2})(?![A-Za-z0-9])"
)
"""Version or date in the name of a document; a plain number may be that of a chapter."""


def describe_generations(passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return sentences on passages of several versions of the same document.

    Passages of the same document are of different generations if their URIs and titles differ in versions or dates
    only: `annual-2023.md` and `annual-2024.md` may treat different subjects, which their titles then say.
    """
    families: dict[tuple[str, str], dict[tuple[int, ...], list[int]]] = {}
    for number, passage in enumerate(passages, 1):
        if versions_in_uri := list(_VERSION.finditer(passage.uri)):
            version = tuple(int(part) for part in re.findall(r"\d+", versions_in_uri[-1].group()))
            path = passage.uri[: versions_in_uri[-1].start()] + passage.uri[versions_in_uri[-1].end() :]
            family = (path, _VERSION.sub("", passage.title))
            families.setdefault(family, {}).setdefault(version, []).append(number)
    return tuple(
        "The same document in several versions or dates, oldest first: "
        + "; ".join(
            f"passage{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} of {'.'.join(map(str, version))}"
            for version, numbers in sorted(versions.items())
        )
        + ". If they differ, the newest holds today and an older one held in its time."
        for versions in families.values()
        if len(versions) > 1
    )
