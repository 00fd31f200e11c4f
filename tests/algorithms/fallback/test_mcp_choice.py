"""Tests of the choice of MCP tools and resources without a model."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.fallback.mcp_choice import choose_mcp_calls, choose_resources
from tenure.contracts.research.tools import McpResource, McpTool

DATE = {"type": "string", "format": "date"}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}


def tool(name: str, description: str, optional: tuple[str, ...] = (), **parameters: Any) -> McpTool:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in parameters.items()},
        "required": [key for key in parameters if key not in optional],
    }
    return McpTool(server="s", name=name, description=description, parameters=schema, automatic=True)


TOOLS = (
    tool("get_weather", "Return the current weather of a city.", ("day",), city="string", day=DATE),
    tool("order_status", "State of an order of the bakery.", order_id="string"),
    tool("convert_currency", "Converts an amount of money.", amount="number", fromCode="string", toCode="string"),
    tool("search", "Search pages.", ("limit",), query="string", limit="integer"),
    tool("search_recipes", "Finds recipes.", query="string"),
    tool("exchange_rate", "Exchange rate of a currency on a date.", currency="string", date=DATE),
    tool("list_employees", "List all employees of the company."),
    tool("forecast", "Forecast for a city.", city="string", unit=UNIT),
    tool("fetch_page", "Size and language of a web page.", url="string"),
    tool("resize_ovens", "Resize ovens.", sizes={"type": "array"}),
)


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("What is the weather in Oslo?", [("get_weather", {"city": "Oslo"})]),
        ("what's the weather in oslo", [("get_weather", {"city": "oslo"})]),
        ("How was the weather in Oslo on 2024-03-01?", [("get_weather", {"city": "Oslo", "day": "2024-03-01"})]),
        ("What is the status of order A-1042?", [("order_status", {"order_id": "A-1042"})]),
        ("Convert 100 USD to EUR", [("convert_currency", {"amount": 100, "fromCode": "USD", "toCode": "EUR"})]),
        ("Which recipes use rye flour?", [("search_recipes", {"query": "Which recipes use rye flour?"})]),
        ("Who are the employees of the company?", [("list_employees", {})]),
        ("What is the forecast for Paris in celsius?", [("forecast", {"city": "Paris", "unit": "celsius"})]),
        (
            "What was the exchange rate of the Euro on 1 March 2024?",
            [("exchange_rate", {"currency": "Euro", "date": "2024-03-01"})],
        ),
        (
            "What is the language of the page https://a.example/x?",
            [("fetch_page", {"url": "https://a.example/x"})],
        ),
        ("What is the status of my order?", []),
        ("What is the forecast for Paris?", []),
        ("Which ovens should be resized?", []),
        ("How is bread made?", []),
        ("What was decided about the weather station?", []),
    ],
)
def test_a_tool_is_called_if_it_matches_and_can_be_called(question: str, calls: list[tuple[str, Any]]) -> None:
    """Name, description and parameters decide; a required value that the question lacks prevents the call."""
    assert [(call.tool.name, call.arguments) for call in choose_mcp_calls(question, TOOLS)] == calls


def test_every_part_of_a_question_has_its_tool() -> None:
    """A question with two parts leads to two calls."""
    found = choose_mcp_calls("What is the weather in Oslo and what is the status of order A-1042?", TOOLS)
    assert {call.tool.name for call in found} == {"get_weather", "order_status"}


def test_a_tool_that_rules_may_not_call_is_not_chosen() -> None:
    """A tool that is not declared read-only, and one whose schema is unknown, is left to a model."""
    forbidden = TOOLS[0].model_copy(update={"automatic": False})
    unknown = TOOLS[0].model_copy(update={"parameters": {}})
    assert choose_mcp_calls("What is the weather in Oslo?", (forbidden, unknown)) == ()


def test_resources_are_chosen_by_name_and_description() -> None:
    """A resource is read if the question has half of its name, or most of the question is in its description."""
    oven = McpResource(server="s", uri="docs://oven", title="Oven manual", description="How to operate the oven.")
    prices = McpResource(server="s", uri="file:///price_list.md", title="price_list")
    key = McpResource(server="s", uri="secret://k", title="key", description="A key.")

    assert choose_resources("How hot may the oven get?", (oven, prices, key)) == (oven,)
    assert choose_resources("What is the price of rye bread?", (oven, prices, key)) == (prices,)
    assert choose_resources("Who bakes?", (oven, prices, key)) == ()


@given(
    st.text(max_size=200),
    st.text(max_size=80),
    st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.text(max_size=8), st.lists), max_size=4),
)
def test_any_schema_of_a_server_is_accepted(question: str, name: str, schema: dict[str, Any]) -> None:
    """Whatever a server declares, the choice returns calls or none."""
    one = McpTool(server="s", name=name, description=name, parameters=schema, automatic=True)
    properties = {"type": "object", "properties": schema, "required": list(schema)}
    other = one.model_copy(update={"parameters": properties})
    assert len(choose_mcp_calls(f"{question} {name}", (one, other))) <= 2
