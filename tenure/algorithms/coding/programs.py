"""Programs in the making: what is a program at all, which were tried, what a trial showed, which one is best."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tenure.algorithms.coding.mutation import normal_form
from tenure.contracts.result.programs import Attempt, Failure, SourceFile, StoredArtifact, read_cases
from tenure.contracts.run.run import Limits
from tenure.contracts.sandbox import Case, GivenFile, Language, Outcome, SandboxLimits, TestResult

MOST_PROGRAM = 60_000
"""Characters of a program at the most, all its files together."""

MOST_HISTORY = 150_000
"""Characters of code that all attempts of a run keep together; the oldest give theirs up first."""

MOST_FAILURES = 12
"""Failures of an attempt that are told; the others are counted."""

MOST_TOLD = 4_000
"""Characters of an output or a trace that are told."""

_PATH = re.compile(r"\w[\w-]*(?:[./]\w[\w-]*)*")
_SUFFIXES: Final[Mapping[str, Language]] = {
    ".py": "python",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".sh": "shell",
}
_HOOKS = ("conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def language_of(path: str) -> Language | None:
    """Return the language of a file that can be run; None for any other file."""
    return next((language for suffix, language in _SUFFIXES.items() if path.endswith(suffix)), None)


def is_test(path: str) -> bool:
    """Whether a file holds tests by its name."""
    name = path.rsplit("/", 1)[-1]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def objection(files: Sequence[SourceFile], tests: Iterable[str], languages: Sequence[Language]) -> str:
    """Return why files are no program that may be tried; empty where they are.

    Args:
        files: the program.
        tests: names of the files that prove it.
        languages: what can be run.
    """
    kept = set(tests)
    for file in files:
        name = file.path.rsplit("/", 1)[-1]
        if not _PATH.fullmatch(file.path):
            return f"{file.path!r} is no name of a file inside the program's folder"
        if file.path in kept:
            return f"{file.path} belongs to the tests and cannot be changed"
        if name in _HOOKS:
            return f"{file.path} would change how the tests are run"
        if (language := language_of(file.path)) and language not in languages:
            return f"{file.path} needs {language}, which is not installed here"
    if len({file.path for file in files}) < len(files):
        return "two files have the same name"
    if sum(len(file.text) for file in files) > MOST_PROGRAM:
        return f"the program is longer than {MOST_PROGRAM:,} characters"
    return "" if any(language_of(file.path) for file in files) else "there is no file that can be run"


def file_digest(path: str, text: str) -> str:
    """Return what two files share that are the same but for layout and comments."""
    form = normal_form(text) if path.endswith(".py") else " ".join(text.split())
    return hashlib.sha256(form.encode(errors="surrogatepass")).hexdigest()[:16]


def digest(files: Iterable[SourceFile], run: Sequence[str] = ()) -> str:
    """Return what two programs share that are the same but for layout and comments; `run` is how they are run."""
    parts = [*sorted((file.path, file_digest(file.path, file.text)) for file in files), *run]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def unfit(tests: Sequence[SourceFile]) -> str:
    """Return why files cannot be taken as tests; empty where they can, or where there are none."""
    for file in tests:
        if not _PATH.fullmatch(file.path) or file.path.rsplit("/", 1)[-1] in _HOOKS:
            return f"{file.path!r} is no name of a file of tests"
    return "" if not tests or any(is_test(file.path) for file in tests) else "none of them is named test_*.py"


def cases_of(tests: Iterable[GivenFile]) -> tuple[Case, ...]:
    """Return the calls that JSON files describe; none where there are files of pytest, which may read JSON.

    Raises:
        ValidationError: a file describes none.
    """
    files = tuple(tests)
    if any(file.name.endswith(".py") for file in files):
        return ()
    return tuple(case for file in files for case in read_cases(file.text or "[]"))


def entry(files: Sequence[SourceFile]) -> str:
    """Return the file that is run where nobody says which: the one called main, else the first that can be."""
    able = [file.path for file in files if language_of(file.path)]
    return next((path for path in able if path.rsplit("/", 1)[-1].startswith("main.")), able[0])


def shown(given: Iterable[GivenFile]) -> tuple[SourceFile, ...]:
    """Return given files as roles see them; of those that do not travel only the name."""
    return tuple(
        SourceFile(path=file.name, text=file.text if file.text is not None else "(a data file; read it by this name)")
        for file in given
    )


def together(given: Iterable[GivenFile], files: Iterable[SourceFile]) -> tuple[GivenFile, ...]:
    """Return what lies in the program's folder: the given files, replaced or joined by those of the program."""
    lying = {file.name: file for file in given}
    lying |= {file.path: GivenFile(name=file.path, text=file.text) for file in files}
    return tuple(lying.values())


def changed(given: Iterable[GivenFile], files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """Return the files of a program that were not given just so."""
    texts = {file.name: file.text for file in given}
    return tuple(file for file in files if texts.get(file.path) != file.text)


def bounds(limits: Limits) -> SandboxLimits:
    """Return what a program of a run may use."""
    return SandboxLimits(
        wall_seconds=limits.program_seconds,
        cpu_seconds=max(1, round(limits.program_seconds)),
        memory_mib=limits.program_memory_mib,
    )


def failures(outcome: Outcome) -> tuple[Failure, ...]:
    """Return what a trial or a run has against a program; nothing where it is accepted."""
    if outcome.verdict == "passed":
        return ()
    failed = [test for test in outcome.tests if not test.passed]
    told = tuple(_failure(test) for test in failed[:MOST_FAILURES])
    if told and outcome.verdict == "failed":
        return told
    ending = _ending(outcome)
    return told if ending.error in {failure.error for failure in told} else (ending, *told)


def unfinished(attempt: Attempt) -> bool:
    """Whether all that is wrong with a program is that something it is imported for is not there."""
    missing = ("ModuleNotFoundError: ", "ImportError: cannot import name ")
    return bool(attempt.failures) and all(failure.error.startswith(missing) for failure in attempt.failures)


def _failure(test: TestResult) -> Failure:
    return Failure(test=test.name, error=test.error or "it failed", trace=shortened(test.trace))


def _ending(outcome: Outcome) -> Failure:
    """Say how a program ended, where no test says it."""
    last = next((line for line in reversed(outcome.stderr.strip().splitlines()) if line.strip()), "")
    ways = {
        "timeout": "it ran out of time",
        "limit": f"it went beyond its limits ({', '.join(outcome.limits_hit) or 'unknown'})",
        "forged": "what it reported contradicts the facts: results of tests have to come from the tests",
        "error": "it could not be tested",
        "failed": f"it ended with exit code {outcome.exit_code}" if outcome.exit_code else "it ended early",
    }
    said = outcome.reason or ways[outcome.verdict]
    error = f"{said}: {last}" if last and last not in said else said
    return Failure(test="", error=error[:500], trace=shortened(outcome.stderr))


def shortened(text: str, most: int = MOST_TOLD) -> str:
    """Return a text whose middle is left out where it is long."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def stored(outcome: Outcome) -> tuple[StoredArtifact, ...]:
    """Return the files that an outcome has brought."""
    return tuple(StoredArtifact(name=a.name, bytes=a.bytes, sha256=a.sha256, path=a.path) for a in outcome.artifacts)


def best(attempts: Iterable[Attempt]) -> Attempt | None:
    """Return the attempt to deliver: an accepted one, else the one with most tests passed; of equals the latest.

    A program that answers what a person said later comes after the ones before; so the latest accepted one counts.
    """
    ranked = sorted(attempts, key=lambda one: (not one.failures, one.passed, bool(one.files), one.n))
    return ranked[-1] if ranked else None


def slimmed(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts with as much code as may travel: the best one's and the latest ones'."""
    kept = best(attempts)
    left = MOST_HISTORY - (_length(kept) if kept else 0)
    slim: list[Attempt] = []
    for attempt in reversed(attempts):
        if attempt is not kept:
            left -= _length(attempt)
        slim.append(attempt if attempt is kept or left >= 0 else attempt.model_copy(update={"files": ()}))
    return tuple(reversed(slim))


def remembered(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts as later ones know them: the code and traces of the best one only."""
    kept = best(attempts)
    return tuple(attempt if attempt is kept else _outline(attempt) for attempt in attempts)


def _outline(attempt: Attempt) -> Attempt:
    told = tuple(failure.model_copy(update={"trace": ""}) for failure in attempt.failures[:4])
    return attempt.model_copy(update={"files": (), "stdout": "", "stderr": "", "failures": told, "artifacts": ()})


def _length(attempt: Attempt) -> int:
    return sum(len(file.text) for file in attempt.files) + len(attempt.stdout) + len(attempt.stderr)
