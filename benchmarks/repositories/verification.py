"""Verify candidates: the tests of a fix fail at the parent and pass at the commit, and no other test breaks."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.repositories.candidates import Candidate
from benchmarks.repositories.clones import apply_patch, build_diff, check_out
from benchmarks.repositories.instances import InstallConfig
from benchmarks.repositories.offline import hand_over
from benchmarks.repositories.test_runs import Outcomes, run_tests

REPETITIONS: Final = 2
_SHOWN_TESTS: Final = 3


class NotVerified(Exception):
    """A candidate is no task; the message says why."""


class NothingPasses(NotVerified):
    """The tests of the fix cannot be run here."""


@dataclass(frozen=True)
class Verified:
    """Patches of a candidate, and the tests that they concern."""

    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]


@contextmanager
def lend_copy(clone: Path, commit: str, patches: Sequence[str], folder: Path) -> Iterator[Path]:
    """Yield a folder with the files of a commit and patches, owned by the unprivileged user; remove it afterwards.

    Raises:
        PatchRefused: a patch does not apply.
    """
    shutil.rmtree(folder, ignore_errors=True)
    try:
        check_out(clone, commit, folder)
        for patch in patches:
            apply_patch(folder, patch)
        hand_over(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare_outcomes(before: Sequence[Outcomes], after: Sequence[Outcomes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tests that a change repairs, and those that pass before and after it; unstable ones are in neither.

    Raises:
        NotVerified: a stable test passes before and fails after.
    """
    fixed, kept, broken = [], [], []
    for name in sorted(set().union(*after, *before)):
        passes_after = [run.get(name) == "passed" for run in after]
        passes_before = [run.get(name) == "passed" for run in before]
        if all(passes_after) and not any(passes_before):
            fixed.append(name)
        elif all(passes_after) and all(passes_before):
            kept.append(name)
        elif not any(passes_after) and all(passes_before):
            broken.append(name)
    if broken:
        raise NotVerified(f"the fix breaks {', '.join(broken[:_SHOWN_TESTS])}")
    return tuple(fixed), tuple(kept)


def verify(candidate: Candidate, clone: Path, config: InstallConfig, environment: Path, folder: Path) -> Verified:
    """Run the tests of a candidate at its parent and at its commit.

    Raises:
        NotVerified: the candidate is no task.
    """
    try:
        patch, test_patch = (
            build_diff(clone, candidate.parent, candidate.commit.hash, paths)
            for paths in (candidate.source, candidate.tests)
        )
    except UnicodeDecodeError:
        raise NotVerified("its patch is not text") from None

    def run(patches: Sequence[str], targets: Sequence[str]) -> Outcomes:
        with lend_copy(clone, candidate.parent, patches, folder) as work:
            existing = [target for target in targets if (work / target).exists()]
            return run_tests(config, work, environment, existing).outcomes

    own = [path for path in candidate.tests if path.endswith((".py", ".js", ".ts", ".mjs", ".cjs"))]
    # The tests of the fix alone are quick, and exclude most candidates.
    targets = own if config.runner != "pytest" else [path for path in own if Path(path).name != "conftest.py"]
    first = run([test_patch, patch], targets)
    if not any(outcome == "passed" for outcome in first.values()):
        raise NothingPasses("no test passes at the commit")
    parent = run([test_patch], targets)
    if any(outcome == "error" and first.get(name) != "error" for name, outcome in parent.items()):
        raise NotVerified("its tests cannot be loaded at the parent")
    if not compare_outcomes([parent], [first])[0]:
        raise NotVerified("no test of the fix fails at the parent")
    before = [run([test_patch], ()) for _ in range(REPETITIONS)]
    after = [run([test_patch, patch], ()) for _ in range(REPETITIONS)]
    fixed, kept = compare_outcomes(before, after)
    if not fixed:
        raise NotVerified("no test of the suite fails at the parent and passes at the commit")
    if not kept:
        raise NotVerified("no test passes at both")
    return Verified(patch, test_patch, fixed, kept)
