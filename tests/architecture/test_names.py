"""Names and layout: the rules of .ci/names.py, on samples; .ci/run applies them to the repository."""

import subprocess
from pathlib import Path

import pytest

from tests.architecture.linters import load_linter

names = load_linter("names")
findings = load_linter("findings")


def check_sample(folder: Path, files: dict[str, str]) -> set[tuple[str, str]]:
    """Write files into a new repository; return the rules and texts of its findings."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return {(finding.rule, finding.text) for finding in names.check(findings.list_files(root=folder), folder)}


BAD = {
    "type-unique": ("class Answer: ...\n", "Answer"),
    "constant-prefix": ("MOST_PAGES = 4\n", "MOST_PAGES"),
    "banned-word": ("def take_purse() -> None: ...\n", "take_purse"),
    "function-verb": ("def lessened_effort() -> None: ...\n", "lessened_effort"),
    "property-noun": ("class Page:\n    @property\n    def told(self) -> int: ...\n", "told"),
    "file-length": ("x = 1\n" * 601, "601 lines"),
    "outside-reference": ("# see " + "document" + " 003\n", "document" + " 003"),
}


@pytest.mark.parametrize("rule", BAD)
def test_bad_name_is_found(rule: str, tmp_path: Path) -> None:
    """A sample that breaks a rule has a finding of the rule."""
    source, text = BAD[rule]
    files = {"tenure/first.py": source, "tenure/second.py": "class Answer: ...\n"}

    assert (rule, text) in check_sample(tmp_path, files)


def test_large_folder_is_found(tmp_path: Path) -> None:
    """A folder of 21 Python files has a finding, one of 20 has none."""
    files = {f"tenure/{folder}/m{number}.py": "" for folder, size in (("a", 20), ("b", 21)) for number in range(size)}

    assert check_sample(tmp_path, files) == {("folder-size", "tenure/b has 21 Python files")}


def test_good_names_are_accepted(tmp_path: Path) -> None:
    """Verbs, predicates, conversions, queries, roles and argument types are accepted."""
    source = """
import argparse
from temporalio import workflow
RoleName = Literal["planner"]
MAX_PAGES = 4
READ_TIMEOUT = timedelta(seconds=4)
def parse_header() -> int: ...
def is_long() -> bool: ...
def from_row() -> int: ...
def planner() -> int: ...
def duration(text: str) -> int: ...
def main() -> None:
    argparse.ArgumentParser().add_argument("--wait", type=duration)
class Page:
    @property
    def title(self) -> str: ...
    @property
    def is_empty(self) -> bool: ...
    @workflow.query
    def progress(self) -> str: ...
    def _told(self) -> None: ...
"""

    assert check_sample(tmp_path, {"tenure/page.py": source.replace("_told", "_helper")}) == set()
