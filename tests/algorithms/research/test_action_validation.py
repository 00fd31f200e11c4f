"""Tests of the validation of ReAct actions."""

import json

import pytest

from tenure.algorithms.research.action_validation import (
    MAX_ARGUMENT_DEPTH,
    MIN_FINISH_CONFIDENCE,
    ProposedAction,
    build_call_key,
    extract_citations,
    normalize_tool_name,
    validate_action,
)
from workflows.research.tool_registry import TOOLS
from workflows.research.tools.analyze_document import AnalyzeDocumentArguments
from workflows.research.tools.calculate import CalculateArguments
from workflows.research.tools.hybrid_search import HybridSearchArguments
from workflows.research.tools.sql import SqlArguments

OFFERED = {name: TOOLS[name].arguments for name in ("hybrid_search", "calculate", "analyze_document", "mcp")}


def wrong(move: ProposedAction, passages: int = 3) -> str:
    """Return the error of an invalid action."""
    found = validate_action(move, OFFERED, {}, passages)
    assert (found.tool, found.arguments, found.is_final) == (None, None, False) and found.error
    return found.error


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("hybrid_search", '{"query": "bread"}'),
        ("HybridSearch", '{"query": " bread "}'),
        ("HYBRID-SEARCH", '{"query": "bread"}'),
        ("hybrid_search", "bread"),
    ],
)
def test_valid_calls_are_accepted(action: str, arguments: str) -> None:
    """A name in another case and the bare text of the first argument are accepted."""
    found = validate_action(ProposedAction(action, arguments), OFFERED, {}, 0)

    assert (found.tool, found.arguments, found.error) == ("hybrid_search", HybridSearchArguments(query="bread"), "")


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (ProposedAction(""), "names no action"),
        (ProposedAction("search", "bread"), "no tool “search”"),
        (ProposedAction("sql", "bread"), "no tool “sql”"),
        (ProposedAction("hybrid_search"), "query: Field required"),
        (ProposedAction("hybrid_search", "{}"), "It takes `query`, `k` (optional)."),
        (ProposedAction("hybrid_search", '{"q": "bread"}'), "q: Extra inputs are not permitted"),
        (ProposedAction("hybrid_search", '{"query": 7}'), "query: Input should be a valid string"),
        (ProposedAction("hybrid_search", '{"query": "a", "k": 1000}'), "k: Input should be less than or equal to 20"),
        (ProposedAction("hybrid_search", "a" * 501), "query: String should have at most 500 characters"),
        (ProposedAction("analyze_document", "what is it"), "passage: Input should be a valid integer"),
        (ProposedAction("finish"), "needs an answer"),
        (ProposedAction("finish", "", "It is so [4]."), "passage 4, but passages 1 to 3 were seen"),
        (ProposedAction("finish", "", "It is so [0, 1; 17]."), "passage 0, 17"),
        (ProposedAction("", "", "It is so [9]."), "passage 9"),
    ],
)
def test_invalid_actions_are_rejected(move: ProposedAction, told: str) -> None:
    """Each error message says what is expected."""
    assert told in wrong(move)


def test_unknown_tools_list_the_available_ones() -> None:
    """The list includes `finish`."""
    assert "`hybrid_search`, `calculate`, `analyze_document`, `mcp`, `finish`" in wrong(ProposedAction("rm"))


def test_citations_need_passages() -> None:
    """Without passages every citation is rejected."""
    assert "no passage was seen" in wrong(ProposedAction("finish", "", "So [1]."), 0)


def test_error_messages_are_short() -> None:
    """Arguments with very many faults give a short message."""
    assert len(wrong(ProposedAction("hybrid_search", json.dumps({f"field{n}": n for n in range(500)})))) < 1000


@pytest.mark.parametrize("opens", ['{"a":', "["])
def test_deeply_nested_arguments_are_rejected(opens: str) -> None:
    """Arguments that are nested too deeply to serialize are rejected."""

    def nested(levels: int) -> ProposedAction:
        inner = opens * levels + "1" + ("}" if "{" in opens else "]") * levels
        return ProposedAction("mcp", f'{{"server": "s", "tool": "t", "arguments": {{"a": {inner}}}}}')

    fits = validate_action(nested(MAX_ARGUMENT_DEPTH - 3), OFFERED, {}, 0)
    assert fits.tool == "mcp" and fits.arguments and build_call_key("mcp", fits.arguments)
    assert {wrong(nested(levels)) for levels in (MAX_ARGUMENT_DEPTH, 254, 450)} == {
        "The arguments of `mcp` are nested too deeply."
    }


def test_repeated_calls_are_rejected() -> None:
    """A repeated call is rejected with the number of its step, regardless of spelling; other arguments are accepted."""
    first = validate_action(ProposedAction("hybrid_search", "Rye  bread"), OFFERED, {}, 0)
    assert first.tool and first.arguments
    done = {build_call_key(first.tool, first.arguments): 2}

    assert (
        "Step 2 was the same call"
        in validate_action(ProposedAction("hybrid_search", "rye BREAD"), OFFERED, done, 0).error
    )
    assert validate_action(ProposedAction("hybrid_search", "wheat"), OFFERED, done, 0).tool == "hybrid_search"
    assert build_call_key("calculate", CalculateArguments(expression="1")) != build_call_key(
        "sql", SqlArguments(question="1")
    )
    assert build_call_key("analyze_document", AnalyzeDocumentArguments(passage=1, question="a")) not in done


@pytest.mark.parametrize(
    ("move", "passages", "ends"),
    [
        (ProposedAction("finish", "", "It is so."), 0, True),
        (ProposedAction("", "", "It is so [1]."), 1, True),
        (ProposedAction("hybrid_search", "bread", "It is so [1].", MIN_FINISH_CONFIDENCE), 1, True),
        (ProposedAction("", "", "It is so [1].", MIN_FINISH_CONFIDENCE), 1, True),
        (ProposedAction("hybrid_search", "bread", "It is so [1].", MIN_FINISH_CONFIDENCE - 0.01), 1, False),
        (ProposedAction("hybrid_search", "bread", "It is so [2].", MIN_FINISH_CONFIDENCE), 1, False),
        (ProposedAction("hybrid_search", "bread", "It is so.", 1.0), 1, False),
    ],
)
def test_answers_end_the_loop(move: ProposedAction, passages: int, ends: bool) -> None:
    """The loop ends by `finish`, by an answer without an action, and by a confident answer with valid citations."""
    assert validate_action(move, OFFERED, {}, passages).is_final is ends


def test_citations_are_extracted_once() -> None:
    """Numbers in square brackets are citations, words are not."""
    assert extract_citations("A [2], B [1, 2; 3] and [so].") == (2, 1, 3)


@pytest.mark.parametrize("name", ["VectorSearch", "vector search", "VECTOR-SEARCH", " vector_search "])
def test_names_of_tools_are_written_in_snake_case(name: str) -> None:
    """A name is recognized in any spelling."""
    assert normalize_tool_name(name) == "vector_search"
