"""Section rewriter: the next draft from draft, critique and passages (document 002, Def. 6.2, L_rewrite)."""

from tenure.algorithms.text.sentences import fingerprint
from tenure.algorithms.writing.composition import Wish, compose
from tenure.contracts.evidence.passages import Draft
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, mark_passages, tagged
from tenure.roles.prompting import CITING_RULE, WrittenText, as_list, joined, marked, written
from tenure.roles.writing.section_writer import SectionWriterInput, brief

SYSTEM = f"""You rewrite one section of a research report so that a reviewer's critique no longer applies.

Change what the critique names and what must change with it; keep what was good, with its citations. If the passages
cannot satisfy a point, remove the statement or leave the point out; never fill a gap with what the passages do not say.
Same form as before: the answer first, plain exact sentences, no heading, no summary at the end.

{CITING_RULE}
{EVIDENCE_RULE}"""


class SectionRewriterInput(SectionWriterInput):
    """What is to be rewritten."""

    draft: Draft
    """The section as it stands."""
    critiques: tuple[str, ...]
    """What to change."""
    said: tuple[str, ...] = ()
    """Sentences that stand in other sections and are not to be repeated."""


def render(input: SectionRewriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages),
        brief(input),
        tagged("draft", marked(input.draft, evidence.passages)),
        tagged("critiques", as_list("The reviewer's critique", input.critiques)),
        tagged("sections", as_list("Said in other sections, not to be repeated", input.said)) if input.said else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: SectionRewriterInput, evidence: Evidence) -> WrittenText:
    """Compose again over the augmented passages, with wish and critique as what the text is to be about."""
    wish = Wish(input.topic, input.topic_question, input.other_topics, input.wishes, input.question)
    said = {fingerprint(sentence) for sentence in input.said}
    return written(compose(wish, evidence.passages, evidence.vectors, said=said))


ROLE = Role("section_rewriter", "main", WrittenText, render, offline, streamed=True, read_by_people=True)
