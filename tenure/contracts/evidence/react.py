"""Steps of a ReAct loop (thought, action, observation; Yao et al. 2023) and their transcript."""

from pydantic import Field

from tenure.contracts.base import Contract

MAX_RECORDED_CHARS = 600
"""Maximum recorded length of a thought, of arguments and of an observation."""


class ReactStep(Contract):
    """One iteration of the loop."""

    n: int = Field(ge=1)
    """Number of the step, from 1."""
    thought: str = ""
    tool: str = ""
    """Name of the tool, or `finish`; empty if the model named none."""
    arguments: str = ""
    """Arguments of the tool as JSON, or as the model wrote them if they were invalid."""
    observation: str = ""
    """Result of the tool, or why it was not called."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """The model's confidence that it could answer at this step."""
    reliability: float = Field(default=0.0, ge=0, le=1)
    passages: int = 0
    """Number of new passages."""
    corrected: bool = False
    """Whether the action was rejected and returned with an error message."""


class Transcript(Contract):
    """Short-term memory of a ReAct loop: the last steps in full and summaries of earlier ones."""

    summaries: tuple[str, ...] = ()
    """One line per earlier step, oldest first."""
    omitted: int = 0
    """Number of still earlier steps, which are not summarised."""
    steps: tuple[ReactStep, ...] = ()
    """Last steps in full."""
