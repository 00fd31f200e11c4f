"""Topic namer: names what the sources offer beside the outline (document 001, latent topics)."""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.fallback.facets import facets
from tenure.algorithms.text.questions import shorten
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import as_list, joined

SYSTEM = f"""You name topics that a research project came across and that its outline does not have. You are given the
question, the outline, and groups of passages that resemble each other.

For every group that a reader of this report would want to have a section on, give:
- group: its number.
- heading: two to eight words, as a reader would search for it; not a document's name.
- question: one full sentence that says what a section on it would have to answer, with the subject named.

Leave a group out if it is beside the question, if the outline covers it, or if its passages have nothing in common but
their form. Leaving all out is fine.

{EVIDENCE_RULE}"""


class TopicNamerInput(RoleInput):
    """What is to be named."""

    question: str
    """The question."""
    outline: tuple[str, ...]
    """Headings of the outline."""
    sizes: tuple[int, ...]
    """How many of the passages, in order, belong to each group."""


class NamedTopic(BaseModel):
    """A topic."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    group: int
    """Number of the group, from 1."""
    heading: str = Field(min_length=1)
    """Two to eight words."""
    question: str = Field(min_length=1)
    """What a section on it would have to answer."""


class TopicNamerOutput(RoleOutput):
    """The topics."""

    topics: tuple[NamedTopic, ...] = Field(max_length=8)
    """Topics worth a section; groups that are not are left out."""


def render(input: TopicNamerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("topics", as_list("Outline", input.outline)),
        "\n".join(
            f"Group {n}: passages {first + 1} to {last}" for n, (first, last) in enumerate(_bounds(input.sizes), 1)
        ),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: TopicNamerInput, evidence: Evidence) -> TopicNamerOutput:
    """Name a group by the heading that most of its passages stand under, if it is near the question."""
    found: list[NamedTopic] = []
    for number, (first, last) in enumerate(_bounds(input.sizes), 1):
        known = (*input.outline, *(topic.heading for topic in found))
        best = facets(input.question, evidence.passages[first:last], evidence.vectors, 1, known)
        if best:
            name = best[0].heading
            asked = shorten(f"{name}: {input.question}", 1000)
            found.append(NamedTopic(group=number, heading=name, question=asked))
    return TopicNamerOutput(topics=tuple(found))


def _bounds(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where each group begins and ends among the passages."""
    first = 0
    for size in sizes:
        yield first, first + size
        first += size


ROLE = Role("topic_namer", "fast", TopicNamerOutput, render, offline, read_by_people=True)
