"""Files and tests on the command line: names, what travels, and what is refused before anything starts."""

from pathlib import Path

import pytest

from tenure.document_roots import DocumentRoots, PathRefused
from tenure.runs.errors import InvalidRequest, Unreachable
from tenure.runs.paths import allow_reading
from tenure.runs.programs.files import MAX_INLINE_FILE_BYTES, read_files, read_tests, upload_files
from tenure.runs.session.server_target import ServerTarget
from tenure.settings import Settings

CASE = '[{"function": "f", "args": [1], "expected": 2}]'


def test_a_file_keeps_its_name_and_a_folder_its_inner_names(tmp_path: Path) -> None:
    """Files come by their own names, a folder's files by theirs below it; hidden ones and caches stay out."""
    for name in ("pkg/a.py", "pkg/sub/b.py", "pkg/.hidden/c.py", "pkg/__pycache__/d.pyc", "data.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    found = read_files([str(tmp_path / "pkg"), str(tmp_path / "data.csv")], print)

    assert [(file.name, file.text) for file in found] == [
        ("a.py", "pkg/a.py"),
        ("sub/b.py", "pkg/sub/b.py"),
        ("data.csv", "data.csv"),
    ]


def test_a_package_keeps_its_name(tmp_path: Path) -> None:
    """A folder that is a Python package is passed under its own name."""
    package = tmp_path / "shop"
    (package / "old").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cart.py").write_text("x = 1")
    (package / "old" / "cart.py").write_text("x = 0")

    assert [file.name for file in read_files([str(package)], print)] == [
        "shop/__init__.py",
        "shop/cart.py",
        "shop/old/cart.py",
    ]


def test_what_is_large_or_no_text_goes_by_its_path(tmp_path: Path) -> None:
    """Such a file is copied when it is needed; so are texts that together would be too long for a request."""
    (tmp_path / "big.csv").write_text("x" * (MAX_INLINE_FILE_BYTES + 1))
    (tmp_path / "zero.bin").write_bytes(b"a\0b")
    (tmp_path / "latin.txt").write_bytes("ä".encode("latin-1"))
    for n in range(3):
        (tmp_path / f"z{n}.txt").write_text("y" * MAX_INLINE_FILE_BYTES)
    found = read_files([str(tmp_path)], print)

    assert [file.name for file in found if file.text is None] == ["big.csv", "latin.txt", "z2.txt", "zero.bin"]
    assert all(file.path == str(tmp_path / file.name) for file in found if file.text is None)


def test_tests_are_files_of_pytest_or_cases(tmp_path: Path) -> None:
    """A file of pytest may bring what it reads; cases stand alone; both travel and cannot be changed."""
    (tmp_path / "test_f.py").write_text("def test_f(): ...\n")
    (tmp_path / "cases.json").write_text(CASE)
    (tmp_path / "notes.json").write_text("{}")

    assert [file.name for file in read_tests([str(tmp_path / "test_f.py"), str(tmp_path / "notes.json")], print)] == [
        "test_f.py",
        "notes.json",
    ]
    (cases,) = read_tests([str(tmp_path / "cases.json")], print)
    assert cases.text == CASE


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("cases.json", "{}", "is not a list of cases"),
        ("cases.json", "[]", "contains no tests"),
        ("test_f.txt", "def test_f(): ...", "contains no tests"),
        ("test_f.py", "x" * (MAX_INLINE_FILE_BYTES + 1), "cannot be a test file"),
        ("test_f.py", "\0", "cannot be a test file"),
    ],
)
def test_what_holds_no_tests_is_a_usage_error(tmp_path: Path, name: str, text: str, why: str) -> None:
    """The mistake is named before anything starts."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidRequest, match=why):
        read_tests([str(tmp_path / name)], print)


def test_two_files_of_one_name_are_a_usage_error(tmp_path: Path) -> None:
    """In the program's folder one would take the place of the other."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.py").write_text("")
    with pytest.raises(InvalidRequest, match=r"two files have the name m\.py"):
        read_files([str(tmp_path / "a" / "m.py"), str(tmp_path / "b" / "m.py")], print)


def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    """A file that disappears before it is read is reported in one line."""
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "a.py").symlink_to(tmp_path / "nowhere")

    assert read_files([str(tmp_path / "loop")], print) == ()


def test_large_files_need_the_object_store_of_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an object store large files stay paths; with one that does not answer, no run starts."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    (tmp_path / "small.csv").write_text("a,b")
    (tmp_path / "large.bin").write_bytes(b"\0")
    store = Settings(_env_file=None, files_uri="s3://bucket/files")
    small, large = read_files([str(tmp_path / "small.csv"), str(tmp_path / "large.bin")], print)

    assert upload_files((small, large), Settings(_env_file=None)) == (small, large)
    assert upload_files((small,), store) == (small,)
    with pytest.raises(Unreachable, match="check TENURE_FILES_URI"):
        upload_files((small, large), store)
    (tmp_path / "large.bin").unlink()
    (tmp_path / "large.bin").symlink_to(tmp_path / "small.csv")
    with pytest.raises(InvalidRequest):
        upload_files((large,), store)


def test_large_files_of_this_machine_may_be_read_by_its_worker(tmp_path: Path) -> None:
    """A command allows the worker of its home the large files that it names, and not those that travel."""
    (tmp_path / "home").mkdir()
    (tmp_path / "small.csv").write_text("a,b")
    (tmp_path / "large.bin").write_bytes(b"\0")
    settings = Settings(home=tmp_path / "home", _env_file=None)
    files = read_files([str(tmp_path / "small.csv"), str(tmp_path / "large.bin")], print)
    allow_reading(ServerTarget(settings, "", "", False, ""), (), ["r"], [file.path for file in files if file.path])
    roots = DocumentRoots((), settings.home)

    assert roots.resolve([str(tmp_path / "large.bin")], "run r") == ((tmp_path / "large.bin").resolve(),)
    with pytest.raises(PathRefused):
        roots.resolve([str(tmp_path / "small.csv")], "run r")


@pytest.mark.parametrize("name", [".ssh/id_notes", "", "/proc/self/environ", "/etc/shadow"])
def test_keys_and_the_system_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A path that is closed to all is refused in one line before any file is opened or sent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_notes").write_text("secret")
    with pytest.raises(InvalidRequest, match="is not read: name the files and folders that are needed"):
        read_files([str(tmp_path / name)], print, include_secrets=True)
