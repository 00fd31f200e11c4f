"""Test the environments of the compared systems."""

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.peers.environments import InstallationFailed, PeerEnvironments, build_variables
from benchmarks.peers.systems import SYSTEMS, System, find_system
from tests.support.tiers import slow

MODEL = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}


def test_packages_are_pinned_and_starters_exist() -> None:
    """Figures belong to one version of each package."""
    root = Path(__file__).resolve().parents[3]

    assert all("==" in package for system in SYSTEMS for package in system.packages)
    assert all((root / f"{system.starter.replace('.', '/')}.py").is_file() for system in SYSTEMS)
    assert find_system("langgraph").name == "LangGraph"


def test_no_secret_or_setting_reaches_another_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and settings of the caller are left out, other addresses are closed, and encodings are given."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("TENURE_MODEL", "secret")

    variables = build_variables(find_system("gpt-researcher"), tmp_path, MODEL, tmp_path / "encodings")

    assert "secret" not in variables.values()
    assert variables["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    assert variables["HOME"] == str(tmp_path)
    assert variables["TIKTOKEN_CACHE_DIR"] == str(tmp_path / "encodings")
    assert "TENURE_HOME" in build_variables(find_system("Tenure"), tmp_path, MODEL, None)


def test_an_installation_is_used_again(tmp_path: Path) -> None:
    """An environment with the wanted packages is not made a second time."""
    stamp = tmp_path / "graph" / "installed.json"
    stamp.parent.mkdir()
    stamp.write_text(json.dumps(["python", "one==1"]))

    python = PeerEnvironments(tmp_path, "python").install(System("graph", "module", ("one==1",)))

    assert python == tmp_path / "graph" / "bin" / "python"
    assert stamp.exists()


@slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_a_failed_installation_is_explained(tmp_path: Path) -> None:
    """The obstacle is the message of uv, and nothing counts as installed."""
    environments = PeerEnvironments(tmp_path, str(tmp_path / "no-python"))

    with pytest.raises(InstallationFailed, match="no-python"):
        environments.install(System("graph", "module", ("one==1",)))
    assert not (tmp_path / "graph" / "installed.json").exists()


def test_encodings_are_those_of_an_installation(tmp_path: Path) -> None:
    """The copy of the encodings is found in any environment that has one."""
    environments = PeerEnvironments(tmp_path, "python")
    folder = tmp_path / "any" / "lib" / "python3.12" / "site-packages" / "litellm" / "litellm_core_utils" / "tokenizers"

    assert environments.find_tokenizers() is None
    folder.mkdir(parents=True)
    assert environments.find_tokenizers() == folder
