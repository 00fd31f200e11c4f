"""The coder's twin: code that somebody has written, in files as the tests import it, and none that has failed."""

from tenure.algorithms.coding.programs import file_digest
from tenure.contracts.result.programs import SourceFile
from tenure.roles.base import Evidence
from tenure.roles.coding.coder import CoderInput, CoderOutput, offline
from tests.passages import passage

MEDIAN = "def median(values):\n    return sorted(values)[len(values) // 2]\n"
LOWER = "def median(values):\n    return min(values)\n"
TESTS = (SourceFile(path="test_m.py", text="from stats.middle import median\n"),)
EVIDENCE = Evidence((passage(f"Use this:\n\n```python\n{MEDIAN}```", "a"), passage(LOWER, "b")))


def offered(evidence: Evidence = EVIDENCE, **others: object) -> CoderOutput:
    return offline(CoderInput.model_validate({"question": "Write a median of values", **others}), evidence)


def test_code_of_a_passage_gets_the_name_that_tests_import() -> None:
    """What defines the imported name is written to the module it is imported from."""
    (file,) = offered(tests=TESTS).files

    assert (file.path, file.content) == ("stats/middle.py", MEDIAN)


def test_without_tests_the_request_names_the_function() -> None:
    """A marked name has to be defined, and else the words of a name have to be asked for."""
    assert offered(question="Write `median`").files[0].path == "solution.py"
    assert offered().files[0].content == MEDIAN
    assert offered(question="Bake `bread`").files == ()


def test_cases_name_the_function_they_call() -> None:
    """A file of cases wants their functions; any other JSON file wants nothing."""
    cases = SourceFile(path="cases.json", text='[{"function": "median", "args": [[1]], "expected": 1}]')
    other = SourceFile(path="notes.json", text="{}")

    assert offered(question="Repair it", tests=(cases, other)).files[0].content == MEDIAN
    assert offered(question="Repair it", tests=(other,)).files == ()


def test_candidates_side_by_side_are_different_ones() -> None:
    """The second candidate is the second that fits, and a third is not there."""
    assert offered(tests=TESTS, candidate=2).files[0].content == LOWER
    assert offered(tests=TESTS, candidate=3).files == ()


def test_what_has_failed_is_not_offered_again() -> None:
    """The next that fits has its turn, whatever the layout of the failed one."""
    failed = file_digest("stats/middle.py", f"# first\n{MEDIAN}")

    assert offered(tests=TESTS, tried=(failed,)).files[0].content == LOWER


def test_given_programs_come_first_and_only_once() -> None:
    """The given file is offered as it is; when it has failed there is nothing, and repair has its turn."""
    given = (SourceFile(path="m.py", text=LOWER), SourceFile(path="d.csv", text="1,2"))

    assert [(file.path, file.content) for file in offered(given=given).files] == [("m.py", LOWER)]
    assert offered(given=given, tried=(file_digest("m.py", LOWER),)).files == ()


def test_a_given_file_that_is_too_long_is_left_out() -> None:
    """An answer holds no file that it could not hold."""
    long = SourceFile(path="m.py", text=LOWER + "# x\n" * 8000)

    assert offered(given=(long,)).files == ()


def test_tests_are_not_written_without_a_model() -> None:
    """The twin cannot know what given code ought to do."""
    assert offered(task="tests", given=(SourceFile(path="m.py", text=LOWER),)).files == ()
