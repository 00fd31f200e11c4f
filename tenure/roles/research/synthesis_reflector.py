"""Judge the depth of a synthesis and list its gaps."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import split_words, stem_words
from tenure.contracts.evidence.passages import SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import SynthesisQuality
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list
from tenure.roles.research.synthesizer import render_synthesis

SYSTEM = f"""You judge a synthesis before it is used: does it show a demanding reader what matters about the question,
or does it only repeat what was found? You do not rewrite it.

- overall_quality: excellent (nothing that matters is missing), good (small gaps), moderate (a reader would have to ask
  back), shallow (facts without connection, or not about the question).
- depth_assessment: one or two sentences that say why.
- missing_core_insights: what a reader needs and does not get; only what is about the question.
- logic_issues: statements that contradict each other, or conclusions that do not follow.
- improvement_suggestions: concrete changes, each possible with the available findings or with one more search.

At most five of each, most important first; none if nothing matters. Do not ask for a resolution.

{EVIDENCE_RULE}"""


class SynthesisReflectorInput(RoleInput):
    """Synthesis to judge."""

    question: str
    """The question."""
    topics: tuple[str, ...]
    """Headings of the outline."""
    synthesis: SynthesisDraft
    """The synthesis."""


class SynthesisReflectorOutput(RoleOutput):
    """The judgement."""

    overall_quality: SynthesisQuality
    """Overall quality."""
    depth_assessment: Annotated[str, SchemaLimit(2000)]
    """Reason for it."""
    missing_core_insights: tuple[Annotated[str, SchemaLimit(1000)], ...] = Field(max_length=8)
    """Insights that a reader needs and the synthesis lacks."""
    logic_issues: tuple[Annotated[str, SchemaLimit(1000)], ...] = Field(max_length=8)
    """Contradictions, and conclusions that do not follow."""
    improvement_suggestions: tuple[Annotated[str, SchemaLimit(1000)], ...] = Field(max_length=8)
    """Concrete changes."""


def render(input: SynthesisReflectorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        wrap_in_tag("question", input.question),
        wrap_in_tag("topics", render_list("Topics", input.topics)),
        wrap_in_tag("draft", render_synthesis(input.synthesis)),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: SynthesisReflectorInput, evidence: Evidence) -> SynthesisReflectorOutput:
    """List words of the question and topics that the synthesis does not mention, and count its sources."""
    missing = tuple(_find_gaps(input))[:5]
    claims = [*input.synthesis.situation.claims, *input.synthesis.complication.claims]
    sources = {citation.source for claim in claims for citation in claim.citations}
    quality: SynthesisQuality = "good" if len(claims) >= 4 and len(sources) >= 2 and not missing else "moderate"
    if len(claims) < 2:
        quality = "shallow"
    return SynthesisReflectorOutput(
        overall_quality=quality,
        depth_assessment=f"{len(claims)} statement(s) from {len(sources)} source(s).",
        missing_core_insights=missing,
        logic_issues=(),
        improvement_suggestions=(),
    )


def _find_gaps(input: SynthesisReflectorInput) -> Iterator[str]:
    said = set(stem_words(render_synthesis(input.synthesis)))
    terms = [word for word in dict.fromkeys(split_words(input.question)) if set(stem_words(word)) - said]
    if terms:
        yield shorten(f"Nothing is said on these words of the question: {', '.join(terms)}", 300)
    for topic in input.topics:
        if not set(stem_words(topic)) & said:
            yield shorten(f"Nothing is said on {topic}", 300)


ROLE = Role("synthesis_reflector", "main", SynthesisReflectorInput, SynthesisReflectorOutput, render, fallback)
