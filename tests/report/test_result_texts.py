"""The texts on the result of a coding run, which answers to follow-up questions cite."""

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.research.trace import Trace, TracedTestRun
from tenure.contracts.result.ask import ResultText
from tenure.report import result_texts
from tenure.report.assemble import assemble_result
from tests.report.layout.test_change import CHANGE

PATCH = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,2 @@
 def f():
-    return 'wrong'
+    return 'right'
@@ -9 +9,2 @@ def g():
 last
+diff --git
diff --git a/my notes.bin b/my notes.bin
new file mode 100644
GIT binary patch
literal 0
"""
TRACE = Trace(
    id="fix-1",
    question="f is wrong",
    started_at="2026-01-01T10:00:00+00:00",
    status="done",
    work=(TracedTestRun(at="2026-01-01T10:00:09.5+00:00", state="all tests", outcome="1 failed"),),
)


def write(question: str = "`f` is\n\n- wrong") -> tuple[ResultText, ...]:
    """Return the texts on a change of two files."""
    change = CHANGE.model_copy(update={"patch": PATCH})
    draft = ReportDraft(
        id=RunId("fix-1"),
        mode="CODE",
        question=question,
        repository=change,
        status="finished_early",
        decisions=("No.",),
    )
    return result_texts.write_texts(assemble_result(draft, {}), TRACE)


def test_task_report_files_and_work_are_texts_of_their_own() -> None:
    """Each hunk has its place, the report has proof and cause and no patch, and the runs of tests are in the work."""
    by_title = {text.title: text.text for text in write()}

    names = ["The task", "The report", "The change of src/a.py", "The change of my notes.bin", "The work"]
    assert list(by_title) == names and by_title["The task"] == "`f` is\n\n- wrong"
    report = by_title["The report"]
    assert report.startswith("*No.*") and "## Cause\n\nsrc/a.py:2 returned the wrong word." in report
    assert "```diff" not in report and "How to apply" not in report and "## Steps" not in report
    first, second = by_title["The change of src/a.py"].split("\n\n### ")
    assert first == "### `src/a.py`, lines 1 to 2\n\n```diff\n def f():\n-    return 'wrong'\n+    return 'right'\n```"
    assert second == "`src/a.py`, lines 9 to 10\n\n```diff\n last\n+diff --git\n```"
    assert "GIT binary patch" in by_title["The change of my notes.bin"]
    assert by_title["The work"] == "**Tests** 2026-01-01T10:00:09.5+00:00 all tests: 1 failed"


def test_texts_end_with_a_line_where_no_room_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last text that fits in part is cut, and the others are left out."""
    monkeypatch.setattr(result_texts, "MAX_CHARACTERS", 30)
    task, report = write("`f` is wrong")

    assert (task.text, report.text) == ("`f` is wrong", "*No.*\n\n## Proof\n")


def test_the_task_is_not_repeated_by_the_report() -> None:
    """The report of a long task repeats it below its title, and its text does not."""
    assert "wrong, since" not in write("f is wrong, since " + "long " * 60)[1].text
