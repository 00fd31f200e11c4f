"""Synthesis reflector: how deep the synthesis goes and what it lacks (document 004, reflection and refinement)."""

from collections.abc import Iterator

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stems, words
from tenure.contracts.evidence.passages import SynthesisDraft
from tenure.contracts.research.spiral import Quality
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, tagged
from tenure.roles.prompting import as_list, joined
from tenure.roles.research.synthesizer import as_text

SYSTEM = f"""You judge a synthesis before it is used: does it tell a demanding reader what matters about the question,
or does it only repeat what was found? You do not rewrite it.

- overall_quality: excellent (nothing that matters is missing), good (small gaps), moderate (a reader would have to ask
  back), shallow (facts without connection, or beside the question).
- depth_assessment: one or two sentences that say why.
- missing_core_insights: what a reader needs and does not get; only what is about the question.
- logic_issues: statements that contradict each other, or conclusions that do not follow.
- improvement_suggestions: concrete changes, each possible with the findings at hand or with one more search.

At most five of each, most important first; none where nothing matters. Do not ask for a resolution.

{EVIDENCE_RULE}"""


class SynthesisReflectorInput(RoleInput):
    """What is to be judged."""

    question: str
    """The question."""
    topics: tuple[str, ...]
    """Headings of the outline."""
    synthesis: SynthesisDraft
    """The synthesis."""


class SynthesisReflectorOutput(RoleOutput):
    """The judgement."""

    overall_quality: Quality
    """How good it is."""
    depth_assessment: str
    """Why."""
    missing_core_insights: tuple[str, ...] = Field(max_length=8)
    """What a reader needs and does not get."""
    logic_issues: tuple[str, ...] = Field(max_length=8)
    """What contradicts itself or does not follow."""
    improvement_suggestions: tuple[str, ...] = Field(max_length=8)
    """Concrete changes."""


def render(input: SynthesisReflectorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        tagged("question", input.question),
        tagged("topics", as_list("Topics", input.topics)),
        tagged("draft", as_text(input.synthesis)),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: SynthesisReflectorInput, evidence: Evidence) -> SynthesisReflectorOutput:
    """Look which words of the question and which topics the synthesis says nothing of, and how many sources it has."""
    missing = tuple(_missing(input))[:5]
    claims = [*input.synthesis.situation.claims, *input.synthesis.complication.claims]
    sources = {citation.source for claim in claims for citation in claim.citations}
    quality: Quality = "good" if len(claims) >= 4 and len(sources) >= 2 and not missing else "moderate"
    if len(claims) < 2:
        quality = "shallow"
    return SynthesisReflectorOutput(
        overall_quality=quality,
        depth_assessment=f"{len(claims)} statement(s) from {len(sources)} source(s).",
        missing_core_insights=missing,
        logic_issues=(),
        improvement_suggestions=(),
    )


def _missing(input: SynthesisReflectorInput) -> Iterator[str]:
    said = set(stems(as_text(input.synthesis)))
    terms = [word for word in dict.fromkeys(words(input.question)) if set(stems(word)) - said]
    if terms:
        yield shorten(f"Nothing is said on these words of the question: {', '.join(terms)}", 300)
    for topic in input.topics:
        if not set(stems(topic)) & said:
            yield shorten(f"Nothing is said on {topic}", 300)


ROLE = Role("synthesis_reflector", "main", SynthesisReflectorOutput, render, offline)
