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
from tenure.report.translation import join_list, mark_message, translate, translate_count

MAX_TESTS_SHOWN: Final = 20
MAX_FILES_SHOWN: Final = 5
"""Files of an attempt in its row."""
MAX_PATCH_CHARACTERS: Final = 100_000
"""Length of a patch that the report shows; a longer one is in the JSON and in the file that `apply` writes."""

_OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "fixed": (mark_message("failed"), mark_message("passes")),
    "failing": (mark_message("failed"), mark_message("fails")),
    "broken": (mark_message("passed"), mark_message("fails")),
    "rewritten": (
        mark_message("passed"),
        mark_message("passes as the change rewrites it; its former version fails"),
    ),
    "flaky": (mark_message("changes"), mark_message("changes")),
}
"""Results of the tests without and with the change, by their group in a proof."""
_TITLES: Final[Mapping[str, str]] = {
    "proved": mark_message("The change is proved:"),
    "unproved": mark_message("The change is unproved:"),
}
_FAILS: Final = mark_message("The change fails:")
_STATUSES: Final[Mapping[str, str]] = {
    "added": mark_message("added"),
    "changed": mark_message("changed"),
    "deleted": mark_message("deleted"),
}


def set_change(result: Result, change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield the parts of a report on a change of a repository."""
    yield PartNode("test-result", translate("Proof"), tuple(_set_proof(change)))
    if change.cause:
        yield PartNode("cause", translate("Cause"), tuple(_set_prose(change.cause)))
    if change.attempts:
        yield PartNode("attempts", translate("The attempts"), tuple(_set_attempts(change.attempts)))
    if not change.patch:
        yield from _set_places(change)
        return
    yield PartNode(
        "changes", translate("Changes"), (*_set_prose(change.change), *_set_files(change), *_set_patch(change))
    )
    yield PartNode("apply", translate("How to apply it"), tuple(_set_commands(result)))
    if change.message:
        yield PartNode("message", translate("Draft of the commit message"), (set_code(change.message),))


def set_steps(change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield the steps of the work, for the end of a report."""
    lines: list[Line] = []
    for step in change.steps:
        if step.thought:
            lines.append(make_line(format_words(step.thought, "em")))
        # Some summaries repeat the action.
        lines.append(make_line(make_code(step.action), f": {flatten(step.summary.removeprefix(f'{step.action}: '))}"))
    if lines:
        yield PartNode("steps", translate("Steps"), (ListNode(tuple(lines)),), translate("How the change was made"))


def _set_proof(change: RepositoryChange) -> Iterator[BlockNode]:
    proof = change.proof
    if not change.patch:
        yield ParagraphNode(format_words(translate("Nothing is changed."), "strong"))
        return
    if proof is None:
        said = translate("The run ended before the tests of the project ran with it.")
        yield ParagraphNode(make_line(format_words(translate(_TITLES["unproved"]), "strong"), " ", said))
        return
    title = format_words(translate(_TITLES.get(proof.verdict, _FAILS)), "strong")
    yield ParagraphNode(make_line(title, f" {translate(VERDICTS[proof.verdict])}", translate(".")))
    rows = [row for group in _OUTCOMES for row in _list_rows(group, getattr(proof, group))]
    if rows:
        columns = tuple(map(make_line, (translate("Test"), translate("Without the change"), translate("With it"))))
        yield TableNode(columns, tuple(rows))
    yield from _set_remarks(proof, change)


def _list_rows(group: str, tests: Sequence[ProjectTest]) -> Iterator[tuple[Line, ...]]:
    """Yield a row for each test of a group, as far as there is room."""
    before, after = map(translate, _OUTCOMES[group])
    for test in tests[:MAX_TESTS_SHOWN]:
        yield make_line(make_code(test.id)), make_line(before), make_line(after)
    if (more := len(tests) - MAX_TESTS_SHOWN) > 0:
        yield make_line(translate("{number} more", number=more)), make_line(before), make_line(after)


def _set_remarks(proof: Proof, change: RepositoryChange) -> Iterator[BlockNode]:
    """Yield further results of the tests, and the limits of the proof."""
    environment = change.environment
    lines = (
        [
            make_line(
                translate_count(
                    f"{proof.kept} other tests passed before and pass now.",
                    "Other tests that passed before and pass now: {number}.",
                    number=proof.kept,
                )
            )
        ]
        if proof.kept
        else []
    )
    if environment.test:
        reason = f" ({flatten(environment.reason)})" if environment.reason else ""
        lines.append(make_line(translate("Tests: "), make_code(environment.test), reason))
    if proof.reproduction:
        lines.append(make_line(translate("Shown by new tests: "), make_code(proof.reproduction)))
    if proof.changed_tests:
        names = join_list(proof.changed_tests)
        lines.append(make_line(translate("The change includes tests ({names}): read them.", names=names)))
    lines += [make_line(check) for check in proof.checks]
    unchecked = [make_line(note) for note in proof.notes]
    if lines:
        yield ListNode(tuple(lines))
    if unchecked:
        yield ParagraphNode(format_words(translate("What was not checked:"), "strong"))
        yield ListNode(tuple(unchecked))


def _set_attempts(attempts: Sequence[RepositoryAttempt]) -> Iterator[BlockNode]:
    """Yield a row for each attempt, and the rule of the choice."""
    columns = tuple(map(make_line, (translate("Attempt"), translate("Result"), translate("Lines"), translate("Files"))))
    rows = tuple(
        (
            make_line(f"{attempt.n}{translate(', chosen') if attempt.is_chosen else ''}"),
            make_line(attempt.proof or (translate("unproved") if attempt.files else translate("no change"))),
            make_line(f"+{attempt.added} -{attempt.removed}"),
            make_line(", ".join(attempt.files[:MAX_FILES_SHOWN])),
        )
        for attempt in attempts
    )
    yield TableNode(columns, rows)
    others = translate("The patches of the other attempts are in the JSON of the report, as `repository.attempts`.")
    yield ParagraphNode(make_line(f"{translate(CHOICE_RULE)} {others}"))


def _set_places(change: RepositoryChange) -> Iterator[BlockNode]:
    if change.change:
        yield PartNode("changes", translate("Result"), tuple(_set_prose(change.change)))
    if change.places:
        note = ParagraphNode(
            make_line(translate("A search for the words of the task and the failing tests lead here:"))
        )
        places = ListNode(tuple(make_line(make_code(place)) for place in change.places))
        yield PartNode("places", translate("Where to look"), (note, places))


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
                f", {translate(_STATUSES[file.status])}, +{file.added} -{file.removed}",
                f", {translate('test')}" if file.is_test else "",
            )
            for file in ordered
        )
    )


def _set_patch(change: RepositoryChange) -> Iterator[BlockNode]:
    shown = change.patch[:MAX_PATCH_CHARACTERS]
    yield set_code(shown, "diff")
    if len(shown) < len(change.patch):
        yield ParagraphNode(
            make_line(translate("Further characters of the patch: {number}.", number=len(change.patch) - len(shown)))
        )


def _set_commands(result: Result) -> Iterator[BlockNode]:
    """Yield the commands that write the change; nothing is written without one of them."""
    command = f"apply {result.id}{' --failing' if result.status == 'failing_tests' else ''}"
    yield ListNode(
        (
            make_line(make_code(command), ": ", translate("writes it into the files of the repository")),
            make_line(make_code(f"{command} --patch FILE"), ": ", translate("writes a patch for `git apply`")),
            make_line(make_code(f"{command} --branch NAME"), ": ", translate("commits it to a new branch")),
        )
    )
