"""Build and render the result of the coding path.

Code is set in fences that it cannot close; all other untrusted text is escaped.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tenure.algorithms.text.printable import remove_control_characters
from tenure.contracts.result.programs import Attempt, AttemptFailure, CodeDraft, SourceFile
from tenure.contracts.result.result import Result, ResultAttempt
from tenure.contracts.sandbox import ProofLevel
from tenure.report.render.escaping import escape, flatten, format_code_span

_LANGUAGES = {"py": "python", "js": "javascript", "mjs": "javascript", "sh": "sh", "json": "json", "md": "markdown"}
_MAX_FAILURES_SHOWN = 8
_AUTHORS = {
    "person": "the given tests",
    "test_writer": "tests that were made from the request before the program; what they leave out is not checked",
    "coder": "the requested tests, run against the given code",
    "none": "running it to its end, without tests",
}


_PROOFS: Final[Mapping[ProofLevel, str]] = {
    "none": "",
    "exit_code": "Only the exit code of the program is known.",
    "tests_in_same_process": (
        "Level of proof: the tests ran in the same process as the program, which can influence them there."
    ),
    "tests_in_other_process": "Level of proof: the tests ran in another process than the program.",
    "values_compared_outside": "Level of proof: the values were compared outside of the sandbox.",
}


def build_program_result(draft: CodeDraft) -> dict[str, Any]:
    """Return the fields of a result document for a program."""
    return {
        "code": as_text(draft.files),
        "files": draft.files,
        "specification": draft.specification,
        "tests": draft.tests,
        "verification": draft.verification,
        "attempts": to_attempt_records(draft.attempts),
        "artifacts": draft.artifacts,
    }


def to_attempt_records(attempts: Sequence[Attempt]) -> tuple[ResultAttempt, ...]:
    """Return attempts as the result document contains them."""
    return tuple(_attempt(attempt) for attempt in attempts)


def _attempt(attempt: Attempt) -> ResultAttempt:
    shared = ResultAttempt.model_fields.keys() & Attempt.model_fields.keys()
    return ResultAttempt(
        **{name: getattr(attempt, name) for name in shared}, code=as_text(attempt.files), error=attempt.error
    )


def as_text(files: Sequence[SourceFile]) -> str:
    """Return a program as one text: a single file unchanged, several files below their names."""
    if len(files) == 1:
        return files[0].text
    return "\n".join(f"# --- {file.path} ---\n{file.text.rstrip()}\n" for file in files)


def render_code_diff(before: str, after: str) -> str:
    """Return the changes between two texts as a unified diff without file names."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return "\n".join(line for line in lines if not line.startswith(("--- ", "+++ ")))


def format_code_block(text: str, language: str = "") -> str:
    """Return untrusted text as a code block whose fence it cannot close."""
    body = remove_control_characters(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def render_program_body(result: Result) -> Iterator[str]:
    """Yield the parts of a report on a program: its test result, the program, its attempts, its files."""
    yield _proof(result)
    yield from _program(result)
    if result.specification:
        lines = [f"- {escape(line)}" for line in result.specification.splitlines() if line.strip()]
        yield "## Specification\n\n" + "\n".join(lines)
    if result.tests:
        yield "## The tests\n\n" + "\n\n".join(_file(file) for file in result.tests)
    if len(result.attempts) > 1 or any(attempt.error for attempt in result.attempts):
        yield "## The attempts\n\n" + "\n\n".join(render_attempt(result.attempts))
    if result.artifacts:
        yield f"## Files\n\n{render_files(result)}"


def render_files(result: Result) -> str:
    """Return the files that a program made as a list with their paths; empty if there are none."""
    return "\n".join(
        f"- {format_code_span(one.name)}, {one.bytes:,} bytes, kept as {format_code_span(one.path)}"
        for one in result.artifacts
    )


def _program(result: Result) -> Iterator[str]:
    if not result.attempts:
        yield (
            "**There is no program.** No program was found or written that could be tested. "
            "Without a model, only code from documents and given files is tried, with small edits."
        )
        return
    if result.files:
        what = "tests" if result.verification and result.verification.test_author == "coder" else "program"
        yield f"## The {what}\n\n" + "\n\n".join(_file(file) for file in result.files)
    accepted = (one for one in reversed(result.attempts) if not one.error)
    run = next((one for one in accepted if one.entry and one.stdout.strip()), None)
    if run:
        command = f"Run with {format_code_span(run.command)}, it" if run.command else "It"
        yield f"{command} printed:\n\n{format_code_block(run.stdout)}"


def _file(file: SourceFile) -> str:
    suffix = file.path.rsplit(".", 1)[-1]
    return f"{format_code_span(file.path)}\n\n{format_code_block(file.text, _LANGUAGES.get(suffix, ''))}"


def _proof(result: Result) -> str:
    proof = result.verification
    if proof is None or not result.attempts:
        return ""
    counted = f"{_counted(proof.passed, proof.total)} passed in the sandbox" if proof.total else "No test was run"
    said = f"{counted}. Judged by {_AUTHORS[proof.test_author]}. {_PROOFS[proof.proof]}".rstrip()
    said += "".join(f"\n\n{one}" for one in _notes(proof.notes))
    failing = "".join(f"\n{_failure(one)}" for one in proof.failures[:_MAX_FAILURES_SHOWN])
    return f"## Test result\n\n{said}" + (f"\n\n**Failing:**\n{failing}" if failing else "")


def _notes(notes: Sequence[str]) -> Iterator[str]:
    """Yield the notes as a list for a person who wants to trust the result."""
    if notes:
        listed = "\n".join(f"- {escape(note)}" for note in notes)
        yield f"**Look at the program before you trust this result.** What could influence its tests:\n\n{listed}"


def _counted(passed: int, total: int) -> str:
    return f"{passed} of {total} test{'' if total == 1 else 's'}"


def _failure(failure: AttemptFailure) -> str:
    return f"- {format_code_span(failure.test) + ': ' if failure.test else ''}{escape(failure.error)}"


def render_attempt(attempts: Sequence[ResultAttempt]) -> Iterator[str]:
    """Yield every attempt with its changes from the previous one."""
    before = ""
    for attempt in attempts:
        how = "accepted" if attempt.error is None else f"failed: {escape(attempt.error)}"
        tests = f"{_counted(attempt.passed, attempt.total)}, " if attempt.total else ""
        yield f"**Attempt {attempt.n}** ({tests}{attempt.seconds:.2f} s) {how}"
        if attempt.approach:
            yield escape(attempt.approach)
        yield from _notes(attempt.notes)
        if before and attempt.code and before != attempt.code:
            yield format_code_block(render_code_diff(before, attempt.code), "diff")
        if attempt.reflection:
            yield f"*Learned:* {escape(attempt.reflection.cause)} {escape(flatten(attempt.reflection.change))}"
        before = attempt.code or before
