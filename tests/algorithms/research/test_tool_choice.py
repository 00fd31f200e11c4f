"""Tests of the tools that the wording of a task calls for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.research.tool_choice import (
    MAX_RESOURCE_LENGTH,
    MAX_RESOURCES,
    choose_tool_calls,
    extract_claim,
    extract_comparison,
    extract_term,
    list_resources,
)
from tenure.contracts.evidence.tables import ColumnInfo, TableInfo
from tenure.contracts.research.tools import McpResource, McpTool
from workflows.research.tool_registry import TOOLS


@pytest.mark.parametrize(
    ("task", "claim"),
    [
        ("Is it true that bread rises for two hours?", "Bread rises for two hours."),
        ("is it really the case that Rye needs sourdough", "Rye needs sourdough."),
        ("Check whether rye bread is made with sourdough.", "Rye bread is made with sourdough."),
        ("Can you verify the claim that cheese ripens in a cellar?", "Cheese ripens in a cellar."),
        ("Bread rises for two hours, is that true?", "Bread rises for two hours."),
        ("True or false: cheese ripens in a cellar", "Cheese ripens in a cellar."),
        ("Is it true?", ""),
        ("How is bread made?", ""),
        ("Which of the claims is true?", ""),
    ],
)
def test_the_claim_of_a_task_is_found(task: str, claim: str) -> None:
    """A question for the truth of a statement contains the statement; other questions contain none."""
    assert extract_claim(task) == claim


@pytest.mark.parametrize(
    ("task", "term"),
    [
        ("Define sourdough.", "sourdough"),
        ("Define the term “duck typing”", "duck typing"),
        ("What is the definition of a virtual environment?", "virtual environment"),
        ("What does the term “duck typing” mean?", "duck typing"),
        ("What does PEP stand for?", "PEP"),
        ("What is meant by gradual typing?", "gradual typing"),
        ("Where is the term sourdough mentioned?", "sourdough"),
        ("What does the run mean by it?", ""),
        ("What is bread?", ""),
        ("Define what happens when the dough of the bread rises for too long.", ""),
    ],
)
def test_the_term_of_a_task_is_found(task: str, term: str) -> None:
    """A request for a definition names its term; a general question is left to the search."""
    assert extract_term(task) == term


@pytest.mark.parametrize(
    ("task", "comparison"),
    [
        ("Compare PEP 484 and PEP 526 on variable annotations.", ("PEP 484", "PEP 526", "variable annotations")),
        ("Compare the documents bread.md and cheese.md.", ("bread.md", "cheese.md", "")),
        ("What is the difference between report A and report B?", ("report A", "report B", "")),
        ("How do PEP 585 and PEP 604 differ?", ("PEP 585", "PEP 604", "")),
        ("Compare the reports “Rye 2022” and “Rye 2023” in terms of yield", ("Rye 2022", "Rye 2023", "yield")),
        ("Compare cats and dogs.", None),
        ("How does this compare?", None),
        ("Compare PEP 484 and PEP 484.", None),
    ],
)
def test_the_documents_of_a_comparison_are_found(task: str, comparison: tuple[str, str, str] | None) -> None:
    """Documents are compared if the task calls them documents or names them as such; subjects are not documents."""
    assert extract_comparison(task) == comparison


def test_figures_call_for_the_calculator_or_for_tables() -> None:
    """Numbers of the task are calculated; other figures are asked of tables."""
    (calculated,) = choose_tool_calls("What is 15 % of 2,400?")
    assert (calculated.tool, calculated.arguments["expression"]) == ("calculate", "15% of 2400")
    assert [call.tool for call in choose_tool_calls("Which region grew fastest?")] == ["sql"]
    assert choose_tool_calls("How is bread made?") == ()


def test_a_plan_reads_what_tools_can_reach() -> None:
    """Tables are listed with their columns, tools and resources of servers with their descriptions, all cut."""
    table = TableInfo(
        name="sales", columns=(ColumnInfo(name="day", kind="number"), ColumnInfo(name="sold", kind="number"))
    )
    tool = McpTool(server="cellar", name="get_heat", description=f"Return the\nheat {'of a room ' * 99}")
    resource = McpResource(server="cellar", uri="docs://cheese", title="Cheese")
    first, second, third, *more = list_resources([table], [tool], [resource] * 99)

    assert first == "table sales: day, sold"
    assert second.startswith("tool get_heat of the server cellar: Return the heat of a room")
    assert third == "resource docs://cheese of the server cellar: Cheese"
    assert len(second) <= MAX_RESOURCE_LENGTH and 3 + len(more) == MAX_RESOURCES


@given(st.text(max_size=700))
def test_every_chosen_call_is_valid(text: str) -> None:
    """Whatever a task says, the arguments of a call fit its tool."""
    for prefix in ("", "Is it true that ", "Define ", "Compare the documents ", "How many "):
        for call in choose_tool_calls(prefix + text):
            TOOLS[call.tool].arguments.model_validate(call.arguments)
