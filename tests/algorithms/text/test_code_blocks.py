"""Code in texts: what is taken for a program, for a wanted name, and for an example."""

import pytest

from tenure.algorithms.text.code_blocks import Example, blocks, defined, examples, fitting, imported, named, tree_of

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
def test_code_is_found_however_it_is_set(text: str) -> None:
    """A module, a fence, an indented block, and the whole parts of one that a chunk has cut."""
    assert [code.strip() for code in blocks(text)] == [MEDIAN.strip()]


@pytest.mark.parametrize("text", ["Only prose.", "```js\nfunction f() {}\n```", "```python\nprint(1)\n```", "x = 1\n"])
def test_what_defines_nothing_is_no_block(text: str) -> None:
    """Other languages, statements and prose offer no program."""
    assert list(blocks(text)) == []


def test_what_is_no_python_has_no_tree_and_defines_nothing() -> None:
    """A mistake of syntax is an answer, not an error."""
    assert tree_of("def (") is None
    assert defined("def (") == ()
    assert defined("class A:\n    pass\n\n\nasync def b():\n    pass\n") == ("A", "b")


def test_imports_tell_what_tests_want() -> None:
    """Names from a module, attributes of an imported one, and nothing from relative imports or broken files."""
    tests = [
        "from durations import parse, show\nimport shapes.area as area\nimport clock\nfrom . import near\n"
        "clock.now()\narea.of(3)\n",
        "def (",
    ]

    assert imported(tests) == {"durations": ("parse", "show"), "shapes.area": ("of",), "clock": ("now",)}


def test_a_request_names_functions_in_several_ways() -> None:
    """Marks of code, a call, and the word function before a name of several words."""
    asked = "Write `median` and `mode(values)`, then mean(xs) and a function called top_three"

    assert named(asked) == ("median", "mode", "mean", "top_three")


def test_code_fits_by_wanted_names_or_by_words() -> None:
    """Names decide where there are any; else every word of a definition's name has to be asked for."""
    other = "def running_mean(values):\n    return 0\n"

    assert fitting(("median",), "anything", [other, MEDIAN]) == [MEDIAN]
    assert fitting((), "the running mean of values", [MEDIAN, other]) == [other]
    assert fitting((), "bake bread", [MEDIAN, other]) == []


def test_examples_come_from_sessions_and_from_words() -> None:
    """A prompt with its result, and calls that are said to give something; what cannot be compared is left out."""
    text = (
        "`f(3)` returns 9, f([1]) == [1, 2]. g(1) is fine\n"
        ">>> f(4)\n16\n>>> f(x) + 1\n3\n>>> obj.f(1)\n2\n>>> f(\n1\nf(1)(2) == 3"
    )

    assert examples(text) == (
        Example("f", "f(4)", "16"),
        Example("f", "f(3)", "9"),
        Example("f", "f([1])", "[1, 2]"),
    )
