"""Save the files of programs: names that programs chose, content that was exchanged, places that do not exist."""

import hashlib
import stat
from pathlib import Path

import pytest

from tenure.contracts.sandbox import Artifact
from tenure.runs.errors import InvalidRequest, TenureError, Unreachable
from tenure.runs.programs.files import choose_names, save_files
from tenure.settings import Settings

SETTINGS = Settings(_env_file=None)
SHARED = "s3://bucket/files/_shared/" + "0" * 64


def make_artifact(name: str, path: str = "", content: bytes = b"plot") -> Artifact:
    """Return a file of a program."""
    return Artifact(name=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), path=path)


HOSTILE = (
    "../../.ssh/authorized_keys",
    "/etc/passwd",
    ".bashrc",
    "..",
    "",
    "a\x1b[31m\n.png",
    "x" * 5000,
    "-rf",
    "é",
    "~",
)


def test_names_stay_inside_the_folder_and_apart() -> None:
    """Whatever a program calls its files, each gets a safe relative path of its own, and harmless names stay."""
    harmless = ("plot.png", "out/plot.png", "out/a/b.csv")
    colliding = ("plot.png", "plot.png", "out", "plot.png/inside")
    names = list(choose_names([make_artifact(name) for name in (*harmless, *colliding, *HOSTILE)]))
    parts = [part for name in names for part in name.parts]

    assert [str(name) for name in names[:3]] == list(harmless)
    assert len(set(names)) == len(names)
    assert not any(one in other.parents for one in names for other in names)
    assert all(not part.startswith(".") and len(part) <= 100 and part.isascii() for part in parts)
    assert not any(name.is_absolute() for name in names)


def test_files_of_this_machine_are_copied(tmp_path: Path) -> None:
    """Files in the home of a worker are copied with private modes, into folders that are created."""
    (tmp_path / "001-plot.png").write_bytes(b"plot")
    artifact = make_artifact("out/plot.png", str(tmp_path / "001-plot.png"))
    (saved,) = save_files([artifact], tmp_path / "new", SETTINGS)

    assert saved == tmp_path / "new" / "out" / "plot.png"
    assert saved.read_bytes() == b"plot" and stat.S_IMODE(saved.stat().st_mode) == 0o600
    with pytest.raises(InvalidRequest, match="exists already"):
        save_files([artifact], tmp_path / "new", SETTINGS)


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    """A link with the name of a file leads nowhere."""
    (tmp_path / "plot").write_bytes(b"plot")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "plot.png").symlink_to(tmp_path / "precious")
    with pytest.raises(InvalidRequest, match="exists already"):
        save_files([make_artifact("plot.png", str(tmp_path / "plot"))], tmp_path / "new", SETTINGS)
    assert not (tmp_path / "precious").exists()


def test_exchanged_missing_and_distant_files_are_errors_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says where the file is, or what to set; nothing is written."""
    (tmp_path / "plot").write_bytes(b"another")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    store = Settings(_env_file=None, files_uri="s3://bucket/files")
    elsewhere = Settings(_env_file=None, files_uri="s3://other/files")
    for artifact, settings, kind, words in (
        (make_artifact("a", str(tmp_path / "plot")), SETTINGS, TenureError, "was changed"),
        (make_artifact("a", str(tmp_path / "gone")), SETTINGS, TenureError, "with TENURE_FILES_URI"),
        (make_artifact("a", SHARED), SETTINGS, TenureError, "set TENURE_FILES_URI"),
        (make_artifact("a", SHARED), elsewhere, TenureError, "is not a file in s3://other/files"),
        (make_artifact("a", SHARED), store, Unreachable, "check TENURE_FILES_URI"),
    ):
        with pytest.raises(kind, match=words) as raised:
            save_files([artifact], tmp_path / "new", settings)
        assert "\n" not in str(raised.value)
        assert [path for path in (tmp_path / "new").rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """A file in the place of the folder gives one line."""
    (tmp_path / "plot").write_bytes(b"plot")
    with pytest.raises(TenureError):
        save_files([make_artifact("a", str(tmp_path / "plot"))], tmp_path / "plot", SETTINGS)
