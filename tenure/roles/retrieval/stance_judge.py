"""Stance judge: which side of a position each passage is on (document 003, contrastive retrieval)."""

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.retrieval.stance import side
from tenure.contracts.evidence.retrieval import Side
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import joined

SYSTEM = f"""You sort evidence for a debate. You are given a position, which may be worded as a question, and passages.
Where it is a question, the position is that the answer is yes, or that what the question takes for granted holds.

For every passage give:
- passage: its number.
- side: supporting if the passage gives a reason, a finding or an example for the position; contradicting if it gives
  one against it, reports an exception or a failure, or describes what the position rules out; neutral if it is about
  the subject and takes no side, or is beside it.

Judge what the passage says, not what you know. A passage that reports both sides is neutral.

{EVIDENCE_RULE}"""


class StanceJudgeInput(RoleInput):
    """What is judged about."""

    position: str
    """The position."""


class Stance(BaseModel):
    """What a passage says to the position."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    passage: int
    """Number of the passage, from 1."""
    side: Side
    """Its side."""


class StanceJudgeOutput(RoleOutput):
    """The sides."""

    stances: tuple[Stance, ...] = Field(max_length=48)
    """One for each passage."""


def render(input: StanceJudgeInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(mark_passages(evidence.passages), tagged("question", input.position))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: StanceJudgeInput, evidence: Evidence) -> StanceJudgeOutput:
    """Compare what the sentences nearest to the position deny with what the position denies."""
    sides = (side(input.position, passage.text) for passage in evidence.passages)
    return StanceJudgeOutput(stances=tuple(Stance(passage=n, side=one) for n, one in enumerate(sides, 1)))


ROLE = Role("stance_judge", "fast", StanceJudgeOutput, render, offline)
