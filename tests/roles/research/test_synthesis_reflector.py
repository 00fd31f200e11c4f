"""The synthesis reflector's twin."""

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft, SynthesisDraft
from tenure.contracts.research.spiral import Quality
from tenure.roles.base import Evidence
from tenure.roles.research.synthesis_reflector import SynthesisReflectorInput, SynthesisReflectorOutput, offline

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
    return offline(SynthesisReflectorInput(question=question, topics=topics, synthesis=synthesis), Evidence())


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
def test_statements_and_sources_make_the_quality(claims: tuple[tuple[str, str], ...], quality: Quality) -> None:
    """Four statements from two sources with all the question's words are good, fewer moderate, one alone shallow."""
    found = judged(*claims)

    assert found.overall_quality == quality
    assert found.depth_assessment == f"{len(claims)} statement(s) from {len({s for _, s in claims})} source(s)."


def test_words_and_topics_that_are_not_spoken_of_are_missing() -> None:
    """Both are named; what shares a word with the synthesis is not."""
    found = judged(("Bread rises.", "a"), ("Bread rests.", "b"), topics=("Rising of dough", "Salt and butter"))

    assert found.missing_core_insights == (
        "Nothing is said on these words of the question: rye",
        "Nothing is said on Salt and butter",
    )
    assert (found.logic_issues, found.improvement_suggestions) == ((), ())


def test_what_is_missing_is_told_in_few_words() -> None:
    """Five things at the most, each cut to size."""
    found = judged(topics=tuple(f"topic {n} {'salt ' * 100}" for n in range(9)), question="rye wheat " * 500)

    assert len(found.missing_core_insights) == 5
    assert all(len(line) <= 300 for line in found.missing_core_insights)
