"""Passages behind references, as far as they are still there: an ingestion during a run may have replaced some."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from temporalio import activity

from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import PassageRef
from tenure.knowledge.store.errors import UnknownChunk

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


def still_there(knowledge: "KnowledgeBase", refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
    """Return the passages behind references without those that are gone, in their order."""
    while refs:
        try:
            return knowledge.passages(refs)
        except UnknownChunk as gone:
            activity.logger.warning("passages are gone since they were found: %s", gone)
            refs = [ref for ref in refs if ref.chunk not in gone.chunks]
    return ()
