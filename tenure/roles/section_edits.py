"""Edits of a section by the numbers of its sentences, as a reviewer writes them, and the text that they give."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from tenure.algorithms.claims.verification import demote_unsourced_claim, find_unchecked_claims, replace_claims
from tenure.algorithms.writing.edits import Addition, BlockAddition, DraftEdits, apply_edits, list_named_sentences
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionReview
from tenure.roles.base import Evidence, RoleOutput
from tenure.roles.claims.claim_checker import confirm_corrections
from tenure.roles.prompting import WrittenBlock, WrittenSentence, cite_block, cite_sentence

MAX_EDITS, MAX_ADDITIONS, MAX_BLOCKS = 20, 10, 4
"""Maximum numbers of replaced or deleted sentences, of added sentences, and of added blocks in one answer."""
MAX_CRITIQUE_CHARACTERS, MAX_QUERY_CHARACTERS = 1000, 300
"""Maximum lengths of a critique and of a query; feedback may be longer."""


class SentenceVerdict(BaseModel):
    """Verdict on a sentence that its passages do not plainly support."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sentence: int
    """Number of the sentence."""
    verdict: Literal["refuted", "neutral"]
    """`refuted` if its passages say the contrary, `neutral` if they leave a part of it open."""
    confidence: float = Field(ge=0, le=1)
    """Confidence in the verdict."""


class SentenceReplacement(WrittenSentence):
    """A sentence that replaces another."""

    sentence: int
    """Number of the sentence it replaces."""


class SentenceAddition(WrittenSentence):
    """A new sentence."""

    after: int
    """Number of the sentence before it; 0 for the start of the text."""


class BlockInsertion(BaseModel):
    """A new paragraph or list."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    after: int
    """Number of a sentence in the block before it; 0 for the start of the text."""
    block: WrittenBlock
    """The block."""


class SectionReviewerOutput(RoleOutput):
    """The review."""

    critique: str = Field(default="", max_length=MAX_CRITIQUE_CHARACTERS)
    """Errors and gaps that matter, in at most three sentences; empty for none."""
    verdicts: tuple[SentenceVerdict, ...] = Field(default=(), max_length=MAX_EDITS)
    """Verdicts on sentences that are not plainly supported; empty if all are."""
    replace: tuple[SentenceReplacement, ...] = Field(default=(), max_length=MAX_EDITS)
    """Sentences to replace."""
    delete: tuple[int, ...] = Field(default=(), max_length=MAX_EDITS)
    """Numbers of sentences to delete."""
    add: tuple[SentenceAddition, ...] = Field(default=(), max_length=MAX_ADDITIONS)
    """Sentences to add."""
    blocks: tuple[BlockInsertion, ...] = Field(default=(), max_length=MAX_BLOCKS)
    """Paragraphs or lists to add."""
    query: str = Field(default="", max_length=MAX_QUERY_CHARACTERS)
    """Search for missing evidence; empty for none."""
    unfinished: bool = False
    """Whether something that matters is still wrong after the edits."""
    composed: SkipJsonSchema[tuple[WrittenBlock, ...] | None] = None
    """The whole text composed again; only without a model."""
    searches_freely: SkipJsonSchema[bool] = False
    """Whether any number of searches may follow; only without a model."""
    is_judged: SkipJsonSchema[bool] = True
    """Whether a sentence without a verdict is supported; without a model it stays unchecked."""


def build_review(draft: Draft, output: SectionReviewerOutput, evidence: Evidence) -> SectionReview:
    """Return the section with verdicts and edits; new sentences are judged without a model.

    A sentence without a verdict is supported, unless its details conflict with its passages. An edit whose sentence
    does not exist, or whose new sentence needs a passage and names none, is refused.
    """
    if output.composed is not None:
        return _use_composition(output, output.composed, evidence)
    judged = _apply_verdicts(draft, output, evidence) if output.is_judged else draft
    edits = _confirm_edits(_cite_edits(output, evidence), evidence)
    edited = apply_edits(judged, edits)
    offered = len(output.replace) + len(output.delete) + len(output.add) + len(output.blocks)
    applied = len({*edits.replacements, *edits.deletions}) + len(edits.additions) + len(edits.blocks)
    claims = judged.claims
    condemned = {
        n: claims[n - 1]
        for n in sorted(list_named_sentences(edits))
        if 1 <= n <= len(claims) and claims[n - 1].status not in ("supported", "unverified")
    }
    return SectionReview(
        action="SEARCH" if output.query.strip() else "EDIT" if applied else "NONE",
        critique=output.critique.strip(),
        query=output.query.strip(),
        draft=edited.draft,
        condemned=tuple(claim.text for claim in condemned.values()),
        removed=tuple(claim for n, claim in condemned.items() if n not in edits.replacements),
        refused_edits=max(0, offered - applied) + len(edited.refused),
        is_unfinished=output.unfinished,
        searches_freely=output.searches_freely,
    )


def _use_composition(
    output: SectionReviewerOutput, blocks: Sequence[WrittenBlock], evidence: Evidence
) -> SectionReview:
    """Return a section that was composed again without a model."""
    composed = tuple(block for one in blocks for block in cite_block(one, evidence.passages) if block.claims)
    return SectionReview(
        action="SEARCH" if output.query else "EDIT",
        critique=output.critique,
        query=output.query,
        draft=Draft(blocks=composed),
        searches_freely=output.searches_freely,
    )


def _apply_verdicts(draft: Draft, output: SectionReviewerOutput, evidence: Evidence) -> Draft:
    """Return a draft whose unchecked claims have a verdict; earlier verdicts stay."""
    verdicts = {one.sentence: one for one in reversed(output.verdicts)}
    claims = draft.claims
    judged: dict[int, Claim] = {}
    for n in find_unchecked_claims([draft]):
        verdict = verdicts.get(n + 1)
        update = {"status": verdict.verdict, "confidence": verdict.confidence} if verdict else {"status": "supported"}
        judged[n] = demote_unsourced_claim(claims[n].model_copy(update=update), evidence.passages)
    return replace_claims([draft], judged)[0]


def _cite_edits(output: SectionReviewerOutput, evidence: Evidence) -> DraftEdits:
    """Return the edits with verbatim citations, without new sentences that lack a passage they need."""
    replacements = {one.sentence: cite_sentence(one, evidence.passages) for one in reversed(output.replace)}
    additions = [Addition(one.after, cite_sentence(one, evidence.passages)) for one in output.add]
    inserted = [
        BlockAddition(one.after, block) for one in output.blocks for block in cite_block(one.block, evidence.passages)
    ]
    return DraftEdits(
        replacements={n: claim for n, claim in replacements.items() if _is_usable(claim)},
        deletions=frozenset(output.delete),
        additions=[one for one in additions if _is_usable(one.claim)],
        blocks=[one for one in inserted if one.block.claims and all(map(_is_usable, one.block.claims))],
    )


def _is_usable(claim: Claim) -> bool:
    return claim.status not in ("missing_citation", "invalid_source")


def _confirm_edits(edits: DraftEdits, evidence: Evidence) -> DraftEdits:
    """Return edits whose new sentences are judged without a model."""
    new = [
        *edits.replacements.values(),
        *(one.claim for one in edits.additions),
        *(claim for one in edits.blocks for claim in one.block.claims),
    ]
    confirmed = iter(confirm_corrections(new, evidence))
    return DraftEdits(
        replacements={n: next(confirmed) for n in edits.replacements},
        deletions=edits.deletions,
        additions=[one._replace(claim=next(confirmed)) for one in edits.additions],
        blocks=[one._replace(block=_take_claims(one.block, confirmed)) for one in edits.blocks],
    )


def _take_claims(block: Block, claims: Iterator[Claim]) -> Block:
    return block.model_copy(update={"claims": tuple(next(claims) for _ in block.claims)})
