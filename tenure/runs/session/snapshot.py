"""State of a run at one moment, as the displays show it."""

from dataclasses import dataclass

from tenure.algorithms.text.counts import format_count
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.run import RunProgress
from tenure.runs.formatting import format_duration, truncate_line

_MIN_TOKENS_SHOWN = 128
_MAX_COMMAND_LENGTH = 120


@dataclass(frozen=True)
class PendingFailure:
    """Activity or workflow task that failed and is being retried."""

    what: str
    """Name and reason of the failure."""
    attempt: int
    """Number of the attempt, from 1."""
    wait: float | None = None
    """Seconds until the next attempt, or None while one is running."""

    @property
    def line(self) -> str:
        """Description in one line."""
        pause = "" if self.wait is None else f", next try in {self.wait:.0f} s"
        return f"{self.what} (attempt {self.attempt}{pause})"

    @property
    def step(self) -> tuple[str, int]:
        """Key that changes when the failure is worth another log line: a new reason, or twice the attempts."""
        return self.what, self.attempt.bit_length()


@dataclass(frozen=True)
class StreamedAnswer:
    """Model answer that is arriving."""

    what: str
    """Description of the text being written."""
    tokens: int
    """Approximate number of tokens received."""
    text: str = ""
    """Text received, as Markdown; empty if it is not to be read before it is complete."""

    @property
    def line(self) -> str:
        """Description in one line."""
        return f"{self.what}: {format_count(self.tokens, 'token')}"

    @property
    def step(self) -> tuple[str, int]:
        """Key that changes when the answer is worth another log line: its start, then every doubling of its tokens."""
        return self.what, max(self.tokens, _MIN_TOKENS_SHOWN).bit_length()


@dataclass(frozen=True)
class RunningSetup:
    """Set-up of a repository that runs."""

    command: str
    seconds: float
    """Time since its start."""
    max_seconds: float
    """Time after which it is stopped."""

    @property
    def line(self) -> str:
        """Description in one line."""
        times = f"{format_duration(self.seconds)} of at most {format_duration(self.max_seconds)}"
        return f"the set-up runs, {times}: {truncate_line(self.command, _MAX_COMMAND_LENGTH)}"

    @property
    def step(self) -> tuple[str, int]:
        """Key that changes when the set-up is worth another log line: its start, then every doubling of its minutes."""
        return self.command, int(self.seconds / 60).bit_length()


@dataclass(frozen=True)
class RunSnapshot:
    """State of a run at one moment."""

    progress: RunProgress | None = None
    """The run's own progress, or None if no worker answers."""
    ingest: IngestProgress | None = None
    """Progress of a running ingestion, or None if there is none."""
    seconds: float = 0.0
    """Time since the run's start."""
    pending_failures: tuple[PendingFailure, ...] = ()
    """Failures that block the run."""
    streamed_answers: tuple[StreamedAnswer, ...] = ()
    """Answers that are arriving."""
    setups: tuple[RunningSetup, ...] = ()
    """Set-ups of a repository that run."""
    starting: bool = False
    """Whether the worker was started and does not poll yet."""
    chunks_to_embed: int = 0
    """Number of chunks whose vectors a workflow that the run has started computes in the background; 0 if unknown."""
    speed: str = ""
    """Speed and remaining time of the ingestion, in words; empty while unknown."""


def count_ingested(ingest: IngestProgress) -> tuple[int, int]:
    """Return the number of files or vectors done, and their total."""
    embedding = ingest.stage == "embedding"
    return (ingest.embedded, ingest.to_embed) if embedding else (ingest.files_done, ingest.files_total)
