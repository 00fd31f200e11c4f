"""Name topics of the sources that the outline lacks."""

from collections.abc import Iterator, Sequence

from pydantic import Field

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, mark_passages, skip, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list

SYSTEM = f"""You name topics that a research project came across and that its outline does not have. You are given the
question, the outline with what each topic asks, and groups of passages that resemble each other.

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
    """Topics of the outline, each with the question that it answers."""
    group_sizes: tuple[int, ...]
    """Number of passages, in order, of each group."""


MAX_HEADING_CHARACTERS, MAX_QUESTION_CHARACTERS = 160, 1000
"""Maximum lengths of a heading and of a question."""


class NamedTopic(RoleOutput):
    """A topic."""

    group: int
    """Number of the group, from 1."""
    heading: str = Field(min_length=1, max_length=MAX_HEADING_CHARACTERS)
    """Two to eight words."""
    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)
    """The question that a section on it would have to answer."""


class TopicNamerOutput(RoleOutput):
    """The topics."""

    topics: tuple[NamedTopic, ...] = Field(max_length=8)
    """Topics that deserve a section; other groups are omitted."""


MIN_COMMON_WORDS = 2
"""Minimum number of words, besides those of the question and the outline, that all passages of a group share."""


def find_themed_groups(input: TopicNamerInput, passages: Sequence[Passage]) -> tuple[int, ...]:
    """Return the numbers of the groups whose passages have a subject in common that the outline lacks."""
    named_words = set(stem_words(" ".join((input.question, *input.outline))))
    groups = enumerate(_iterate_bounds(input.group_sizes), 1)
    return tuple(
        number
        for number, (first, last) in groups
        if len(_find_common_words(passages[first:last]) - named_words) >= MIN_COMMON_WORDS
    )


def _find_common_words(passages: Sequence[Passage]) -> set[str]:
    """Return the stems that each passage has in its text or its headings."""
    stems = [set(stem_words(" ".join((*passage.heading_path, passage.text)))) for passage in passages]
    return set.intersection(*stems) if stems else set()


def has_theme(input: TopicNamerInput, evidence: Evidence) -> bool:
    """Return whether a group may deserve a section."""
    return bool(find_themed_groups(input, evidence.passages))


def render(input: TopicNamerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt, without groups that have no subject in common."""
    bounds = list(_iterate_bounds(input.group_sizes))
    themed = {number: bounds[number - 1] for number in find_themed_groups(input, evidence.passages)}
    user = join_parts(
        *(mark_passages(evidence.passages[first:last], first + 1) for first, last in themed.values()),
        wrap_in_tag("question", input.question),
        wrap_in_tag("outline", render_list("Outline", input.outline)),
        "\n".join(f"Group {n}: passages {first + 1} to {last}" for n, (first, last) in themed.items()),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def _iterate_bounds(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of each group among the passages."""
    first = 0
    for size in sizes:
        yield first, first + size
        first += size


ROLE = Role(
    "topic_namer",
    "fast",
    TopicNamerInput,
    TopicNamerOutput,
    render,
    skip(TopicNamerOutput(topics=())),
    read_by_people=True,
    needs_model=has_theme,
)
