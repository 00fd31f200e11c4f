"""Test how searches are split into batches."""

import pytest
from pydantic_core import to_json

from tenure.algorithms.control.search_batches import MAX_CHARACTERS, MAX_SEARCHES, split_searches
from tenure.contracts.evidence.passages import PassageRef, SearchBatchReply, SearchReply
from tenure.contracts.evidence.passages import SearchRequest as Search

MAX_PAYLOAD_BYTES = 2_000_000
"""Bytes of a payload that a Temporal server accepts."""


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([], []),
        ([10], [1]),
        ([10] * MAX_SEARCHES, [MAX_SEARCHES]),
        ([10] * (MAX_SEARCHES + 1), [MAX_SEARCHES, 1]),
        ([MAX_CHARACTERS // 2] * 5, [2, 2, 1]),
        ([MAX_CHARACTERS * 2, 1, 1], [1, 2]),
    ],
)
def test_batches_are_bounded_and_keep_the_order(lengths: list[int], sizes: list[int]) -> None:
    """A batch is full by its number of searches or by the length of its queries."""
    searches = [Search(query=f"{n} ".ljust(length, "x"), corpora=("c",)) for n, length in enumerate(lengths)]
    batches = list(split_searches(searches))

    assert [len(batch) for batch in batches] == sizes
    assert [search for batch in batches for search in batch] == searches


def test_the_largest_batch_fits_into_a_payload() -> None:
    """Request and reply of a full batch are smaller than the server's limit, whatever characters a query has."""
    query = "\x01" * (MAX_CHARACTERS // MAX_SEARCHES)
    (batch,) = split_searches([Search(query=query, corpora=("corpus",), k=200)] * MAX_SEARCHES)
    scores = {"score": 0.123456789, "relevance": 0.123456789}
    ranks = dict.fromkeys(("dense_rank", "sparse_rank", "graph_rank"), 1_000)
    passage = PassageRef.model_validate({"chunk": "c" * 64, "source": "s" * 64, **scores, **ranks})
    reply = SearchBatchReply(replies=(SearchReply(passages=(passage,) * 200),) * MAX_SEARCHES)

    assert len(to_json(batch)) < MAX_PAYLOAD_BYTES
    assert len(reply.model_dump_json()) < MAX_PAYLOAD_BYTES
