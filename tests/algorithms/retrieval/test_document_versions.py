"""Versions of documents, notices of retirement, and what a search prefers."""

import pytest

from tenure.algorithms.retrieval.document_versions import (
    DocumentPart,
    find_outdated,
    find_version,
    has_retired_heading,
    is_retired,
)


@pytest.mark.parametrize(
    ("uri", "headings", "version"),
    [
        ("docs/3.13/priority.md", (), "3.13"),
        ("https://mq.example/v2/1.4.x/page", (), "1.4"),
        ("versioned_docs/version-4.1/priority.md", (), "4.1"),
        ("book/12/page.md", (), ""),
        ("docs/v1.2.md", (), ""),
        ("CHANGELOG.md", ("Changes", "[1.4.2] - 2023-06-01"), "1.4.2"),
        ("docs/3.13/news.md", ("What's new in 3.12", "Syntax"), "3.12"),
        ("manual.md", ("1.2 Installation",), ""),
        ("manual.md", ("3.4 - Storage",), ""),
    ],
)
def test_a_version_is_named_by_a_heading_or_a_folder(uri: str, headings: tuple[str, ...], version: str) -> None:
    """The innermost heading decides, then the innermost folder; numbers of chapters are no versions."""
    assert find_version(uri, headings) == version


@pytest.mark.parametrize(
    ("uri", "title", "text"),
    [
        ("manual/legacy/streaming/intro.md", "Streaming", "Streaming stores messages."),
        ("manual/old-docs/intro.md", "Intro", ""),
        ("manual/intro.md", "Streaming server (deprecated)", ""),
        ("manual/intro.md", "Deprecated: the first interface", ""),
        ("manual/intro.md", "Streaming", "# Streaming\n\n## WARNING Deprecation Notice\n\nUse queues."),
        ("README.md", "Tool", "# Tool\n\nThis project is no longer maintained."),
        ("README.md", "Tool", "NOTE: this client library is now deprecated in favour of another."),
        (
            "README.md",
            "Tool",
            "This version of the operator has been superseded by the next. This operator has been archived.",
        ),
    ],
)
def test_a_retired_document_says_so(uri: str, title: str, text: str) -> None:
    """A folder, the title or a notice at the beginning retires a document."""
    assert is_retired(uri, title, text)


@pytest.mark.parametrize(
    ("uri", "title", "text"),
    [
        ("news/archive/2019/intro.md", "Intro", "An old text."),
        ("ann/old/contract.pdf", "Contract", "It is in force."),
        ("manual/legacy.md", "Names of legacy hosts", "Legacy hosts are supported."),
        ("manual/intro.md", "Deprecated fields and their names", "The field `a` is deprecated."),
        ("manual/intro.md", "Intro", "A" * 600 + " This page is deprecated."),
        ("manual/intro.md", "Intro", "This option is deprecated; this page describes its successor."),
    ],
)
def test_a_document_about_retired_things_is_not_retired(uri: str, title: str, text: str) -> None:
    """Words about an option, far below, or an archive of news retire no document."""
    assert not is_retired(uri, title, text)


def test_a_section_can_be_retired() -> None:
    """A heading that calls its section deprecated retires the section."""
    assert has_retired_heading(("Options", "cache_size (deprecated)"))
    assert not has_retired_heading(("Options", "Deprecated options"))


@pytest.mark.parametrize(
    ("query", "outdated"),
    [
        ("How is a member added?", ["docs/v3.4/a.md", "docs/v3.5/a.md", "legacy/a.md"]),
        ("How is a member added in 3.4?", ["docs/v3.5/a.md", "docs/v3.6/a.md", "legacy/a.md"]),
        ("How is a member added in version v3.7?", ["docs/v3.4/a.md", "docs/v3.5/a.md", "legacy/a.md"]),
        ("How did the legacy server add a member?", []),
        ("How do I upgrade the members?", []),
    ],
)
def test_a_newer_version_is_preferred(query: str, outdated: list[str]) -> None:
    """The newest version that was found is preferred, or the one that the query names, or none if it asks for old."""
    uris = ["docs/v3.4/a.md", "docs/v3.5/a.md", "docs/v3.6/a.md", "blog/a.md", "legacy/a.md"]
    states = find_outdated(query, [DocumentPart(uri, "A", uri.startswith("legacy/")) for uri in uris])

    assert [uri for uri, is_outdated in zip(uris, states, strict=True) if is_outdated] == outdated


def test_each_manual_has_its_own_versions() -> None:
    """A manual of which only an old version was found is not outdated by another manual; `latest` precedes numbers."""
    uris = ["a/1.2/x.md", "b/2.0/x.md", "c/latest/x.md", "c/9.9/x.md"]

    assert find_outdated("x", [DocumentPart(uri, "X", is_retired=False) for uri in uris]) == [False, False, False, True]


def test_folders_of_chapters_are_no_versions() -> None:
    """Numbered folders whose pages have other titles are chapters, and none outdates another."""
    titles = {"course/1.1/README.md": "Salt", "course/1.2/README.md": "Yeast", "course/1.2/notes.md": "Notes"}
    parts = [DocumentPart(uri, title, is_retired=False) for uri, title in titles.items()]

    assert not any(find_outdated("What is salt?", parts))
