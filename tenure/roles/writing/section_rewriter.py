"""Rewrite the draft of a section after a review."""

from tenure.algorithms.text.sentences import normalize_sentence
from tenure.algorithms.writing.composition import compose
from tenure.contracts.evidence.passages import Draft
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, PostprocessedRole, mark_passages, wrap_in_tag
from tenure.roles.prompting import (
    CITING_RULE,
    FORM_RULE,
    KIND_RULE,
    WrittenText,
    add_citations,
    build_written_text,
    join_parts,
    render_draft,
    render_list,
)
from tenure.roles.writing.section_writer import (
    SectionWriterInput,
    add_missing_sides,
    build_composition_request,
    render_brief,
    render_positions,
)

SYSTEM = f"""You rewrite one section of a research report so that a reviewer's critique no longer applies.

Change what the critique names and what must change with it; keep what was good, with its citations. If the passages
cannot satisfy a point, remove the statement or leave the point out; never fill a gap with what the passages do not say.
Same form as before: the answer first, plain exact sentences, no heading, no summary at the end.

{CITING_RULE}
{KIND_RULE}
{FORM_RULE}
{EVIDENCE_RULE}"""


class SectionRewriterInput(SectionWriterInput):
    """Section to rewrite."""

    draft: Draft
    """The current draft."""
    critiques: tuple[str, ...]
    """Critiques to address."""
    other_sentences: tuple[str, ...] = ()
    """Sentences of other sections, not to be repeated."""


def render(input: SectionRewriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        render_positions(input.positions, evidence.passages),
        render_brief(input),
        wrap_in_tag("draft", render_draft(input.draft, evidence.passages)),
        wrap_in_tag("critiques", render_list("The reviewer's critique", input.critiques)),
        wrap_in_tag("sections", render_list("Said in other sections, not to be repeated", input.other_sentences))
        if input.other_sentences
        else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: SectionRewriterInput, evidence: Evidence) -> WrittenText:
    """Compose the section again from the extended evidence, guided by the feedback and the question."""
    brief = build_composition_request(input)
    said = {normalize_sentence(sentence) for sentence in input.other_sentences}
    blocks = compose(brief, evidence.passages, evidence.embed, used_sentences=said)
    return build_written_text(add_missing_sides(blocks, input.positions, evidence.passages))


ROLE = PostprocessedRole(
    "section_rewriter",
    "main",
    SectionRewriterInput,
    WrittenText,
    render,
    fallback,
    add_citations,
    Draft,
    streamed=True,
    read_by_people=True,
)
