"""Tests of the coder's fallback, which returns existing code in the files that the tests import."""

from tenure.algorithms.coding.programs import hash_file
from tenure.contracts.result.programs import SourceFile
from tenure.roles.base import Evidence
from tenure.roles.coding.coder import CoderInput, CoderOutput, fallback
from tests.support.passages import passage

MEDIAN = "def median(values):\n    return sorted(values)[len(values) // 2]\n"
LOWER = "def median(values):\n    return min(values)\n"
TESTS = (SourceFile(path="test_m.py", text="from stats.middle import median\n"),)
EVIDENCE = Evidence((passage(f"Use this:\n\n```python\n{MEDIAN}```", "a"), passage(LOWER, "b")))


def offered(evidence: Evidence = EVIDENCE, **others: object) -> CoderOutput:
    return fallback(CoderInput.model_validate({"question": "Write a median of values", **others}), evidence)


def test_code_of_a_passage_is_stored_in_the_imported_module() -> None:
    """Code that defines the imported name is written to the module it is imported from."""
    (file,) = offered(tests=TESTS).files

    assert (file.path, file.content) == ("stats/middle.py", MEDIAN)


def test_without_tests_the_request_names_the_function() -> None:
    """Code has to define a marked name, or else a name whose words the request contains."""
    assert offered(question="Write `median`").files[0].path == "solution.py"
    assert offered().files[0].content == MEDIAN
    assert offered(question="Bake `bread`").files == ()


def test_call_cases_name_the_function() -> None:
    """A file of call cases requires their functions; any other JSON file requires nothing."""
    cases = SourceFile(path="cases.json", text='[{"function": "median", "args": [[1]], "expected": 1}]')
    other = SourceFile(path="notes.json", text="{}")

    assert offered(question="Repair it", tests=(cases, other)).files[0].content == MEDIAN
    assert offered(question="Repair it", tests=(other,)).files == ()


def test_concurrent_candidates_differ() -> None:
    """The second candidate is the second match, and a third does not exist."""
    assert offered(tests=TESTS, candidate=2).files[0].content == LOWER
    assert offered(tests=TESTS, candidate=3).files == ()


def test_failed_code_is_not_returned_again() -> None:
    """The next match is returned, whatever the layout of the failed one."""
    failed = hash_file("stats/middle.py", f"# first\n{MEDIAN}")

    assert offered(tests=TESTS, failed_digests=(failed,)).files[0].content == LOWER


def test_given_programs_come_first_and_only_once() -> None:
    """The given file is returned unchanged; if it has failed, the result is empty, and repair continues."""
    given = (SourceFile(path="m.py", text=LOWER), SourceFile(path="d.csv", text="1,2"))

    assert [(file.path, file.content) for file in offered(given_files=given).files] == [("m.py", LOWER)]
    assert offered(given_files=given, failed_digests=(hash_file("m.py", LOWER),)).files == ()


def test_a_given_file_that_is_too_long_is_omitted() -> None:
    """An answer contains no file beyond the maximum length."""
    long = SourceFile(path="m.py", text=LOWER + "# x\n" * 8000)

    assert offered(given_files=(long,)).files == ()


def test_tests_are_not_written_without_a_model() -> None:
    """The fallback cannot know the intended behaviour of given code."""
    assert offered(task="tests", given_files=(SourceFile(path="m.py", text=LOWER),)).files == ()
