"""Forks: checkpoints of research cycles and of the work in a repository, and the new runs that start from them."""

from tenure.contracts.base import Contract, RunId
from tenure.contracts.coding.engineering import RepositoryRequest
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.progress import ProgressUpdate
from tenure.contracts.research.spiral import ResearchRequest, SpiralState
from tenure.contracts.run.control import OutlineRevision
from tenure.contracts.run.run import Feedback, RunRequest


class CycleCheckpoint(Contract):
    """State at the end of a research cycle, kept in the run's history as the starting point of forks."""

    state: SpiralState
    feedback: tuple[Feedback, ...] = ()
    outline: OutlineRevision | None = None
    """Last outline set by a person, which may take effect only in the next cycle."""
    progress: ProgressUpdate | None = None
    """Progress of the research, which its run has not received; a fork has no use for it."""


class ForkOrigin(Contract):
    """Starting point of a fork."""

    run: RunId
    """Run that is forked."""
    research: ResearchRequest
    """Request with which the research of that run started."""
    checkpoint: CycleCheckpoint
    """Checkpoint of the last cycle to take over; new feedback for the fork is appended to its feedback."""


class ForkRunRequest(RunRequest):
    """Start of a run that continues from a checkpoint of another run."""

    origin: ForkOrigin

    @property
    def earlier_feedback(self) -> tuple[Feedback, ...]:
        """Feedback of the checkpoint."""
        return self.origin.checkpoint.feedback


class RepositoryCheckpoint(Contract):
    """Answers of a model in a repository after which a fork can continue, and the work after one of them."""

    first: int = 0
    last: int = 0
    """First and last such answer; 0 if there is none."""
    request: RepositoryRequest | None = None
    """Request that continues the work; None if the work cannot be continued after the answer."""


class RepositoryOrigin(Contract):
    """Starting point of a fork of the work in a repository."""

    run: RunId
    """Run that is forked."""
    request: RepositoryRequest
    """Request that continues its work; new feedback for the fork is appended to its feedback."""


class RepositoryForkRequest(RunRequest):
    """Start of a run that continues the work of another run in a repository."""

    origin: RepositoryOrigin

    @property
    def earlier_feedback(self) -> tuple[Feedback, ...]:
        """Feedback of the work."""
        return self.origin.request.feedback


class ForkRequest(Contract):
    """Request to make the knowledge of a run available to its fork."""

    origin: RunId
    """Run that is forked."""
    run: RunId
    state: SpiralState
    evidence: tuple[PassageRef, ...] = ()
    """Passages found for the question as a whole."""
    web: bool = False
    """Whether the run reads the web, so that its pages are copied."""


class ForkReply(Contract):
    """Knowledge of the fork; passages of copied web pages have new ids."""

    state: SpiralState
    evidence: tuple[PassageRef, ...] = ()
    """Passages found for the question as a whole."""
