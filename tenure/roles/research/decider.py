"""Decide whether the research continues, based on Situation and Complication only, before a Resolution is written."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.passages import SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import GainTrend, SynthesisQuality
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list
from tenure.roles.research.planner import COVERAGE_THRESHOLD, TopicCoverage, describe_coverage
from tenure.roles.research.synthesizer import render_synthesis

SYSTEM = f"""You look back at a research project and decide whether it continues for another cycle or is written up now.
You are given the question, what is known on each topic, and the synthesis of the findings so far. The synthesis is
short: what it leaves out may still be among the passages of its topic.

- overall_quality: excellent (nothing that matters is missing), good (small gaps), moderate (a reader would have to ask
  back), shallow (facts without connection, or not about the question).
- logic_issues: statements of the synthesis that contradict each other, or conclusions that do not follow; at most five,
  none if nothing matters. They are corrected in the next synthesis, so they are no reason to continue.
- needs_more_research: true only if something that matters for the question is missing and another cycle is likely to
  find it. A gain that stalls says that the sources are used up; then more research is a waste.
- reasoning: what is missing and why it matters, or why it is enough; in two or three sentences.
- key_factors: at most five short phrases, each one thing to look for. Empty if no more research is needed.

Every cycle costs the reader time and money. Decide for them, not for completeness.

{EVIDENCE_RULE}"""


MAX_FACTORS = 5
"""Maximum number of key factors, and of logic issues."""


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
    key_factors: tuple[Annotated[str, SchemaLimit(300)], ...] = Field(default=(), max_length=MAX_FACTORS)
    """Subjects of the next cycle; empty if no more research is needed."""
    overall_quality: SynthesisQuality = "moderate"
    """Quality of the synthesis."""
    logic_issues: tuple[Annotated[str, SchemaLimit(1000)], ...] = Field(default=(), max_length=MAX_FACTORS)
    """Contradictions in the synthesis, and conclusions that do not follow."""


def render(input: DeciderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    topics = [f"{s.heading}: {s.question} ({describe_coverage(s)})" for s in input.outline]
    user = join_parts(
        wrap_in_tag("question", input.question),
        wrap_in_tag("outline", render_list("Topics", topics)),
        wrap_in_tag("synthesis", render_synthesis(input.synthesis)),
        wrap_in_tag("latent_topics", render_list("Not in the outline", input.latent)) if input.latent else "",
        wrap_in_tag("feedback", render_list("People said", input.feedback)) if input.feedback else "",
        f"Gains: {', '.join(f'{gain:.2f}' for gain in input.gains)} ({input.trend}). "
        f"{input.cycle} of at most {input.max_cycles} cycles are over."
        + (" Most of the budget is used." if input.running_low else ""),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


MIN_GAIN = 0.12
"""Minimum information gain for which the fallback continues although every topic is covered."""


def fallback(input: DeciderInput, evidence: Evidence) -> DeciderOutput:
    """Continue if feedback is open, or if a topic has little coverage and the budget allows another cycle.

    The synthesis counts as good if every topic is covered.
    """
    weak = sorted((s for s in input.outline if s.coverage < COVERAGE_THRESHOLD), key=lambda s: s.coverage)
    quality: SynthesisQuality = "moderate" if weak else "good"

    def decide(reasoning: str, key_factors: Sequence[str] = (), *, continues: bool = True) -> DeciderOutput:
        return DeciderOutput(
            needs_more_research=continues,
            reasoning=reasoning,
            key_factors=tuple(key_factors[:MAX_FACTORS]),
            overall_quality=quality,
        )

    if input.feedback:
        said = [shorten(feedback, 200) for feedback in input.feedback]
        return decide("People asked for something that no cycle has looked for yet.", said)
    if input.running_low:
        return decide("Most of the budget is used, and the report has to be written.", continues=False)
    if not weak and input.gains[-1] < MIN_GAIN:
        return decide("Every topic is well covered, and the last cycle brought little that was new.", continues=False)
    if not weak:
        return decide("Every topic is well covered, but the sources still bring much that is new.", input.latent)
    named = ", ".join(f"“{s.heading}” ({s.coverage:.2f})" for s in weak[:3])
    reasoning = shorten(f"Least is known on {named}; the gain is {input.trend.lower()}.", 600)
    return decide(reasoning, [s.heading for s in weak])


ROLE = Role("decider", "main", DeciderInput, DeciderOutput, render, fallback)
