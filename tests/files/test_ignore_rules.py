"""Tests of the patterns of `.gitignore`, with git as the reference."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.files.ignore_rules import IgnoreRules
from tenure.files.opening import FileRefused
from tests.support.tiers import slow

_PATHS = (
    *("a", "b", "ab", "a.log", "b.log", "a b", "a ", "#a", "!a", "a[b", "a*b", "axb", "a\\b", "aab", "abab", "-", "]"),
    *("d/a", "d/b", "d/e/a", "d/e/b.log", "e/d/a", "e/f/d/a", "foo/bar", "foo/x/bar", "foo/x/y/bar", "x/foo/bar"),
    *("A", "Z9", "ü", "aüb", "d/ü.log", "a\tb", "ab.c", "a.b.c"),
)


def _check_with_git(folder: Path, content: bytes, paths: list[str]) -> set[str]:
    """Return the files that git ignores; each path is an entry of its own, as the walk sees it."""
    (folder / ".gitignore").write_bytes(content)
    command = ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        command, cwd=folder, input="\0".join(paths).encode(), capture_output=True, check=False, env=environment
    )
    assert done.returncode in (0, 1), done.stderr
    fields = done.stdout.decode().split("\0")[:-1]
    return {fields[at + 3] for at in range(0, len(fields), 4) if fields[at + 1] and not fields[at + 2].startswith("!")}


def _find_ignored(content: bytes, paths: list[str]) -> set[str]:
    """Return the files that the rules exclude, as a walk does that does not enter excluded folders."""
    rules = IgnoreRules(content)
    found = set()
    for path in paths:
        names = path.split("/")
        prefixes = [names[:length] for length in range(1, len(names) + 1)]
        if any(rules.decide(prefix, is_folder=prefix != names) for prefix in prefixes):
            found.add(path)
    return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Repository with many files."""
    folder = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for path in _PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / path).is_dir():
            (folder / path).touch()
    return folder


def _list_paths(tree: Path) -> list[str]:
    found = [path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()]
    return sorted(path for path in found if not path.startswith(".git"))


@pytest.mark.parametrize(
    "content",
    [
        *("*.log", "*.log\n!a.log", "/a", "d/", "d/a", "/d/a", "**/a", "d/**", "foo/**/bar", "**", "*", "a?b", "?"),
        *("[ab]", "[!ab]", "[^ab]", "a[*]b", "[a-", "[]-]", "[]]", "[A-Z][0-9]", "[[:upper:]]", "[[:foo:]]", "[z-a]"),
        *(r"\#a", r"\!a", "#a", r"a\*b", r"a\\b", "a\\", r"a\ ", "a ", "a b  ", "a\t", "a\r\n*.log\r\n", "\ufeff*.log"),
        *(
            "a*b*",
            "*a*b*",
            "**a",
            "a**",
            "foo/*",
            "foo/*/bar",
            "/**",
            "/**/a",
            "d/e/",
            "!*\n*",
            "*\n!*/\n!a",
            "/",
            "//",
        ),
        *("d//a", "d/**/", "**/d/**", "a[^x]b", "a[!-~]b", "ü", "a?b", "*ü*", "!", "\\", "a.*.c", "*.*"),
    ],
)
def test_patterns_are_matched_as_git_does(tree: Path, content: str) -> None:
    """Each kind of pattern excludes the files that git excludes."""
    paths = _list_paths(tree)

    assert _find_ignored(content.encode(), paths) == _check_with_git(tree, content.encode(), paths)


@slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("ab*?[]!^-/\\. #dex", max_size=9), min_size=1, max_size=4))
def test_random_patterns_are_matched_as_git_does(tree: Path, lines: list[str]) -> None:
    """Random patterns exclude the files that git excludes."""
    content = "\n".join(lines).encode()
    paths = _list_paths(tree)

    assert _find_ignored(content, paths) == _check_with_git(tree, content, paths)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 1_000 + "*b",
        "*a" * 120 + "*b",
        "[a-z]*" * 80 + "!",
        "?*" * 120 + "b",
        "**/a" * 60 + "/b",
        "**/*a*a*a*a*a*a*b/" * 20 + "c",
        "a**" * 80 + "b",
        "/".join(["*a*a*a*a*b"] * 60),
        "[[:alpha:]]*" * 60 + "0",
        "[" * 4_000,
    ],
)
def test_a_pattern_cannot_take_long(pattern: str) -> None:
    """Patterns with many stars or open brackets against long names and deep paths end quickly."""
    began = time.process_time()
    rules = IgnoreRules(pattern.encode())
    name = "a" * 254 + "c"
    for _ in range(20):
        assert not rules.decide([name], is_folder=False)
        assert not rules.decide(["a"] * 60 + [name], is_folder=True)
        assert not rules.decide([name] * 15, is_folder=True)

    assert time.process_time() - began < 2.0


def test_names_that_are_no_text_are_matched() -> None:
    """Bytes that are not UTF-8 are compared with the bytes of the pattern."""
    rules = IgnoreRules(b"a\xff*\n")

    assert rules.decide([os.fsdecode(b"a\xff.md")], is_folder=False)
    assert rules.decide([os.fsdecode(b"a\xfe.md")], is_folder=False) is None


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("{a,b}/*.py", ["a/x.py", "b/x.py"]),
        ("./{a,c/{d,e}}/*.{py,md}", ["a/x.py", "c/d/x.md", "c/e/x.py"]),
        ("{a}", []),
    ],
)
def test_a_glob_has_alternatives_in_braces(pattern: str, matched: list[str]) -> None:
    """Braces with a comma are alternatives, also nested and repeated; others are characters."""
    paths = ["a/x.py", "b/x.py", "c/d/x.md", "c/e/x.py", "c/x.py"]
    rules = IgnoreRules.from_glob(pattern)

    assert [path for path in paths if rules.decide(path.split("/"), is_folder=False)] == matched


def test_a_glob_with_too_many_alternatives_is_refused() -> None:
    """Alternatives multiply, so that a short pattern could take all memory."""
    with pytest.raises(FileRefused, match="more than 200 alternatives"):
        IgnoreRules.from_glob("{a,b}" * 30)
