"""Rewrite claims that their sources do not support, so that the evidence supports them."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import cite_claim
from tenure.algorithms.claims.verification import MAX_CLAIMS_PER_CALL
from tenure.algorithms.text.excerpts import has_back_reference, is_complete_sentence
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import normalize_sentence, split_sentences
from tenure.contracts.evidence.passages import CheckedClaims, Claim
from tenure.contracts.messages import Message
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    wrap_in_tag,
)
from tenure.roles.prompting import CITING_RULE, MAX_NAMED_PASSAGES, join_parts, render_list

SYSTEM = f"""You correct single sentences of a report that their sources do not support.

You are given each sentence with what was wrong, and passages. For every sentence give its number and the sentence that
replaces it: the same point, as far as the passages support it, with their numbers, dates, names and conditions. Change
no more than you must. If the passages do not speak of the point, give an empty text; a sentence less is better than one
that is not true. Do not repeat what the text says already. Keep the language of the sentence.

{CITING_RULE}
{EVIDENCE_RULE}"""

MIN_SIMILARITY = 0.5
"""Minimum cosine similarity of a sentence that replaces a claim."""

_PROBLEMS: Mapping[str, str] = {
    "refuted": "its source says otherwise",
    "neutral": "its source does not support it",
    "missing_citation": "it names no source",
    "invalid_source": "it names a source that does not exist",
}


class ClaimRewriterInput(RoleInput):
    """Claims to correct."""

    question: str
    """The question of the whole report."""
    topic: str
    """Heading of the section."""
    claims: tuple[Claim, ...] = Field(max_length=MAX_CLAIMS_PER_CALL)
    """Claims that their sources do not support."""
    other_sentences: tuple[str, ...] = ()
    """Other sentences of the section."""


class RewrittenClaim(BaseModel):
    """A sentence that replaces another."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    claim: int
    """Number of the sentence it replaces, from 1."""
    text: str = Field(max_length=2000)
    """The new sentence in plain prose; empty to leave it out."""
    passages: Annotated[tuple[int, ...], SchemaLimit(MAX_NAMED_PASSAGES)]
    """Numbers of the passages it rests on."""


class ClaimRewriterOutput(RoleOutput):
    """The corrections."""

    rewrites: tuple[RewrittenClaim, ...] = Field(max_length=2 * MAX_CLAIMS_PER_CALL)
    """One rewrite for each sentence."""


def render(input: ClaimRewriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    wrong = "\n".join(
        f"{n}. {' '.join(claim.text.split())} ({_PROBLEMS.get(claim.status, 'it was not checked')})"
        for n, claim in enumerate(input.claims, 1)
    )
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("topic", input.topic),
        wrap_in_tag("sections", render_list("The text says already", input.other_sentences))
        if input.other_sentences
        else "",
        wrap_in_tag("draft", f"Sentences to correct:\n{wrong}"),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: ClaimRewriterInput, evidence: Evidence) -> ClaimRewriterOutput:
    """Replace each claim by the most similar sentence of a source, verbatim and each sentence once."""
    said = {normalize_sentence(text) for text in input.other_sentences}
    offered = [
        (sentence.text, number)
        for number, passage in enumerate(evidence.passages, 1)
        for sentence in (split_sentences(passage.text) if passage.kind == "prose" else ())
        if is_complete_sentence(sentence)
        and not has_back_reference(sentence.text)
        and normalize_sentence(sentence.text) not in said
    ]
    vectors = evidence.embed([claim.text for claim in input.claims] + [text for text, _ in offered])
    rewrites = []
    taken: set[str] = set()
    for n in range(len(input.claims)):
        near = vectors[len(input.claims) :] @ vectors[n]
        order = sorted(range(len(offered)), key=lambda at: -float(near[at]))
        fit = (at for at in order if near[at] >= MIN_SIMILARITY and normalize_sentence(offered[at][0]) not in taken)
        text, number = offered[at] if (at := next(fit, None)) is not None else ("", 0)
        taken.add(normalize_sentence(text))
        rewrites.append(RewrittenClaim(claim=n + 1, text=text, passages=(number,) if number else ()))
    return ClaimRewriterOutput(rewrites=tuple(rewrites))


def apply_rewrites(input: ClaimRewriterInput, output: ClaimRewriterOutput, evidence: Evidence) -> CheckedClaims:
    """Return the replacement of each claim, with verbatim citations; None for a claim that is removed.

    A claim without a rewrite stays unchanged, and so does one whose new form cites nothing.
    """
    offered = {one.claim: one for one in output.rewrites}
    claims = (_apply_rewrite(claim, offered.get(n), evidence.passages) for n, claim in enumerate(input.claims, 1))
    return CheckedClaims(claims=tuple(claims))


def _apply_rewrite(claim: Claim, offer: RewrittenClaim | None, passages: Sequence[Passage]) -> Claim | None:
    if offer is None:
        return claim
    text = offer.text.strip()
    replacement = cite_claim(text, offer.passages, passages) if text else None
    return replacement if replacement is None or replacement.citations else claim


ROLE = PostprocessedRole(
    "claim_rewriter", "main", ClaimRewriterInput, ClaimRewriterOutput, render, fallback, apply_rewrites, CheckedClaims
)
