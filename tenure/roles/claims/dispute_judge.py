"""Judge with which of two contradictory statements each passage agrees, and which passages are primary sources.

The passages are those of a search for a primary or newer source. The role judges what they say; fixed rules decide by
origin and date whether the dispute is resolved.
"""

from typing import Literal

from pydantic import Field

from tenure.algorithms.claims.citations import cite_nearest, cite_sentence
from tenure.algorithms.claims.disputes import find_agreeing_sentence
from tenure.algorithms.injection.taint import has_instructions
from tenure.contracts.evidence.disputes import DisputeSide, DisputeSource, DisputeSources
from tenure.contracts.messages import Message
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    wrap_in_tag,
)
from tenure.roles.prompting import join_parts

SYSTEM = f"""Two sources contradict each other. You are given both statements and further passages that were searched to
find out which of them holds.

For every passage give:
- passage: its number.
- agrees: first if it says the same as the first statement or something that excludes the second; second the other way
  round; neither if it is about something else, reports both, or gives a third account.
- primary: true only if the passage shows that its source is the origin of what is disputed: the specification, the
  original study, the rules, the announcement or the record itself, and no report about it.

Judge what the passages say, not what you know.

{EVIDENCE_RULE}"""


class DisputeJudgeInput(RoleInput):
    """Statements that contradict each other."""

    first: str
    """The first statement."""
    second: str
    """The second statement."""


class JudgedAgreement(RoleOutput):
    """Agreement of a passage with one of the statements."""

    passage: int
    """Number of the passage, from 1."""
    agrees: Literal["first", "second", "neither"]
    """Statement with which it agrees."""
    primary: bool
    """Whether its source is the origin of what is disputed."""


class DisputeJudgeOutput(RoleOutput):
    """Agreement of the passages."""

    passages: tuple[JudgedAgreement, ...] = Field(max_length=48)
    """One entry for each passage."""


def render(input: DisputeJudgeInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("draft", f"First statement: {input.first}\nSecond statement: {input.second}"),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: DisputeJudgeInput, evidence: Evidence) -> DisputeJudgeOutput:
    """Find a sentence with the words that only one of the statements has; the text of a passage shows no origin."""
    sentences = [find_agreeing_sentence(input.first, input.second, passage) for passage in evidence.passages]
    return DisputeJudgeOutput(
        passages=tuple(
            JudgedAgreement(
                passage=n,
                agrees="neither" if sentence is None else "first" if sentence[0] == "a" else "second",
                primary=False,
            )
            for n, sentence in enumerate(sentences, 1)
        )
    )


def quote_sources(input: DisputeJudgeInput, output: DisputeJudgeOutput, evidence: Evidence) -> DisputeSources:
    """Return the passages that agree with a statement, with a quote each.

    Passages that do not exist, and those with instructions to language models, are omitted.
    """
    passages = evidence.passages
    first = {verdict.passage: verdict for verdict in reversed(output.passages) if 1 <= verdict.passage <= len(passages)}
    sources: list[DisputeSource] = []
    for number, judged in sorted(first.items()):
        passage = passages[number - 1]
        if judged.agrees == "neither" or has_instructions(passage):
            continue
        side: DisputeSide = "a" if judged.agrees == "first" else "b"
        agreeing = find_agreeing_sentence(input.first, input.second, passage)
        statement = input.first if side == "a" else input.second
        is_quotable = agreeing is not None and agreeing[0] == side
        sources.append(
            DisputeSource(
                citation=cite_sentence(passage, agreeing[1])
                if agreeing and is_quotable
                else cite_nearest(statement, passage),
                side=side,
                primary="the model regards it as the origin of the statement" if judged.primary else "",
                found=True,
            )
        )
    return DisputeSources(found=tuple(sources))


ROLE = PostprocessedRole(
    "dispute_judge",
    "main",
    DisputeJudgeInput,
    DisputeJudgeOutput,
    render,
    fallback,
    quote_sources,
    DisputeSources,
)
