"""Tests of the test writer's fallback, which converts examples to tests."""

from tenure.contracts.result.programs import SourceFile
from tenure.roles.base import Evidence
from tenure.roles.coding.test_writer import TestWriterInput, TestWriterOutput, fallback
from tests.support.passages import passage


def written(question: str, evidence: Evidence | None = None, *given: SourceFile) -> TestWriterOutput:
    return fallback(TestWriterInput(question=question, given_files=given), evidence or Evidence())


def test_examples_of_the_request_become_tests() -> None:
    """Each example is a test that imports the function from its file; fractions are compared approximately."""
    (file,) = written("Write `half` so that half(3) returns 1.5 and half(4) returns 2.").tests

    assert file.path == "test_examples.py"
    assert "from solution import half\n" in file.content
    assert "def test_example_1():\n    assert half(3) == pytest.approx(1.5)\n" in file.content
    assert "def test_example_2():\n    assert half(4) == 2\n" in file.content


def test_examples_of_a_given_file_are_imported_from_it() -> None:
    """Docstrings of given code contain examples."""
    given = SourceFile(path="pkg/sums.py", text='def double(x):\n    """Say.\n\n    >>> double(2)\n    4\n    """\n')

    assert "from pkg.sums import double\n" in written("Repair this", None, given).tests[0].content


def test_examples_of_documents_need_a_requested_function() -> None:
    """Examples in a passage's code are used only for a function that the request names."""
    code = 'def double(x):\n    """Say.\n\n    >>> double(2)\n    4\n    """\n    return x\n'
    evidence = Evidence((passage(code, "a"),))

    assert "assert double(2) == 4" in written("Write `double`", evidence).tests[0].content
    assert written("Write `triple`", evidence).tests == ()


def test_without_examples_there_are_no_tests() -> None:
    """No test is invented, and a given file that is not Python is read as text."""
    answer = written("Write a parser", None, SourceFile(path="a.txt", text="no ("))

    assert answer.tests == () and answer.task == "program"
    assert "0 example(s)" in answer.specification
