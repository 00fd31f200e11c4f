"""Tests of outlines set by a user."""

from tenure.algorithms.research.outline_edits import (
    OutlineChange,
    apply_outline,
    describe_dropped_topics,
    revise_outline,
)
from tenure.contracts.research.report import Topic
from tenure.contracts.run.control import OutlineRevision, OutlineTopic

TOPICS = (
    Topic(heading="Bread", question="How is bread made?"),
    Topic(heading="Cheese", question="How is cheese made?"),
)


def set_to(*lines: str, after: OutlineRevision | None = None) -> OutlineRevision:
    return revise_outline(after, [OutlineTopic.model_validate(line) for line in lines])


def test_a_topic_keeps_its_searches_with_its_question() -> None:
    """Searches that an outliner has named are for its question, and none is made for another one."""
    topics = [Topic(heading="Bread", question="How is bread made?", queries=("rye bread",))]

    assert apply_outline(topics, set_to("Bread => Rye")).topics[0].queries == ("rye bread",)
    assert apply_outline(topics, set_to("Bread | What does bread cost?")).topics[0].queries == ()


def test_topics_are_kept_renamed_dropped_and_added() -> None:
    """A kept topic keeps its question unless it has a new one; the order is the user's."""
    wanted = apply_outline(TOPICS, set_to("Wine", "bread => Rye  bread", "Butter | What is it for?"))

    assert wanted == OutlineChange(
        topics=(
            Topic(heading="Wine", question="Wine"),
            Topic(heading="Rye bread", question="How is bread made?"),
            Topic(heading="Butter", question="What is it for?"),
        ),
        previous_headings={"Rye bread": "Bread"},
        dropped=("Cheese",),
    )
    assert describe_dropped_topics(wanted) == ["“Cheese” was taken out of the outline by a person."]


def test_two_topics_can_swap_names() -> None:
    """The former name takes precedence over the new name."""
    wanted = apply_outline(TOPICS, set_to("Bread => Cheese", "Cheese => Bread"))

    assert wanted.previous_headings == {"Cheese": "Bread", "Bread": "Cheese"}
    assert wanted.dropped == ()


def test_missed_revision_does_not_lose_a_topic() -> None:
    """A part that receives only the second renaming matches the topic by its first name."""
    first = set_to("Bread => Rye", "Cheese")
    second = set_to("Rye => Sourdough", "Cheese", after=first)

    assert second.number == 2
    assert apply_outline(TOPICS, second).previous_headings == {"Sourdough": "Bread", "Cheese": "Cheese"}
    assert apply_outline(apply_outline(TOPICS, first).topics, second).previous_headings == {
        "Sourdough": "Rye",
        "Cheese": "Cheese",
    }
