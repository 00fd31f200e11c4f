"""Tests of extracting code blocks, function names and examples from text."""

import pytest

from tenure.algorithms.text.code_blocks import (
    CodeExample,
    collect_imports,
    extract_examples,
    extract_function_names,
    extract_python_blocks,
    list_definitions,
    parse_python,
    rank_code,
)

MEDIAN = "def median(values):\n    return sorted(values)[len(values) // 2]\n"
PROSE = "# Medians\n\nIt works like this.\n\n{code}\n\nIt is used so."


def indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        MEDIAN,
        PROSE.format(code=f"```python\n{MEDIAN}```"),
        PROSE.format(code=f"~~~\n{MEDIAN}~~~"),
        PROSE.format(code=indented(MEDIAN)),
        f"Cut off by a chunk:\n\n```py\n{MEDIAN}",
        f"```python\n{MEDIAN}\ndef broken(\n```",
    ],
)
def test_code_blocks_are_found_in_all_formats(text: str) -> None:
    """Modules, fenced blocks, indented blocks and the complete parts of a truncated block are found."""
    assert [code.strip() for code in extract_python_blocks(text)] == [MEDIAN.strip()]


@pytest.mark.parametrize("text", ["Only prose.", "```js\nfunction f() {}\n```", "```python\nprint(1)\n```", "x = 1\n"])
def test_text_without_definitions_has_no_blocks(text: str) -> None:
    """Other languages, statements and prose are not code blocks."""
    assert list(extract_python_blocks(text)) == []


def test_invalid_python_defines_nothing() -> None:
    """A syntax error is a result, not an exception."""
    assert parse_python("def (") is None
    assert list_definitions("def (") == ()
    assert list_definitions("class A:\n    pass\n\n\nasync def b():\n    pass\n") == ("A", "b")


def test_imports_are_collected_from_tests() -> None:
    """Imported names and module attributes are collected; relative imports and invalid files are ignored."""
    tests = [
        "from durations import parse, show\nimport shapes.area as area\nimport clock\nfrom . import near\n"
        "clock.now()\narea.of(3)\n",
        "def (",
    ]

    assert collect_imports(tests) == {"durations": ("parse", "show"), "shapes.area": ("of",), "clock": ("now",)}


def test_function_names_are_extracted_from_a_request() -> None:
    """Backticks, calls and the word "function" mark a function name."""
    asked = "Write `median` and `mode(values)`, then mean(xs) and a function called top_three"

    assert extract_function_names(asked) == ("median", "mode", "mean", "top_three")


def test_code_is_ranked_by_names_or_words() -> None:
    """Wanted names decide if given; otherwise all words of a definition's name must occur in the question."""
    other = "def running_mean(values):\n    return 0\n"

    assert rank_code(("median",), "anything", [other, MEDIAN]) == [MEDIAN]
    assert rank_code((), "the running mean of values", [MEDIAN, other]) == [other]
    assert rank_code((), "bake bread", [MEDIAN, other]) == []


def test_examples_are_extracted_from_sessions_and_prose() -> None:
    """Prompts with results and calls with a stated result are examples; incomparable results are omitted."""
    text = (
        "`f(3)` returns 9, f([1]) == [1, 2]. g(1) is fine\n"
        ">>> f(4)\n16\n>>> f(x) + 1\n3\n>>> obj.f(1)\n2\n>>> f(\n1\nf(1)(2) == 3"
    )

    assert extract_examples(text) == (
        CodeExample("f", "f(4)", "16"),
        CodeExample("f", "f(3)", "9"),
        CodeExample("f", "f([1])", "[1, 2]"),
    )
