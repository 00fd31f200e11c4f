"""Judging of findings against hand-computed cases: relevance, novelty, order, groups (DESIGN §5)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tenure.algorithms.retrieval.relevance import Judged, clusters, judge

NOTHING = np.zeros((0, 2), dtype=np.float32)


def plane(*degrees: float) -> NDArray[np.float32]:
    """Return unit vectors in the plane, by their angles."""
    return np.asarray([[np.cos(np.radians(a)), np.sin(np.radians(a))] for a in degrees], dtype=np.float32)


def table(*rows: tuple[float, ...]) -> NDArray[np.float32]:
    """Return relevances, a row per candidate and a column per topic."""
    return np.asarray(rows, dtype=np.float32)


def verdicts(judged: list[Judged]) -> list[str]:
    return [verdict.verdict for verdict in judged]


def test_the_first_findings_are_new() -> None:
    """Where nothing was known, what is relevant and unlike the others is accepted in full."""
    judged = judge(plane(0, 90), table((0.6,), (0.4,)), [0, 0], [False] * 2, NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["accepted", "accepted"]
    assert [v.novelty for v in judged] == pytest.approx([1.0, 1.0])
    assert [v.relevance for v in judged] == pytest.approx([0.6, 0.4])


def test_what_is_like_an_earlier_finding_is_known() -> None:
    """Novelty is 1 − the highest cosine to what was accepted before: 1 − cos 60° is enough, 1 − cos 10° is not."""
    judged = judge(plane(60, 10), table((0.5,), (0.5,)), [0, 0], [False] * 2, plane(0, 180), 0.3, 0.1)

    assert verdicts(judged) == ["accepted", "known"]
    assert [v.novelty for v in judged] == pytest.approx([0.5, 1 - np.cos(np.radians(10))], abs=1e-5)


def test_of_two_that_say_the_same_the_more_relevant_one_counts() -> None:
    """Candidates are judged from the most relevant on, whatever their order, and told in their order."""
    judged = judge(plane(0, 0), table((0.4,), (0.9,)), [0, 0], [False] * 2, NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["known", "accepted"]
    assert [v.novelty for v in judged] == pytest.approx([0.0, 1.0], abs=1e-6)


def test_equally_relevant_ones_are_judged_in_their_order() -> None:
    """A tie goes to the first, so that the same candidates are judged the same again."""
    assert verdicts(judge(plane(0, 0), table((0.5,), (0.5,)), [0, 0], [False] * 2, NOTHING, 0.3, 0.1)) == [
        "accepted",
        "known",
    ]


def test_what_is_rejected_makes_nothing_known() -> None:
    """An irrelevant candidate does not stand in the way of a relevant one that resembles it."""
    judged = judge(plane(0, 0), table((0.29, 0.1), (0.1, 0.31)), [0, 1], [False] * 2, NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["irrelevant", "accepted"]


def test_a_candidate_stays_with_the_topic_it_was_looked_for() -> None:
    """Only a topic that is clearly nearer takes it over, and then its relevance to that one decides."""
    judged = judge(
        plane(0, 90, 180), table((0.4, 0.5), (0.39, 0.5), (-0.2, -0.1)), [0, 0, 0], [False] * 3, NOTHING, 0.3, 0.1
    )

    assert [v.topic for v in judged] == [0, 1, 1]
    assert [v.relevance for v in judged] == pytest.approx([0.4, 0.5, -0.1])
    assert verdicts(judged) == ["accepted", "accepted", "irrelevant"]


def test_nothing_to_judge_is_judged() -> None:
    """No candidates are no verdicts."""
    assert judge(NOTHING, np.zeros((0, 1), dtype=np.float32), [], [], plane(0), 0.3, 0.1) == []


ANGLES = st.lists(st.integers(0, 359), max_size=12)


def test_what_its_search_vouches_for_is_relevant() -> None:
    """The second page of a chain resembles the question little; that a search led to it is enough."""
    judged = judge(plane(0, 90), table((0.1,), (0.1,)), [0, 0], [True, False], NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["accepted", "irrelevant"]


@given(ANGLES, ANGLES, st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_whatever_is_accepted_is_relevant_and_new(
    found: list[int], known: list[int], min_relevance: float, min_novelty: float
) -> None:
    """No verdict contradicts its own figures, and novelty stays between 0 and 1."""
    vectors = plane(*found) if found else NOTHING
    relevance = vectors @ plane(0, 90).T
    judged = judge(
        vectors,
        relevance,
        [0] * len(found),
        [False] * len(found),
        plane(*known) if known else NOTHING,
        min_relevance,
        min_novelty,
    )

    assert len(judged) == len(found)
    for verdict in judged:
        relevant, new = verdict.relevance >= np.float32(min_relevance), verdict.novelty >= min_novelty
        assert verdict.verdict == ("irrelevant" if not relevant else "accepted" if new else "known")
        assert 0.0 <= verdict.novelty <= 1.0


def test_groups_form_around_the_densest_members() -> None:
    """A group is its centre, the member with most neighbours, and all that are near to it; the densest comes first."""
    vectors = plane(98, 0, 10, 20, 105, 200, 112, 15)

    assert clusters(vectors, np.cos(np.radians(12)), 2, 5) == [[2, 1, 3, 7], [4, 0, 6]]


def test_a_few_members_are_no_group() -> None:
    """Below the least number of members nothing is meant by their likeness."""
    assert clusters(plane(0, 5, 90, 180), 0.9, 3, 5) == []


def test_there_are_no_more_groups_than_asked_for() -> None:
    """The densest ones are returned."""
    assert clusters(plane(0, 1, 90, 91, 92, 180, 181), 0.9, 2, 1) == [[2, 3, 4]]


def test_nothing_forms_no_group() -> None:
    """Without vectors there are no groups, and single vectors all make their own where one is enough."""
    assert clusters(NOTHING, 0.5, 1, 3) == []
    assert clusters(plane(0, 90), 0.5, 1, 3) == [[0], [1]]


@given(ANGLES, st.integers(1, 4), st.integers(0, 4))
@settings(deadline=None)
def test_no_vector_is_in_two_groups(angles: list[int], least: int, most: int) -> None:
    """Groups are apart, large enough, and not more than asked for."""
    groups = clusters(plane(*angles) if angles else NOTHING, 0.8, least, most)
    members = [index for group in groups for index in group]

    assert len(members) == len(set(members))
    assert len(groups) <= most and all(len(group) >= least for group in groups)
