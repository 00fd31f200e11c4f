"""Tests of finding assessment and clustering against cases computed by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tenure.algorithms.retrieval.relevance import FindingAssessment, assess_findings, cluster_vectors

NOTHING = np.zeros((0, 2), dtype=np.float32)


def plane(*degrees: float) -> NDArray[np.float32]:
    """Return unit vectors in the plane for angles."""
    return np.asarray([[np.cos(np.radians(a)), np.sin(np.radians(a))] for a in degrees], dtype=np.float32)


def table(*rows: tuple[float, ...]) -> NDArray[np.float32]:
    """Return relevances, one row per candidate and one column per topic."""
    return np.asarray(rows, dtype=np.float32)


def verdicts(judged: list[FindingAssessment]) -> list[str]:
    return [verdict.verdict for verdict in judged]


def test_first_findings_are_accepted() -> None:
    """Without earlier findings, relevant and dissimilar candidates are accepted."""
    judged = assess_findings(plane(0, 90), table((0.6,), (0.4,)), [0, 0], [False] * 2, NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["accepted", "accepted"]
    assert [v.novelty for v in judged] == pytest.approx([1.0, 1.0])
    assert [v.relevance for v in judged] == pytest.approx([0.6, 0.4])


def test_similar_finding_is_known() -> None:
    """Novelty is 1 - the highest cosine: 1 - cos 60° is sufficient, 1 - cos 10° is not."""
    judged = assess_findings(plane(60, 10), table((0.5,), (0.5,)), [0, 0], [False] * 2, plane(0, 180), 0.3, 0.1)

    assert verdicts(judged) == ["accepted", "known"]
    assert [v.novelty for v in judged] == pytest.approx([0.5, 1 - np.cos(np.radians(10))], abs=1e-5)


def test_more_relevant_of_two_duplicates_is_accepted() -> None:
    """Candidates are assessed in order of relevance and returned in their own order."""
    judged = assess_findings(plane(0, 0), table((0.4,), (0.9,)), [0, 0], [False] * 2, NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["known", "accepted"]
    assert [v.novelty for v in judged] == pytest.approx([0.0, 1.0], abs=1e-6)


def test_computed_findings_only_have_to_differ() -> None:
    """Rows of figures are accepted although they resemble an earlier finding, but not twice."""
    judged = assess_findings(
        plane(10, 10, 12), table((0.5,), (0.4,), (0.3,)), [0] * 3, [True] * 3, plane(0), 0.2, 0.1, [True, True, False]
    )

    assert verdicts(judged) == ["accepted", "known", "known"]


def test_ties_are_assessed_in_order() -> None:
    """Of equal candidates the first is accepted, which makes the result deterministic."""
    assert verdicts(assess_findings(plane(0, 0), table((0.5,), (0.5,)), [0, 0], [False] * 2, NOTHING, 0.3, 0.1)) == [
        "accepted",
        "known",
    ]


def test_rejected_candidate_does_not_reduce_novelty() -> None:
    """An irrelevant candidate does not block a similar relevant candidate."""
    judged = assess_findings(plane(0, 0), table((0.29, 0.1), (0.1, 0.31)), [0, 1], [False] * 2, NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["irrelevant", "accepted"]


def test_candidate_keeps_its_own_topic() -> None:
    """Only a clearly nearer topic replaces it, and then the relevance to that topic counts."""
    judged = assess_findings(
        plane(0, 90, 180), table((0.4, 0.5), (0.39, 0.5), (-0.2, -0.1)), [0, 0, 0], [False] * 3, NOTHING, 0.3, 0.1
    )

    assert [v.topic for v in judged] == [0, 1, 1]
    assert [v.relevance for v in judged] == pytest.approx([0.4, 0.5, -0.1])
    assert verdicts(judged) == ["accepted", "accepted", "irrelevant"]


def test_no_candidates_have_no_assessments() -> None:
    """Without candidates the result is empty."""
    assert assess_findings(NOTHING, np.zeros((0, 1), dtype=np.float32), [], [], plane(0), 0.3, 0.1) == []


ANGLES = st.lists(st.integers(0, 359), max_size=12)


def test_exempt_candidate_is_relevant() -> None:
    """A linked passage is accepted although it resembles the question little."""
    judged = assess_findings(plane(0, 90), table((0.1,), (0.1,)), [0, 0], [True, False], NOTHING, 0.3, 0.1)

    assert verdicts(judged) == ["accepted", "irrelevant"]


@given(ANGLES, ANGLES, st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_accepted_findings_satisfy_the_thresholds(
    found: list[int], known: list[int], min_relevance: float, min_novelty: float
) -> None:
    """Every verdict agrees with its figures, and novelty is between 0 and 1."""
    vectors = plane(*found) if found else NOTHING
    relevance = vectors @ plane(0, 90).T
    judged = assess_findings(
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


def test_clusters_form_around_the_densest_members() -> None:
    """A cluster is the member with most neighbours and its neighbours; the densest comes first."""
    vectors = plane(98, 0, 10, 20, 105, 200, 112, 15)

    assert cluster_vectors(vectors, np.cos(np.radians(12)), 2, 5) == [[2, 1, 3, 7], [4, 0, 6]]


def test_small_clusters_are_omitted() -> None:
    """Clusters below the minimum size are omitted."""
    assert cluster_vectors(plane(0, 5, 90, 180), 0.9, 3, 5) == []


def test_number_of_clusters_is_bounded() -> None:
    """The densest clusters are returned."""
    assert cluster_vectors(plane(0, 1, 90, 91, 92, 180, 181), 0.9, 2, 1) == [[2, 3, 4]]


def test_no_vectors_form_no_cluster() -> None:
    """Without vectors there are no clusters; with a minimum size of 1 each dissimilar vector is one."""
    assert cluster_vectors(NOTHING, 0.5, 1, 3) == []
    assert cluster_vectors(plane(0, 90), 0.5, 1, 3) == [[0], [1]]


@given(ANGLES, st.integers(1, 4), st.integers(0, 4))
@settings(deadline=None)
def test_clusters_are_disjoint(angles: list[int], least: int, most: int) -> None:
    """Clusters are disjoint, of the minimum size, and bounded in number."""
    groups = cluster_vectors(plane(*angles) if angles else NOTHING, 0.8, least, most)
    members = [index for group in groups for index in group]

    assert len(members) == len(set(members))
    assert len(groups) <= most and all(len(group) >= least for group in groups)
