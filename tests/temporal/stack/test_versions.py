"""Copies of the source of versions."""

import py_compile
import shutil
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tenure.installation import is_packaged
from tenure.temporal.stack.source import SUFFIXES, WORKER_SOURCES, compute_source_hash, make_build_id
from tenure.temporal.stack.versions import VERSIONS_FOLDER, list_versions, store_version

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small installation."""
    folder = tmp_path / "installed"
    for name in ("tenure/a/b.py", "tenure/a/page.css", "workflows/c.py", "activities/d.py", "worker.py", "docs/x.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"NAME = {name!r}\n", encoding="utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without a version."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def test_a_copy_keeps_the_code_when_the_source_is_edited(root: Path, home: Path) -> None:
    """The copy of a version does not change with the source, and the edited source is another version."""
    first = store_version(home, root, [])
    (root / "workflows" / "c.py").write_text("NAME = 'new'\n", encoding="utf-8")
    second = store_version(home, root, [])

    assert (first.folder / "workflows" / "c.py").read_text(encoding="utf-8") == "NAME = 'workflows/c.py'\n"
    assert (second.folder / "workflows" / "c.py").read_text(encoding="utf-8") == "NAME = 'new'\n"
    assert set(list_versions(home)) == {first.build_id, second.build_id}
    assert first.build_id != second.build_id


def test_a_copy_has_the_hash_of_its_source(root: Path, home: Path) -> None:
    """A worker that runs from the copy computes the same build id as one that runs from the source."""
    stored = store_version(home, root, [])

    assert stored.build_id == make_build_id(compute_source_hash(root, []))
    assert compute_source_hash(stored.folder, stored.plugins) == compute_source_hash(root, [])
    assert store_version(home, root, []) == stored


def test_a_wheel_and_its_checkout_are_the_same_version(root: Path, home: Path, tmp_path: Path) -> None:
    """The parts that a wheel has in `tenure/_app` are copied to their places in a checkout."""
    wheel = tmp_path / "site-packages" / "tenure" / "_app"
    shutil.copytree(root / "tenure", wheel.parent)
    for name in ("workflows", "activities", "docs"):
        shutil.copytree(root / name, wheel / name)
    shutil.copyfile(root / "worker.py", wheel / "worker.py")
    stored = store_version(home, wheel, [])
    stored.prepare(wheel)

    assert stored.build_id == make_build_id(compute_source_hash(root, []))
    assert (stored.folder / "tenure" / "a" / "page.css").is_file()
    assert (stored.folder / "workflows" / "c.py").is_file()
    assert not (stored.folder / "tenure" / "_app").exists()
    assert is_packaged(stored.folder)


def test_plugins_are_part_of_the_copy(root: Path, home: Path, tmp_path: Path) -> None:
    """Modules in folders of plugins are copied in their order, and a worker of the copy reads no other ones."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        (folder / "tools").mkdir(parents=True)
        (folder / "tools" / "new.py").write_text(f"NAME = {folder.name!r}\n", encoding="utf-8")
    stored = store_version(home, root, folders)
    shutil.rmtree(folders[0])

    assert stored.environment["TENURE_PLUGINS"].split(":") == [str(path) for path in stored.plugins]
    assert [(path / "tools" / "new.py").read_text() for path in stored.plugins] == [
        "NAME = 'first'\n",
        "NAME = 'second'\n",
    ]
    assert stored.is_intact


def test_a_copy_has_the_byte_code_of_its_source(root: Path, home: Path) -> None:
    """The first worker of a version compiles no file again, and byte code of an earlier text is not used."""
    compiled = [py_compile.compile(str(root / name)) for name in ("tenure/a/b.py", "workflows/c.py")]
    (root / "workflows" / "c.py").write_text("NAME = 'edited'\n", encoding="utf-8")
    folder = store_version(home, root, []).folder
    kept = Path(cache_from_source(str(folder / "tenure" / "a" / "b.py")))
    before = kept.stat().st_mtime_ns
    program = "import tenure.a.b, workflows.c; print(tenure.a.b.NAME, workflows.c.NAME)"
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)

    assert done.stdout == "tenure/a/b.py edited\n"
    assert kept.read_bytes() == Path(str(compiled[0])).read_bytes()
    assert kept.stat().st_mtime_ns == before


def test_the_manual_is_found_from_a_copy(root: Path, home: Path) -> None:
    """A worker of a copy may ingest the manual of the installation."""
    stored = store_version(home, root, [])
    stored.prepare(root)

    assert (stored.folder / "docs").resolve() == root / "docs"


def test_programs_of_the_sandbox_can_read_a_copy(root: Path, home: Path) -> None:
    """The sandbox may run as another user, so the files of a copy have no private modes; the folder around has one."""
    stored = store_version(home, root, [])
    # As in a restored home.
    (stored.folder / "tenure" / "a" / "b.py").chmod(0o600)
    (stored.folder / "tenure").chmod(0o700)
    stored.prepare(root)

    assert (stored.folder / "tenure" / "a" / "b.py").stat().st_mode & 0o777 == 0o644
    assert (stored.folder / "tenure").stat().st_mode & 0o777 == 0o755
    assert (home / VERSIONS_FOLDER).stat().st_mode & 0o777 == 0o700


def test_a_damaged_copy_is_replaced(root: Path, home: Path) -> None:
    """A copy whose content does not fit its build id is replaced."""
    stored = store_version(home, root, [])
    (stored.folder / "worker.py").unlink()

    assert not stored.is_intact
    assert store_version(home, root, []).is_intact


def test_an_interrupted_copy_is_no_version(root: Path, home: Path) -> None:
    """The incomplete copy of an interrupted command is not listed, and the next copy removes it."""
    (home / VERSIONS_FOLDER / ".copy-left" / "tenure").mkdir(parents=True)

    assert list_versions(home) == {}
    stored = store_version(home, root, [])
    assert [path.name for path in (home / VERSIONS_FOLDER).iterdir()] == [stored.build_id]
    stored.remove()
    assert list_versions(home) == {}


def test_a_version_knows_its_servers(root: Path, home: Path) -> None:
    """A version that was served for two servers is not only for one of them."""
    stored = store_version(home, root, [])
    stored.add_server("local default")
    stored.add_server("local default")

    assert stored.is_only_for("local default")
    stored.add_server("temporal.example:7233 default")
    assert not stored.is_only_for("local default")
    assert stored.is_intact


def test_every_file_of_the_packages_is_copied(home: Path) -> None:
    """No file that git knows in the worker's packages has a suffix that a copy leaves out."""
    parts = [path for name in WORKER_SOURCES for path in (ROOT / name).rglob("*")]
    files = [path for path in parts if path.is_file() and "__pycache__" not in path.parts]

    assert {path.suffix for path in files} <= SUFFIXES
