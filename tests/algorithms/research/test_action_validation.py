"""What of a model's move is carried out."""

import json

import pytest

from tenure.algorithms.research.action_parsing import MAX_ARGUMENTS_LENGTH, ParsedAction
from tenure.algorithms.research.action_validation import (
    MAX_ARGUMENT_DEPTH,
    MAX_STEPS,
    MIN_FINISH_CONFIDENCE,
    build_call_key,
    compute_max_steps,
    extract_citations,
    normalize_confidence,
    validate_action,
)
from workflows.research.tool_registry import TOOLS
from workflows.research.tools.analyze_document import AnalyzeDocumentArguments
from workflows.research.tools.calculate import CalculateArguments
from workflows.research.tools.hybrid_search import HybridSearchArguments
from workflows.research.tools.sql import SqlArguments

OFFERED = {name: TOOLS[name].arguments for name in ("hybrid_search", "calculate", "analyze_document", "mcp")}


def wrong(move: ParsedAction, passages: int = 3) -> str:
    """Return what is wrong with a move that is not carried out."""
    found = validate_action(move, OFFERED, {}, passages)
    assert (found.tool, found.arguments, found.is_final) == (None, None, False) and found.error
    return found.error


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("hybrid_search", '{"query": "bread"}'),
        ("HybridSearch", '{"query": " bread "}'),
        ("HYBRID-SEARCH", json.dumps('{"query": "bread"}')),
        ("hybrid_search", "bread"),
    ],
)
def test_a_tool_is_used_as_it_was_meant(action: str, arguments: str) -> None:
    """A name in another case, an object in a string and the bare text of the first argument mean the same."""
    found = validate_action(ParsedAction("", action, arguments), OFFERED, {}, 0)

    assert (found.tool, found.arguments, found.error) == ("hybrid_search", HybridSearchArguments(query="bread"), "")


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (ParsedAction("I think."), "No action was named"),
        (ParsedAction("", "search", "bread"), "no tool “search”"),
        (ParsedAction("", "sql", "bread"), "no tool “sql”"),
        (ParsedAction("", "hybrid_search"), "query: Field required"),
        (ParsedAction("", "hybrid_search", "{}"), "It takes `query`, `k` (optional)."),
        (ParsedAction("", "hybrid_search", '{"q": "bread"}'), "q: Extra inputs are not permitted"),
        (ParsedAction("", "hybrid_search", '{"query": 7}'), "query: Input should be a valid string"),
        (ParsedAction("", "hybrid_search", '{"query": "a", "k": 1000}'), "k: Input should be less than or equal to 20"),
        (ParsedAction("", "hybrid_search", "a" * 501), "query: String should have at most 500 characters"),
        (
            ParsedAction("", "hybrid_search", "a" * (MAX_ARGUMENTS_LENGTH + 1)),
            f"longer than {MAX_ARGUMENTS_LENGTH} characters",
        ),
        (ParsedAction("", "analyze_document", "what is it"), "passage: Input should be a valid integer"),
        (ParsedAction("", "finish"), "needs the answer"),
        (ParsedAction("", "finish", "", "It is so [4]."), "passage 4, but passages 1 to 3 were seen"),
        (ParsedAction("", "finish", "", "It is so [0, 1; 17]."), "passage 0, 17"),
        (ParsedAction("", "", "", "It is so [9]."), "passage 9"),
    ],
)
def test_what_cannot_be_done_is_sent_back(move: ParsedAction, told: str) -> None:
    """Each fault is named in words that say what would be right."""
    assert told in wrong(move)


def test_every_correction_of_a_name_lists_the_tools() -> None:
    """A model that knows no tool is told all that there are, the end included."""
    assert "`hybrid_search`, `calculate`, `analyze_document`, `mcp`, `finish`" in wrong(ParsedAction("", "rm"))


def test_no_passage_can_be_named_before_one_was_seen() -> None:
    """Without passages, the correction says that there are none."""
    assert "no passage was seen" in wrong(ParsedAction("", "finish", "", "So [1]."), 0)


def test_many_faults_are_cut() -> None:
    """A correction of arguments with very many faults stays short."""
    assert len(wrong(ParsedAction("", "hybrid_search", json.dumps({f"field{n}": n for n in range(500)})))) < 1000


@pytest.mark.parametrize("opens", ['{"a":', "["])
def test_arguments_beyond_writing_are_sent_back(opens: str) -> None:
    """What is nested deeper than it could be recorded is refused, at whatever depth the libraries would fail."""

    def nested(levels: int) -> ParsedAction:
        inner = opens * levels + "1" + ("}" if "{" in opens else "]") * levels
        return ParsedAction("", "mcp", f'{{"server": "s", "tool": "t", "arguments": {{"a": {inner}}}}}')

    fits = validate_action(nested(MAX_ARGUMENT_DEPTH - 3), OFFERED, {}, 0)
    assert fits.tool == "mcp" and fits.arguments and build_call_key("mcp", fits.arguments)
    assert {wrong(nested(levels)) for levels in (MAX_ARGUMENT_DEPTH, 254, 450)} == {
        "The arguments of `mcp` are nested too deeply."
    }


def test_the_same_is_done_once() -> None:
    """An action that was carried out is named with its step, however it is spelt; another argument is another."""
    first = validate_action(ParsedAction("", "hybrid_search", "Rye  bread"), OFFERED, {}, 0)
    assert first.tool and first.arguments
    done = {build_call_key(first.tool, first.arguments): 2}

    assert (
        "Step 2 was the same call"
        in validate_action(ParsedAction("", "hybrid_search", "rye BREAD"), OFFERED, done, 0).error
    )
    assert validate_action(ParsedAction("", "hybrid_search", "wheat"), OFFERED, done, 0).tool == "hybrid_search"
    assert build_call_key("calculate", CalculateArguments(expression="1")) != build_call_key(
        "sql", SqlArguments(question="1")
    )
    assert build_call_key("analyze_document", AnalyzeDocumentArguments(passage=1, question="a")) not in done


@pytest.mark.parametrize(
    ("move", "passages", "ends"),
    [
        (ParsedAction("", "finish", "", "It is so."), 0, True),
        (ParsedAction("", "", "", "It is so [1]."), 1, True),
        (ParsedAction("", "hybrid_search", "bread", "It is so [1].", MIN_FINISH_CONFIDENCE), 1, True),
        (ParsedAction("", "", "", "It is so [1].", MIN_FINISH_CONFIDENCE), 1, True),
        (ParsedAction("", "hybrid_search", "bread", "It is so [1].", MIN_FINISH_CONFIDENCE - 0.01), 1, False),
        (ParsedAction("", "hybrid_search", "bread", "It is so [2].", MIN_FINISH_CONFIDENCE), 1, False),
        (ParsedAction("", "hybrid_search", "bread", "It is so.", 1.0), 1, False),
        (ParsedAction("", "hybrid_search", "bread", "It is so [1].", 95.0), 1, False),
    ],
)
def test_a_loop_ends_with_an_answer(move: ParsedAction, passages: int, ends: bool) -> None:
    """It ends by a finish, by an answer without an action, and by a sure answer that cites what is there."""
    assert validate_action(move, OFFERED, {}, passages).is_final is ends


def test_what_is_odd_is_remarked() -> None:
    """A confidence that is none and further actions do not stop the first action, but are told."""
    found = validate_action(ParsedAction("", "calculate", "1 + 1", confidence=7.0, extra_actions=1), OFFERED, {}, 0)

    assert found.tool == "calculate"
    assert found.remark.startswith("A confidence lies between 0 and 1") and "One action at a time" in found.remark
    assert [normalize_confidence(value) for value in (-1.0, 0.3, 1.0, 7.0)] == [0.0, 0.3, 1.0, 0.0]


def test_cited_passages_are_found_once() -> None:
    """Numbers in square brackets are passages, words in them are not."""
    assert extract_citations("A [2], B [1, 2; 3] and [so].") == (2, 1, 3)


def test_steps_grow_with_the_hops() -> None:
    """A task of more hops has more steps, up to the most."""
    assert [compute_max_steps(hops) for hops in (1, 2, 3, 5)] == [4, 6, 8, MAX_STEPS]
