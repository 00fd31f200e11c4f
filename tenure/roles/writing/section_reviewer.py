"""Review the draft of a section and choose an action: none, rewrite, or search."""

from typing import Literal

from pydantic import Field

from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import split_words, stem_words
from tenure.contracts.evidence.passages import Draft
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, mark_passages, wrap_in_tag
from tenure.roles.prompting import join_parts, render_draft, render_list

SYSTEM = f"""You review one section of a research report against the passages it was written from. Be strict and brief.

Look for, in this order: statements the cited passages do not support; the section's question left unanswered; feedback
of people that was ignored; something important in the passages that is missing; repetition; unclear wording.

Decide on one action:
- NONE: nothing that matters is wrong. Then `critique` is empty.
- REWRITE: the passages suffice, the text does not. `critique` says what to change, point by point.
- SEARCH: evidence is missing. `critique` says what is missing, `query` is what to search for, in words a source would
  use.

If the text before the last rewriting is shown as well and was the better one, set `worse`: the section then keeps it.

Do not ask for matters of taste. Do not repeat a critique that was already made. {EVIDENCE_RULE}"""


class SectionReviewerInput(RoleInput):
    """Section to review."""

    question: str
    """The question of the whole report."""
    topic: str
    """Heading of the section."""
    topic_question: str
    """The question that the section has to answer."""
    draft: Draft
    """The current draft."""
    previous: Draft | None = None
    """The draft before the last rewriting; None before the first."""
    feedback: tuple[str, ...] = ()
    """Feedback of people on this section."""
    earlier_critiques: tuple[str, ...] = ()
    """Earlier critiques."""


MAX_CRITIQUE_CHARACTERS, MAX_QUERY_CHARACTERS = 4000, 1000
"""Maximum lengths of a critique and of a query; feedback may be longer."""


class SectionReviewerOutput(RoleOutput):
    """The review."""

    critique: str = Field(max_length=MAX_CRITIQUE_CHARACTERS)
    """Errors and gaps, point by point; empty with NONE."""
    action: Literal["NONE", "REWRITE", "SEARCH"]
    """The action."""
    query: str = Field(max_length=MAX_QUERY_CHARACTERS)
    """The query; empty unless the action is SEARCH."""
    worse: bool = False
    """Whether the draft is worse than the previous one; false if none is shown."""


def render(input: SectionReviewerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("topic", f"{input.topic}\n{input.topic_question}"),
        wrap_in_tag("draft", render_draft(input.draft, evidence.passages)),
        wrap_in_tag("previous", render_draft(input.previous, evidence.passages)) if input.previous else "",
        wrap_in_tag("feedback", render_list("Feedback of people", input.feedback)) if input.feedback else "",
        wrap_in_tag("critiques", render_list("Critiques already made", input.earlier_critiques))
        if input.earlier_critiques
        else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


MIN_SECTION_WORDS = 60
"""Minimum length of a section in words."""
_NO_CRITIQUE = SectionReviewerOutput(critique="", action="NONE", query="")


def fallback(input: SectionReviewerInput, evidence: Evidence) -> SectionReviewerOutput:
    """Check for unanswered feedback, missing words of the topic, and too little text."""
    text = input.draft.text
    said = set(stem_words(text))
    for feedback in input.feedback:
        critique = shorten(f"Feedback that is not addressed: {feedback}", MAX_CRITIQUE_CHARACTERS)
        if critique not in input.earlier_critiques and not set(stem_words(feedback)) <= said:
            query = shorten(feedback, MAX_QUERY_CHARACTERS)
            return SectionReviewerOutput(critique=critique, action="SEARCH", query=query)
    missing = [word for word in dict.fromkeys(split_words(input.topic)) if set(stem_words(word)) - said]
    if missing:
        critique = f"The topic's own terms are not mentioned: {', '.join(missing)}"
        if critique not in input.earlier_critiques:
            return SectionReviewerOutput(critique=critique, action="SEARCH", query=f"{input.topic} {' '.join(missing)}")
    if len(split_words(text)) < MIN_SECTION_WORDS:
        critique = f"There is little on {input.topic}"
        if critique not in input.earlier_critiques:
            return SectionReviewerOutput(critique=critique, action="SEARCH", query=input.topic_question)
    return _NO_CRITIQUE


ROLE = Role("section_reviewer", "main", SectionReviewerInput, SectionReviewerOutput, render, fallback)
