"""Measure the index of a repository: `python -m benchmarks.repositories.code_index speed|find REPOSITORY… [--cases N]`.

`speed` indexes the last commit of each repository, again after a change of one file in another process and in the same
one, and times searches of each kind and a map: passed time, and computing time of all processes.

`find` measures how well a search by meaning finds the files that a fix changes, and how well a plain BM25 over whole
files does, with words in lower case. A case is a commit that is no merge, whose subject has the word "fix" or a form
of it and none of typo, docs, CI, flaky, lint, tests; which changes one to three existing files of source code in a
known language besides tests, at most twelve files in all and at least one test; and whose message has 80 characters
without addresses and trailers. Of the cases among the last 4,000 commits, every n-th is taken, so that there are
`--cases` of each repository. The query is the first 1,000 characters of the message, and the files are those of the
parent. A hit is a changed file, not a test, among the first five or ten results.
"""

import argparse
import math
import re
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

import psutil

from tenure.algorithms.coding.code_files import is_test_path
from tenure.algorithms.coding.languages import find_language
from tenure.knowledge.code.index import CodeIndex
from tenure.knowledge.code.search import draw_map, rank_files, search_meaning, search_symbol
from tenure.knowledge.code.snapshot import CodeSnapshot, StateFile
from tenure.knowledge.store.store import Store
from tenure.repositories.git import Git, GitFailed, initialize
from tenure.repositories.grep import list_state, search_lines

CUTOFFS = (1, 5, 10)
MAX_QUERY = 1_000
_FIX = re.compile(r"\bfix", re.IGNORECASE)
_OTHER_FIX = re.compile(r"\b(?:typo|docs?|ci|flaky|lint|tests?)\b", re.IGNORECASE)
_TRAILER = re.compile(
    r"^(?:Signed-off-by|Co-authored-by|Change-Id|Reviewed-by|Closes|Fixes|References).*$|\(cherry picked.*\)|https?://\S+",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"\w+")
_BM25_K1, _BM25_B = 1.2, 0.75

T = TypeVar("T")


class FixCase(NamedTuple):
    """A fix with the files that it changes."""

    parent: str
    text: str
    changed: tuple[str, ...]


def read_git(repository: Path, *command: str) -> str:
    """Return the output of a command in a clone, with or without files."""
    done = subprocess.run(["git", "-C", str(repository), *command], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def list_cases(repository: Path, count: int) -> list[FixCase]:
    """Return fixes of a repository by the rule of this module."""
    log = read_git(repository, "log", "--no-merges", "-4000", "--format=%x01%P%x02%B%x03", "--name-status")
    found = []
    for record in log.split("\x01")[1:]:
        head, _, names = record.partition("\x03")
        parent, _, message = head.partition("\x02")
        subject = message.strip().split("\n")[0]
        text = _TRAILER.sub("", message).strip()
        changes = [line.split("\t") for line in names.strip().split("\n") if line]
        code = tuple(c[1] for c in changes if c[0] == "M" and find_language(c[1]) and not is_test_path(c[1]))
        has_test = any(is_test_path(change[-1]) for change in changes)
        is_fix = _FIX.search(subject) and not _OTHER_FIX.search(subject)
        if is_fix and parent and 1 <= len(code) <= 3 and len(changes) <= 12 and has_test and len(text) >= 80:
            found.append(FixCase(parent, text[:MAX_QUERY], code))
    return found[:: max(1, len(found) // count)][:count]


class Checkout:
    """Files of a repository, one commit after the other."""

    def __init__(self, repository: Path, folder: Path) -> None:
        objects = Path(read_git(repository, "rev-parse", "--path-format=absolute", "--git-path", "objects").strip())
        private = initialize(folder / "git")
        self.folder = folder / "files"
        self.folder.mkdir()
        self.git = Git(private.folder, folder / "git" / "objects", (objects,), folder / "index", self.folder)

    def switch(self, commit: str) -> list[StateFile]:
        """Make the files those of a commit, and return them."""
        self.git.run("read-tree", "--reset", commit)
        # A clone may lack the contents of large files; all others are written.
        with suppress(GitFailed):
            self.git.run("checkout-index", "--all", "--force", "--quiet")
        return [StateFile(*file) for file in list_state(self.git)]


class PlainSearch:
    """BM25 over whole files."""

    def __init__(self) -> None:
        self._words: dict[str, Counter[str]] = {}

    def rank(self, snapshot: CodeSnapshot, folder: Path, query: str) -> list[str]:
        """Return the paths of the indexed files, best first."""
        documents = {}
        for key, file in snapshot.files.items():
            if not file.reason:
                if key not in self._words:
                    text = (folder / file.path).read_text(encoding="utf-8", errors="replace")
                    self._words[key] = Counter(_WORD.findall(text.lower()))
                documents[file.path] = self._words[key]
        words = set(_WORD.findall(query.lower()))
        lengths = {path: document.total() for path, document in documents.items()}
        mean = sum(lengths.values()) / len(lengths)
        known = Counter(word for document in documents.values() for word in words & document.keys())
        weights = {word: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for word, n in known.items()}
        scores = {
            path: sum(
                weights[word] * document[word] * (_BM25_K1 + 1)
                / (document[word] + _BM25_K1 * (1 - _BM25_B + _BM25_B * lengths[path] / mean))
                for word in words & document.keys()
            )
            for path, document in documents.items()
        }  # fmt: skip
        return sorted(scores, key=lambda path: (-scores[path], path))


def find_fixes(repositories: Sequence[Path], count: int) -> None:
    """Print the hits of each way to search, for each repository and in all."""
    total: dict[str, list[tuple[Sequence[str], Sequence[str]]]] = {}
    for repository in repositories:
        results: dict[str, list[tuple[Sequence[str], Sequence[str]]]] = {}
        plain = PlainSearch()
        with TemporaryDirectory() as folder:
            checkout = Checkout(repository, Path(folder))
            index = CodeIndex(Store(str(Path(folder) / "store")))
            for case in list_cases(repository, count):
                snapshot, _ = index.update("fixes", checkout.switch(case.parent), checkout.folder)
                ranked = [file.path for file in rank_files(index, "fixes", snapshot, case.text, lambda path: True)]
                files = plain.rank(snapshot, checkout.folder, case.text)
                code = [path for path in files if find_language(path) and not is_test_path(path)]
                for name, paths in (("index", ranked), ("BM25 of files", files), ("BM25 of code", code)):
                    results.setdefault(name, []).append((case.changed, paths[: CUTOFFS[-1]]))
            index.close()
        for name, cases in results.items():
            print(f"{repository.parent.name:28} {name:14} {describe_hits(cases)}", flush=True)
            total.setdefault(name, []).extend(cases)
    for name, cases in total.items():
        print(f"{'all':28} {name:14} {describe_hits(cases)}")


def describe_hits(cases: Sequence[tuple[Sequence[str], Sequence[str]]]) -> str:
    """Return the share of cases with a changed file among the first results, and the share of changed files."""
    parts = [f"{len(cases):3} cases"]
    for cutoff in CUTOFFS:
        found = [[path in paths[:cutoff] for path in changed] for changed, paths in cases]
        any_hit = sum(map(any, found)) / len(cases)
        share = sum(sum(hits) / len(hits) for hits in found) / len(cases)
        parts.append(f"@{cutoff} any {any_hit:.2f} files {share:.2f}")
    return "  ".join(parts)


def measure_speed(repository: Path) -> None:
    """Print the times of the last commit of a repository."""
    with TemporaryDirectory() as folder:
        checkout = Checkout(repository, Path(folder))
        files = checkout.switch(read_git(repository, "rev-parse", "HEAD").strip())
        uri = str(Path(folder) / "store")
        index = CodeIndex(Store(uri))

        def update(own: CodeIndex, state: list[StateFile]) -> CodeSnapshot:
            snapshot, report = own.update("speed", state, checkout.folder)
            print(f"  {report.files} files, {report.indexed} indexed, {report.symbols} symbols")
            return snapshot

        print(f"{repository}: {len(files)} files")
        timed("first index", lambda: update(index, files))
        snapshot = timed("one changed file", lambda: update(index, _change_file(checkout, files, 1)))
        index.close()
        again = CodeIndex(Store(uri))
        snapshot = timed("one changed file, new process", lambda: update(again, _change_file(checkout, files, 2)))
        used = Counter(name for file in snapshot.files.values() for name, _ in file.count_references())
        name = max(snapshot.definitions, key=lambda one: used[one])
        task = "wrong error message when the configuration file is missing or has an invalid value"
        for label, search in (
            ("meaning", lambda: search_meaning(again, "speed", snapshot, checkout.folder, task, "")),
            (f"symbol {name}", lambda: search_symbol(snapshot, checkout.folder, name, "")),
            ("text", lambda: search_lines(checkout.git, name, regex=False, choose=sorted)),
            ("regex", lambda: search_lines(checkout.git, f"{name}.*[(]", regex=True, choose=sorted)),
            ("map of 2,000 tokens", lambda: draw_map(again, "speed", snapshot, task, 2_000)),
        ):
            timed(f"{label}, first", search)
            timed(f"{label}, again", search)
        again.close()


def timed(label: str, work: Callable[[], T]) -> T:
    """Run work, and print its passed time and the computing time of this process and of ended child processes."""
    start, before = time.perf_counter(), measure_cpu()
    done = work()
    print(f"  {label}: {time.perf_counter() - start:.3f} s, CPU {measure_cpu() - before:.3f} s", flush=True)
    return done


def measure_cpu() -> float:
    """Return the computing time of this process and of its children, also of those that still run."""
    own = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    running = [child.cpu_times() for child in psutil.Process().children()]
    return sum(usage.ru_utime + usage.ru_stime for usage in own) + sum(t.user + t.system for t in running)


def _change_file(checkout: Checkout, files: Sequence[StateFile], number: int) -> list[StateFile]:
    """Append a line to a file of source code, and return the files of the state."""
    path = checkout.folder / [file.path for file in files if find_language(file.path)][number * 7]
    with path.open("a", encoding="utf-8") as opened:
        opened.write("\n")
    checkout.git.run("update-index", "--", str(path.relative_to(checkout.folder)))
    return [StateFile(*file) for file in list_state(checkout.git)]


def main() -> None:
    """Measure as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "find"))
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPOSITORY")
    parser.add_argument("--cases", type=int, default=12)
    options = parser.parse_args()
    if options.what == "find":
        find_fixes(options.repositories, options.cases)
    for repository in options.repositories if options.what == "speed" else ():
        measure_speed(repository)


if __name__ == "__main__":
    main()
