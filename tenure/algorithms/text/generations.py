"""Find passages of older and newer generations of the same document or interface."""

import re
from collections.abc import Sequence

from tenure.algorithms.text.passage import Passage

_VERSION = re.compile(
    r"(?<![A-Za-z0-9])(?:v\d+(?:[.\-_]\d+){0,3}|\d+(?:\.\d+){1,3}|"
    r"(?:19|20)\d{2}(?:[.\-_]\d{1,2}){0,2})(?![A-Za-z0-9])"
)
"""Version or date in the name of a document; a plain number may be that of a chapter."""
_CHANGE = re.compile(
    r"\b(?:deprecated|obsolete|superseded|renamed (?:to|from)|"
    r"(?:was|were|been|is|are) (?:renamed|removed|replaced (?:by|with))|"
    r"no longer (?:supported|recommended|maintained)|formerly (?:called|named|known))\b",
    re.IGNORECASE,
)
"""Note that something has a newer name or version."""


def describe_generations(passages: Sequence[Passage]) -> tuple[str, ...]:
    """Return sentences on newer passages, and on passages that mention a deprecation or a new name.

    Passages of the same document are of different generations if their URIs and titles differ in versions or dates
    only: `annual-2023.md` and `annual-2024.md` may treat different subjects, which their titles then say.
    """
    return (*_compare_versions(passages), *_list_changes(passages))


def _compare_versions(passages: Sequence[Passage]) -> list[str]:
    families: dict[tuple[str, str], dict[tuple[int, ...], list[int]]] = {}
    for number, passage in enumerate(passages, 1):
        if found := list(_VERSION.finditer(passage.uri)):
            version = tuple(int(part) for part in re.findall(r"\d+", found[-1].group()))
            place = passage.uri[: found[-1].start()] + passage.uri[found[-1].end() :]
            family = (place, _VERSION.sub("", passage.title))
            families.setdefault(family, {}).setdefault(version, []).append(number)
    return [
        "The same document in several versions or dates, oldest first: "
        + "; ".join(f"{_join('passage', versions[version])} of {_format(version)}" for version in sorted(versions))
        + ". If they differ, the newest holds today and an older one held in its time."
        for versions in families.values()
        if len(versions) > 1
    ]


def _list_changes(passages: Sequence[Passage]) -> list[str]:
    numbers = [number for number, passage in enumerate(passages, 1) if _CHANGE.search(passage.text)]
    if not numbers:
        return []
    return [
        f"{_join('Passage', numbers)} may mention an older or newer name or version: use the current one, and name the "
        "old one only as such."
    ]


def _join(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun}{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _format(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
