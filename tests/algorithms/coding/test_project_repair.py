"""Tests of the words of a search for a repair of a project."""

from tenure.algorithms.coding.project_repair import describe_repair, describe_unrepaired, list_named_tests
from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import ActionResult, ChangedFile, ChangeSoFar, ProjectRepairReply, Workspace

WORKSPACE = Workspace(run=RunId("run"), repository="key", commit="a" * 40)


def reply(**others: object) -> ProjectRepairReply:
    """Return the result of a search."""
    observation = ActionResult(text="", summary="")
    return ProjectRepairReply.model_validate({"workspace": WORKSPACE, "observation": observation, **others})


def test_tests_are_named_by_their_whole_ids() -> None:
    """A longer name, a parameter or a longer path names another test."""
    failing = ("a.py::test_a", "a.py::test_a[1]", "a.py::test_ab", "b.py::test_b")

    assert list_named_tests("These fail:\n\na.py::test_ab\nx/b.py::test_b", failing) == ("a.py::test_ab",)
    assert list_named_tests("a.py::test_a[1] fails.", failing) == ("a.py::test_a[1]",)
    assert list_named_tests("The clock is wrong", failing) == ()


def test_an_edit_is_described_with_its_limits() -> None:
    """The text says what was changed, that no model wrote it, and how good it is."""
    change = ChangeSoFar(files=(ChangedFile(path="src/a.py", status="changed"),))
    action = describe_repair(reply(change=change, changes=("line 2: `<` became `<=`",), tried=7))

    assert action.kind == "done" and "src/a.py" in action.cause
    assert "first of 7" in action.change and "only as good as the tests" in action.change
    assert action.text.startswith("a: make the failing tests pass\n")


def test_the_end_without_an_edit_says_why() -> None:
    """The time, the end of the candidates, and nothing to change are different reasons."""
    assert "the 60 s were over" in describe_unrepaired(reply(tried=3), 60)
    assert "no other was left" in describe_unrepaired(reply(tried=3, exhausted=True), 60)
    assert "execute no line" in describe_unrepaired(reply(exhausted=True), 60)
