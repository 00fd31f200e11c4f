"""Validate programs and tests, report failures of test runs, and choose the best attempt."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tenure.algorithms.coding.mutation import normalize_source
from tenure.algorithms.text.questions import format_heading
from tenure.contracts.result.programs import Attempt, AttemptFailure, OriginalFile, SourceFile, parse_cases
from tenure.contracts.run.run import RunLimits
from tenure.contracts.sandbox import CallCase, InputFile, Language, SandboxLimits, SandboxOutcome

MAX_PROGRAM_LENGTH = 60_000
"""Maximum characters of all files together."""
MAX_HISTORY_LENGTH = 150_000
"""Maximum characters of code in all attempts of a run; the oldest attempts lose their code first."""
MAX_FAILURES = 12
MAX_OUTPUT_LENGTH = 4_000
"""Maximum characters of an output or a trace."""

# `src/a.b.py`; not `../a`, `.env` or `a b.py`
_PATH = re.compile(r"\w[\w-]*(?:[./]\w[\w-]*)*")
_SUFFIXES: Final[Mapping[Language, tuple[str, ...]]] = {
    "python": (".py",),
    "node": (".js", ".mjs", ".cjs"),
    "shell": (".sh",),
}
_RESERVED_NAMES = frozenset(
    "conftest.py sitecustomize.py usercustomize.py pytest.ini pyproject.toml tox.ini setup.cfg".split()
)


def detect_language(path: str) -> Language | None:
    """Return the language of an executable file; None for other files."""
    return next((language for language, suffixes in _SUFFIXES.items() if path.endswith(suffixes)), None)


_PROGRAMS: Final[Mapping[Language, str]] = {"python": "python", "node": "node", "shell": "sh"}


def format_command(entry: str, arguments: Sequence[str]) -> str:
    """Return the command line that runs a file as the sandbox does."""
    return shlex.join((_PROGRAMS[detect_language(entry) or "python"], entry, *arguments))


MIN_TITLE_CHARACTERS = 40
"""Length from which the title of a program ends with the first clause of its request."""
# `, ` in `Write a tool, then …`, ` (`
_CLAUSE_END = re.compile(r"[,;:.]\s|\s\(|\n")
# `a.py`, `f()` and `snake_case`, which keep their case at the beginning of a title; not `Write`
_NAME_MARK = re.compile(r"\w[._(]\w|\(\)")


def format_title(request: str) -> str:
    """Return the title of a program: the beginning of its request, with the names of files as they are."""
    ends = (match.start() for match in _CLAUSE_END.finditer(request) if match.start() >= MIN_TITLE_CHARACTERS)
    clause = request[: next(ends, len(request))]
    title = format_heading(clause)
    first = title.split()[0] if title.split() else ""
    original_word = next((word for word in clause.split() if word.lower() == first.lower()), first)
    return f"{original_word}{title[len(first) :]}" if _NAME_MARK.search(original_word) else title


def is_test_file(path: str) -> bool:
    """Return whether a file has the name of a pytest module."""
    name = path.rsplit("/", 1)[-1]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def find_program_fault(files: Sequence[SourceFile], tests: Iterable[str], languages: Sequence[Language]) -> str:
    """Return the reason why files are not a valid program in one of the languages; empty if they are."""
    test_names = set(tests)
    for file in files:
        if not _PATH.fullmatch(file.path):
            return f"{file.path!r} is not a valid file name in the program's folder"
        if file.path in test_names:
            return f"{file.path} belongs to the tests and cannot be changed"
        if file.path.rsplit("/", 1)[-1] in _RESERVED_NAMES:
            return f"{file.path} would change how the tests are run"
        if (language := detect_language(file.path)) and language not in languages:
            return f"{file.path} needs {language}, which is not available"
    if len({file.path for file in files}) < len(files):
        return "two files have the same name"
    if sum(len(file.text) for file in files) > MAX_PROGRAM_LENGTH:
        return f"the program is longer than {MAX_PROGRAM_LENGTH:,} characters"
    return "" if any(detect_language(file.path) for file in files) else "the program has no executable file"


def hash_file(path: str, text: str) -> str:
    """Return a hash that ignores layout and comments of a file."""
    form = normalize_source(text) if path.endswith(".py") else " ".join(text.split())
    return hashlib.sha256(form.encode(errors="surrogatepass")).hexdigest()[:16]


def hash_program(files: Iterable[SourceFile], run: Sequence[str] = ()) -> str:
    """Return a hash that ignores layout and comments of a program; `run` is its command line."""
    parts = [*sorted((file.path, hash_file(file.path, file.text)) for file in files), *run]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def find_tests_fault(tests: Sequence[SourceFile]) -> str:
    """Return the reason why files are not valid tests; empty if they are, or if there are no files."""
    for file in tests:
        if not _PATH.fullmatch(file.path) or file.path.rsplit("/", 1)[-1] in _RESERVED_NAMES:
            return f"{file.path!r} is not a valid test file name"
    return "" if not tests or any(is_test_file(file.path) for file in tests) else "none of them is named test_*.py"


def collect_cases(tests: Iterable[InputFile]) -> tuple[CallCase, ...]:
    """Return the test cases in JSON files; empty if pytest files exist, which may read the JSON files themselves.

    Raises:
        ValidationError: a file contains no valid cases.
    """
    files = tuple(tests)
    if any(file.name.endswith(".py") for file in files):
        return ()
    return tuple(case for file in files for case in parse_cases(file.text or "[]"))


def choose_entry_point(files: Sequence[SourceFile]) -> str:
    """Return the default file to run: the one called main, else the first executable one."""
    able = [file.path for file in files if detect_language(file.path)]
    return next((path for path in able if path.rsplit("/", 1)[-1].startswith("main.")), able[0])


def convert_given_files(given: Iterable[InputFile]) -> tuple[SourceFile, ...]:
    """Return given files for prompts; a file without text is replaced by a note."""
    return tuple(
        SourceFile(path=file.name, text=file.text if file.text is not None else "(a data file; read it by this name)")
        for file in given
    )


def merge_files(given: Iterable[InputFile], files: Iterable[SourceFile]) -> tuple[InputFile, ...]:
    """Return the files of the program's folder: given files, replaced or extended by those of the program."""
    merged = {file.name: file for file in given}
    merged |= {file.path: InputFile(name=file.path, text=file.text) for file in files}
    return tuple(merged.values())


def select_changed_files(given: Iterable[InputFile], files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """Return the files of a program that differ from the given ones, with the line ends that those had."""
    texts = {file.name: file.text for file in given}
    restored = (_restore_line_ends(file, texts.get(file.path) or "") for file in files)
    return tuple(file for file in restored if texts.get(file.path) != file.text)


def _restore_line_ends(file: SourceFile, original: str) -> SourceFile:
    """Return a file with the line ends of Windows if its original has them; models write line feeds alone."""
    if "\r\n" not in original or "\r" in file.text:
        return file
    return file.model_copy(update={"text": file.text.replace("\n", "\r\n")})


def select_originals(given: Iterable[InputFile], files: Iterable[SourceFile]) -> tuple[OriginalFile, ...]:
    """Return the given texts that the files of a program replace."""
    paths = {file.path for file in files}
    return tuple(
        OriginalFile(path=file.name, text=file.text, origin=file.origin)
        for file in given
        if file.text is not None and file.origin and file.name in paths
    )


def build_sandbox_limits(limits: RunLimits) -> SandboxLimits:
    """Return the sandbox limits of a run's programs."""
    return SandboxLimits(
        wall_seconds=limits.program_seconds,
        cpu_seconds=max(1, round(limits.program_seconds)),
        memory_mib=limits.program_memory_mib,
    )


def collect_failures(outcome: SandboxOutcome) -> tuple[AttemptFailure, ...]:
    """Return the failures of a test run; empty if the program passed."""
    if outcome.verdict == "passed":
        return ()
    failed = [test for test in outcome.tests if not test.passed]
    reported = tuple(
        AttemptFailure(test=test.name, error=test.error or "it failed", trace=truncate_middle(test.trace))
        for test in failed[:MAX_FAILURES]
    )
    if reported and outcome.verdict == "failed":
        return reported
    ending = _describe_ending(outcome)
    return reported if ending.error in {failure.error for failure in reported} else (ending, *reported)


def has_only_import_errors(attempt: Attempt) -> bool:
    """Return whether all failures of a program are missing modules or names."""
    missing = ("ModuleNotFoundError: ", "ImportError: cannot import name ")
    return bool(attempt.failures) and all(failure.error.startswith(missing) for failure in attempt.failures)


def _describe_ending(outcome: SandboxOutcome) -> AttemptFailure:
    """Describe the end of a program that no test explains."""
    last = next((line for line in reversed(outcome.stderr.strip().splitlines()) if line.strip()), "")
    reasons = {
        "timeout": "it exceeded its time limit",
        "limit": f"it exceeded its limits ({', '.join(outcome.limits_hit) or 'unknown'})",
        "forged": "its reported test results contradict the observed ones",
        "error": "it could not be tested",
        "failed": f"it ended with exit code {outcome.exit_code}" if outcome.exit_code else "it ended early",
    }
    reason = outcome.reason or reasons[outcome.verdict]
    error = f"{reason}: {last}" if last and last not in reason else reason
    return AttemptFailure(test="", error=error[:500], trace=truncate_middle(outcome.stderr))


def truncate_middle(text: str, max_length: int = MAX_OUTPUT_LENGTH) -> str:
    """Return a text with its middle left out if it is too long."""
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def select_best_attempt(attempts: Iterable[Attempt]) -> Attempt | None:
    """Return the best attempt: a passing one, else the one with most passed tests; of equals the latest.

    Later attempts consider later feedback, so the latest passing one is the best, unless only an earlier one of the
    same generation passed without a note.
    """

    def rank(attempt: Attempt) -> tuple[int | bool, ...]:
        generation = 0 if attempt.failures else attempt.generation
        passed = not attempt.failures
        return passed, attempt.passed, bool(attempt.files), generation, not attempt.notes, attempt.n

    return max(attempts, key=rank, default=None)


def trim_history(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Remove code from old attempts to keep the history small; the best attempt keeps its code."""
    best = select_best_attempt(attempts)
    left = MAX_HISTORY_LENGTH - (_count_characters(best) if best else 0)
    slim: list[Attempt] = []
    for attempt in reversed(attempts):
        if attempt is not best:
            left -= _count_characters(attempt)
        slim.append(attempt if attempt is best or left >= 0 else attempt.model_copy(update={"files": ()}))
    return tuple(reversed(slim))


def summarize_attempts(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts for later prompts, with code and traces of the best one only."""
    best = select_best_attempt(attempts)
    removed = {"files": (), "stdout": "", "stderr": "", "artifacts": ()}
    return tuple(
        attempt
        if attempt is best
        else attempt.model_copy(
            update={
                **removed,
                "failures": tuple(item.model_copy(update={"trace": ""}) for item in attempt.failures[:4]),
            }
        )
        for attempt in attempts
    )


def _count_characters(attempt: Attempt) -> int:
    return sum(len(file.text) for file in attempt.files) + len(attempt.stdout) + len(attempt.stderr)
