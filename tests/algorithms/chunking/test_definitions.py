"""Tests of the chunks of source code along its syntax tree."""

import time

import pytest

from tenure.algorithms.chunking.chunking import chunk_text
from tenure.algorithms.coding.syntax import parse_code
from tests.support.tiers import slow

BODY = "        total = total + compute(value, index)\n"
C_BODY = "        total = total + compute(value, index);\n"


def _cut(source: str, language: str, target: int) -> list[tuple[tuple[str, ...], str]]:
    chunks = chunk_text(source, "code", target, syntax=parse_code(source, language))
    return [(chunk.heading_path, source[chunk.start : chunk.end]) for chunk in chunks]


def test_blank_lines_in_a_definition_do_not_end_it() -> None:
    """A function with blank lines and a comment at column 0 in its body is one chunk."""
    source = (
        "import a\n" * 20
        + "\n\ndef long(x):\n    first(x)\n\n# at the margin\n\n    second(x)\n\n\n"
        + "other()\n" * 20
    )
    chunks = _cut(source, "python", 24)

    assert next("second(x)" in text for _, text in chunks if "first(x)" in text)


def test_definition_has_its_decorators_comments_and_docstring() -> None:
    """The comment and the decorators above a function and its docstring are in the chunk with its first statement."""
    source = (
        "x = 1\n" * 30
        + "# What it is for.\n@cached\n@wraps(other)\ndef run(a):\n"
        + '    """Run it."""\n    return a\n'
        + "y = 2\n" * 30
    )
    [(_, text)] = [(path, text) for path, text in _cut(source, "python", 60) if "def run" in text]

    assert text.index("# What it is for.") < text.index("@cached") < text.index("def run") < text.index("return a")


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "class Long:\n    '''Doc.'''\n\n" + "\n".join(f"    def m{n}(self):\n{BODY * 5}" for n in range(5))),
        ("java", "class Long {\n" + "\n".join(f"    void m{n}() {{\n{C_BODY * 5}    }}" for n in range(5)) + "\n}\n"),
        ("rust", "impl Long {\n" + "\n".join(f"    fn m{n}(&self) {{\n{C_BODY * 5}    }}" for n in range(5)) + "\n}\n"),
        ("ruby", "class Long\n" + "\n".join(f"    def m{n}\n{BODY * 5}    end" for n in range(5)) + "\nend\n"),
    ],
)
def test_long_class_is_split_between_its_members(language: str, source: str) -> None:
    """Each method that fits into a chunk is whole in one."""
    texts = [text for _, text in _cut(source, language, 90)]

    for number in range(5):
        [text] = [text for text in texts if f"m{number}(" in text or f"m{number}\n" in text]
        assert text.count("compute") % 5 == 0


def test_long_function_is_split_between_statements() -> None:
    """A statement that spans lines is in one chunk, and every chunk has the name of the function."""
    source = "def long():\n" + "    call(\n        first,\n        second,\n    )\n" * 20
    chunks = _cut(source, "python", 40)

    assert {path for path, _ in chunks} == {("long",)}
    assert len(chunks) > 2
    assert all(text.count("call(") == text.count("    )") for _, text in chunks)


def test_member_has_its_class_in_the_heading_path() -> None:
    """A chunk of a class in a namespace is named by class and member."""
    source = (
        "namespace n {\nclass Long {\n" + "\n".join(f"int m{n}() {{\n{C_BODY * 6}}}" for n in range(3)) + "\n};\n}\n"
    )

    assert ("Long", "m1") in [path for path, _ in _cut(source, "cpp", 90)]


@pytest.mark.parametrize(
    "unit",
    [
        *("def f():\n    pass\n", "class A:\n  def f(self): pass\n", "(", "if x:\n ", "'''", "x = [\n", "\t\n"),
        pytest.param("{\n", marks=slow),
    ],
)
def test_time_is_proportional_to_the_length(unit: str) -> None:
    """Eight times as much code of any shape takes at most about eight times as long."""

    def measure(size: int) -> float:
        source = unit * (size // len(unit))
        start = time.process_time()
        chunk_text(source, "code", 200, syntax=parse_code(source, "python"))
        return time.process_time() - start

    measure(1_000)

    assert measure(80_000) < 24 * max(measure(10_000), 0.025)
