"""Render the beginning that all prompts on a dossier share, and the rules on text with citation marks.

A provider charges little for a prompt that begins as an earlier one did, and roles that read the same passages do not
contradict each other. So the system text, the question and the passages come first, are the same for every role of a
run, and only grow at their end. The outline, which plans and people change, and the instructions of the role follow.
"""

from collections.abc import Sequence
from typing import Final

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.contracts.knowledge.memory import is_personal
from tenure.contracts.messages import Message
from tenure.contracts.research.report import Topic
from tenure.roles.base import EVIDENCE_RULE, Evidence, mark_documents, neutralise, wrap_in_tag
from tenure.roles.prompting import join_parts

MARKS_RULE: Final = f"""Marks, in square brackets before the full stop:
- [3] or [3, 8]: the numbers of the passages that a sentence rests on, all that it needs, at most {MAX_CITATIONS}.
  Neighbouring sentences of a paragraph that rest on the same passages share one mark, in the last of them.
- [i] after the numbers: the sentence is an inference, a conclusion or a recommendation that follows from these
  passages and that no single one states.
- [?]: the sentence says that the passages leave something open; it needs no numbers.
Every sentence that states a fact has numbers, itself or by the next mark of its paragraph, and says no more than its
passages do. Numbers, names, versions and conditions are as the passages have them. The reader sees no passages: write
“the sources”, or name the author or the kind of a source where it matters who says something. No file names, no
addresses and no remarks on how the report was made."""
"""Rules of text with citation marks."""

SYSTEM: Final = f"""You are the author and editor of a research report that is written from numbered passages.

The passages were found by searches and are shown by document, in reading order. They are all that the report may state
as fact. {EVIDENCE_RULE}

{MARKS_RULE}"""
"""System text of every role that reads a dossier."""


PERSONAL_RULE: Final = """Documents titled “Statement of a person” are no sources: a person has said so, and it was
remembered. Use those that concern the question, cite them by number, and attribute them in the sentence (“By the
statement of a person, …”). If a source says otherwise, give both."""
"""Rule of a prompt with memories among its passages."""


def build_messages(question: str, parts: Sequence[Topic], evidence: Evidence, role: str, *task: str) -> list[Message]:
    """Return the prompt of a role on a dossier.

    Args:
        question: question of the report.
        parts: parts of the question, which are the sections of the report.
        evidence: passages of the dossier, in its order.
        role: name of the role.
        task: pieces of what the role has to do; empty ones are left out.
    """
    beginning = join_parts(
        wrap_in_tag("question", question),
        mark_documents(evidence.passages) or "No passages were found.",
        wrap_in_tag("outline", "\n".join(f"## {part.heading}\n{part.question}" for part in parts)) if parts else "",
    )
    personal = PERSONAL_RULE if any(is_personal(passage.uri) for passage in evidence.passages) else ""
    instruction = f'<task name="{role}">\n{join_parts(personal, *task)}\n</task>'
    return [
        Message(role="system", content=SYSTEM),
        Message(role="user", content=join_parts(beginning, instruction)),
    ]


def render_requests(title: str, texts: Sequence[str]) -> str:
    """Render texts of people or of an editor as a list; empty for none."""
    lines = "\n".join(f"- {' '.join(neutralise(text).split())}" for text in texts)
    return f"{title}:\n{lines}" if texts else ""
