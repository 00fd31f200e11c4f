"""Tests of older and newer generations of a document."""

from dataclasses import replace

from tenure.algorithms.text.generations import describe_generations
from tests.support.passages import passage


def test_versions_of_a_document_are_ordered() -> None:
    """Passages whose URIs differ in a version only are listed from the oldest to the newest."""
    uris = ("/docs/api-2.10.md", "/docs/api-v2.9.md", "/docs/guide.md", "/docs/api-2.10.md", "/notes/2024-05-01.md")
    passages = [replace(passage("Text."), uri=uri) for uri in uris]

    assert describe_generations(passages) == (
        "The same document in several versions or dates, oldest first: passage 2 of 2.9; passages 1, 4 of 2.10. "
        "If they differ, the newest holds today and an older one held in its time.",
    )


def test_numbered_documents_are_no_versions() -> None:
    """Documents with the same name and different numbers are of one kind; their titles differ in more than a number."""
    titles = ("RFC 2119: Key words", "RFC 8174: Ambiguity of uppercase", "Manual 1.2", "Manual 1.3")
    uris = ("/rfc-2119.txt", "/rfc-8174.txt", "/manual-1.2.txt", "/manual-1.3.txt")
    passages = [replace(passage("Text."), title=title, uri=uri) for title, uri in zip(titles, uris, strict=True)]

    assert describe_generations(passages) == (
        "The same document in several versions or dates, oldest first: passage 3 of 1.2; passage 4 of 1.3. "
        "If they differ, the newest holds today and an older one held in its time.",
    )


def test_chapters_are_no_versions() -> None:
    """Documents with running numbers are parts of a work, of which none replaces another."""
    uris = ("/book/chapter-1.md", "/book/chapter-2.md", "/rules_2018.md", "/rules_2020.md")
    passages = [replace(passage("Text."), uri=uri) for uri in uris]

    assert describe_generations(passages) == (
        "The same document in several versions or dates, oldest first: passage 3 of 2018; passage 4 of 2020. "
        "If they differ, the newest holds today and an older one held in its time.",
    )
