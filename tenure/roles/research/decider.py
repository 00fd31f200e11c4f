"""Decider: whether the research goes on, judged on Situation and Complication alone (document 004, early decision)."""

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.passages import SynthesisDraft
from tenure.contracts.research.spiral import Reflection, Trend
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, tagged
from tenure.roles.prompting import as_list, joined
from tenure.roles.research.planner import ENOUGH, Standing
from tenure.roles.research.synthesizer import as_text

SYSTEM = f"""You decide whether a research project goes on for another cycle or is written up now. You are given
the question, how far each topic is covered, the synthesis so far, and what a look back at it found.

- needs_more_research: true only if something that matters for the question is missing and another cycle is likely to
  find it. A gain that stalls says that the sources are used up; then more research is a waste.
- reasoning: what is missing and why it matters, or why it is enough; in two or three sentences.
- key_factors: up to five short phrases, each one thing to look for. Empty if no more research is needed.

Every cycle costs the reader time and money. Decide for them, not for completeness.

{EVIDENCE_RULE}"""


class DeciderInput(RoleInput):
    """What is to be decided on."""

    question: str
    """The question."""
    cycle: int
    """The cycle that has just ended."""
    max_cycles: int
    """Cycles at the most."""
    outline: tuple[Standing, ...]
    """How the topics stand."""
    gains: tuple[float, ...] = Field(min_length=1)
    """Information gain of the last cycles, the newest last."""
    trend: Trend
    """How it develops."""
    synthesis: SynthesisDraft
    """Situation and Complication so far."""
    reflection: Reflection | None = None
    """What the last look back at them found."""
    latent: tuple[str, ...] = ()
    """Topics that the sources offer and the outline lacks."""
    feedback: tuple[str, ...] = ()
    """What people said that no cycle has worked on yet."""
    scarce: bool = False
    """Whether most of a budget is used."""


class DeciderOutput(RoleOutput):
    """The decision."""

    needs_more_research: bool
    """Whether there is another cycle."""
    reasoning: str = Field(min_length=1)
    """Why."""
    key_factors: tuple[str, ...] = Field(max_length=12)
    """What to look for; empty if no more research is needed."""


def render(input: DeciderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    topics = [f"{s.heading}: {s.coverage:.2f}, {s.passages} passages" for s in input.outline]
    missing = input.reflection.missing_core_insights if input.reflection else ()
    user = joined(
        tagged("question", input.question),
        tagged("topics", as_list("Coverage", topics)),
        tagged("draft", as_text(input.synthesis)),
        tagged("reflection", as_list("Missing", missing)) if missing else "",
        tagged("topics", as_list("Not in the outline", input.latent)) if input.latent else "",
        tagged("feedback", as_list("People said", input.feedback)) if input.feedback else "",
        f"Gains: {', '.join(f'{gain:.2f}' for gain in input.gains)} ({input.trend}). "
        f"{input.cycle} of at most {input.max_cycles} cycles are over."
        + (" Most of the budget is used." if input.scarce else ""),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


WORTH_IT = 0.12
"""Gain from which the twin lets the research go on although every topic is covered."""


def offline(input: DeciderInput, evidence: Evidence) -> DeciderOutput:
    """Go on while people wait to be heard, or a topic is thinly covered and the budget is not nearly used."""
    if input.feedback:
        return DeciderOutput(
            needs_more_research=True,
            reasoning="People asked for something that no cycle has looked for yet.",
            key_factors=tuple(shorten(said, 200) for said in input.feedback[:5]),
        )
    if input.scarce:
        return _enough("Most of the budget is used, and the report has to be written.")
    weak = sorted((s for s in input.outline if s.coverage < ENOUGH), key=lambda s: s.coverage)
    if not weak and input.gains[-1] < WORTH_IT:
        return _enough("Every topic is well covered, and the last cycle brought little that was new.")
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


def _enough(why: str) -> DeciderOutput:
    return DeciderOutput(needs_more_research=False, reasoning=why, key_factors=())


ROLE = Role("decider", "main", DeciderOutput, render, offline)
