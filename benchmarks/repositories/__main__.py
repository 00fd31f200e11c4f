"""Make tasks from real fixes: `python -m benchmarks.repositories COMMAND`.

    mine --clones FOLDER --into FOLDER [--issues FOLDER] [NAME …]
        try the candidates of all repositories, or of some by name, and write `instances.jsonl` and `tried.jsonl`
    state --clones FOLDER --into FOLDER [--issues FOLDER]
        write the statements of the tasks again, for instance after texts of issues were added
    seed --clones FOLDER --into FOLDER [--count N] [NAME …]
        seed faults in the repositories in Python, as commits of `seeds/`, and write `faults.jsonl`
    repairs FILE --clones FOLDER --into FOLDER
        compare the evaluated repairs of seeded faults with the originals: the clones are the folder `seeds`, and the
        other folder that of `tenure-offline` of `python -m benchmarks.swebench`
    list FILE
        print the tasks: id, kind of the repository, sizes of fix and statement, numbers of tests

A clone is `OWNER+NAME/repo`, `OWNER__NAME` or `NAME` in the folder of clones. The text of issue 12 of a repository is
`OWNER+NAME/12.md` in the folder of issues. `mine` continues an earlier one; the rule is in the package's docstring.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.repositories.candidates import Candidate, iterate_candidates, list_issues, write_statement
from benchmarks.repositories.clones import Commit, find_clone, iterate_commits
from benchmarks.repositories.environments import Environments, InstallationFailed
from benchmarks.repositories.instances import InstallConfig, Instance, read_instances, write_instances
from benchmarks.repositories.repairs import read_repairs, sum_repairs
from benchmarks.repositories.seeding import Seeder
from benchmarks.repositories.test_runs import SuiteTooSlow
from benchmarks.repositories.verification import NothingPasses, NotVerified, verify
from benchmarks.support.columns import format_columns

TASKS_PER_REPOSITORY: Final = 3
MAX_FAILURES: Final = 4
"""Number of successive candidates without a test that passes, after which the tests of a repository cannot be run."""
SOURCES: Final = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True)
class Source:
    """A repository of the selection."""

    name: str
    kind: str
    config: InstallConfig

    @property
    def key(self) -> str:
        """Name of its folders."""
        return self.name.replace("/", "+")


def read_sources(path: Path = SOURCES) -> tuple[Source, ...]:
    """Return the repositories in the order of the file."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["repository"]
    return tuple(
        Source(row["name"], row["kind"], InstallConfig.read({"environment": row["name"].replace("/", "+"), **row}))
        for row in rows
    )


class Mine:
    """The tasks of a folder.

    Args:
        clones: folder of the clones.
        into: folder of tasks, environments and what was tried.
        issues: folder of the texts of issues.
    """

    def __init__(self, clones: Path, into: Path, issues: Path) -> None:
        self._clones, self._into, self._issues = clones, into, issues
        self._environments = Environments(into / "environments")
        self._log = into / "tried.jsonl"
        self._tasks = into / "tasks"
        self._file = into / "instances.jsonl"
        self._tasks.mkdir(parents=True, exist_ok=True)

    def dig(self, source: Source) -> None:
        """Try the candidates of a repository until it has its tasks."""
        clone = find_clone(self._clones, source.name)
        try:
            environment = self._environments.install(source.config)
        except InstallationFailed as failed:
            self._record({"repo": source.name, "reason": f"no environment: {failed}"})
            return
        known, failures = self._read_tried(), 0
        for candidate in iterate_candidates(clone, source.config.ecosystem):
            tasks = self._read_tasks(source)
            if len(tasks) == TASKS_PER_REPOSITORY:
                return
            if candidate.commit.hash in known:
                continue
            try:
                reason = self._try(candidate, source, clone, environment, tasks)
                failures = 0
            except NothingPasses as failed:
                reason, failures = str(failed), failures + 1
            except SuiteTooSlow as slow:
                reason, failures = str(slow), MAX_FAILURES
            self._record({"repo": source.name, "commit": candidate.commit.hash, "reason": reason})
            if failures == MAX_FAILURES:
                return

    def _try(
        self, candidate: Candidate, source: Source, clone: Path, environment: Path, tasks: Sequence[Instance]
    ) -> str:
        """Add the task of a candidate and return "task", or return the reason why it is none."""
        statement = write_statement(candidate.commit, self._read_issue(candidate.commit, source))
        if not statement:
            return "too little text"
        work = self._into / "work" / source.key
        work.parent.mkdir(exist_ok=True)
        try:
            verified = verify(candidate, clone, source.config, environment, work)
        except NothingPasses:
            raise
        except NotVerified as reason:
            return str(reason)
        if any(set(verified.fail_to_pass) & set(task.FAIL_TO_PASS) for task in tasks):
            return "its tests are those of an earlier task"
        owner, name = source.name.split("/")
        task = Instance(
            instance_id=f"{owner}__{name}-{candidate.commit.hash[:10]}",
            repo=source.name,
            base_commit=candidate.parent,
            problem_statement=statement,
            patch=verified.patch,
            test_patch=verified.test_patch,
            FAIL_TO_PASS=verified.fail_to_pass,
            PASS_TO_PASS=verified.pass_to_pass,
            created_at=candidate.commit.date,
            install_config=source.config,
        )
        write_instances(self._get_file(source), [*tasks, task])
        return "task"

    def _read_issue(self, commit: Commit, source: Source) -> str:
        """Return the text of the first issue of the message that is stored; empty without one."""
        files = (self._issues / source.key / f"{number}.md" for number in list_issues(commit.message))
        return next((file.read_text(encoding="utf-8") for file in files if file.exists()), "")

    def seed(self, source: Source, count: int) -> None:
        """Seed faults in the newest commit of a repository in Python."""
        target = self._into / "seeds" / source.key
        if source.config.ecosystem != "python" or target.exists():
            return
        seeder = Seeder(
            source.name, source.config, self._environments.find(source.config), self._into / "work" / "seed"
        )
        clone, file = find_clone(self._clones, source.name), self._into / "faults.jsonl"
        for fault in seeder.seed(clone, next(iterate_commits(clone)).hash, target, count):
            print(f"{fault.instance_id:44} {len(fault.FAIL_TO_PASS)} tests fail", flush=True)
            write_instances(file, [*(read_instances(file) if file.exists() else ()), fault])

    def state(self) -> None:
        """Write the statements again."""
        for source in read_sources():
            tasks = self._read_tasks(source)
            wanted = {task.instance_id.rpartition("-")[2] for task in tasks}
            commits = iterate_commits(find_clone(self._clones, source.name)) if tasks else ()
            statements = {
                commit.hash[:10]: write_statement(commit, self._read_issue(commit, source))
                for commit in commits
                if commit.hash[:10] in wanted
            }
            stated = [
                replace(task, problem_statement=statements[task.instance_id.rpartition("-")[2]]) for task in tasks
            ]
            write_instances(self._get_file(source), [task for task in stated if task.problem_statement])
        self.join()

    def join(self) -> None:
        """Write the tasks of all repositories to one file, in the order of the sources."""
        write_instances(self._file, [task for source in read_sources() for task in self._read_tasks(source)])

    def _get_file(self, source: Source) -> Path:
        return self._tasks / f"{source.key}.jsonl"

    def _read_tasks(self, source: Source) -> tuple[Instance, ...]:
        file = self._get_file(source)
        return read_instances(file) if file.exists() else ()

    def _read_tried(self) -> set[str]:
        if not self._log.exists():
            return set()
        rows = (json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines())
        return {row.get("commit", "") for row in rows}

    def _record(self, row: Mapping[str, Any]) -> None:
        print(f"{row['repo']:28} {row.get('commit', '')[:10]:10} {row['reason']}", flush=True)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")


def show_tasks(path: Path) -> None:
    """Print one line for each task."""
    kinds = {source.name: source.kind for source in read_sources()}
    for task in read_instances(path):
        lines = sum(
            line.startswith(("+", "-")) and not line.startswith(("+++", "---")) for line in task.patch.splitlines()
        )
        tests = f"{len(task.FAIL_TO_PASS)} to fix, {len(task.PASS_TO_PASS)} to keep"
        sizes = f"{lines:4} lines, {len(task.problem_statement):5} characters"
        print(f"{task.instance_id:44} {kinds.get(task.repo, ''):24} {sizes}, {tests}")


def show_repairs(file: Path, clones: Path, folder: Path) -> None:
    """Print one line for each fault, then the sums."""
    instances = read_instances(file)
    repairs = read_repairs(folder, instances, clones)
    for name, (outcome, seconds) in repairs.items():
        print(f"{name:50} {outcome:26} {seconds:6.0f} s")
    outcomes = {name: outcome for name, (outcome, _) in repairs.items()}
    print(format_columns(sum_repairs(instances, outcomes, {name: one for name, (_, one) in repairs.items()})))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.repositories",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine", help="try candidates and write tasks")
    mining.add_argument("names", nargs="*", metavar="NAME", help="repositories; all by default")
    stating = commands.add_parser("state", help="write statements again")
    seeding = commands.add_parser("seed", help="seed faults")
    seeding.add_argument("--count", type=int, default=3, metavar="N", help="faults of a repository (default: 3)")
    seeding.add_argument("names", nargs="*", metavar="NAME", help="repositories; all by default")
    for parser_of_folders in (mining, stating, seeding):
        parser_of_folders.add_argument("--clones", type=Path, required=True, metavar="FOLDER", help="folder of clones")
        parser_of_folders.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="folder of the tasks")
        parser_of_folders.add_argument("--issues", type=Path, metavar="FOLDER", help="folder of texts of issues")
    comparing = commands.add_parser("repairs", help="compare repairs with originals")
    comparing.add_argument("file", type=Path, metavar="FILE", help="file of the faults")
    comparing.add_argument("--clones", type=Path, required=True, metavar="FOLDER", help="folder of the seeds")
    comparing.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="folder of the system")
    listing = commands.add_parser("list", help="print tasks")
    listing.add_argument("file", type=Path, metavar="FILE", help="file of the tasks")
    given = parser.parse_args(arguments)
    if given.command == "list":
        show_tasks(given.file)
        return 0
    if given.command == "repairs":
        show_repairs(given.file, given.clones.resolve(), given.into.resolve())
        return 0
    into = given.into.resolve()
    mine = Mine(given.clones.resolve(), into, given.issues or into / "issues")
    if given.command == "state":
        mine.state()
        return 0
    for source in read_sources():
        if given.names and source.name not in given.names:
            continue
        if given.command == "seed":
            mine.seed(source, given.count)
        else:
            mine.dig(source)
            mine.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
