"""Tests of the symbols and references of source code."""

import pytest

from tenure.algorithms.coding.symbols import MAX_SYMBOLS, CodeOutline, find_enclosing, outline_code
from tenure.algorithms.coding.syntax import parse_code


def outline(source: str, language: str) -> CodeOutline:
    """Return the outline of a source text."""
    syntax = parse_code(source, language)
    assert syntax is not None
    return outline_code(syntax)


@pytest.mark.parametrize(
    ("language", "source", "symbols"),
    [
        (
            "python",
            "LIMIT = 3\n@wraps\nclass Box(Base):\n    def put(self, item: str) -> None:\n        def inner(): ...\n",
            ["variable LIMIT", "class Box", "method Box.put", "function Box.put.inner"],
        ),
        (
            "javascript",
            "class Box extends Base { put(x) {} }\nconst make = (x) => x;\nmodule.exports.open = function () {};\n",
            ["class Box", "method Box.put", "function make", "function open"],
        ),
        (
            "typescript",
            "interface Shape { area(): number }\ntype Id = string;\nexport abstract class Box<T> { put(x: T) {} }\n",
            ["interface Shape", "method Shape.area", "type Id", "class Box", "method Box.put"],
        ),
        (
            "go",
            "package a\ntype Box struct { N int }\nfunc (b *Box) Put(n int) error { return nil }\nfunc Make() {}\n",
            ["type Box", "method Box.Put", "function Make"],
        ),
        (
            "rust",
            "struct Bin { n: i32 }\ntrait Put { fn put(&self); }\nimpl Put for Bin { fn put(&self) {} }\n"
            "mod a { fn z() {} }\n",
            ["struct Bin", "trait Put", "method Put.put", "method Bin.put", "namespace a", "function a.z"],
        ),
        ("java", "class Box { Box() {} void put(int n) {} }", ["class Box", "method Box.Box", "method Box.put"]),
        (
            "c",
            "#define LIMIT 3\nstruct box { int n; };\nstatic int *put(int n) { return 0; }\n",
            ["variable LIMIT", "struct box", "function put"],
        ),
        (
            "cpp",
            "namespace a { class Box { int put() { return 1; } }; }\nvoid a::Box::take() {}\n",
            ["namespace a", "class a.Box", "method a.Box.put", "function a.Box.take"],
        ),
        (
            "c#",
            "namespace A { class Box { int N { get; } void Put() {} } }",
            ["namespace A", "class A.Box", "method A.Box.N", "method A.Box.Put"],
        ),
        (
            "ruby",
            "module A\n  class Box\n    def put(x); end\n    def self.make; end\n  end\nend\n",
            ["namespace A", "class A.Box", "method A.Box.put", "method A.Box.make"],
        ),
        (
            "php",
            "<?php class Box { function put($x) {} }\nfunction make() {}",
            ["class Box", "method Box.put", "function make"],
        ),
    ],
)
def test_symbols_have_kind_and_qualified_name(language: str, source: str, symbols: list[str]) -> None:
    """Definitions of every language are found with the symbols around them."""
    assert [f"{one.kind} {one.qualified_name}" for one in outline(source, language).symbols] == symbols


def test_signature_is_the_code_up_to_the_body_in_one_line() -> None:
    """A signature over several lines is joined; the body is not part of it."""
    [symbol] = outline("def run(\n    first: int,\n    second: str,\n) -> None:\n    pass\n", "python").symbols

    assert symbol.signature == "def run( first: int, second: str, ) -> None"
    assert (symbol.first, symbol.last) == (1, 5)


def test_references_are_names_outside_of_strings_and_comments() -> None:
    """The line of each use is recorded, but neither the definition nor words of comments and strings."""
    found = outline('def run(): ...\n# run it\nx = "run"\nrun()\nother.run()\n', "python")

    assert found.references["run"] == (4, 5)


def test_enclosing_symbol_is_the_innermost_one() -> None:
    """A line in a method belongs to it, one after it to the class, and one outside to nothing."""
    source = "class Box:\n    def put(self):\n        a()\n\n    b()\n\nc()\n"
    symbols = outline(source, "python").symbols

    names = [(one.qualified_name if (one := find_enclosing(symbols, line)) else "") for line in (3, 5, 7)]
    assert names == ["Box.put", "Box", ""]


def test_symbols_of_a_generated_file_are_limited() -> None:
    """A file with very many definitions yields the first ones."""
    source = "".join(f"def f{n}(): ...\n" for n in range(MAX_SYMBOLS + 10))

    assert len(outline(source, "python").symbols) == MAX_SYMBOLS
