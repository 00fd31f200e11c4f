"""Forks: what a cycle of research leaves, and what a new run takes over from it."""

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.report import ResearchRequest
from tenure.contracts.research.spiral import SpiralState
from tenure.contracts.run.control import Outline
from tenure.contracts.run.run import Feedback, RunRequest


class CycleEnd(Contract):
    """What a cycle of research leaves; the history of the run keeps it, so that a fork can begin there."""

    state: SpiralState
    """The research state."""
    feedback: tuple[Feedback, ...] = ()
    """What people had said by then."""
    outline: Outline | None = None
    """The outline that a person had set by then, which may hold from the next cycle on only."""


class Origin(Contract):
    """Where a fork begins."""

    run: RunId
    """The run that it goes on from."""
    research: ResearchRequest
    """What the research of that run was begun with."""
    end: CycleEnd
    """What the last cycle that it takes over has left; feedback that is new to the fork stands behind what was said."""


class ForkedRun(RunRequest):
    """Start of a run that goes on from another one."""

    origin: Origin
    """Where it begins."""


class ForkedResearch(ResearchRequest):
    """Start of a research that goes on from what earlier cycles have left."""

    state: SpiralState
    """What they have left."""


class ForkRequest(Contract):
    """Knowledge of a run that a fork is to have."""

    origin: RunId
    """The run that it goes on from."""
    run: RunId
    """The fork."""
    state: SpiralState
    """The research state of the last cycle that it takes over."""
    evidence: tuple[PassageRef, ...] = ()
    """Passages found for the question as a whole."""
    web: bool = False
    """Whether the run reads the web, so that its pages are taken over."""


class Forked(Contract):
    """The same as the fork knows it: passages of pages of the web have ids of its own."""

    state: SpiralState
    """The research state."""
    evidence: tuple[PassageRef, ...] = ()
    """Passages found for the question as a whole."""
