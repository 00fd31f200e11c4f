"""Choose commits that may become tasks, by the rule of this package."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from benchmarks.repositories.clones import Commit, FileChange, iterate_commits, list_changes
from benchmarks.repositories.instances import Ecosystem

FIX_WORDS: Final = re.compile(
    r"\b(fix(es|ed|ing)?|bugs?|regress\w*|crash\w*|incorrect\w*|wrong\w*|broken|resolves?|closes?)\b", re.IGNORECASE
)
"""Example: "Fix off-by-one in …", "resolves #12", "wrong order of …"."""
MAX_SOURCE_FILES: Final = 3
MAX_SOURCE_LINES: Final = 150
"""A fix of SWE-bench Verified changes 14 lines in the mean; the bound excludes rewrites only."""
MAX_CANDIDATES: Final = 40
MIN_STATEMENT_CHARS: Final = 40

_SUFFIXES: Final[dict[Ecosystem, tuple[str, ...]]] = {
    "python": (".py",),
    "node": (".js", ".ts", ".mjs", ".cjs"),
}
_TEST_FOLDERS: Final = {"test", "tests", "testing", "__tests__"}
# Examples: test_parser.py, parser_test.py, conftest.py, argument.test.js.
_TEST_NAME: Final = re.compile(r"^(test_.*|.*_test|conftest)\.py$|[.-](test|spec)\.[cm]?[jt]s$")
_DOCUMENTATION: Final = re.compile(
    r"\.(md|rst|txt|adoc)$|^(docs?|changes|changelog|news(fragments)?|changelog\.d)(/|$)", re.I
)
_BOT: Final = re.compile(r"\[bot\]|dependabot|pre-commit-ci|renovate", re.IGNORECASE)
_PULL_REQUEST: Final = re.compile(r"^Merge pull request #\d+")
_TRAILER: Final = re.compile(r"^(co-authored-by|signed-off-by|reviewed-by|change-id|cc|---+|\* *$)", re.IGNORECASE)
_ISSUE: Final = re.compile(r"(?:#|issues/)(\d+)\b")
# A heading such as "## Proposed fix", a code block with a diff, or a sentence of a message that begins like "Fix by
# pointing …", "The solution was to …", "this patch brings …", "Replace lambdas …".
_SOLUTION: Final = re.compile(
    r"^#+ .*\b(fix|patch|solution)\b.*$|^```diff|"
    r"(?:^|(?<=\. ))(?:fix(?:ed)? (?:it )?by|the (?:fix|solution)|(?:so )?this (?:patch|change|commit|pr)|instead,|"
    r"(?:replace|add|use|remove|move|change|make|switch)s? )\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Candidate:
    """A commit that may become a task."""

    commit: Commit
    source: tuple[str, ...]
    """Files of its patch, documentation included."""
    tests: tuple[str, ...]
    """Files of its test patch."""

    @property
    def parent(self) -> str:
        """Commit that the task starts from."""
        return self.commit.parents[0]


def is_test_file(path: str) -> bool:
    """Return whether a file belongs to the tests, data of tests included."""
    pure = PurePosixPath(path)
    return bool(_TEST_FOLDERS.intersection(pure.parts[:-1]) or _TEST_NAME.search(pure.name))


def is_documentation(path: str) -> bool:
    """Return whether a file is read by people only."""
    return bool(_DOCUMENTATION.search(path))


def is_fix(commit: Commit) -> bool:
    """Return whether the message names a fix, and the commit is one of a person."""
    is_single = len(commit.parents) == 1 or bool(_PULL_REQUEST.match(commit.subject))
    return (
        bool(commit.parents) and is_single and not _BOT.search(commit.author) and bool(FIX_WORDS.search(commit.message))
    )


def select_files(commit: Commit, changes: tuple[FileChange, ...], ecosystem: Ecosystem) -> Candidate | None:
    """Return the candidate of a commit, or None if its files do not fit the rule."""
    tests = tuple(change for change in changes if is_test_file(change.path))
    documents = tuple(change for change in changes if change not in tests and is_documentation(change.path))
    source = tuple(change for change in changes if change not in tests and change not in documents)
    fits = (
        any(change.path.endswith(_SUFFIXES[ecosystem]) for change in tests)
        and 1 <= len(source) <= MAX_SOURCE_FILES
        and all(change.path.endswith(_SUFFIXES[ecosystem]) for change in source)
        and sum(change.added + change.removed for change in source) <= MAX_SOURCE_LINES
    )
    if not fits:
        return None
    return Candidate(commit, tuple(one.path for one in (*source, *documents)), tuple(one.path for one in tests))


def iterate_candidates(clone: Path, ecosystem: Ecosystem) -> Iterator[Candidate]:
    """Yield the first candidates of a repository, the newest first."""
    count = 0
    for commit in iterate_commits(clone):
        if is_fix(commit):
            candidate = select_files(commit, list_changes(clone, commit.parents[0], commit.hash), ecosystem)
            if candidate:
                yield candidate
                count += 1
        if count == MAX_CANDIDATES:
            return


def list_issues(message: str) -> tuple[str, ...]:
    """Return the numbers of issues and pull requests that a message names, in order."""
    return tuple(dict.fromkeys(_ISSUE.findall(message)))


def write_statement(commit: Commit, issue: str = "") -> str:
    """Return the text of a task: of the issue, or of the commit's message; empty if there is too little of it."""
    text = issue or "\n".join(_iterate_message(commit.message))
    # The first line names the fault, whatever it begins with.
    begin = 0 if issue else len(text.strip().partition("\n")[0])
    if solution := _SOLUTION.search(text, begin):
        text = text[: solution.start()]
    text = text.strip()
    return text if len(text) >= MIN_STATEMENT_CHARS else ""


def _iterate_message(message: str) -> Iterator[str]:
    for line in message.splitlines():
        if not _TRAILER.match(line.strip()) and not _PULL_REQUEST.match(line):
            yield line
