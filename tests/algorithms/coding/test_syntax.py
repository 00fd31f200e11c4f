"""Tests of bounded parsing."""

import pytest

from tenure.algorithms.coding import syntax
from tenure.algorithms.coding.languages import find_language, load_grammar
from tenure.algorithms.coding.syntax import MAX_SOURCE_BYTES, parse_code


@pytest.mark.parametrize(
    ("name", "language"),
    [("a/b.py", "python"), ("x.TSX", "tsx"), ("a.h", "c"), ("Makefile", ""), ("a.unknown", ""), (".py", "python")],
)
def test_language_is_found_by_suffix(name: str, language: str) -> None:
    """The suffix decides, in any case."""
    assert find_language(name) == language


def test_code_without_grammar_has_no_tree() -> None:
    """An unknown language and a missing package are no errors."""
    assert parse_code("x", "cobol") is None
    assert load_grammar("") is None


def test_broken_code_has_a_tree() -> None:
    """Errors are nodes of the tree, so that the rest is still understood."""
    tree = parse_code("def f(:\n    pass\n\ndef g(): pass\n", "python")

    assert tree is not None
    assert tree.root.has_error


def test_long_text_is_not_parsed() -> None:
    """Generated files of megabytes are lines of text."""
    assert parse_code("x\n" * MAX_SOURCE_BYTES, "python") is None


def test_parser_that_takes_many_steps_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text for which the parser takes more steps than its length allows has no tree."""
    source = "x = (1 + 2)\n" * 2_000
    assert parse_code(source, "python") is not None

    monkeypatch.setattr(syntax, "_FIRST_STEPS", 5)
    monkeypatch.setattr(syntax, "_BYTES_PER_STEP", 100_000)

    assert parse_code(source, "python") is None
