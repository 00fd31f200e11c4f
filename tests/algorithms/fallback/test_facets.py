"""Facets: topics from the headings of the evidence."""

import pytest

from tenure.algorithms.fallback.facets import Facet, extract_subject, find_facets, is_generic_heading
from tests.passages import passage
from tests.worlds import encode


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
def test_headings_of_every_document_are_generic(name: str) -> None:
    """What names a part of a document, or nothing, is no subject."""
    assert is_generic_heading(name)


@pytest.mark.parametrize("name", ["Sourdough", "Introduction to rye", "Baking at high altitude"])
def test_a_heading_with_a_subject_is_not_generic(name: str) -> None:
    """A heading that names a thing is one, also with a general word beside it."""
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
def test_the_innermost_subject_is_what_a_passage_is_about(headings: tuple[str, ...], title: str, expected: str) -> None:
    """Headings are looked through from the inside out, the title last, numbering and marks taken off."""
    assert expected == extract_subject(passage("x", title=title, headings=headings))


EVIDENCE = [
    passage("x", "a", 0, headings=("Rye bread",), relevance=0.9),
    passage("x", "a", 50, headings=("RYE BREAD",), relevance=0.7),
    passage("x", "b", 0, headings=("Bread ovens",), relevance=0.6),
    passage("x", "c", 0, headings=("Wine cellars",), relevance=0.5),
    passage("x", "d", 0, headings=("Notes",), title="Index", relevance=0.9),
]


def test_facets_are_near_headings_with_their_passages_counted() -> None:
    """Headings that have to do with the question are topics, the strongest first, whatever their case."""
    found = find_facets("How is bread baked?", EVIDENCE, encode, 5)

    assert [(facet.heading, facet.source_title, facet.passages) for facet in found] == [
        ("Rye bread", "Bread", 2),
        ("Bread ovens", "Bread", 1),
    ]
    assert found == sorted(found, key=lambda facet: -facet.score)


def test_at_most_k_facets_are_given() -> None:
    """The best are kept where there are more than asked for."""
    assert [f.heading for f in find_facets("How is bread baked?", EVIDENCE, encode, 1)] == ["Rye bread"]


def test_what_the_outline_has_already_is_no_facet() -> None:
    """A heading that says the same as a given topic is left out."""
    found = find_facets("How is bread baked?", EVIDENCE, encode, 5, existing_topics=["The rye breads"])

    assert [facet.heading for facet in found] == ["Bread ovens"]


def test_two_names_of_one_thing_are_one_facet() -> None:
    """Of headings that say the same only the better one is a topic."""
    twice = [passage("x", headings=("Rye bread",), relevance=0.9), passage("x", headings=("Breads of rye",))]

    assert [facet.heading for facet in find_facets("rye bread?", twice, encode, 5)] == ["Rye bread"]


def test_evidence_without_headings_has_no_facets() -> None:
    """Where nothing is named there is nothing to choose, and no encoder is asked."""
    nothing: list[Facet] = []

    assert find_facets("bread?", [], encode, 3) == nothing
    assert find_facets("bread?", [passage("x", title="Notes")], encode, 3) == nothing
    assert find_facets("bread?", EVIDENCE, encode, 0) == nothing


def test_a_document_that_is_one_of_several_is_a_facet_by_its_title() -> None:
    """Its headings are parts of the topic, unless a heading says more of the question than the title does."""
    others = [passage("x", source, 0, headings=(f"Wine {source}",), relevance=0.8) for source in "bcde"]
    within = [passage("x", "a", n, headings=(f"Step {n}",), title="Baking bread", relevance=0.8) for n in (1, 2)]

    assert [f.heading for f in find_facets("How is bread baked?", [*within, *others], encode, 5)] == ["Baking bread"]
    named = [passage("x", "a", n, headings=("Baked bread",), title="Baking", relevance=0.8) for n in (1, 2)]
    assert [f.heading for f in find_facets("How is bread baked?", [*named, *others], encode, 5)] == ["Baked bread"]


def test_a_document_that_holds_most_is_divided_by_its_headings() -> None:
    """Its title would hold everything there is to say."""
    within = [
        passage("x", "a", 0, headings=("Bread",), title="Bread", relevance=0.8),
        passage("x", "a", 1, headings=("Bread", "Bread ovens"), title="Bread", relevance=0.8),
        passage("x", "a", 2, headings=("Bread", "Baking bread"), title="Bread", relevance=0.8),
    ]
    found = find_facets("What is bread?", within, encode, 5)

    assert {facet.heading for facet in found} == {"Bread ovens", "Baking bread"}
