"""Tests of the places of an installation's parts."""

import sys
from pathlib import Path

import pytest

from tenure.installation import (
    DEFAULT_HOME,
    IS_PACKAGED,
    PROGRAM,
    ROOT,
    extend_import_path,
    find_default_home,
    find_package,
    find_program,
    find_root,
    is_packaged,
)


def test_a_checkout_has_its_parts_next_to_the_package() -> None:
    """This checkout is found as one."""
    assert Path(__file__).parents[1] == ROOT
    assert find_package(ROOT) == ROOT / "tenure"
    assert (False, "python client.py", Path(".tenure")) == (IS_PACKAGED, PROGRAM, DEFAULT_HOME)


def test_a_wheel_has_its_parts_in_the_package(tmp_path: Path) -> None:
    """The folder of the parts of a wheel is below its package."""
    (tmp_path / "tenure" / "_app" / "docs").mkdir(parents=True)
    root = find_root(tmp_path / "tenure")

    assert root == tmp_path / "tenure" / "_app"
    assert find_package(root) == tmp_path / "tenure"
    assert is_packaged(root)


def test_a_copy_belongs_to_the_installation_of_its_manual(tmp_path: Path) -> None:
    """The worker's copy of the source of a wheel counts as a wheel by the link to the manual."""
    (tmp_path / "tenure" / "_app" / "docs").mkdir(parents=True)
    copy = tmp_path / "copy"
    copy.mkdir()
    before = is_packaged(copy)
    (copy / "docs").symlink_to(tmp_path / "tenure" / "_app" / "docs")

    assert (before, is_packaged(copy)) == (False, True)


def test_parts_come_before_packages_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The import path is extended once, at its front."""
    monkeypatch.setattr(sys, "path", ["first"])
    extend_import_path(tmp_path)
    extend_import_path(tmp_path)

    assert sys.path == [str(tmp_path), "first"]


@pytest.mark.parametrize(
    ("data", "expected"), [("/data", "/data/tenure"), ("relative", "/home/ann/.local/share/tenure")]
)
def test_the_state_of_a_wheel_is_in_the_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch, data: str, expected: str
) -> None:
    """The standard variable for data counts if its path is absolute."""
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("XDG_DATA_HOME", data)

    assert find_default_home(packaged=True) == Path(expected)


@pytest.mark.parametrize(
    ("typed", "environment", "expected"),
    [
        (["python3", "client.py", "list"], {}, "python3 client.py"),
        (["/b/python", "../my repo/client.py"], {"UV_RUN_RECURSION_DEPTH": "1"}, "uv run '../my repo/client.py'"),
        (["/b/python", "/b/tenure"], {"UV_RUN_RECURSION_DEPTH": "1"}, "uv run tenure"),
        (["/b/python", "/b/tenure"], {"PATH": ""}, "/b/tenure"),
        (["python", str(ROOT / "tenure")], {"UV_RUN_RECURSION_DEPTH": "1"}, f"uv run {ROOT / 'tenure'}"),
        (["python", "/a/tenure/__main__.py"], {}, "python -m tenure"),
        (["/b/python", "/a/worker.py"], {"TENURE_PROGRAM": "uv run client.py"}, "uv run client.py"),
        (["/b/python", "/a/worker.py"], {}, "python client.py"),
    ],
)
def test_messages_name_the_command_that_was_typed(
    monkeypatch: pytest.MonkeyPatch, typed: list[str], environment: dict[str, str], expected: str
) -> None:
    """A command of a message can be copied: it has the interpreter and the path of the person's own command."""
    monkeypatch.setenv("PATH", environment.get("PATH", "/bin"))

    assert find_program(typed[1:], typed, environment, packaged=False) == expected
