"""The loop of thought, action and observation: its steps, and what of them is remembered (document 003, ReAct)."""

from pydantic import Field

from tenure.contracts.base import Contract

LONGEST_RECORD = 600
"""Characters of a thought, of arguments and of an observation that are recorded of a step."""


class ReactStep(Contract):
    """One round of the loop."""

    n: int = Field(ge=1)
    """Its number, from 1."""
    thought: str = ""
    """What the model thought."""
    tool: str = ""
    """The tool it named, or `finish`; empty where it named none."""
    arguments: str = ""
    """What the tool was called with, as JSON; as it was written where it could not be used."""
    observation: str = ""
    """What came of it, or why it was not done."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """How sure the model was then that it could answer."""
    reliability: float = Field(default=0.0, ge=0, le=1)
    """How far the observation can be relied on."""
    passages: int = 0
    """Passages it brought that were not known."""
    corrected: bool = False
    """Whether the action was not carried out but sent back with what is wrong with it."""


class SteppedTask(Contract):
    """A task that went step by step, for those who look at its run."""

    query: str
    """What it looked for."""
    steps: tuple[ReactStep, ...] = ()
    """Its steps."""
    answer: str = ""
    """What it has answered, with numbers of passages."""


class Transcript(Contract):
    """The short-term memory of a loop: its last steps in full, and the gist of those before them."""

    gist: tuple[str, ...] = ()
    """A line for each earlier step, the oldest first."""
    forgotten: int = 0
    """Steps before those, of which nothing is left but that they were made."""
    steps: tuple[ReactStep, ...] = ()
    """The last steps."""
