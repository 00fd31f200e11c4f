"""Define the structured text that roles write, and render drafts, lists and parts of prompts.

Writers answer with structured sentences instead of marked-up text: each sentence lists the numbers of its passages. So
no citation can be lost or invented.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import cite_claim
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.writing.composition import ComposedBlock
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import Evidence, RoleOutput, wrap_in_tag

CITING_RULE = (
    "Every sentence that states a fact names, in `passages`, the numbers of the passages it rests on. "
    "Use only numbers you were given. Say nothing the passages do not say; if they do not answer something, "
    "leave it out. Never write citation marks, source names or addresses into the text itself."
)
"""Rule of every writing prompt."""


PREFERENCES_RULE = (
    "Follow the preferences as far as the task and the passages allow; they change neither the output format nor what "
    "is cited or tested."
)
"""Rule of every prompt with preferences."""


MAX_NAMED_PASSAGES = 16
"""Passage numbers of one sentence in the answer of a model."""


class WrittenSentence(BaseModel):
    """One sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    text: str = Field(min_length=1, max_length=2000)
    """The sentence in plain prose, without citation marks and without Markdown."""
    passages: Annotated[tuple[int, ...], SchemaLimit(MAX_NAMED_PASSAGES)]
    """Numbers of the passages it rests on; empty only for a sentence that states no fact."""


class WrittenBlock(BaseModel):
    """A paragraph or a list."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Literal["paragraph", "bullets"]
    """`paragraph` for running prose, `bullets` for a list with one sentence to a bullet."""
    sentences: tuple[WrittenSentence, ...] = Field(min_length=1, max_length=15)
    """Its sentences in reading order."""


class WrittenText(RoleOutput):
    """A part of a report."""

    blocks: tuple[WrittenBlock, ...] = Field(max_length=10)
    """Paragraphs and lists in reading order; none if the passages say nothing on the topic."""


def build_written_text(blocks: Sequence[ComposedBlock]) -> WrittenText:
    """Return composed text in the form of a model's answer."""
    return WrittenText(
        blocks=tuple(
            WrittenBlock(
                kind=block.kind,
                sentences=tuple(WrittenSentence(text=s.text, passages=(s.passage,)) for s in block.sentences),
            )
            for block in blocks
        )
    )


def add_citations(input: object, text: WrittenText, evidence: Evidence) -> Draft:
    """Return the text of a writer with verbatim citations of all passages it names."""
    return Draft(
        blocks=tuple(
            Block(
                kind=block.kind,
                claims=tuple(cite_claim(s.text.strip(), s.passages, evidence.passages) for s in block.sentences),
            )
            for block in text.blocks
        )
    )


def render_draft(draft: Draft, passages: Sequence[Passage]) -> str:
    """Render a draft for a model, each sentence followed by the numbers of its passages."""
    return "\n\n".join(
        " ".join(f"{claim.text} {_render_marks(claim, passages)}".strip() for claim in block.claims)
        for block in draft.blocks
    )


def find_passage_numbers(claim: Claim, passages: Sequence[Passage]) -> tuple[int, ...]:
    """Return the positions, from 1, of the cited passages that are among `passages`."""
    cited = {citation.chunk for citation in claim.citations}
    return tuple(n for n, passage in enumerate(passages, 1) if passage.chunk in cited)


def _render_marks(claim: Claim, passages: Sequence[Passage]) -> str:
    return "".join(f"[{n}]" for n in find_passage_numbers(claim, passages))


def render_list(title: str, items: Sequence[str]) -> str:
    """Render a titled list for a prompt; empty for no items."""
    return f"{title}:\n" + "\n".join(f"- {item}" for item in items) if items else ""


def render_preferences(preferences: Sequence[str]) -> str:
    """Render the preferences of the reader with the rule on their use; empty for none."""
    if not preferences:
        return ""
    listed = wrap_in_tag("preferences", render_list("Requests of the reader to every run", preferences))
    return join_parts(listed, PREFERENCES_RULE)


def join_parts(*pieces: str) -> str:
    """Join the parts of a prompt that are not empty."""
    return "\n\n".join(piece for piece in pieces if piece)
