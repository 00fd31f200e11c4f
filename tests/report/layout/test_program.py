"""The result of a program: its fields, and how a person reads it."""

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.research.report import ReportDraft
from tenure.contracts.result.programs import (
    Attempt,
    AttemptFailure,
    CodeDraft,
    Lesson,
    OriginalFile,
    ProgramVerification,
    SourceFile,
)
from tenure.contracts.result.result import Result, ResultStatus
from tenure.contracts.sandbox import Artifact
from tenure.report.assemble import assemble_result
from tenure.report.layout.program import as_text
from tenure.report.render.escaping import format_code_block
from tenure.report.render.markdown import render_markdown

FIRST, SECOND = "def f():\n    return 1\n", "def f():\n    return 2\n"
WRONG = AttemptFailure(test="test_f", error="assert 1 == 2 <b>bold</b>", trace="E assert 1 == 2")
TRIED = (
    Attempt(
        n=1,
        generation=1,
        approach="Returns one.",
        files=(SourceFile(path="solution.py", text=FIRST),),
        total=1,
        failures=(WRONG,),
        reflection=Lesson(failed="It gives 1.", cause="The constant is wrong.", change="Return 2."),
    ),
    Attempt(
        n=2,
        generation=2,
        approach="Returns two.",
        files=(SourceFile(path="solution.py", text=SECOND),),
        passed=1,
        total=1,
        entry="solution.py",
        command="python solution.py 2",
        stdout="two\x1b[31m\n",
        seconds=0.5,
    ),
)
TEST = SourceFile(path="test_f.py", text="def test_f():\n    assert f() == 2\n")


def result(status: ResultStatus = "done", **changed: object) -> Result:
    code = CodeDraft(
        specification="f gives 2.",
        files=TRIED[-1].files,
        tests=(TEST,),
        verification=ProgramVerification(test_author="person", passed=1, total=1),
        attempts=TRIED,
        artifacts=(Artifact(name="plot.png", bytes=2048, sha256="ab", path="/kept/plot.png"),),
    ).model_copy(update=changed)
    draft = ReportDraft(id=RunId("code-1"), mode="CODE", question="Write f", title="f", code=code, status=status)
    return assemble_result(draft, {})


def test_the_document_has_the_program_its_proof_and_every_attempt() -> None:
    """Code is one text, attempts have number, code, error, output and seconds, and no source makes it unproved."""
    made = result()

    assert made.status == "done" and made.code == SECOND and made.files == TRIED[-1].files
    assert [(a.n, as_text(a.files), a.error, a.seconds) for a in made.attempts] == [
        (1, FIRST, "test_f: assert 1 == 2 <b>bold</b>", 0.0),
        (2, SECOND, None, 0.5),
    ]
    assert made.verification and made.verification.passed == 1 and made.artifacts[0].name == "plot.png"


def test_the_report_reads_from_program_to_attempts() -> None:
    """The report contains the task, the program, its test result, its attempts with changes, and its files."""
    text = render_markdown(result())
    parts = ["> **Task:** Write f", "## Test result", "## The program", "## Specification", "## The tests"]
    places = [text.index(part) for part in (*parts, "## The attempts", "## Files", "## How this report was made")]

    assert places == sorted(places)
    assert "1 of 1 test passed in the sandbox. Judged by the given tests." in text
    assert "```diff\n" in text and "-    return 1\n+    return 2\n" in text
    assert "*Learned:* The constant is wrong. Return 2." in text
    assert "`plot.png`, 2,048 bytes" in text
    assert "Output of the program (`python solution.py 2`):\n\n```\ntwo[31m\n```" in text


def test_the_report_says_how_strongly_the_tests_prove_and_what_speaks_against_it() -> None:
    """The level of proof follows the test result, and notes are listed and escaped."""
    proof = ProgramVerification(
        test_author="person",
        passed=1,
        total=1,
        proof="tests_in_same_process",
        notes=("solution.py: <b>imports gc</b>",),
    )
    noted = TRIED[-1].model_copy(update={"notes": proof.notes, "proof": proof.proof})
    made = result(verification=proof, attempts=(noted,))
    text = render_markdown(made)

    assert "Level of proof: the tests ran in the same process as the program" in text
    assert r"- solution.py: \<b>imports gc\</b>" in text
    assert (made.attempts[0].proof, made.attempts[0].notes) == (proof.proof, proof.notes)
    assert "Look at the program" not in render_markdown(result())


def test_a_run_without_a_recorded_command_shows_its_output() -> None:
    """A program of a run by an earlier version has no command."""
    bare = TRIED[-1].model_copy(update={"command": ""})

    assert "\n\nOutput of the program:\n\n" in render_markdown(result(attempts=(TRIED[0], bare)))


def test_output_of_tests_is_not_the_programs_output() -> None:
    """A program that was only tested shows no output."""
    alone = TRIED[-1].model_copy(update={"entry": "", "stdout": "1 passed in 0.09s"})

    assert "1 passed" not in render_markdown(result(attempts=(TRIED[0], alone)))


def test_requested_tests_are_called_tests() -> None:
    """If the delivered files are tests, their heading says so."""
    text = render_markdown(
        result(files=(TEST,), tests=(), verification=ProgramVerification(test_author="coder", passed=1, total=1))
    )

    assert "## The tests\n\n`test_f.py`" in text and "## The program" not in text


def test_a_program_that_fails_is_delivered_with_what_it_fails() -> None:
    """The first lines say that nothing passed, and the failing tests are listed, their markup harmless."""
    text = render_markdown(
        result(
            "failing_tests",
            files=TRIED[0].files,
            verification=ProgramVerification(test_author="test_writer", total=1, failures=(WRONG,)),
        )
    )

    assert "No program passed its tests; this is the best of them." in text
    assert "made from the request before the program" in text
    assert "- `test_f`: assert 1 == 2 \\<b>bold\\</b>" in text


@pytest.mark.parametrize(("by", "said"), [("none", "without tests"), ("coder", "against the given code")])
def test_whose_tests_they_are_is_said(by: str, said: str) -> None:
    """A program without tests, and tests that are themselves the result, have words of their own."""
    assert said in render_markdown(result(verification=ProgramVerification.model_validate({"test_author": by})))


def test_a_changed_program_is_shown_as_a_patch() -> None:
    """Given files are shown by what changes, with the command that writes them; the document has the same patch."""
    given = OriginalFile(path="solution.py", text=FIRST, origin="/home/ada/solution.py")
    shown = result(originals=(given,))
    text = render_markdown(shown)

    assert "## Changes" in text and "## The program" not in text
    assert shown.patch.startswith("diff --git a/solution.py b/solution.py\n") and shown.patch.strip() in text
    assert "`apply code-1`" in text and "apply code-1 --to DIR`" in render_markdown(result())


def test_without_a_program_the_report_says_so() -> None:
    """Without a program nothing is shown but an explanation of the fallbacks."""
    text = render_markdown(result("no_evidence", files=(), attempts=(), artifacts=(), tests=(), specification=""))

    assert "**There is no program.**" in text
    assert "## The program" not in text and "## Test result" not in text


def test_one_accepted_attempt_needs_no_list() -> None:
    """A program that passed at its first attempt has no list of attempts, and a task for tests has no changed files."""
    text = render_markdown(result(attempts=TRIED[1:], files=()))

    assert "## The attempts" not in text and "## The program" not in text


def test_several_files_are_one_text_under_their_names() -> None:
    """A single file is unchanged, several files have headings."""
    two = (SourceFile(path="a.py", text="A = 1\n"), SourceFile(path="b.py", text="B = 2\n"))

    assert as_text(two[:1]) == "A = 1\n"
    assert as_text(two) == "# --- a.py ---\nA = 1\n\n# --- b.py ---\nB = 2\n"


def test_code_cannot_leave_its_fence() -> None:
    """A fence is longer than any run of backticks inside."""
    assert format_code_block("```\nescaped\n```\r\n", "md") == "````md\n```\nescaped\n```\n````"
