"""Review a section against its passages and answer with verdicts and edits, by the numbers of its sentences.

The review continues the conversation in which the section was written: the same system prompt, then passages, brief and
text as its author wrote it, then this request. Only new passages, and sentences that the conversation does not contain,
are shown.
"""

import json
from collections.abc import Sequence

from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import normalize_sentence, split_words, stem_words
from tenure.algorithms.writing.composition import ComposedBlock, CompositionRequest, compose
from tenure.contracts.evidence.passages import Claim, Draft
from tenure.contracts.messages import Message
from tenure.contracts.research.report import SectionReview
from tenure.roles.base import Evidence, PostprocessedRole, mark_passages, wrap_in_tag
from tenure.roles.claims.claim_checker import (
    describe_claim,
)
from tenure.roles.prompting import (
    WrittenText,
    add_citations,
    build_written_text,
    find_passage_numbers,
    join_parts,
    render_list,
)
from tenure.roles.section_edits import (
    MAX_ADDITIONS,
    MAX_BLOCKS,
    MAX_CRITIQUE_CHARACTERS,
    MAX_EDITS,
    MAX_QUERY_CHARACTERS,
    SectionReviewerOutput,
    build_review,
)
from tenure.roles.writing import section_writer
from tenure.roles.writing.section_writer import (
    SectionWriterInput,
    add_missing_sides,
    render_brief,
    render_positions,
)

SYSTEM = section_writer.SYSTEM
"""System prompt of the writer, whose conversation a review continues."""

REVIEW_RULE = f"""Review the section above as a strict and fair editor, sentence by sentence, against its passages.
Change only what matters to a reader who relies on it, and answer with edits by the numbers of the sentences, never with
a new version of the whole text. Look for, in this order: statements that the cited passages do not support; the
section's question left unanswered although passages answer it; feedback and critiques that are not met; repetition;
unclear wording.

- critique: errors and gaps that matter, in at most three sentences; empty for none.
- verdicts: only sentences that their passages do not plainly support, with your confidence in the verdict: refuted if
  the passages say the contrary, neutral if they leave any part open. Look hard at numbers, dates, names, units,
  negations, directions and conditions. An inference is supported if it follows from all passages that it cites
  together. Gaps and lead-ins state no facts and get no verdict, unless a passage closes the gap.
- replace: new sentences for numbered ones, each with its passages. Change no more of a sentence than you must.
- delete: numbers of sentences that cannot be corrected, or that repeat another one.
- add: new sentences, each after a numbered one and in its block, so that after an item of a list it is another item; 0
  stands for the start of the text.
- blocks: new paragraphs or lists, each after the block of a numbered sentence.
- query: one search, in words that a source would use, if something that the section's question asks for has no
  passage; else empty.
- unfinished: whether something that matters is still wrong after your edits, apart from what the search is for.

Each sentence must read well after the one before it once your edits are made. A statement on this section's own
topic stays here, even if another section mentions it. Replace or delete at most {MAX_EDITS}, add
at most {MAX_ADDITIONS}, and at most {MAX_BLOCKS} blocks; matters of taste need no edit."""
"""Instruction of a review; it follows the conversation of the writer, whose prompt stays unchanged."""

AGAIN_RULE = "Review the current section by the same rules. Do not repeat a critique that was made."
"""Instruction of a further review in the same conversation."""

LAST_SEARCH_RULE = "No further search is possible: leave `query` empty."
"""Addition if the results of a further search could not be read."""


class SectionReviewerInput(SectionWriterInput):
    """Section to review."""

    draft: Draft
    """The current text."""
    requests: tuple[str, ...] = ()
    """Critiques and feedback that the edits have to meet."""
    query: str = ""
    """Search that was made since the last review; empty for none."""
    earlier_critiques: tuple[str, ...] = ()
    """Earlier critiques of reviewers."""
    other_sections: tuple[str, ...] = ()
    """Digest of the other sections: a heading and its sentences nearest to this topic, one a line, in each entry."""
    shown_passages: int = 0
    """Number of passages that the conversation contains already."""
    may_search: bool = True
    """Whether a search can follow."""


def render(input: SectionReviewerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt without passages and texts that the conversation contains already."""
    said = "\n".join(message.content for message in evidence.history)
    going_on = bool(evidence.history)
    user = join_parts(
        mark_passages(evidence.passages, input.shown_passages if going_on else 0),
        "" if going_on else render_positions(input.positions, evidence.passages),
        wrap_in_tag("topic", input.topic) if going_on else render_brief(input, evidence.passages),
        _render_digest(input.other_sections),
        _render_critiques(input.requests, () if going_on else input.earlier_critiques),
        wrap_in_tag("queries", f"Searched for: {input.query}\nThe passages with the highest numbers are its results.")
        if input.query
        else "",
        wrap_in_tag("draft", _number_sentences(input.draft, evidence, said)),
        AGAIN_RULE if REVIEW_RULE in said else REVIEW_RULE,
        "" if input.may_search else LAST_SEARCH_RULE,
    )
    system = Message(role="system", content=SYSTEM)
    return [system, *evidence.history, Message(role="user", content=user)]


def _render_digest(other_sections: Sequence[str]) -> str:
    """Render the digest of the other sections; empty for none."""
    entries = [entry.partition("\n") for entry in other_sections]
    lines = [f"{heading}: {' '.join(said.split())}" for heading, _, said in entries]
    return wrap_in_tag("gist", render_list("What the other sections say", lines)) if lines else ""


def _render_critiques(requests: Sequence[str], earlier: Sequence[str]) -> str:
    """Render requests to the edits, and critiques that are not to be repeated; empty for neither."""
    asked = render_list("Requests to this section, to be met by your edits", requests)
    made = render_list("Critiques already made, not to be repeated", earlier)
    return wrap_in_tag("critiques", join_parts(asked, made)) if asked or made else ""


MAX_CHARACTERS_SHOWN = 60
"""Characters of a sentence that is shown only to give its number."""


def _number_sentences(draft: Draft, evidence: Evidence, said: str) -> str:
    """Number the sentences of a draft; those that the conversation contains are shortened."""
    lines: list[str] = []
    number = 0
    for block in draft.blocks:
        lines += [""] if lines else []
        for claim in block.claims:
            number += 1
            text = " ".join(claim.statement.split())
            is_known = json.dumps(claim.text, ensure_ascii=False)[1:-1] in said
            marks = "".join(f"[{n}]" for n in find_passage_numbers(claim, evidence.passages))
            shown = shorten(text, MAX_CHARACTERS_SHOWN) if is_known else text
            lines.append(f"{number}. {shown} {marks}{_remark(claim, evidence)}")
    return "\n".join(["The sentences by number, long known ones shortened:" if said else "The section:", *lines])


def _remark(claim: Claim, evidence: Evidence) -> str:
    """Return a remark on a sentence: its kind, and the reason that it is not confirmed."""
    remarks = describe_claim(claim, evidence.passages, "shown")[1:] if claim.status != "supported" else []
    missing = ["names no passage"] if claim.status in ("missing_citation", "invalid_source") else []
    kind = [] if claim.kind in ("fact", "inference") or "a gap" in remarks else [claim.kind.replace("_", "-")]
    found = [*kind, *missing, *remarks, *(["not confirmed"] if claim.status in ("neutral", "refuted") else [])]
    return f" ({'; '.join(found)})" if found else ""


MIN_SECTION_WORDS = 60
"""Minimum length of a section in words."""


def fallback(input: SectionReviewerInput, evidence: Evidence) -> SectionReviewerOutput:
    """Compose the section again after a search, and search for what it lacks; its claims stay unchecked.

    A section is incomplete if it does not use the words of feedback or of its topic, or if it is short.
    """
    written = build_written_text(_compose(input, evidence)) if input.requests or input.query else WrittenText(blocks=())
    if written.blocks:
        critique, query = _find_gap(input, add_citations(input, written, evidence))
        return SectionReviewerOutput(critique=critique, query=query, composed=written.blocks, searches_freely=True)
    critique, query = _find_gap(input, input.draft)
    return SectionReviewerOutput(critique=critique, query=query, searches_freely=True, is_judged=False)


def _compose(input: SectionReviewerInput, evidence: Evidence) -> list[ComposedBlock]:
    brief = CompositionRequest(input.topic, input.topic_question, input.other_topics, input.feedback, input.question)
    said = {normalize_sentence(sentence) for entry in input.other_sections for sentence in entry.split("\n")[1:]}
    blocks = compose(brief, evidence.passages, evidence.embed, used_sentences=said)
    return add_missing_sides(blocks, input.positions, evidence.passages)


def _find_gap(input: SectionReviewerInput, draft: Draft) -> tuple[str, str]:
    """Return a critique that was not made before with its query; empty texts if the section has no gap."""
    text = draft.text
    said = set(stem_words(text))
    found: list[tuple[str, str]] = [
        (f"Feedback that is not addressed: {feedback}", feedback)
        for feedback in input.feedback
        if not set(stem_words(feedback)) <= said
    ]
    missing = [word for word in dict.fromkeys(split_words(input.topic)) if set(stem_words(word)) - said]
    if missing:
        terms = ", ".join(missing)
        found.append((f"The topic's own terms are not mentioned: {terms}", f"{input.topic} {' '.join(missing)}"))
    if len(split_words(text)) < MIN_SECTION_WORDS:
        found.append((f"There is little on {input.topic}", input.topic_question))
    gaps = ((shorten(why, MAX_CRITIQUE_CHARACTERS), shorten(query, MAX_QUERY_CHARACTERS)) for why, query in found)
    return next((gap for gap in gaps if gap[0] not in input.earlier_critiques), ("", ""))


def apply_review(input: SectionReviewerInput, output: SectionReviewerOutput, evidence: Evidence) -> SectionReview:
    """Return the section with the verdicts and edits of its review."""
    return build_review(input.draft, output, evidence)


ROLE = PostprocessedRole(
    "section_reviewer",
    "main",
    SectionReviewerInput,
    SectionReviewerOutput,
    render,
    fallback,
    apply_review,
    SectionReview,
    streamed=True,
    read_by_people=True,
)
