"""Tests of mutations."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.coding.mutation import KIND_PRIORS, SourceEdit, apply_edits, generate_edits, normalize_source

FUNCTION = "def f(a, b, items):\n    total = 0\n    for item in items:\n        {line}\n    return total\n"

LINES = {
    "operator": ("total += item", "total -= item"),
    "assignment": ("total += item", "total = item"),
    "xor": ("total ^= item", "total &= item"),
    "shift": ("total = a << b", "total = a >> b"),
    "matrix": ("total = a @ b", "total = b @ a"),
    "comparison": ("total = a < b", "total = a <= b"),
    "identity": ("total = a is b", "total = a is not b"),
    "membership": ("total = a in items", "total = a not in items"),
    "bound": ("total = len(items) == 0", "total = len(items) <= 1"),
    "constant": ("total = 5", "total = 6"),
    "below zero": ("total = 0", "total = (-1)"),
    "truth": ("total = True", "total = False"),
    "fraction": ("total = 1.5", "total = 2.5"),
    "nothing": ("total = None", "total = []"),
    "literal for a variable": ("total = item * 2", "total = item * b"),
    "wrong variable": ("total = a", "total = b"),
    "swapped arguments": ("total = pow(a, b)", "total = pow(b, a)"),
    "swapped operands": ("total = a - b", "total = b - a"),
    "distance": ("total = a - b", "total = abs(a - b)"),
    "dropped operand": ("total = 1 + a", "total = a"),
    "dropped argument": ("total = max(a, b)", "total = max(a)"),
    "dropped call": ("total = list(a)", "total = a"),
    "function for its twin": ("total = min(items)", "total = max(items)"),
    "method for its twin": ("items.append(a)", "items.extend(a)"),
    "argument one off": ("total = range(a)", "total = range(a + 1)"),
    "argument less another": ("total = pow(a, b)", "total = pow(a - item, b)"),
    "sliced argument": ("total = sum(items)", "total = sum(items[1:])"),
    "index one off": ("total = items[a]", "total = items[a - 1]"),
    "index of two": ("total = items[a, b]", "total = items[a, (b - 1)]"),
    "bound of a slice": ("total = items[a:b]", "total = items[a:(b + 1)]"),
    "no index": ("total = items[a]", "total = items"),
    "disjunction": ("total = a and b", "total = (a or b)"),
    "dropped condition": ("total = a or b", "total = b"),
    "negation": ("total = not a", "total = a"),
    "empty list": ("total = []", "total = [[]]"),
    "empty list of a variable": ("total = []", "total = [item]"),
    "compared text": ("total = a == 'x'", "total = a != 'x'"),
    "index of a target": ("items[a] = b", "items[a + 1] = b"),
    "open slice": ("total = items[a:]", "total = items[(a - 1):]"),
    "dropped statement": ("total = 7", "pass"),
}


@pytest.mark.parametrize("mistake", LINES)
def test_mistakes_of_one_line_are_repaired(mistake: str) -> None:
    """Mistakes of one line are repaired."""
    wrong, right = (FUNCTION.format(line=line) for line in LINES[mistake])

    assert normalize_source(right) in {normalize_source(apply_edits(wrong, (edit,))) for edit in generate_edits(wrong)}


BLOCKS = {
    "condition": ("if a:\n        return b", "if not a:\n        return b"),
    "further condition": ("if a:\n        return b", "if a or not b:\n        return b"),
    "narrower condition": ("if a:\n        return b", "if a and b:\n        return b"),
    "endless loop": ("while True:\n        b = a.pop()", "while a:\n        b = a.pop()"),
    "head of a sequence": ("for b in a:\n        print(b)", "for b in a[1:]:\n        print(b)"),
    "returned list": ("return a", "return [a]"),
    "returned sum": ("return b", "return a + b"),
    "returned truth": ("return True", "return a == 0"),
    "returned one more": ("return a", "return a + 1"),
    "yielded": ("yield list(a)", "yield a"),
    "missing base case": ("return f(b - 1, a)", "if not a:\n        return 0\n    return f(b - 1, a)"),
    "swapped statements": ("a = b\n    b = a", "b = a\n    a = b"),
    "statements apart": ("a = b\n\n    b = a", "a = b\n\n    b = b"),
    "missing statement": (
        "if b:\n        a.append(b)\n    return a",
        "if b:\n        a.append(b)\n    a.append(b)\n    return a",
    ),
    "missing statement of another variable": (
        "if b:\n        a.append(b)\n    return a",
        "if b:\n        a.append(b)\n    a.append(a)\n    return a",
    ),
}


@pytest.mark.parametrize("mistake", BLOCKS)
def test_mistakes_of_a_block_are_repaired(mistake: str) -> None:
    """Mistakes of a block are repaired."""
    wrong, right = (f"def f(a, b):\n    {block}\n" for block in BLOCKS[mistake])

    assert normalize_source(right) in {normalize_source(apply_edits(wrong, (edit,))) for edit in generate_edits(wrong)}


SOURCES = [FUNCTION.format(line=line) for line, _ in LINES.values()] + [
    f"def f(a, b):\n    {block}\n" for block, _ in BLOCKS.values()
]


@given(st.sampled_from(SOURCES), st.data())
def test_edit_changes_only_its_place(source: str, data: st.DataObject) -> None:
    """Edit changes only its place."""
    edit = data.draw(st.sampled_from(generate_edits(source)))
    changed, original = apply_edits(source, (edit,)).encode(), source.encode()

    assert changed.startswith(original[: edit.start]) and changed.endswith(original[edit.end :])
    assert edit.line == original[: edit.start].count(b"\n") + 1
    assert edit.kind in KIND_PRIORS


@given(st.sampled_from(SOURCES))
def test_most_edits_are_valid_programs(source: str) -> None:
    """Most edits are valid programs."""
    whole = [edit for edit in generate_edits(source) if _parses(apply_edits(source, (edit,)))]

    assert len(whole) >= 0.95 * len(generate_edits(source))


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def test_offsets_count_bytes() -> None:
    """Offsets count bytes."""
    source = "def f(größe):\n    weg = 'ä'; return größe < 1\n"

    assert "def f(größe):\n    weg = 'ä'; return größe <= 1\n" in {
        apply_edits(source, (edit,)) for edit in generate_edits(source)
    }


@pytest.mark.parametrize("source", ["def f(:\n", "", "x = 1\0", "import os\n"])
def test_invalid_and_empty_sources_have_no_edits(source: str) -> None:
    """Invalid and empty sources have no edits."""
    assert generate_edits(source) == ()


@pytest.mark.parametrize("value", ["(b := a)", "(yield a)", "(yield from a)", "*a, b", "(a), *b", "lambda: a"])
def test_a_returned_expression_of_any_kind_has_valid_edits(value: str) -> None:
    """An expression whose place does not include its brackets gets them in a longer one."""
    source = f"def f(a, b):\n    return {value}\n"
    edits = list(generate_edits(source))
    assert edits
    for edit in edits:
        compile(apply_edits(source, [edit]), "edited", "exec")


def test_separate_edits_are_combined() -> None:
    """Overlapping edits are recognized."""
    first, second = SourceEdit(0, 1, "yyy", 1, "variable"), SourceEdit(4, 5, "2", 1, "constant")

    assert apply_edits("x = 1", (first, second)) == "yyy = 2"
    assert not first.is_overlapping(second)
    assert first.is_overlapping(SourceEdit(1, 3, "", 1, "operator"))


def test_normal_form_ignores_layout_and_comments() -> None:
    """Normal form ignores layout and comments."""
    plain = "def f(a):\n    return a\n\n\nclass C:\n    pass\n"
    dressed = '"""Module."""\n\ndef f(a):  # why\n    """Say."""\n    return (a)\n\nclass C:\n    """Nothing else."""\n'

    assert normalize_source(plain) == normalize_source(dressed)
    assert normalize_source("def f(:\n") == normalize_source("def   f(:")
    assert normalize_source("return 1") != normalize_source("return 2")


def test_unsupported_statements_are_unchanged() -> None:
    """Unsupported statements are unchanged."""
    assert all(edit.kind != "comparison" for edit in generate_edits("def f(a):\n    return 1 < a < 3\n"))
    assert generate_edits("class C:\n    import os\n") == ()
    assert generate_edits("def f():\n    '''Only words.'''\n") == ()


def test_a_text_over_several_lines_is_an_argument_like_any_other() -> None:
    """The lines of a text in parentheses are indented, which is no error once they are moved."""
    source = "raise TypeError('expected an'\n                ' iterable')\n"

    assert any(edit.kind == "call" for edit in generate_edits(source))


def test_a_starred_argument_does_not_replace_its_call() -> None:
    """A starred expression is no expression of its own."""
    assert generate_edits("def f(*items):\n    return max(*items)\n")


def test_a_removed_statement_leaves_nothing() -> None:
    """Its lines go; the only statement of a block, and a statement that shares its line, become `pass`."""
    source = "def f(a):\n    a += 1\n    if a:\n        g(a)\n    h(a); k(a)\n    return a\n"
    removed = {apply_edits(source, [edit]) for edit in generate_edits(source) if edit.kind == "statement"}

    assert source.replace("    a += 1\n", "") in removed
    assert source.replace("g(a)", "pass") in removed
    assert source.replace("h(a);", "pass;") in removed
