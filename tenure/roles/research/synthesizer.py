"""Keep Situation and Complication of the findings up to date during the research; the report's writer resolves them.

The synthesis is what the decider judges: a contradiction or a gap in it leads to another cycle.
"""

from collections.abc import Sequence
from itertools import accumulate

from pydantic import Field

from tenure.algorithms.text.generations import describe_generations
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import Block, Draft, SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.spiral import Reflection
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    wrap_in_tag,
)
from tenure.roles.prompting import (
    CITING_RULE,
    FORM_RULE,
    KIND_RULE,
    WrittenSentence,
    cite_sentence,
    find_passage_numbers,
    join_parts,
    render_list,
    render_preferences,
)

MAX_SENTENCES = 6
"""Maximum sentences of a part of the synthesis."""

SYSTEM = f"""You keep the synthesis of a research project up to date, as a senior adviser would put it to a busy
reader. Turn by turn you are given new findings; you answer with the whole current synthesis.

- situation: the facts that everything else rests on, as far as the findings show them. A rule that several subjects
  share is stated once for all of them, so that only true differences set them apart.
- complication: what makes it hard, contested or incomplete: limits, conflicts between sources, exceptions, costs.

Work the new findings in; keep what still holds, correct what they change, and drop what they make unimportant. Two to
{MAX_SENTENCES} sentences to a part, each a full statement with its subject named. If a reflection says what
is missing, put it right as far as the findings allow; where they do not allow it, one sentence of kind `gap` says what
they leave open.

{CITING_RULE} Passage numbers stay the same through the whole conversation.
{KIND_RULE} {FORM_RULE}
{EVIDENCE_RULE}"""


class SynthesizerInput(RoleInput):
    """State of the synthesis."""

    question: str
    """The question."""
    shown_passages: int = 0
    """Number of passages that the conversation contains already."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """The current synthesis."""
    reflection: Reflection | None = None
    """Result of the last reflection on the synthesis."""
    feedback: tuple[str, ...] = ()
    """Feedback of people since the last turn."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""


class SynthesizerOutput(RoleOutput):
    """The synthesis."""

    situation: tuple[WrittenSentence, ...] = Field(max_length=MAX_SENTENCES)
    """The facts."""
    complication: tuple[WrittenSentence, ...] = Field(max_length=MAX_SENTENCES)
    """Difficulties, conflicts and limits; empty for none."""


def render(input: SynthesizerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt; passages and text of earlier turns are not repeated."""
    going_on = bool(evidence.history)
    shown = input.shown_passages if going_on else 0
    user = join_parts(
        mark_passages(evidence.passages, shown),
        *(describe_generations(evidence.passages) if len(evidence.passages) > shown else ()),
        "" if going_on else wrap_in_tag("question", input.question),
        "" if going_on else _render_draft(input.synthesis, evidence.passages),
        wrap_in_tag("reflection", _render_reflection(input.reflection)) if input.reflection else "",
        wrap_in_tag("feedback", render_list("People said", input.feedback)) if input.feedback else "",
        "" if going_on else render_preferences(input.preferences),
        "Bring situation and complication up to date.",
    )
    return [Message(role="system", content=SYSTEM), *evidence.history, Message(role="user", content=user)]


def _render_draft(synthesis: SynthesisDraft, passages: Sequence[Passage]) -> str:
    said = render_synthesis(synthesis, passages)
    return wrap_in_tag("draft", said) if said else ""


def render_synthesis(synthesis: SynthesisDraft, passages: Sequence[Passage] = ()) -> str:
    """Render a synthesis for a model, with the numbers of the given passages."""
    named = {"Situation": synthesis.situation, "Complication": synthesis.complication}
    return "\n\n".join(
        f"{name}: "
        + " ".join(_append_marks(claim.text, find_passage_numbers(claim, passages)) for claim in draft.claims)
        for name, draft in named.items()
        if draft.claims
    )


def _append_marks(text: str, passages: Sequence[int]) -> str:
    return f"{text} {''.join(f'[{n}]' for n in passages)}".strip()


def _render_reflection(reflection: Reflection) -> str:
    return join_parts(
        f"Quality: {reflection.overall_quality}. {reflection.depth_assessment}",
        render_list("Missing", reflection.missing_core_insights),
        render_list("Does not follow", reflection.logic_issues),
        render_list("Suggested", reflection.improvement_suggestions),
    )


MAX_PART_CHARACTERS = 12_000
"""Maximum length of a part with its quotes; the synthesis is passed on from cycle to cycle."""


def build_synthesis(input: SynthesizerInput, output: SynthesizerOutput, evidence: Evidence) -> SynthesisDraft:
    """Return a synthesis with verbatim citations; a part has at most `MAX_PART_CHARACTERS`."""

    def draft(sentences: Sequence[WrittenSentence]) -> Draft:
        claims = [cite_sentence(sentence, evidence.passages) for sentence in sentences]
        sizes = accumulate(len(claim.model_dump_json()) for claim in claims)
        kept = tuple(claim for claim, size in zip(claims, sizes, strict=True) if size <= MAX_PART_CHARACTERS)
        return Draft(blocks=(Block(claims=kept),) if kept else ())

    return SynthesisDraft(situation=draft(output.situation), complication=draft(output.complication))


def fallback(input: SynthesizerInput, evidence: Evidence) -> SynthesizerOutput:
    """Return no synthesis: sentences taken out of their places are none."""
    return SynthesizerOutput(situation=(), complication=())


ROLE = PostprocessedRole(
    "synthesizer",
    "main",
    SynthesizerInput,
    SynthesizerOutput,
    render,
    fallback,
    build_synthesis,
    SynthesisDraft,
    streamed=True,
    read_by_people=True,
)
