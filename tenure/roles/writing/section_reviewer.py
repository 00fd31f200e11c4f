"""Section reviewer: what is wrong with a draft, and what to do about it (document 002, Def. 6.2, L_review)."""

from typing import Literal

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stems, words
from tenure.contracts.evidence.passages import Draft
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    Message,
    Role,
    RoleInput,
    RoleOutput,
    mark_passages,
    tagged,
)
from tenure.roles.prompting import as_list, joined, marked

SYSTEM = f"""You review one section of a research report against the passages it was written from. Be strict and brief.

Look for, in this order: statements the cited passages do not support; the section's question left unanswered; wishes
of people that were ignored; something important in the passages that is missing; repetition; unclear wording.

Decide on one action:
- NONE: nothing that matters is wrong. Then `critique` is empty.
- REWRITE: the passages suffice, the text does not. `critique` says what to change, point by point.
- SEARCH: evidence is missing. `critique` says what is missing, `query` is what to search for, in words a source would
  use.

If the text before the last rewriting is shown as well and was the better one, set `worse`: the section then keeps it.

Do not ask for matters of taste. Do not repeat a critique that was already made. {EVIDENCE_RULE}"""


class SectionReviewerInput(RoleInput):
    """What is to be reviewed."""

    question: str
    """The question of the whole report."""
    topic: str
    """Heading of the section."""
    topic_question: str
    """What the section has to answer."""
    draft: Draft
    """The section as it stands."""
    previous: Draft | None = None
    """The section before it was rewritten; None where it was not."""
    wishes: tuple[str, ...] = ()
    """What people asked of this section."""
    earlier: tuple[str, ...] = ()
    """Critiques made before."""


MAX_CRITIQUE, MAX_QUERY = 4000, 1000
"""Characters of a critique and of a query at the most; a person's wish may be longer."""


class SectionReviewerOutput(RoleOutput):
    """The review."""

    critique: str = Field(max_length=MAX_CRITIQUE)
    """What is wrong or missing, point by point; empty with NONE."""
    action: Literal["NONE", "REWRITE", "SEARCH"]
    """What to do about it."""
    query: str = Field(max_length=MAX_QUERY)
    """What to search for; empty unless the action is SEARCH."""
    worse: bool = False
    """Whether the draft is worse than the previous one; false where none is shown."""


def render(input: SectionReviewerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("topic", f"{input.topic}\n{input.topic_question}"),
        tagged("draft", marked(input.draft, evidence.passages)),
        tagged("previous", marked(input.previous, evidence.passages)) if input.previous else "",
        tagged("feedback", as_list("People wished", input.wishes)) if input.wishes else "",
        tagged("critiques", as_list("Critiques already made", input.earlier)) if input.earlier else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


THIN = 60
"""Words below which a section is too thin to leave alone."""
_NONE = SectionReviewerOutput(critique="", action="NONE", query="")


def offline(input: SectionReviewerInput, evidence: Evidence) -> SectionReviewerOutput:
    """Look for a wish that is not met, words of the topic never mentioned, and too little text."""
    text = input.draft.text
    said = set(stems(text))
    for wish in input.wishes:
        critique = shorten(f"What was wished for is not addressed: {wish}", MAX_CRITIQUE)
        if critique not in input.earlier and not set(stems(wish)) <= said:
            return SectionReviewerOutput(critique=critique, action="SEARCH", query=shorten(wish, MAX_QUERY))
    missing = [word for word in dict.fromkeys(words(input.topic)) if set(stems(word)) - said]
    if missing:
        critique = f"The topic's own terms are not mentioned: {', '.join(missing)}"
        if critique not in input.earlier:
            return SectionReviewerOutput(critique=critique, action="SEARCH", query=f"{input.topic} {' '.join(missing)}")
    if len(words(text)) < THIN:
        critique = f"There is little on {input.topic}"
        if critique not in input.earlier:
            return SectionReviewerOutput(critique=critique, action="SEARCH", query=input.topic_question)
    return _NONE


ROLE = Role("section_reviewer", "main", SectionReviewerOutput, render, offline)
