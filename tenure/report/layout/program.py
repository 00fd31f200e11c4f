"""Build and set the result of the coding path."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tenure.algorithms.coding.patches import build_patch
from tenure.algorithms.text.counts import format_count
from tenure.algorithms.text.printable import flatten, remove_control_characters
from tenure.contracts.result.programs import (
    Attempt,
    AttemptFailure,
    CodeDraft,
    OriginalFile,
    ProgramVerification,
    SourceFile,
)
from tenure.contracts.result.result import Result
from tenure.contracts.sandbox import ProofLevel
from tenure.report.layout.text import format_words, make_code, make_line
from tenure.report.layout.tree import BlockNode, CodeNode, Line, ListNode, ParagraphNode, PartNode
from tenure.report.translation import format_number, mark_message, translate, translate_count

_LANGUAGES = {"py": "python", "js": "javascript", "mjs": "javascript", "sh": "sh", "json": "json", "md": "markdown"}
_MAX_FAILURES_SHOWN = 8
_AUTHORS = {
    "person": mark_message("Judged by the given tests."),
    "test_writer": mark_message(
        "Judged by tests that were made from the request before the program; what they leave out is not checked."
    ),
    "coder": mark_message("Judged by the requested tests, run against the given code."),
    "none": mark_message("Judged by running it to its end, without tests."),
}


_PROOFS: Final[Mapping[ProofLevel, str]] = {
    "none": "",
    "exit_code": mark_message("Only the exit code of the program is known."),
    "tests_in_same_process": mark_message(
        "Level of proof: the tests ran in the same process as the program, which can influence them there."
    ),
    "tests_in_other_process": mark_message("Level of proof: the tests ran in another process than the program."),
    "values_compared_outside": mark_message("Level of proof: the values were compared outside of the sandbox."),
}


def build_program_result(draft: CodeDraft) -> dict[str, Any]:
    """Return the fields of a result document for a program."""
    return {
        "code": as_text(draft.files),
        "files": draft.files,
        "originals": draft.originals,
        "patch": build_patch(map_texts(draft.originals), map_texts(draft.files)),
        "specification": draft.specification,
        "tests": draft.tests,
        "verification": draft.verification,
        "attempts": draft.attempts,
        "artifacts": draft.artifacts,
    }


def as_text(files: Sequence[SourceFile]) -> str:
    """Return a program as one text: a single file unchanged, several files below their names."""
    if len(files) == 1:
        return files[0].text
    return "\n".join(f"# --- {file.path} ---\n{file.text.rstrip()}\n" for file in files)


def map_texts(files: Iterable[SourceFile | OriginalFile]) -> dict[str, str]:
    """Return the texts of files by their paths."""
    return {file.path: file.text for file in files}


def set_code(text: str, language: str = "") -> CodeNode:
    """Return untrusted text as code."""
    return CodeNode(remove_control_characters(text).rstrip("\n"), language)


def find_language(*paths: str) -> str:
    """Return the language of code by the first path with a known suffix; empty if there is none."""
    return next(filter(None, (_LANGUAGES.get(path.rsplit(".", 1)[-1], "") for path in paths)), "")


def set_program(result: Result) -> Iterator[BlockNode]:
    """Yield the parts of a report on a program: its test result, the program, its attempts, its files."""
    if result.verification and result.attempts:
        yield PartNode("test-result", translate("Test result"), tuple(_set_verification(result.verification)))
    yield from _set_files(result)
    if result.specification:
        lines = tuple(make_line(line) for line in result.specification.splitlines() if line.strip())
        yield PartNode("specification", translate("Specification"), (ListNode(lines),))
    if result.tests:
        yield PartNode("tests", translate("The tests"), tuple(_set_sources(result.tests)))
    if len(result.attempts) > 1 or any(attempt.error for attempt in result.attempts):
        yield PartNode("attempts", translate("The attempts"), tuple(set_attempts(result.attempts)))
    if result.artifacts:
        yield PartNode("files", translate("Files"), (ListNode(tuple(list_files(result))),))


def list_files(result: Result) -> Iterator[Line]:
    """Yield the files that a program made with their paths."""
    for artifact in result.artifacts:
        yield make_line(
            make_code(artifact.name),
            translate(", {size} bytes, kept as ", size=format_number(artifact.bytes)),
            make_code(artifact.path),
        )


def _set_files(result: Result) -> Iterator[BlockNode]:
    if not result.attempts:
        yield ParagraphNode(
            make_line(
                format_words(translate("There is no program."), "strong"),
                " ",
                translate(
                    "No program was found or written that could be tested. Without a model, only code from documents "
                    "and given files is tried, with small edits."
                ),
            )
        )
        return
    accepted = (attempt for attempt in reversed(result.attempts) if not attempt.error)
    run = next((attempt for attempt in accepted if attempt.entry and attempt.stdout.strip()), None)
    output = tuple(_set_output(run)) if run else ()
    if result.originals:
        yield PartNode("changes", translate("Changes"), (set_code(result.patch, "diff"), *output, _set_command(result)))
    elif result.files:
        are_tests = result.verification and result.verification.test_author == "coder"
        heading = translate("The tests") if are_tests else translate("The program")
        yield PartNode("program", heading, (*_set_sources(result.files), *output, _set_command(result)))
    else:
        yield from output


def _set_command(result: Result) -> BlockNode:
    """Return how the files are written; the options are those of the command line."""
    command = f"apply {result.id}" + ("" if result.originals else " --to DIR")
    return ParagraphNode(
        make_line(
            translate("The command `{command}` writes these files, with `--patch FILE` a patch.", command=command)
        )
    )


def _set_output(run: Attempt) -> Iterator[BlockNode]:
    command = (" (", make_code(run.command), ")") if run.command else ()
    yield ParagraphNode(make_line(translate("Output of the program"), *command, ":"))
    yield set_code(run.stdout)


def _set_sources(files: Sequence[SourceFile]) -> Iterator[BlockNode]:
    for file in files:
        yield ParagraphNode(make_line(make_code(file.path)))
        yield set_code(file.text, find_language(file.path))


def _set_verification(proof: ProgramVerification) -> Iterator[BlockNode]:
    counted = (
        translate_count(
            f"{proof.passed} of {format_count(proof.total, 'test')} passed in the sandbox.",
            "Tests that passed in the sandbox: {passed} of {total}.",
            passed=proof.passed,
            total=proof.total,
        )
        if proof.total
        else translate("No test was run.")
    )
    level = _PROOFS[proof.proof] and translate(_PROOFS[proof.proof])
    yield ParagraphNode(make_line(f"{counted} {translate(_AUTHORS[proof.test_author])} {level}".rstrip()))
    yield from _set_notes(proof.notes)
    if proof.failures:
        yield ParagraphNode(format_words(translate("Failing:"), "strong"))
        yield ListNode(tuple(map(_describe_failure, proof.failures[:_MAX_FAILURES_SHOWN])))


def _set_notes(notes: Sequence[str]) -> Iterator[BlockNode]:
    """Yield the notes as a list for a person who wants to trust the result."""
    if notes:
        warning = format_words(translate("Look at the program before you trust this result."), "strong")
        yield ParagraphNode(make_line(warning, " ", translate("What could influence its tests:")))
        yield ListNode(tuple(map(make_line, notes)))


def _describe_failure(failure: AttemptFailure) -> Line:
    return make_line(*((make_code(failure.test), ": ") if failure.test else ()), failure.error)


def set_attempts(attempts: Sequence[Attempt]) -> Iterator[BlockNode]:
    """Yield every attempt with its changes from the previous one."""
    before: dict[str, str] = {}
    for attempt in attempts:
        how = translate("accepted") if attempt.error is None else translate("failed: {error}", error=attempt.error)
        tests = translate_count(
            f"{attempt.passed} of {format_count(attempt.total, 'test')}, ",
            "tests: {passed} of {total}, ",
            passed=attempt.passed,
            total=attempt.total,
        )
        title = format_words(translate("Attempt {number}", number=attempt.n), "strong")
        seconds = f"{format_number(attempt.seconds, 2)} {translate('s')}"
        yield ParagraphNode(make_line(title, f" ({tests if attempt.total else ''}{seconds}) {how}"))
        if attempt.approach:
            yield ParagraphNode(make_line(attempt.approach))
        yield from _set_notes(attempt.notes)
        after = map_texts(attempt.files)
        if before and after and before != after:
            yield set_code(build_patch(before, after), "diff")
        if lesson := attempt.reflection:
            learned = f" {flatten(lesson.cause)} {flatten(lesson.change)}"
            yield ParagraphNode(make_line(format_words(translate("Learned:")), learned))
        before = after or before
