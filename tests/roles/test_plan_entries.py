"""Tests of the parser of critiques and plans."""

import pytest

from tenure.contracts.research.cycle import PlannedAction
from tenure.roles.plan_entries import parse_plan
from tests.support.report_answers import render_plan
from tests.support.worlds import plans

WHOLE = """Here is my judgement.

SITUATION: Dough rises for two hours [1].
It needs salt [2, 3].
COMPLICATION: The passages disagree on salt [2].

PART [Bread]: answered
PART [Costs]: **partly** – prices of salt
- PART Ovens: open – heat
**DECISION:** CONTINUE – prices are missing, which a list of goods may state.

SEARCH s1 [Costs]: What does salt cost: sea salt or rock salt?
  or: price list of salt
  by: multi-hop
  mode: sparse
2. READ s2 12 [Ovens]: heat of the oven
ANALYZE s3 after s1 [Costs]: Which price is newest?
COMPARE s4 [Costs] after s1, s2 and s3: price, weight
CALCULATE s5 after s1, s2: How many times dearer is rock salt?
ADD [Rye: flour and dough]: How is rye bread made?
DROP_TOPIC [Ovens]: no source has it
ASK: Which town?
  assumed: any
I hope that this helps.
"""


def test_a_whole_answer_is_read() -> None:
    """Judgement, decision and every kind of action with its name, passage, part, needs and options."""
    read = parse_plan(WHOLE)

    assert read.situation == "Dough rises for two hours [1]. It needs salt [2, 3]."
    assert read.complication == "The passages disagree on salt [2]."
    assert read.missing == ("Costs: **partly** – prices of salt", "Ovens: open – heat")
    assert read.critique == "prices are missing, which a list of goods may state."
    search, reading, analysis, comparison, calculation, added, dropped, question = read.plan
    assert search == PlannedAction(
        id="s1",
        action="SEARCH",
        query="What does salt cost: sea salt or rock salt?",
        target_outline_topic="Costs",
        strategy="multi_hop",
        search_mode="sparse",
        alternative="price list of salt",
    )
    assert (reading.id, reading.passage, reading.query) == ("s2", 12, "heat of the oven")
    assert (analysis.id, analysis.passage, analysis.depends_on) == ("s3", 0, ("s1",))
    assert (comparison.depends_on, comparison.query) == (("s1", "s2", "s3"), "price, weight")
    assert (calculation.depends_on, calculation.target_outline_topic) == (("s1", "s2"), "")
    assert (added.action, added.target_outline_topic) == ("ADD_TO_OUTLINE", "Rye: flour and dough")
    assert (dropped.action, dropped.target_outline_topic) == ("DROP_TOPIC", "Ovens")
    assert (question.action, question.query, question.expected_output) == (
        "ASK_HUMAN",
        "Which town?",
        "any",
    )


@pytest.mark.parametrize("line", ["[Ovens]: partly – answered for bricks, no heat", "Ovens: open - answered nowhere"])
def test_a_part_that_is_answered_in_part_is_missing(line: str) -> None:
    """Only a part whose judgement begins with “answered” has nothing missing."""
    assert parse_plan(f"PART {line}\nDECISION: FINISH – enough.").missing == (line.replace("[", "").replace("]", ""),)


def test_an_end_has_no_other_action() -> None:
    """The decision to finish counts, whatever is planned after it."""
    read = parse_plan("DECISION: FINISH – nothing is missing.\nSEARCH s1 [Bread]: flour")

    assert (read.critique, [action.action for action in read.plan]) == ("nothing is missing.", ["FINISH"])


@pytest.mark.parametrize(
    ("line", "topic", "query"),
    [
        ("SEARCH: What is rye?", "", "What is rye?"),
        ("SEARCH [Bread] What is rye?", "Bread", "What is rye?"),
        ("SEARCH s1 – What is rye?", "", "What is rye?"),
        ("SEARCH s1 [Bread]:\nWhat is rye?", "Bread", "What is rye?"),
        ("* `SEARCH` s1 [Bread]: **What is rye?**", "Bread", "What is rye?"),
    ],
)
def test_the_form_may_vary(line: str, topic: str, query: str) -> None:
    """Name, part and colon may be missing, and Markdown may surround an entry."""
    (action,) = parse_plan(line).plan

    assert (action.target_outline_topic, action.query) == (topic, query)


def test_words_of_a_sentence_are_no_entries() -> None:
    """An answer without a decision and an action is sent back with the form that is asked for."""
    with pytest.raises(ValueError, match="DECISION: CONTINUE"):
        parse_plan("SEARCHES were made. I would look for flour; Read more.")


def test_plans_of_tests_have_the_form() -> None:
    """The plans that tests write are read as they were meant."""
    written = plans(
        {"id": "a", "action": "SEARCH", "query": "flour", "target_outline_topic": "Bread", "strategy": "react"},
        {"id": "b", "action": "READ", "query": "salt", "passage": 3, "depends_on": ["a"]},
        {"id": "", "action": "ASK_HUMAN", "query": "Which town?", "expected_output": "any"},
    )
    read = parse_plan(render_plan(written))

    assert [action.model_dump(exclude_defaults=True) for action in read.plan] == [
        {field: tuple(value) if isinstance(value, list) else value for field, value in action.items() if value}
        | {"id": action["id"]}
        for action in written["plan"]
    ]
