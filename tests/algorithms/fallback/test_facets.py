"""Tests of facets from headings."""

import pytest

from tenure.algorithms.fallback.facets import Facet, extract_subject, find_facets, is_generic_heading
from tests.support.passages import passage
from tests.support.worlds import encode


@pytest.mark.parametrize(
    "name",
    [
        "Introduction",
        "Overview:",
        "bake_bread()",
        "References:",
        "See also",
        "Open issues",
        "How it works",
        "",
        "—",
        "2024",
        "I",
    ],
)
def test_generic_headings(name: str) -> None:
    """Parts of documents and headings without words are generic."""
    assert is_generic_heading(name)


@pytest.mark.parametrize("name", ["Sourdough", "Introduction to rye", "Baking at high altitude"])
def test_specific_headings(name: str) -> None:
    """A heading with a subject is specific, also next to a generic word."""
    assert not is_generic_heading(name)


@pytest.mark.parametrize(
    ("headings", "title", "expected"),
    [
        (("Bread", "Rye bread"), "Baking", "Rye bread"),
        (("Bread", "Introduction"), "Baking", "Bread"),
        (("Introduction",), "Baking", "Baking"),
        (("2.1 Rye  bread:",), "Baking", "Rye bread"),
        (("IV. **Sourdough**",), "Baking", "Sourdough"),
        (("rye " * 11,), "Baking", "Baking"),
        (("r" * 81,), "Baking", "Baking"),
        (("Notes",), "Index", ""),
        (("Bread", "References"), "Baking", ""),
        (("PEP 12: Rye bread",), "Baking", "Rye bread"),
    ],
)
def test_innermost_specific_heading_is_the_subject(headings: tuple[str, ...], title: str, expected: str) -> None:
    """The title is the last resort; numbering and markup are removed."""
    assert expected == extract_subject(passage("x", title=title, headings=headings))


EVIDENCE = [
    passage("x", "a", 0, headings=("Rye bread",), relevance=0.9),
    passage("x", "a", 50, headings=("RYE BREAD",), relevance=0.7),
    passage("x", "b", 0, headings=("Bread ovens",), relevance=0.6),
    passage("x", "c", 0, headings=("Wine cellars",), relevance=0.5),
    passage("x", "d", 0, headings=("Notes",), title="Index", relevance=0.9),
]


def test_facets_are_relevant_headings() -> None:
    """Best first, with the number of passages, ignoring case."""
    found = find_facets("How is bread baked?", EVIDENCE, encode, 5)

    assert [(facet.heading, facet.source_title, facet.passages) for facet in found] == [
        ("Rye bread", "Bread", 2),
        ("Bread ovens", "Bread", 1),
    ]
    assert found == sorted(found, key=lambda facet: -facet.score)


def test_number_of_facets_is_limited() -> None:
    """Number of facets is limited."""
    assert [f.heading for f in find_facets("How is bread baked?", EVIDENCE, encode, 1)] == ["Rye bread"]


def test_existing_topics_are_left_out() -> None:
    """Existing topics are left out."""
    found = find_facets("How is bread baked?", EVIDENCE, encode, 5, existing_topics=["The rye breads"])

    assert [facet.heading for facet in found] == ["Bread ovens"]


def test_similar_headings_are_one_facet() -> None:
    """Similar headings are one facet."""
    twice = [passage("x", headings=("Rye bread",), relevance=0.9), passage("x", headings=("Breads of rye",))]

    assert [facet.heading for facet in find_facets("rye bread?", twice, encode, 5)] == ["Rye bread"]


def test_no_headings_give_no_facets() -> None:
    """The encoder is not called."""
    nothing: list[Facet] = []

    assert find_facets("bread?", [], encode, 3) == nothing
    assert find_facets("bread?", [passage("x", title="Notes")], encode, 3) == nothing
    assert find_facets("bread?", EVIDENCE, encode, 0) == nothing


def test_small_document_is_represented_by_its_title() -> None:
    """Unless one of its headings is nearer to the question."""
    others = [passage("x", source, 0, headings=(f"Wine {source}",), relevance=0.8) for source in "bcde"]
    within = [passage("x", "a", n, headings=(f"Step {n}",), title="Baking bread", relevance=0.8) for n in (1, 2)]

    assert [f.heading for f in find_facets("How is bread baked?", [*within, *others], encode, 5)] == ["Baking bread"]
    named = [passage("x", "a", n, headings=("Baked bread",), title="Baking", relevance=0.8) for n in (1, 2)]
    assert [f.heading for f in find_facets("How is bread baked?", [*named, *others], encode, 5)] == ["Baked bread"]


def test_dominant_document_is_divided_by_its_headings() -> None:
    """Dominant document is divided by its headings."""
    within = [
        passage("x", "a", 0, headings=("Bread",), title="Bread", relevance=0.8),
        passage("x", "a", 1, headings=("Bread", "Bread ovens"), title="Bread", relevance=0.8),
        passage("x", "a", 2, headings=("Bread", "Baking bread"), title="Bread", relevance=0.8),
    ]
    found = find_facets("What is bread?", within, encode, 5)

    assert {facet.heading for facet in found} == {"Bread ovens", "Baking bread"}
