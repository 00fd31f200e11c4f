"""Shared parts of the linters in this folder: the vocabulary, the list of files and the output."""

import argparse
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
"""Top folder of the repository."""

VOCABULARY = Path(__file__).with_name("vocabulary.toml")
"""Words, rules and exemptions of both linters."""


@dataclass(frozen=True, order=True)
class Finding:
    """One violation of a rule."""

    path: str
    line: int
    rule: str
    text: str
    suggestion: str

    def __str__(self) -> str:
        """Format the finding as one line."""
        return f"{self.path}:{self.line}: {self.rule}: {self.text} → {self.suggestion}"

    @property
    def folder(self) -> str:
        """Folder of the file, at most two levels deep."""
        return "/".join(self.path.split("/")[:-1][:2]) or "."


def load_vocabulary(path: Path = VOCABULARY) -> dict[str, Any]:
    """Load the vocabulary file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def list_files(paths: Sequence[Path] = (), root: Path = ROOT) -> list[str]:
    """Return the files of the repository, relative to its root, or only those at or below some paths."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    wanted = [path.resolve() for path in paths]
    names = sorted({name for name in listing.split("\0") if name and (root / name).is_file()})
    return [name for name in names if not wanted or any((root / name).is_relative_to(path) for path in wanted)]


def format_counts(title: str, counts: Counter[str]) -> str:
    """Format counts as lines, highest count first."""
    rows = (f"{count:6}  {name}" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return "\n".join([title, *rows])


def run_linter(description: str, check: Callable[[Sequence[str]], Iterable[Finding]]) -> int:
    """Run a linter on the paths of the command line and return its exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders (default: everything)")
    parser.add_argument("--stats", action="store_true", help="print the number of findings by rule and by folder")
    arguments = parser.parse_args()
    for path in arguments.paths:
        if not path.exists():
            parser.error(f"{path} does not exist")
    findings = sorted(set(check(list_files(arguments.paths))))
    if arguments.stats:
        print(format_counts("Findings by rule", Counter(finding.rule for finding in findings)))
        print(format_counts("Findings by folder", Counter(finding.folder for finding in findings)))
    else:
        for finding in findings:
            print(finding)
    print(f"{len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0
