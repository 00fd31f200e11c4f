"""Judge which side of a position each passage supports."""

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.retrieval.stance import detect_stance
from tenure.contracts.evidence.retrieval import PassageStance
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, mark_passages, wrap_in_tag
from tenure.roles.prompting import join_parts

SYSTEM = f"""You sort evidence for a debate. You are given a position, which may be worded as a question, and passages.
If it is a question, the position is that the answer is yes, or that what the question takes for granted is true.

For every passage give:
- passage: its number.
- side: supporting if the passage gives a reason, a finding or an example for the position; contradicting if it gives
  one against it, reports an exception or a failure, or describes what the position rules out; neutral if it is about
  the subject and takes no side, or is about something else.

Judge what the passage says, not what you know. A passage that reports both sides is neutral.

{EVIDENCE_RULE}"""


class StanceJudgeInput(RoleInput):
    """Position to judge."""

    position: str
    """The position."""


class JudgedPassage(BaseModel):
    """Side of a passage."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    passage: int
    """Number of the passage, from 1."""
    side: PassageStance
    """Its side."""


class StanceJudgeOutput(RoleOutput):
    """Sides of the passages."""

    stances: tuple[JudgedPassage, ...] = Field(max_length=48)
    """One entry for each passage."""


def render(input: StanceJudgeInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(mark_passages(evidence.passages), wrap_in_tag("question", input.position))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: StanceJudgeInput, evidence: Evidence) -> StanceJudgeOutput:
    """Compare the negations of the sentences nearest to the position with those of the position."""
    sides = (detect_stance(input.position, passage.text) for passage in evidence.passages)
    return StanceJudgeOutput(stances=tuple(JudgedPassage(passage=n, side=one) for n, one in enumerate(sides, 1)))


ROLE = Role("stance_judge", "fast", StanceJudgeInput, StanceJudgeOutput, render, fallback)
