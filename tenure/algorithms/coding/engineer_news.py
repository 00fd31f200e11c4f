"""Describe tests, proofs and the environment of a repository for the model that works in it, and for people."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tenure.contracts.coding.repositories import (
    ChangedFile,
    Environment,
    ProjectTest,
    ProjectTestReport,
    Proof,
)

MAX_TESTS_SHOWN: Final = 8
"""Failed tests that are shown with their messages: the first ones mostly have the cause of the others."""

MAX_NAMES_SHOWN: Final = 20
MAX_OUTPUT_SHOWN: Final = 1_500
"""Characters of the output of tests that could not be counted: its end says why."""

# "src/a.py:12", "src/a.py:12-40 parse"; not "12: src/a.py".
_PLACE = re.compile(r"[^\s:]+\.\w+:\d+[^\n]{0,160}")

VERDICTS: Final = {
    "proved": "the fault is shown by a test that fails without the change and passes with it, and nothing broke",
    "unproved": "the tests do not show that the change resolves the issue",
    "failed": "tests that it has to make pass fail",
    "regressed": "tests that passed before fail now",
}


def list_places(report: ProjectTestReport | None, search: str) -> tuple[str, ...]:
    """Return the tests that fail before any change, and the places in the result of a search, in a line each."""
    failing = (f"{test.id} (fails)" for test in (report.tests if report else ()) if test.outcome in ("failed", "error"))
    return tuple(dict.fromkeys(" ".join(place.split()) for place in (*failing, *_PLACE.findall(search))))


def describe_environment(environment: Environment) -> str:
    """Return how tests are run, for the beginning of a conversation."""
    return f"All tests: `{environment.test}`." if environment.test else "No command for its tests was found."


def describe_tests(report: ProjectTestReport) -> str:
    """Return the results of tests: a line of counts, then the failed tests."""
    if report.error:
        printed = report.observation.text[-MAX_OUTPUT_SHOWN:] if report.observation else ""
        return f"they could not be counted: {report.error}\n{printed}".rstrip()
    counts = ", ".join(f"{count} {outcome}" for outcome, count in report.counts.items() if count)
    failed = [test for test in report.tests if test.outcome in ("failed", "error")]
    lines = [f"- {test.id}: {_first_line(test)}".rstrip(": ") for test in failed[:MAX_TESTS_SHOWN]]
    more = [f"- and {len(failed) - MAX_TESTS_SHOWN} more"] if len(failed) > MAX_TESTS_SHOWN else []
    return "\n".join([f"{counts or 'no tests'} in {report.seconds:.0f} s", *lines, *more])


def describe_proof(proof: Proof) -> str:
    """Return the result of a verification for the model, with what it can act on."""
    lines = [f"Result of the tests with your change: {VERDICTS[proof.verdict]}."]
    groups: tuple[tuple[str, Sequence[ProjectTest]], ...] = (
        ("Passed before, fail now", proof.broken),
        ("Failed before, still fail", proof.failing),
        ("Rewritten by your change, and their former versions fail with it", proof.rewritten),
    )
    for title, tests in groups:
        if tests:
            lines.append(f"{title}:")
            lines += [f"- {test.id}\n{test.message}".rstrip() for test in tests[:MAX_TESTS_SHOWN]]
            lines += [f"- and {len(tests) - MAX_TESTS_SHOWN} more"] if len(tests) > MAX_TESTS_SHOWN else []
    lines += proof.notes
    lines.append("DONE again without a change of the files ends the work with this result.")
    return "\n".join(lines)


def summarize_proof(proof: Proof) -> str:
    """Return the result of a verification in a line for people."""
    counts = (
        (len(proof.fixed), "fixed"),
        (proof.kept, "kept"),
        (len(proof.failing), "still failing"),
        (len(proof.broken), "broken"),
        (len(proof.rewritten), "rewritten"),
    )
    shown = ["shown by new tests"] if proof.reproduction else []
    shown += [f"{count} {word}" for count, word in counts if count]
    return f"{proof.verdict}{': ' if shown else ''}{', '.join(shown)}"


def list_names(files: Iterable[ChangedFile]) -> str:
    """Return the names of changed files in a line."""
    names = [file.path for file in files]
    more = [f"and {len(names) - MAX_NAMES_SHOWN} more"] if len(names) > MAX_NAMES_SHOWN else []
    return ", ".join([*names[:MAX_NAMES_SHOWN], *more])


def _first_line(test: ProjectTest) -> str:
    return next((line.strip() for line in test.message.splitlines() if line.strip()), "")[:200]
