"""What of a model's move is carried out."""

import json
from typing import get_args

import pytest

from tenure.algorithms.research.action_parsing import LONGEST_ARGUMENTS, Move
from tenure.algorithms.research.action_validation import (
    DEEPEST,
    MOST_STEPS,
    SURE,
    TOOLS,
    cited,
    judged,
    mark,
    steps_of,
    sure,
)
from tenure.contracts.research.tools import (
    AnalyzeDocumentArguments,
    CalculateArguments,
    HybridSearchArguments,
    SqlArguments,
    ToolName,
)

OFFERED: tuple[ToolName, ...] = ("hybrid_search", "calculate", "analyze_document", "mcp")


def wrong(move: Move, passages: int = 3) -> str:
    """Return what is wrong with a move that is not carried out."""
    found = judged(move, OFFERED, {}, passages)
    assert (found.tool, found.arguments, found.ends) == (None, None, False) and found.wrong
    return found.wrong


def test_every_tool_is_known() -> None:
    """The catalogue describes each tool that a model can name."""
    assert set(TOOLS) == set(get_args(ToolName))


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
    found = judged(Move("", action, arguments), OFFERED, {}, 0)

    assert (found.tool, found.arguments, found.wrong) == ("hybrid_search", HybridSearchArguments(query="bread"), "")


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (Move("I think."), "No action was named"),
        (Move("", "search", "bread"), "no tool “search”"),
        (Move("", "sql", "bread"), "`sql` is not to be had in this run: it needs tables"),
        (Move("", "vector_search", "bread"), "`vector_search` is not to be had in this run."),
        (Move("", "hybrid_search"), "query: Field required"),
        (Move("", "hybrid_search", "{}"), "It takes `query`, `k` (may be left out)."),
        (Move("", "hybrid_search", '{"q": "bread"}'), "q: Extra inputs are not permitted"),
        (Move("", "hybrid_search", '{"query": 7}'), "query: Input should be a valid string"),
        (Move("", "hybrid_search", '{"query": "a", "k": 1000}'), "k: Input should be less than or equal to 20"),
        (Move("", "hybrid_search", "a" * 501), "query: String should have at most 500 characters"),
        (Move("", "hybrid_search", "a" * (LONGEST_ARGUMENTS + 1)), f"longer than {LONGEST_ARGUMENTS} characters"),
        (Move("", "analyze_document", "what is it"), "passage: Input should be a valid integer"),
        (Move("", "finish"), "needs the answer"),
        (Move("", "finish", "", "It is so [4]."), "passage 4, but passages 1 to 3 were seen"),
        (Move("", "finish", "", "It is so [0, 1; 17]."), "passage 0, 17"),
        (Move("", "", "", "It is so [9]."), "passage 9"),
    ],
)
def test_what_cannot_be_done_is_sent_back(move: Move, told: str) -> None:
    """Each fault is named in words that say what would be right."""
    assert told in wrong(move)


def test_every_correction_of_a_name_lists_the_tools() -> None:
    """A model that knows no tool is told all that there are, the end included."""
    assert "`hybrid_search`, `calculate`, `analyze_document`, `mcp`, `finish`" in wrong(Move("", "rm"))


def test_no_passage_can_be_named_before_one_was_seen() -> None:
    """Without passages, the correction says that there are none."""
    assert "no passage was seen" in wrong(Move("", "finish", "", "So [1]."), 0)


def test_many_faults_are_cut() -> None:
    """A correction of arguments with very many faults stays short."""
    assert len(wrong(Move("", "hybrid_search", json.dumps({f"field{n}": n for n in range(500)})))) < 1000


@pytest.mark.parametrize("opens", ['{"a":', "["])
def test_arguments_beyond_writing_are_sent_back(opens: str) -> None:
    """What is nested deeper than it could be recorded is refused, at whatever depth the libraries would fail."""

    def nested(levels: int) -> Move:
        inner = opens * levels + "1" + ("}" if "{" in opens else "]") * levels
        return Move("", "mcp", f'{{"server": "s", "tool": "t", "arguments": {{"a": {inner}}}}}')

    fits = judged(nested(DEEPEST - 3), OFFERED, {}, 0)
    assert fits.tool == "mcp" and fits.arguments and mark("mcp", fits.arguments)
    assert {wrong(nested(levels)) for levels in (DEEPEST, 254, 450)} == {
        "The arguments of `mcp` are nested too deeply."
    }


def test_the_same_is_done_once() -> None:
    """An action that was carried out is named with its step, however it is spelt; another argument is another."""
    first = judged(Move("", "hybrid_search", "Rye  bread"), OFFERED, {}, 0)
    assert first.tool and first.arguments
    done = {mark(first.tool, first.arguments): 2}

    assert "Step 2 did exactly this" in judged(Move("", "hybrid_search", "rye BREAD"), OFFERED, done, 0).wrong
    assert judged(Move("", "hybrid_search", "wheat"), OFFERED, done, 0).tool == "hybrid_search"
    assert mark("calculate", CalculateArguments(expression="1")) != mark("sql", SqlArguments(question="1"))
    assert mark("analyze_document", AnalyzeDocumentArguments(passage=1, question="a")) not in done


@pytest.mark.parametrize(
    ("move", "passages", "ends"),
    [
        (Move("", "finish", "", "It is so."), 0, True),
        (Move("", "", "", "It is so [1]."), 1, True),
        (Move("", "hybrid_search", "bread", "It is so [1].", SURE), 1, True),
        (Move("", "", "", "It is so [1].", SURE), 1, True),
        (Move("", "hybrid_search", "bread", "It is so [1].", SURE - 0.01), 1, False),
        (Move("", "hybrid_search", "bread", "It is so [2].", SURE), 1, False),
        (Move("", "hybrid_search", "bread", "It is so.", 1.0), 1, False),
        (Move("", "hybrid_search", "bread", "It is so [1].", 95.0), 1, False),
    ],
)
def test_a_loop_ends_with_an_answer(move: Move, passages: int, ends: bool) -> None:
    """It ends by a finish, by an answer without an action, and by a sure answer that cites what is there."""
    assert judged(move, OFFERED, {}, passages).ends is ends


def test_what_is_odd_is_remarked() -> None:
    """A confidence that is none and further actions do not stop the first action, but are told."""
    found = judged(Move("", "calculate", "1 + 1", confidence=7.0, further=1), OFFERED, {}, 0)

    assert found.tool == "calculate"
    assert found.remark.startswith("A confidence lies between 0 and 1") and "One action at a time" in found.remark
    assert [sure(value) for value in (-1.0, 0.3, 1.0, 7.0)] == [0.0, 0.3, 1.0, 0.0]


def test_cited_passages_are_found_once() -> None:
    """Numbers in square brackets are passages, words in them are not."""
    assert cited("A [2], B [1, 2; 3] and [so].") == (2, 1, 3)


def test_steps_grow_with_the_hops() -> None:
    """A task of more hops has more steps, up to the most."""
    assert [steps_of(hops) for hops in (1, 2, 3, 5)] == [4, 6, 8, MOST_STEPS]
