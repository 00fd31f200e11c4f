"""The report on a change of a repository, in Markdown."""

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import (
    ChangedFile,
    Environment,
    ProjectTest,
    Proof,
    RepositoryChange,
    RepositoryStep,
)
from tenure.contracts.repository_task import RepositorySource
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.result import ResultStatus
from tenure.report.assemble import assemble_result
from tenure.report.render.markdown import render_markdown

FIXED = ProjectTest(id="tests/test_a.py::test_f", outcome="passed")
BROKEN = ProjectTest(id="tests/test_a.py::test_g", outcome="failed")
CHANGE = RepositoryChange(
    source=RepositorySource(path="/repo"),
    commit="a" * 40,
    cause="src/a.py:2 returned the wrong word.",
    change="It returns the right one.",
    message="a: return the right word",
    patch="diff --git a/src/a.py b/src/a.py\n-    return 'wrong'\n+    return 'right'\n",
    files=(
        ChangedFile(path="src/a.py", status="changed", added=1, removed=1),
        ChangedFile(path="tests/test_a.py", status="changed", added=3, is_test=True),
    ),
    proof=Proof(verdict="proved", fixed=(FIXED,), kept=7, reproduction=FIXED.id, changed_tests=("tests/test_a.py",)),
    environment=Environment(test="pytest -q", reason="as pyproject.toml has it"),
    steps=(RepositoryStep(n=1, phase="locate", action="read src/a.py", thought="I look.", summary="2 lines"),),
)


def render(change: RepositoryChange, status: ResultStatus = "done", *decisions: str) -> str:
    """Return the report on a change."""
    draft = ReportDraft(
        id=RunId("fix-1"), mode="CODE", question="f is wrong", repository=change, status=status, decisions=decisions
    )
    return render_markdown(assemble_result(draft, {}))


def test_a_proved_change_is_shown_with_its_tests() -> None:
    """It has proof, cause, patch, commands and message, and the steps at the end."""
    text = render(CHANGE)

    parts = ["## Proof", "## Cause", "## Changes", "## How to apply it", "## Draft of the commit message", "## Steps"]
    assert [part for part in parts if part in text] == parts
    assert "**The change is proved:** the fault is shown by a test" in text
    assert "| `tests/test_a.py::test_f` | failed | passes |" in text and "7 other tests passed before" in text
    assert "```diff" in text and "+    return 'right'" in text and "apply fix-1 --branch NAME" in text
    assert "The change includes tests (tests/test_a.py): read them." in text


def test_a_broken_test_is_shown() -> None:
    """A change that breaks a test is written only with an option."""
    proof = Proof(verdict="regressed", broken=(BROKEN,), notes=("the suite was not run to its end",))
    text = render(CHANGE.model_copy(update={"proof": proof}), "failing_tests")

    assert "**The change fails:**" in text and "| `tests/test_a.py::test_g` | passed | fails |" in text
    assert "What was not checked" in text and "apply fix-1 --failing" in text
    assert "No program passed" not in text


def test_an_unproved_change_is_marked() -> None:
    """So is one whose tests did not run."""
    unproved = CHANGE.model_copy(update={"proof": Proof(verdict="unproved", notes=("no test was run",))})

    assert "**The change is unproved:**" in render(unproved)
    assert "**The change is unproved:** The run ended" in render(CHANGE.model_copy(update={"proof": None}), "cancelled")


def test_without_a_change_the_report_says_where_to_look() -> None:
    """The decision says why nothing is changed."""
    nothing = RepositoryChange(source=CHANGE.source, commit=CHANGE.commit, places=("src/a.py:2 f",))
    text = render(nothing, "no_evidence", "Ended because no change was written.")

    assert "Ended because no change was written." in text and "**Nothing is changed.**" in text
    assert "## Where to look" in text and "`src/a.py:2 f`" in text
    assert "No evidence was found" not in text
