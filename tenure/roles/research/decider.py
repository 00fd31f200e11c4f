"""Decide whether the research continues, based on Situation and Complication only, before a Resolution is written."""

from typing import Annotated

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.passages import SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import GainTrend, Reflection
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list
from tenure.roles.research.planner import COVERAGE_THRESHOLD, TopicCoverage
from tenure.roles.research.synthesizer import render_synthesis

SYSTEM = f"""You decide whether a research project continues for another cycle or is written up now. You are given
the question, how far each topic is covered, the synthesis so far, and what a look back at it found.

- needs_more_research: true only if something that matters for the question is missing and another cycle is likely to
  find it. A gain that stalls says that the sources are used up; then more research is a waste.
- reasoning: what is missing and why it matters, or why it is enough; in two or three sentences.
- key_factors: up to five short phrases, each one thing to look for. Empty if no more research is needed.

Every cycle costs the reader time and money. Decide for them, not for completeness.

{EVIDENCE_RULE}"""


class DeciderInput(RoleInput):
    """State of the research."""

    question: str
    """The question."""
    cycle: int
    """The cycle that has just ended."""
    max_cycles: int
    """Maximum number of cycles."""
    outline: tuple[TopicCoverage, ...]
    """Coverage of the topics."""
    gains: tuple[float, ...] = Field(min_length=1)
    """Information gain of the last cycles, the newest last."""
    trend: GainTrend
    """Trend of the information gain."""
    synthesis: SynthesisDraft
    """Situation and Complication so far."""
    reflection: Reflection | None = None
    """Result of their last reflection."""
    latent: tuple[str, ...] = ()
    """Topics of the sources that the outline lacks."""
    feedback: tuple[str, ...] = ()
    """Feedback that no cycle has worked on yet."""
    running_low: bool = False
    """Whether most of a budget is used."""


class DeciderOutput(RoleOutput):
    """The decision."""

    needs_more_research: bool
    """Whether another cycle follows."""
    reasoning: Annotated[str, SchemaLimit(2000)] = Field(min_length=1)
    """Reason for the decision."""
    key_factors: tuple[Annotated[str, SchemaLimit(300)], ...] = Field(max_length=12)
    """Subjects of the next cycle; empty if no more research is needed."""


def render(input: DeciderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    topics = [f"{s.heading}: {s.coverage:.2f}, {s.passages} passages" for s in input.outline]
    missing = input.reflection.missing_core_insights if input.reflection else ()
    user = join_parts(
        wrap_in_tag("question", input.question),
        wrap_in_tag("topics", render_list("Coverage", topics)),
        wrap_in_tag("draft", render_synthesis(input.synthesis)),
        wrap_in_tag("reflection", render_list("Missing", missing)) if missing else "",
        wrap_in_tag("topics", render_list("Not in the outline", input.latent)) if input.latent else "",
        wrap_in_tag("feedback", render_list("People said", input.feedback)) if input.feedback else "",
        f"Gains: {', '.join(f'{gain:.2f}' for gain in input.gains)} ({input.trend}). "
        f"{input.cycle} of at most {input.max_cycles} cycles are over."
        + (" Most of the budget is used." if input.running_low else ""),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


MIN_GAIN = 0.12
"""Minimum information gain for which the fallback continues although every topic is covered."""


def fallback(input: DeciderInput, evidence: Evidence) -> DeciderOutput:
    """Continue if feedback is open, or if a topic has little coverage and the budget allows another cycle."""
    if input.feedback:
        return DeciderOutput(
            needs_more_research=True,
            reasoning="People asked for something that no cycle has looked for yet.",
            key_factors=tuple(shorten(said, 200) for said in input.feedback[:5]),
        )
    if input.running_low:
        return _stop("Most of the budget is used, and the report has to be written.")
    weak = sorted((s for s in input.outline if s.coverage < COVERAGE_THRESHOLD), key=lambda s: s.coverage)
    if not weak and input.gains[-1] < MIN_GAIN:
        return _stop("Every topic is well covered, and the last cycle brought little that was new.")
    if not weak:
        return DeciderOutput(
            needs_more_research=True,
            reasoning="Every topic is well covered, but the sources still bring much that is new.",
            key_factors=input.latent[:5],
        )
    named = ", ".join(f"“{s.heading}” ({s.coverage:.2f})" for s in weak[:3])
    return DeciderOutput(
        needs_more_research=True,
        reasoning=shorten(f"Least is known on {named}; the gain is {input.trend.lower()}.", 600),
        key_factors=tuple(s.heading for s in weak[:5]),
    )


def _stop(why: str) -> DeciderOutput:
    return DeciderOutput(needs_more_research=False, reasoning=why, key_factors=())


ROLE = Role("decider", "main", DeciderInput, DeciderOutput, render, fallback)
