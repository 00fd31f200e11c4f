"""Name topics of the sources that the outline lacks."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tenure.contracts.messages import Message
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, mark_passages, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list

SYSTEM = f"""You name topics that a research project came across and that its outline does not have. You are given the
question, the outline, and groups of passages that resemble each other.

For every group that a reader of this report would want to have a section on, give:
- group: its number.
- heading: two to eight words, as a reader would search for it; not a document's name.
- question: one full sentence that says what a section on it would have to answer, with the subject named.

Leave a group out if it is not about the question, if the outline covers it, or if its passages have nothing in common
but their form. Leaving all out is fine.

{EVIDENCE_RULE}"""


class TopicNamerInput(RoleInput):
    """Groups to name."""

    question: str
    """The question."""
    outline: tuple[str, ...]
    """Headings of the outline."""
    group_sizes: tuple[int, ...]
    """Number of passages, in order, of each group."""


class NamedTopic(BaseModel):
    """A topic."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    group: int
    """Number of the group, from 1."""
    heading: Annotated[str, SchemaLimit(160)] = Field(min_length=1)
    """Two to eight words."""
    question: Annotated[str, SchemaLimit(1000)] = Field(min_length=1)
    """The question that a section on it would have to answer."""


class TopicNamerOutput(RoleOutput):
    """The topics."""

    topics: tuple[NamedTopic, ...] = Field(max_length=8)
    """Topics that deserve a section; other groups are omitted."""


def render(input: TopicNamerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("topics", render_list("Outline", input.outline)),
        "\n".join(
            f"Group {n}: passages {first + 1} to {last}"
            for n, (first, last) in enumerate(_iterate_bounds(input.group_sizes), 1)
        ),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: TopicNamerInput, evidence: Evidence) -> TopicNamerOutput:
    """Return no topics, since a report without a model has one section for each part of the question."""
    return TopicNamerOutput(topics=())


def _iterate_bounds(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each group among the passages."""
    first = 0
    for size in sizes:
        yield first, first + size
        first += size


ROLE = Role("topic_namer", "fast", TopicNamerInput, TopicNamerOutput, render, fallback, read_by_people=True)
