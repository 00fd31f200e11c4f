"""Find the version that a document describes, and whether it calls itself retired.

Folders of manuals often hold the pages of several versions, and pages that a project has given up but not deleted. A
page says so by its path, its title or a notice at its beginning. Nothing is concluded from its age: an old page may be
right, and a page without a notice may be outdated.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_NUMBERS = r"\d{1,4}(?:\.\d{1,4}){1,3}"
# "3.13", "v2", "version-4.1.x"; a plain number may be that of a chapter.
_VERSION_FOLDER = re.compile(rf"(?:version-|release-)?(?:v(\d{{1,4}})|v?({_NUMBERS})(?:\.x)?)\Z", re.IGNORECASE)
_CURRENT_FOLDER = re.compile(r"(?:latest|stable|current)\Z", re.IGNORECASE)
# "2.12.0", "v2.12 (2024-05-03)", "Version 3.1", "[1.4.2] - 2023-06-01", "What's new in 3.5"; not "1.2 Installation"
# or "3.4 - Storage".
_VERSION_HEADING = re.compile(
    rf"(?:what[’']s new in (?:\w+ )?|changes in (?:\w+ )?|(?:version|release) )\[?v?({_NUMBERS})\b"
    rf"|\[?v?({_NUMBERS})\]?(?: *\(.*\)| +[-–—] +\d{{4}}-\d\d.*)?\Z",
    re.IGNORECASE,
)
# "3.4", "v2", "1.8.x" in a question; not the 5 of "5 servers" and no IPv4 address.
_ASKED_VERSION = re.compile(
    r"\bv(\d{1,4}(?:\.\d{1,4}){0,2})\b|(?<![\w.])(\d{1,4}(?:\.\d{1,4}){1,2})(?!\.?\d)", re.IGNORECASE
)
_RETIRED = r"(?:deprecated|obsolete|legacy|retired|unmaintained|discontinued|end[- ]of[- ]life)"
# "legacy", "deprecated", "old-docs"; an "archive" is often that of news, and "old" a person's.
_RETIRED_FOLDER = re.compile(
    rf"(?:{_RETIRED}(?:[-_](?:docs?|versions?|releases?))?|(?:archived|old)[-_](?:docs?|versions?|releases?))\Z",
    re.IGNORECASE,
)
# "Streaming (deprecated)", "[Legacy] Storage driver", "Deprecated: the old API", "WARNING Deprecation Notice"; not
# "Deprecated fields and their names".
_RETIRED_TITLE = re.compile(
    rf"[(\[]\s*{_RETIRED}\b[^)\]]{{0,60}}[)\]]|^\W*{_RETIRED}\s*(?::|[–—-]\s)"
    rf"|^\W*(?:(?:warning|note|notice)\W+)?(?:{_RETIRED}|deprecation)(?:\s+notice)?\W*\Z",
    re.IGNORECASE | re.MULTILINE,
)
# "This page is deprecated", "this project has been superseded by", "NOTE: this document is out of date". The subject is
# the whole: "the option is deprecated" retires no page.
_NOTICE = re.compile(
    r"\b(?:this|these)\s+(?:[\w.’'-]{1,30}\s+){0,3}?"
    r"(?:pages?|docs?|document(?:s|ation)?|guides?|tutorials?|manual|article|project|repository|repo|package|library"
    r"|tool|server|product|version|chart|operator)\s+"
    r"(?:(?:is|are)\s+(?:(?:now|being|officially)\s+)?(?:deprecated|obsolete|retired|unmaintained|discontinued|outdated"
    r"|out\s+of\s+date|no\s+longer\s+(?:actively\s+)?(?:maintained|supported|developed|updated|current))"
    r"|(?:has|have)\s+been\s+(?:deprecated|superseded|retired|discontinued|archived))\b",
    re.IGNORECASE,
)
_ASKS_FOR_RETIRED = re.compile(
    rf"\b(?:{_RETIRED}|old(?:er)?|former(?:ly)?|previous(?:ly)?|histor\w+|originally|migrat\w+|upgrad\w+)\b",
    re.IGNORECASE,
)
NOTICE_CHARACTERS: Final = 600
"""Characters at the beginning of a document in which it says that it is retired."""
_CURRENT: Final = (10_000,)
"""Version of a folder such as `latest`, above every number."""


class DocumentPart(NamedTuple):
    """Search result as far as its age matters."""

    uri: str
    title: str
    is_retired: bool


def find_version(uri: str, headings: Sequence[str] = ()) -> str:
    """Return the version that a part of a document is about, of its innermost heading or else of its folder; or empty.

    Args:
        uri: path or URL of the document.
        headings: headings above the part, outermost first.
    """
    of_headings = map(_VERSION_HEADING.match, reversed([heading.strip() for heading in headings]))
    of_folders = map(_VERSION_FOLDER.match, reversed(uri.split("/")[:-1]))
    matches = (match for found in (of_headings, of_folders) for match in found if match)
    return next((match[1] or match[2] for match in matches), "")


def is_retired(uri: str, title: str, text: str) -> bool:
    """Return whether a document calls itself retired: by a folder, its title, or a notice at its beginning."""
    opening = text[:NOTICE_CHARACTERS]
    return (
        any(map(_RETIRED_FOLDER.match, uri.split("/")[:-1]))
        or bool(_RETIRED_TITLE.search(title) or _NOTICE.search(opening))
        or any(_RETIRED_TITLE.search(line.lstrip("# ")) for line in opening.splitlines() if line.startswith("#"))
    )


def has_retired_heading(headings: Sequence[str]) -> bool:
    """Return whether a heading above a part of a document calls it retired."""
    return any(map(_RETIRED_TITLE.search, headings))


def find_outdated(query: str, parts: Sequence[DocumentPart]) -> list[bool]:
    """Return for each search result whether others are to be preferred, unless the query asks for it.

    Outdated are retired documents, and pages of a manual of which a page of a newer version is among the results. A
    query that names a version asks for its pages; all others of such a manual are then outdated. Folders are those of
    versions if two of them have a page of the same path and title, or else those of chapters, as `1.1` and `1.2`.
    """
    asked = {_parse(match[1] or match[2]) for match in _ASKED_VERSION.finditer(query)}
    asks_for_retired = bool(_ASKS_FOR_RETIRED.search(query))
    manuals = [_locate_manual(part.uri) for part in parts]
    preferred: dict[str, tuple[bool, tuple[int, ...]]] = {}
    pages: dict[tuple[str, str, str], set[tuple[int, ...]]] = {}
    for part, manual in zip(parts, manuals, strict=True):
        if manual:
            rank = any(manual.version[: len(numbers)] == numbers for numbers in asked), manual.version
            preferred[manual.root] = max(preferred.get(manual.root, rank), rank)
            pages.setdefault((manual.root, manual.page, part.title), set()).add(manual.version)
    versioned = {root for (root, _, _), versions in pages.items() if len(versions) > 1}
    return [
        not asks_for_retired
        and (
            part.is_retired
            or (manual is not None and manual.root in versioned and manual.version != preferred[manual.root][1])
        )
        for part, manual in zip(parts, manuals, strict=True)
    ]


class _Manual(NamedTuple):
    root: str
    """Path to the folders of the versions."""
    version: tuple[int, ...]
    page: str
    """Path below the folder of the version."""


def _locate_manual(uri: str) -> _Manual | None:
    """Return the manual of a page whose folder is that of a version; the outermost such folder counts."""
    *folders, name = uri.split("/")
    for position, folder in enumerate(folders):
        match = _VERSION_FOLDER.match(folder)
        if match or _CURRENT_FOLDER.match(folder):
            version = _parse(match[1] or match[2]) if match else _CURRENT
            return _Manual("/".join(folders[:position]), version, "/".join([*folders[position + 1 :], name]))
    return None


def _parse(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
