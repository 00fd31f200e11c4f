"""Set the result of the work in a repository: the proof, the cause, the change, and what was not checked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tenure.algorithms.coding.attempts import CHOICE_RULE
from tenure.algorithms.coding.engineer_news import VERDICTS
from tenure.algorithms.text.printable import flatten
from tenure.contracts.coding.repositories import ProjectTest, Proof, RepositoryAttempt, RepositoryChange
from tenure.contracts.result.result import Result
from tenure.report.layout.program import set_code
from tenure.report.layout.text import format_words, make_code, make_line
from tenure.report.layout.tree import BlockNode, Line, ListNode, ParagraphNode, PartNode, TableNode

MAX_TESTS_SHOWN: Final = 20
MAX_FILES_SHOWN: Final = 5
"""Files of an attempt in its row."""
MAX_PATCH_CHARACTERS: Final = 100_000
"""Length of a patch that the report shows; a longer one is in the JSON and in the file that `apply` writes."""

_OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "fixed": ("failed", "passes"),
    "failing": ("failed", "fails"),
    "broken": ("passed", "fails"),
    "rewritten": ("passed", "passes as the change rewrites it; its former version fails"),
    "flaky": ("changes", "changes"),
}
"""Results of the tests without and with the change, by their group in a proof."""


def set_change(result: Result, change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield the parts of a report on a change of a repository."""
    yield PartNode("test-result", "Proof", tuple(_set_proof(change)))
    if change.cause:
        yield PartNode("cause", "Cause", tuple(_set_prose(change.cause)))
    if change.attempts:
        yield PartNode("attempts", "The attempts", tuple(_set_attempts(change.attempts)))
    if not change.patch:
        yield from _set_places(change)
        return
    yield PartNode("changes", "Changes", (*_set_prose(change.change), *_set_files(change), *_set_patch(change)))
    yield PartNode("apply", "How to apply it", tuple(_set_commands(result)))
    if change.message:
        yield PartNode("message", "Draft of the commit message", (set_code(change.message),))


def set_steps(change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield the steps of the work, for the end of a report."""
    lines: list[Line] = []
    for step in change.steps:
        if step.thought:
            lines.append(make_line(format_words(step.thought, "em")))
        # Some summaries repeat the action.
        lines.append(make_line(make_code(step.action), f": {flatten(step.summary.removeprefix(f'{step.action}: '))}"))
    if lines:
        yield PartNode("steps", "Steps", (ListNode(tuple(lines)),), "How the change was made")


def _set_proof(change: RepositoryChange) -> Iterator[BlockNode]:
    proof = change.proof
    if not change.patch:
        yield ParagraphNode(format_words("Nothing is changed.", "strong"))
        return
    if proof is None:
        said = " The run ended before the tests of the project ran with it."
        yield ParagraphNode(make_line(format_words("The change is unproved.", "strong"), said))
        return
    title = {"proved": "The change is proved", "unproved": "The change is unproved"}.get(
        proof.verdict, "The change fails"
    )
    yield ParagraphNode(make_line(format_words(f"{title}:", "strong"), f" {VERDICTS[proof.verdict]}."))
    rows = [row for group in _OUTCOMES for row in _list_rows(group, getattr(proof, group))]
    if rows:
        columns = tuple(map(make_line, ("Test", "Without the change", "With it")))
        yield TableNode(columns, tuple(rows))
    yield from _set_remarks(proof, change)


def _list_rows(group: str, tests: Sequence[ProjectTest]) -> Iterator[tuple[Line, ...]]:
    """Yield a row for each test of a group, as far as there is room."""
    before, after = _OUTCOMES[group]
    for test in tests[:MAX_TESTS_SHOWN]:
        yield make_line(make_code(test.id)), make_line(before), make_line(after)
    if (more := len(tests) - MAX_TESTS_SHOWN) > 0:
        yield make_line(f"and {more} more"), make_line(before), make_line(after)


def _set_remarks(proof: Proof, change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield further results of the tests, and the limits of the proof."""
    environment = change.environment
    lines = [make_line(f"{proof.kept} other tests passed before and pass now.")] if proof.kept else []
    if environment.test:
        reason = f" ({flatten(environment.reason)})" if environment.reason else ""
        lines.append(make_line("Tests: ", make_code(environment.test), reason))
    if proof.reproduction:
        lines.append(make_line("Shown by new tests: ", make_code(proof.reproduction)))
    if proof.changed_tests:
        names = ", ".join(proof.changed_tests)
        lines.append(make_line(f"The change includes tests ({names}): read them."))
    lines += [make_line(check) for check in proof.checks]
    unchecked = [make_line(note) for note in proof.notes]
    if lines:
        yield ListNode(tuple(lines))
    if unchecked:
        yield ParagraphNode(format_words("What was not checked:", "strong"))
        yield ListNode(tuple(unchecked))


def _set_attempts(attempts: Sequence[RepositoryAttempt]) -> Iterator[BlockNode]:
    """Yield a row for each attempt, and the rule of the choice."""
    columns = tuple(map(make_line, ("Attempt", "Result", "Lines", "Files")))
    rows = tuple(
        (
            make_line(f"{attempt.n}{', chosen' if attempt.is_chosen else ''}"),
            make_line(attempt.proof or ("unproved" if attempt.files else "no change")),
            make_line(f"+{attempt.added} -{attempt.removed}"),
            make_line(", ".join(attempt.files[:MAX_FILES_SHOWN])),
        )
        for attempt in attempts
    )
    yield TableNode(columns, rows)
    others = "The patches of the other attempts are in the JSON of the report, as `repository.attempts`."
    yield ParagraphNode(make_line(f"{CHOICE_RULE} {others}"))


def _set_places(change: RepositoryChange) -> Iterator[BlockNode]:
    if change.change:
        yield PartNode("changes", "Result", tuple(_set_prose(change.change)))
    if change.places:
        note = ParagraphNode(make_line("A search for the words of the task and the failing tests lead here:"))
        places = ListNode(tuple(make_line(make_code(place)) for place in change.places))
        yield PartNode("places", "Where to look", (note, places))


def _set_prose(text: str) -> Iterator[BlockNode]:
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            yield ParagraphNode(make_line(flatten(paragraph)))


def _set_files(change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield the changed files, those of tests last."""
    ordered = sorted(change.files, key=lambda file: (file.is_test, file.path))
    yield ListNode(
        tuple(
            make_line(
                make_code(file.path),
                f", {file.status}, +{file.added} -{file.removed}{', test' if file.is_test else ''}",
            )
            for file in ordered
        )
    )


def _set_patch(change: RepositoryChange) -> Iterator[BlockNode]:
    shown = change.patch[:MAX_PATCH_CHARACTERS]
    yield set_code(shown, "diff")
    if len(shown) < len(change.patch):
        yield ParagraphNode(make_line(f"{len(change.patch) - len(shown):,} more characters are in the patch."))


def _set_commands(result: Result) -> Iterator[BlockNode]:
    """Yield the commands that write the change; nothing is written without one of them."""
    command = f"apply {result.id}{' --failing' if result.status == 'failing_tests' else ''}"
    yield ListNode(
        (
            make_line(make_code(command), " writes it into the files of the repository"),
            make_line(make_code(f"{command} --patch FILE"), " writes a patch for ", make_code("git apply")),
            make_line(make_code(f"{command} --branch NAME"), " commits it to a new branch"),
        )
    )
