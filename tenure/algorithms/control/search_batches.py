"""Split the searches of one moment into batches whose payloads a Temporal server accepts."""

from collections.abc import Iterator, Sequence

from tenure.contracts.evidence.passages import SearchRequest

MAX_SEARCHES = 16
"""Searches of a batch: 200 passages of each, of some 300 bytes, are half of the 2 MB that a payload may have."""
MAX_CHARACTERS = 100_000
"""Characters of the queries of a batch, of up to six bytes in JSON; a question alone may have 20,000."""


def split_searches(searches: Sequence[SearchRequest]) -> Iterator[tuple[SearchRequest, ...]]:
    """Yield batches of searches in their order; a search that is too long is a batch of its own."""
    batch: list[SearchRequest] = []
    characters = 0
    for search in searches:
        length = len(search.query) + len(search.hypothetical_answer)
        if batch and (len(batch) == MAX_SEARCHES or characters + length > MAX_CHARACTERS):
            yield tuple(batch)
            batch, characters = [], 0
        batch.append(search)
        characters += length
    if batch:
        yield tuple(batch)
