"""Tool activities: what the tools of a reasoning model need of the knowledge base, beside searches and tables."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from activities.passages import still_there
from tenure.algorithms.observing import Numbered, told
from tenure.contracts.tools import Shown, ShowRequest

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class ToolActivities:
    """Tools on one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def show_passages(self, request: ShowRequest) -> Shown:
        """Tell passages in short."""
        with translated(), Beat():
            passages = still_there(self._knowledge, [one.passage for one in request.passages])
        numbers = {one.passage.chunk: one.number for one in request.passages}
        found = [Numbered(numbers[passage.chunk], passage) for passage in passages]
        return Shown(text=told(found, request.about, request.most))
