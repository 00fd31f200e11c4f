"""The result of the coding path: its part of the result document, and how a person reads it.

Code is set in fences that it cannot close; everything else that is not ours is escaped.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tenure.contracts.result.programs import Attempt, CodeDraft, Failure, SourceFile
from tenure.contracts.result.result import Result, ResultAttempt
from tenure.report.render.escaping import code, escape, flatten, visible

_LANGUAGES = {"py": "python", "js": "javascript", "mjs": "javascript", "sh": "sh", "json": "json", "md": "markdown"}
_SHOWN_FAILURES = 8
_AUTHORS = {
    "person": "the tests that were given",
    "test_writer": "tests that were written before the program, by the role test writer",
    "coder": "the tests that were asked for, run against the given code",
    "nobody": "running it to its end: there are no tests",
}


def program(draft: CodeDraft) -> dict[str, Any]:
    """Return the fields of a result document that tell of a program."""
    return {
        "code": as_text(draft.files),
        "files": draft.files,
        "specification": draft.specification,
        "tests": draft.tests,
        "proof": draft.proof,
        "attempts": told(draft.attempts),
        "artifacts": draft.artifacts,
    }


def told(attempts: Sequence[Attempt]) -> tuple[ResultAttempt, ...]:
    """Return attempts as a result document has them."""
    return tuple(_attempt(attempt) for attempt in attempts)


def _attempt(attempt: Attempt) -> ResultAttempt:
    shared = ResultAttempt.model_fields.keys() & Attempt.model_fields.keys()
    return ResultAttempt(
        **{name: getattr(attempt, name) for name in shared}, code=as_text(attempt.files), error=attempt.error
    )


def as_text(files: Sequence[SourceFile]) -> str:
    """Return a program as one text: a single file as it is, several ones under their names."""
    if len(files) == 1:
        return files[0].text
    return "\n".join(f"# --- {file.path} ---\n{file.text.rstrip()}\n" for file in files)


def difference(before: str, after: str) -> str:
    """Return what changed from one text to the next, as a unified diff without file names."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return "\n".join(line for line in lines if not line.startswith(("--- ", "+++ ")))


def fenced(text: str, language: str = "") -> str:
    """Set foreign text as a block of code whose fence it cannot close."""
    body = visible(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def program_body(result: Result) -> Iterator[str]:
    """Yield the parts of a report on a program: the program, its proof, its attempts, what it made."""
    yield from _program(result)
    yield _proof(result)
    if result.tests:
        yield "## The tests\n\n" + "\n\n".join(_file(file) for file in result.tests)
    if result.specification:
        lines = [escape(line) for line in result.specification.splitlines() if line.strip()]
        yield "## What it has to do\n\n" + "\n\n".join(lines)
    if len(result.attempts) > 1 or any(attempt.error for attempt in result.attempts):
        yield "## The attempts\n\n" + "\n\n".join(attempt_lines(result.attempts))
    if result.artifacts:
        yield f"## What it made\n\n{made_files(result)}"


def made_files(result: Result) -> str:
    """Set the files that a program made as a list that says where each is kept; empty where there are none."""
    return "\n".join(f"- {code(one.name)}, {one.bytes:,} bytes, kept as {code(one.path)}" for one in result.artifacts)


def _program(result: Result) -> Iterator[str]:
    if not result.attempts:
        yield (
            "**There is no program.** Nothing was found or written that could be tried. "
            "Without a model only code of documents and of given files is offered, and small edits of it."
        )
        return
    if result.files:
        what = "tests" if result.proof and result.proof.by == "coder" else "program"
        yield f"## The {what}\n\n" + "\n\n".join(_file(file) for file in result.files)
    accepted = (one for one in reversed(result.attempts) if not one.error)
    printed = next((one.stdout for one in accepted if one.entry and one.stdout.strip()), "")
    if printed:
        yield f"It printed:\n\n{fenced(printed)}"


def _file(file: SourceFile) -> str:
    suffix = file.path.rsplit(".", 1)[-1]
    return f"{code(file.path)}\n\n{fenced(file.text, _LANGUAGES.get(suffix, ''))}"


def _proof(result: Result) -> str:
    proof = result.proof
    if proof is None or not result.attempts:
        return ""
    counted = f"{_counted(proof.passed, proof.total)} passed in the sandbox" if proof.total else "No test was run"
    said = f"{counted}. It was judged by {_AUTHORS[proof.by]}."
    failing = "".join(f"\n{_failure(one)}" for one in proof.failing[:_SHOWN_FAILURES])
    return f"## How it was proved\n\n{said}" + (f"\n\n**What it fails:**\n{failing}" if failing else "")


def _counted(passed: int, total: int) -> str:
    return f"{passed} of {total} test{'' if total == 1 else 's'}"


def _failure(failure: Failure) -> str:
    return f"- {code(failure.test) + ': ' if failure.test else ''}{escape(failure.error)}"


def attempt_lines(attempts: Sequence[ResultAttempt]) -> Iterator[str]:
    """Yield every attempt with what it changed; the first is compared with nothing."""
    before = ""
    for attempt in attempts:
        how = "accepted" if attempt.error is None else f"failed: {escape(attempt.error)}"
        tests = f"{_counted(attempt.passed, attempt.total)}, " if attempt.total else ""
        yield f"**Attempt {attempt.n}** ({tests}{attempt.seconds:.2f} s) {how}"
        if attempt.approach:
            yield escape(attempt.approach)
        if before and attempt.code and before != attempt.code:
            yield fenced(difference(before, attempt.code), "diff")
        if attempt.reflection:
            yield f"*Learned:* {escape(attempt.reflection.cause)} {escape(flatten(attempt.reflection.change))}"
        before = attempt.code or before
