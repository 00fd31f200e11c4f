"""Claim rewriter: says what the evidence does bear out in place of claims it does not (004, verifier)."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import cite
from tenure.algorithms.claims.verification import MOST
from tenure.algorithms.text.excerpts import points_back, presentable
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import fingerprint, sentences
from tenure.contracts.evidence.passages import Claim
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import CITING_RULE, as_list, joined

SYSTEM = f"""You correct single sentences of a report that did not hold against their sources.

You are given each sentence with what was wrong, and passages. For every sentence give its number and the sentence that
should stand in its place: the same point, as far as the passages bear it out, with their numbers, dates, names and
conditions. Change no more than you must. If the passages do not speak of the point, give an empty text; a sentence
less is better than one that is not true. Do not repeat what the text says already. Keep the language of the sentence.

{CITING_RULE}
{EVIDENCE_RULE}"""

LIKE = 0.5
"""Likeness that a sentence of a source needs before the twin puts it in a claim's place."""

_FAULTS: Mapping[str, str] = {
    "refuted": "its source says otherwise",
    "neutral": "its source does not bear it out",
    "missing_citation": "it names no source",
    "invalid_source": "it names a source that does not exist",
}


class ClaimRewriterInput(RoleInput):
    """What is to be corrected."""

    question: str
    """The question of the whole report."""
    topic: str
    """Heading of the part of the report."""
    claims: tuple[Claim, ...] = Field(max_length=MOST)
    """The claims that did not hold."""
    said: tuple[str, ...] = ()
    """Sentences that stand beside them."""


class RewrittenClaim(BaseModel):
    """A sentence in place of another."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    claim: int
    """Number of the sentence it replaces, from 1."""
    text: str = Field(max_length=2000)
    """The new sentence in plain prose; empty to leave it out."""
    passages: tuple[int, ...]
    """Numbers of the passages it rests on."""


class ClaimRewriterOutput(RoleOutput):
    """The corrections."""

    rewrites: tuple[RewrittenClaim, ...] = Field(max_length=2 * MOST)
    """One for each sentence."""


def render(input: ClaimRewriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    wrong = "\n".join(
        f"{n}. {' '.join(claim.text.split())} ({_FAULTS.get(claim.status, 'it was not checked')})"
        for n, claim in enumerate(input.claims, 1)
    )
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("topic", input.topic),
        tagged("sections", as_list("The text says already", input.said)) if input.said else "",
        tagged("draft", f"Sentences to correct:\n{wrong}"),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: ClaimRewriterInput, evidence: Evidence) -> ClaimRewriterOutput:
    """Put the sentence of a source that is most like a claim in its place, to the letter and each only once."""
    said = {fingerprint(text) for text in input.said}
    offered = [
        (sentence.text, number)
        for number, passage in enumerate(evidence.passages, 1)
        for sentence in (sentences(passage.text) if passage.kind == "prose" else ())
        if presentable(sentence) and not points_back(sentence.text) and fingerprint(sentence.text) not in said
    ]
    vectors = evidence.vectors([claim.text for claim in input.claims] + [text for text, _ in offered])
    rewrites = []
    taken: set[str] = set()
    for n in range(len(input.claims)):
        near = vectors[len(input.claims) :] @ vectors[n]
        order = sorted(range(len(offered)), key=lambda at: -float(near[at]))
        fit = (at for at in order if near[at] >= LIKE and fingerprint(offered[at][0]) not in taken)
        text, number = offered[at] if (at := next(fit, None)) is not None else ("", 0)
        taken.add(fingerprint(text))
        rewrites.append(RewrittenClaim(claim=n + 1, text=text, passages=(number,) if number else ()))
    return ClaimRewriterOutput(rewrites=tuple(rewrites))


def rewritten(
    claims: Sequence[Claim], output: ClaimRewriterOutput, passages: Sequence[Passage]
) -> tuple[Claim | None, ...]:
    """Return what stands in each claim's place, with verbatim citations; None where it is left out.

    A claim that nobody wrote anew stays as it is, and so does one whose new form cites nothing.
    """
    offered = {one.claim: one for one in output.rewrites}
    return tuple(_rewritten(claim, offered.get(n), passages) for n, claim in enumerate(claims, 1))


def _rewritten(claim: Claim, offer: RewrittenClaim | None, passages: Sequence[Passage]) -> Claim | None:
    if offer is None:
        return claim
    text = offer.text.strip()
    anew = cite(text, offer.passages, passages) if text else None
    return anew if anew is None or anew.citations else claim


ROLE = Role("claim_rewriter", "main", ClaimRewriterOutput, render, offline)
