"""Test the scan of programs for code that could influence their tests."""

import pytest

from tenure.sandbox.code_scan import find_suspicious_code

PLAIN = '''
"""Module."""
import collections, dataclasses, json, math, os, sys
from pathlib import Path

@dataclasses.dataclass
class Point:
    x: int = 0
    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x
    def visit(self, kind):
        return getattr(self, f"visit_{kind}", None)

def main(argv=None):
    counts = collections.Counter(sys.argv if argv is None else argv)
    try:
        value = json.loads(Path("a.json").read_text())
    except (OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return None
    return math.isclose(counts["a"], value) and os.path.exists("a")
'''


def test_an_ordinary_program_has_no_finding() -> None:
    """Classes with comparisons, files, error handling and dispatch by name are ordinary."""
    assert find_suspicious_code({"solution.py": PLAIN}, {"test_a.py": "import solution"}) == ()


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("import gc", "imports gc"),
        ("from unittest import mock", "imports unittest"),
        ("import numpy.testing", "imports numpy.testing"),
        ("import sys\nx = sys._getframe(1)", "uses sys._getframe"),
        ("import math\nmath.isclose = print", "replaces math.isclose"),
        ("import math\ndef f(m): pass\nf(math)", "hands over the module math"),
        ("from pathlib import Path\nPath.open = None", "replaces Path.open"),
        ("def f(x): return x.__globals__", "uses .__globals__"),
        ("def f(x, n): return getattr(x, n)", "uses getattr with a computed name"),
        ("x = eval('1')", "uses eval"),
        ("x = type('A', (), {})", "makes a class by type()"),
        ("try:\n    x = 1\nexcept:\n    pass", "catches every exception"),
        ("class A:\n    @property\n    def __class__(self): return int", "defines __class__"),
        ("def __getattr__(name): return 1", "defines __getattr__"),
        ("def f(): raise StopIteration", "uses StopIteration outside of an iterator"),
        ("import test_a", "imports test_a"),
        ("x = '/proc/self/mem'", "has a text with /proc/"),
        ("import os\nos.chdir('x')", "uses os.chdir"),
    ],
)
def test_code_that_reaches_other_code_is_found(code: str, finding: str) -> None:
    """Each finding names the file, the line and the reason."""
    found = find_suspicious_code({"solution.py": code}, {"test_a.py": "import solution"})

    assert [one.split(": ")[1] for one in found][:1] == [finding] or finding in " ".join(found)
    assert found[0].startswith("solution.py, line ")


def test_a_star_import_and_a_known_package_depend_on_the_tests() -> None:
    """A replaced name matters if a test imports everything, and a package if a test imports it."""
    sources = {"solution.py": "def abs(x): return 0", "scipy.py": ""}

    assert find_suspicious_code(sources, {"test_a.py": "import solution"}) == ()
    assert find_suspicious_code(sources, {"test_a.py": "from solution import *\nimport scipy"}) == (
        "the module scipy of the program has the name of a package",
        "solution.py, line 1: defines abs for the tests",
    )


def test_a_program_in_another_process_reaches_files_only() -> None:
    """Only texts and searches that lead to files of the tests matter there."""
    sources = {"tool.py": "import gc, os\nprint(os.listdir('.'))", "tool.sh": "cat golden.txt"}

    assert find_suspicious_code(sources, {}, ["golden.txt"], same_process=False) == (
        "tool.py, line 2: searches folders; the tests have files there",
        "tool.sh names golden.txt, a file of the tests",
    )


def test_a_program_that_cannot_be_parsed_has_no_finding() -> None:
    """A syntax error is a failure of the tests and no finding."""
    assert find_suspicious_code({"solution.py": "def"}, {"test_a.py": "("}) == ()
