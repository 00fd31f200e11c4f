"""Progress that a child workflow reports to its run."""

from tenure.contracts.base import Contract
from tenure.contracts.repository_task import RepositoryProgress
from tenure.contracts.research.trace import StoryRecord
from tenure.contracts.result.programs import Attempt
from tenure.contracts.run.budget import BudgetAmounts
from tenure.contracts.run.run import RunPhase, StepProgress, TopicProgress, WorkflowUsage
from tenure.contracts.sandbox import Artifact


class ProgressUpdate(Contract):
    """Progress reported by a child workflow to its run; omitted fields keep their values."""

    reporter: str
    """Workflow id of the child; its usage replaces what it reported before."""
    phase: RunPhase | None = None
    cycle: int | None = None
    revision: int | None = None
    topics: tuple[TopicProgress, ...] = ()
    """Topics whose state changed."""
    is_full_outline: bool = False
    """Whether `topics` are all topics, since the outline may have changed."""
    steps: tuple[StepProgress, ...] | None = None
    """Steps of the current research plan; None if they have not changed."""
    attempts: tuple[Attempt, ...] = ()
    """Programs that were tested, or received a lesson, since the last message."""
    repository: RepositoryProgress | None = None
    """Progress of the work in a repository; None if it has not changed."""
    artifacts: tuple[Artifact, ...] = ()
    """Files created by programs of a finished task."""
    usage: WorkflowUsage | None = None
    """Total usage of the child, without that of its own children."""
    last: str = ""
    """Latest event, in words."""
    ended: bool = False
    """Whether the child makes no further calls, so that its unused budget can be released."""
    expected: BudgetAmounts | None = None
    """Amounts that the calls it has started are expected to use, if only the effort limits them; None without news."""
    for_writing: bool | None = None
    """Whether these calls write the report, for which a part of the budget is held back; None without news."""
    records: tuple[StoryRecord, ...] = ()
    """Records of the child since its last message."""
    parts: tuple["ProgressUpdate", ...] = ()
    """Progress of others that the message delivers: of its own children that have ended, or of its parent."""
