"""Load passages by reference, without those that an ingestion has replaced during the run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from temporalio import activity

from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import PassageRef
from tenure.knowledge.store.errors import UnknownChunk

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


def load_existing_passages(knowledge: "KnowledgeBase", refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
    """Return the passages that still exist, in the order of their references."""
    while refs:
        try:
            return knowledge.corpora.load_passages(refs)
        except UnknownChunk as gone:
            activity.logger.warning("passages are gone since they were found: %s", gone)
            refs = [ref for ref in refs if ref.chunk not in gone.chunks]
    return ()
