"""Test the division of a synthesis into its parts."""

import pytest

from tenure.contracts.result.result import Synthesis
from tenure.report.layout.synthesis import NOT_KNOWN, WHAT_FOLLOWS, order_synthesis, split_synthesis
from tests.report.layout.test_blocks import claim


def test_the_parts_of_a_synthesis_have_their_sentences() -> None:
    """Sentences are dealt out by their numbers, parts without any are left out, and none is lost."""
    claims = tuple(claim(text) for text in "abc")
    synthesis = Synthesis(situation="a", complication="", resolution="b c", claims=claims, sentences=(1, 0, 2))

    assert {name: [c.text for c in part] for name, part in split_synthesis(synthesis).items()} == {
        "situation": ["a"],
        "resolution": ["b", "c"],
    }
    assert len(split_synthesis(synthesis.model_copy(update={"sentences": (0, 0, 0)}))["resolution"]) == 3


@pytest.mark.parametrize(("kind", "gaps"), [("inference", 0), ("fact", 1)])
def test_recommendations_and_gaps_close_a_report(kind: str, gaps: int) -> None:
    """With a recommendation or a gap the conclusions close the report, and their basis is background."""
    claims = (claim("s"), claim("c"), claim("r", kind=kind), *[claim("g", kind="gap")] * gaps, claim("t", "cell"))
    synthesis = Synthesis(situation="", complication="", resolution="", claims=claims, sentences=(1, 1, 1, gaps, 1))

    arranged = order_synthesis(synthesis)

    assert list(arranged.closing) == [WHAT_FOLLOWS, NOT_KNOWN][: 1 + gaps]
    assert list(arranged.background) == ["Situation", "Complication"]
    assert (arranged.parts, [one.text for one in arranged.comparison]) == ({}, ["t"])


def test_a_synthesis_of_facts_is_one_part_of_the_report() -> None:
    """Without recommendations and gaps nothing closes the report, and a report without a synthesis has no parts."""
    synthesis = Synthesis(situation="", complication="", resolution="", claims=(claim("s"), claim("r")), sentences=(1,))

    assert list(order_synthesis(synthesis).parts) == ["Situation", "Resolution"]
    assert order_synthesis(None).parts == order_synthesis(synthesis).closing == {}
