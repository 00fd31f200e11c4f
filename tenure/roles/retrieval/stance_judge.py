"""Judge which side of a position each passage supports, and quote the words that take it."""

from pydantic import Field

from tenure.algorithms.claims.citations import cite_nearest
from tenure.contracts.evidence.retrieval import PassageSide, PassageSides, PassageStance
from tenure.contracts.messages import Message
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    skip,
    wrap_in_tag,
)
from tenure.roles.prompting import join_parts

SYSTEM = f"""You sort evidence for a debate. You are given a position, which may be worded as a question, and passages.
If it is a question, the position is that the answer is yes, or that what the question takes for granted is true.

For every passage give:
- passage: its number.
- side: supporting if the passage gives a reason, a finding or an example for the position; contradicting if it gives
  one against it, reports an exception or a failure, or describes what the position rules out; neutral if it is about
  the subject and takes no side, or is about something else.
- words: the one sentence of the passage that takes the side, exactly as it is; empty if the passage is neutral.

Judge what the passage says, not what you know. A passage that reports both sides is neutral.

{EVIDENCE_RULE}"""


class StanceJudgeInput(RoleInput):
    """Position to judge."""

    position: str
    """The position."""


class JudgedPassage(RoleOutput):
    """Side of a passage."""

    passage: int
    """Number of the passage, from 1."""
    side: PassageStance
    """Its side."""
    words: str = Field(default="", max_length=2000)
    """Sentence of the passage that takes the side; empty if it is neutral."""


class StanceJudgeOutput(RoleOutput):
    """Sides of the passages."""

    stances: tuple[JudgedPassage, ...] = Field(max_length=48)
    """One entry for each passage."""


def render(input: StanceJudgeInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(mark_passages(evidence.passages), wrap_in_tag("question", input.position))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def quote_sides(input: StanceJudgeInput, output: StanceJudgeOutput, evidence: Evidence) -> PassageSides:
    """Return the sides, each with a verbatim quote; a passage counts once, and missing passages are omitted.

    The quote is nearest to the words that the model names; without them to the position.
    """
    count = len(evidence.passages)
    first = {stance.passage: stance for stance in reversed(output.stances) if 1 <= stance.passage <= count}
    return PassageSides(
        stances=tuple(
            PassageSide(
                passage=number,
                side=stance.side,
                citation=None
                if stance.side == "neutral"
                else cite_nearest(stance.words.strip() or input.position, evidence.passages[number - 1]),
            )
            for number, stance in sorted(first.items())
        )
    )


ROLE = PostprocessedRole(
    "stance_judge",
    "fast",
    StanceJudgeInput,
    StanceJudgeOutput,
    render,
    skip(StanceJudgeOutput(stances=())),
    quote_sides,
    PassageSides,
)
