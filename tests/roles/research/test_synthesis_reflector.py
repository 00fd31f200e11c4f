"""Tests of the synthesis reflector's fallback."""

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, SynthesisDraft
from tenure.contracts.research.spiral import SynthesisQuality
from tenure.roles.base import Evidence
from tenure.roles.research.synthesis_reflector import SynthesisReflectorInput, SynthesisReflectorOutput, fallback

QUESTION = "How is rye bread made?"


def part(*claims: tuple[str, str]) -> Draft:
    """Return claims, each with its source."""
    return Draft(
        blocks=(
            Block(
                claims=tuple(
                    Claim(text=text, citations=(Citation(source=SourceId(source), start=0, end=1, quote="q"),))
                    for text, source in claims
                )
            ),
        )
    )


def judged(
    *claims: tuple[str, str], topics: tuple[str, ...] = (), question: str = QUESTION
) -> SynthesisReflectorOutput:
    half = len(claims) // 2
    synthesis = SynthesisDraft(situation=part(*claims[:half]), complication=part(*claims[half:]))
    return fallback(SynthesisReflectorInput(question=question, topics=topics, synthesis=synthesis), Evidence())


RYE = "Rye bread rises slowly."


@pytest.mark.parametrize(
    ("claims", "quality"),
    [
        ((), "shallow"),
        (((RYE, "a"),), "shallow"),
        (((RYE, "a"), (RYE, "b")), "moderate"),
        (((RYE, "a"),) * 4, "moderate"),
        (((RYE, "a"), (RYE, "a"), (RYE, "a"), (RYE, "b")), "good"),
        ((("Wine is old.", "a"), ("Wine is old.", "b")) * 2, "moderate"),
    ],
)
def test_quality_depends_on_statements_and_sources(
    claims: tuple[tuple[str, str], ...], quality: SynthesisQuality
) -> None:
    """Four statements from two sources with all the question's words are good, fewer moderate, a single one shallow."""
    found = judged(*claims)

    assert found.overall_quality == quality
    assert found.depth_assessment == f"{len(claims)} statement(s) from {len({s for _, s in claims})} source(s)."


def test_missing_words_and_topics_are_listed() -> None:
    """Both are listed; topics that share a word with the synthesis are not."""
    found = judged(("Bread rises.", "a"), ("Bread rests.", "b"), topics=("Rising of dough", "Salt and butter"))

    assert found.missing_core_insights == (
        "Nothing is said on these words of the question: rye",
        "Nothing is said on Salt and butter",
    )
    assert (found.logic_issues, found.improvement_suggestions) == ((), ())


def test_the_list_of_gaps_is_limited() -> None:
    """At most five gaps are listed, each shortened."""
    found = judged(topics=tuple(f"topic {n} {'salt ' * 100}" for n in range(9)), question="rye wheat " * 500)

    assert len(found.missing_core_insights) == 5
    assert all(len(line) <= 300 for line in found.missing_core_insights)
