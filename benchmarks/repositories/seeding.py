"""Seed single faults in a repository, as tasks for a repair without a model.

The rule, written down before any repair was tried: the edits of `tenure/algorithms/coding/mutation.py` in all modules
of the project that are no tests, in an order that a fixed number decides; an edit is a fault if the suite still can be
run, at least one test fails and at most a tenth of all. Tests count that fail in a second run too: one with a limit of
time fails by chance on a busy machine. One fault for each module at most, and a given number for each
repository. The statement names the failing tests, as a person does who sees a red suite.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.repositories.candidates import is_test_file
from benchmarks.repositories.clones import make_base, record_commit, run_git
from benchmarks.repositories.instances import InstallConfig, Instance
from benchmarks.repositories.test_runs import SuiteTooSlow, run_tests
from benchmarks.repositories.verification import lend_copy
from tenure.algorithms.coding.mutation import apply_edits, generate_edits, normalize_source

SEED: Final = 33
MAX_FAILED_SHARE: Final = 0.1
MAX_TRIES: Final = 40
_SHOWN_TESTS: Final = 5
_OTHER_FOLDERS: Final = ("docs", "doc", "examples", "benchmarks", "build")


def iterate_faults(files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield modules with their changed sources, the modules in turn, in an order that only the sources decide."""
    order = random.Random(SEED)
    edits = {path: list(generate_edits(source)) for path, source in sorted(files.items())}
    for choices in edits.values():
        order.shuffle(choices)
    while any(edits.values()):
        for path, choices in edits.items():
            if choices:
                changed = apply_edits(files[path], [choices.pop()])
                if normalize_source(changed) != normalize_source(files[path]):
                    yield path, changed


def read_modules(folder: Path) -> dict[str, str]:
    """Return the modules of a project that are neither tests nor documentation."""
    paths = run_git("ls-files", "-z", "*.py", folder=folder).decode().split("\0")
    chosen = (path for path in paths if path and path.split("/")[0] not in _OTHER_FOLDERS and path != "setup.py")
    return {path: (folder / path).read_text(encoding="utf-8") for path in chosen if not is_test_file(path)}


class Seeder:
    """Faults of one repository, each of which is a commit of a new repository.

    Args:
        repo: owner and name.
        config: runner and places of the tests.
        environment: folder of the installed packages.
        work: folder for copies.
    """

    def __init__(self, repo: str, config: InstallConfig, environment: Path, work: Path) -> None:
        self._repo, self._config, self._environment, self._work = repo, config, environment, work

    def seed(self, clone: Path, commit: str, target: Path, count: int) -> Iterator[Instance]:
        """Yield tasks whose base is the commit with a fault; `target` is the repository that has these bases."""
        base = make_base(clone, commit, target)
        files = read_modules(target)
        passed = self._list_passing(target, base)
        seeded: set[str] = set()
        for tries, (path, changed) in enumerate(iterate_faults(files)):
            if len(seeded) == count or tries == MAX_TRIES:
                return
            if path in seeded:
                continue
            (target / path).write_text(changed, encoding="utf-8")
            fault = record_commit(target, f"fault {tries}")
            (target / path).write_text(files[path], encoding="utf-8")
            record_commit(target, "base")
            failed = passed - self._list_passing(target, fault)
            if 0 < len(failed) <= MAX_FAILED_SHARE * len(passed):
                failed -= self._list_passing(target, fault)
            if 0 < len(failed) <= MAX_FAILED_SHARE * len(passed):
                seeded.add(path)
                yield self._describe(target, base, fault, sorted(failed), sorted(passed - failed))

    def _list_passing(self, target: Path, commit: str) -> set[str]:
        with lend_copy(target / ".git", commit, (), self._work) as work:
            try:
                outcomes = run_tests(self._config, work, self._environment).outcomes
            except SuiteTooSlow:  # an endless loop
                return set()
        return {name for name, outcome in outcomes.items() if outcome == "passed"}

    def _describe(self, target: Path, base: str, fault: str, failed: list[str], kept: list[str]) -> Instance:
        shown = "\n".join(failed[:_SHOWN_TESTS])
        owner, name = self._repo.split("/")
        return Instance(
            instance_id=f"{owner}__{name}-fault-{fault[:10]}",
            repo=self._repo,
            base_commit=fault,
            problem_statement=f"These tests fail; correct the code, not the tests:\n\n{shown}\n",
            patch=run_git("diff", "--full-index", fault, base, folder=target).decode(),
            test_patch="",
            FAIL_TO_PASS=tuple(failed),
            PASS_TO_PASS=tuple(kept),
            install_config=self._config,
        )
