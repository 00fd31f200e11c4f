"""Tests of the topic namer's prompt, and of the groups that are worth it."""

from tenure.roles.base import Evidence
from tenure.roles.research.topic_namer import TopicNamerInput, find_themed_groups, has_theme, render
from tests.support.passages import passage

QUESTION = "How is bread made?"
SOURDOUGH = tuple(
    passage(f"Sourdough needs warm flour, part {n}.", "dough", n, headings=("Starter",)) for n in range(2)
)
MIXED = (
    passage("An oven is hot.", "oven", headings=("Ovens for bread",)),
    passage("A cellar stays cool in summer.", "cellar"),
)
REQUEST = TopicNamerInput(question=QUESTION, outline=("Cheese",), group_sizes=(2, 2))


def test_the_prompt_contains_the_groups_with_a_theme() -> None:
    """Groups are ranges of passage numbers and keep their numbers; one without a theme is not shown."""
    last = REQUEST.model_copy(update={"group_sizes": (2, 2)})
    user = render(last, Evidence((*MIXED, *SOURDOUGH)))[1].content

    assert "Group 2: passages 3 to 4" in user and "Group 1" not in user
    assert '<passage n="3"' in user and "oven" not in user


def test_a_model_is_asked_only_about_groups_with_a_theme() -> None:
    """Words of the question and of the outline are no theme, and a group without passages has none."""
    assert find_themed_groups(REQUEST, (*SOURDOUGH, *MIXED)) == (1,)
    assert not has_theme(REQUEST, Evidence((*MIXED, *MIXED)))
    known = REQUEST.model_copy(update={"outline": ("Starters of sourdough with warm flour, and their parts",)})
    assert not has_theme(known, Evidence((*SOURDOUGH, *MIXED)))
    assert not has_theme(REQUEST.model_copy(update={"group_sizes": (0,)}), Evidence())
