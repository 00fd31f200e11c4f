"""Tests of the hook that adds the weights of the embedding model to a wheel; `.ci/package.py` builds a whole one."""

import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from deploy.build_hook import FILES, PACKAGE, SOURCES, TARGET, extract_model, prepare_model, read_requirement
from tenure.models.minilm import weights
from tenure.models.minilm.conversion import CONVERTED
from tenure.models.minilm.model import MiniLM
from tenure.models.minilm.weights import PACKAGE as PUBLISHED
from tenure.models.minilm.weights import PACKAGED
from tests.support.tiers import slow

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
    """The files that the conversion or the wheel needs are extracted, and no other."""
    archive = tmp_path / "package.whl"
    with zipfile.ZipFile(archive, "w") as package:
        for name in (*FILES, *SOURCES, "1_Pooling/config.json"):
            package.writestr(f"{PUBLISHED}/model/{name}", name)
    found = extract_model(archive, tmp_path / "out")

    assert sorted(path.name for path in found.iterdir()) == sorted((*FILES, *SOURCES))
    assert all(path.read_text(encoding="utf-8") == path.name for path in found.iterdir())
    assert len([path for path in (tmp_path / "out").rglob("*") if path.is_file()]) == len(FILES) + len(SOURCES)


@slow
def test_the_model_of_a_wheel_gives_the_same_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The converted model of a wheel is used where it lies, and equals the one that a checkout converts."""
    published = weights.find_model()
    source = tmp_path / "source"
    source.mkdir()
    for name in (*FILES, *SOURCES):
        (source / name).symlink_to(published / name)
    texts = ["A cat sleeps on the warm window sill.", "Interest rates rose by half a point."]
    expected = MiniLM(tmp_path / "checkout", threads=1).embed(texts)
    found = prepare_model(source, ROOT)
    for path, place in found.items():
        target = tmp_path / "site" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(path).read_bytes())
    (tmp_path / "site" / TARGET / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    vectors = MiniLM(tmp_path / "cache", threads=1).embed(texts)

    inside = {place.removeprefix(f"{TARGET}/model/") for place in found.values()}
    assert inside == {*FILES, *(f"{CONVERTED}/{name}" for name in ("config.json", "model.bin", "vocabulary.json"))}
    assert np.array_equal(vectors, expected)
    assert not (tmp_path / "cache").exists()
    assert weights.find_model() == tmp_path / "site" / TARGET / "model"


def test_the_build_converts_with_the_versions_of_the_product() -> None:
    """Requirements of the build that are dependencies as well have the same versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {"ctranslate2", "safetensors", "numpy"}
    pins = [one for one in project["build-system"]["requires"] if one.partition("==")[0] in needed]

    assert len(pins) == len(needed)
    assert set(pins) <= set(project["project"]["dependencies"])
