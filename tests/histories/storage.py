"""Store recorded histories: one compressed file for each recording, in one folder for each version of the product.

A file holds the histories of one run and of everything that it started, as JSON in the form of the Temporal CLI and of
the web UI: `xz --decompress --stdout FILE`. Histories of a released version prove that its running runs can be
continued, so they are never overwritten. A version is released when `CHANGELOG.md` has a section with its number.
"""

import json
import lzma
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SUFFIX = ".json.xz"


class VersionReleased(Exception):
    """The histories of a version cannot be changed any more; the message says what to do."""


def read_version(pyproject: Path = ROOT / "pyproject.toml") -> str:
    """Return the version of the product."""
    version: str = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["version"]
    return version


def is_released(version: str, changelog: Path = ROOT / "CHANGELOG.md") -> bool:
    """Return whether the changelog has a section of a version."""
    heading = re.compile(rf"^## \[?v?{re.escape(version)}\b(?!\.\d)", re.MULTILINE)
    return heading.search(changelog.read_text(encoding="utf-8")) is not None


def list_versions(folder: Path = HERE) -> list[str]:
    """Return the versions that have recordings."""
    return sorted({path.parent.name for path in folder.glob(f"*/*{SUFFIX}")})


def list_recordings(version: str = "*", folder: Path = HERE) -> list[Path]:
    """Return the files of a version, or of all versions."""
    return sorted(folder.glob(f"{version}/*{SUFFIX}"))


def find_recording(name: str, folder: Path = HERE) -> Path:
    """Return the newest file of a recording.

    Raises:
        FileNotFoundError: there is no such recording.
    """
    found = sorted(folder.glob(f"*/{name}{SUFFIX}"), key=lambda path: _split_version(path.parent.name))
    if not found:
        raise FileNotFoundError(f"there is no recording {name!r}: record it with python -m tests.histories.record")
    return found[-1]


def get_name(path: Path) -> str:
    """Return the name of the recording that a file holds."""
    return path.name.removesuffix(SUFFIX)


def read_recording(path: Path) -> list[WorkflowHistory]:
    """Return the histories of a file, those of the run first."""
    return [WorkflowHistory.from_json(entry["workflow_id"], entry["history"]) for entry in _read_entries(path)]


def read_events(path: Path) -> list[list[dict[str, Any]]]:
    """Return the events of each history of a file as JSON."""
    return [entry["history"]["events"] for entry in _read_entries(path)]


def _read_entries(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(lzma.decompress(path.read_bytes()))
    return entries


def check_unreleased(version: str, changelog: Path = ROOT / "CHANGELOG.md") -> None:
    """Check that the histories of a version may be written.

    Raises:
        VersionReleased: the version is released.
    """
    if is_released(version, changelog):
        raise VersionReleased(
            f"version {version} is released and its histories are never overwritten: "
            "raise `version` in pyproject.toml, then record again"
        )


def write_recording(
    name: str,
    histories: Sequence[WorkflowHistory],
    version: str,
    folder: Path = HERE,
    changelog: Path = ROOT / "CHANGELOG.md",
) -> Path:
    """Write the histories of a recording and return their file.

    Raises:
        VersionReleased: the version is released.
    """
    check_unreleased(version, changelog)
    entries = [{"workflow_id": history.workflow_id, "history": history.to_json_dict()} for history in histories]
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False)
    path = folder / version / f"{name}{SUFFIX}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(text.encode(), preset=9))
    return path


def _split_version(version: str) -> tuple[int, ...]:
    """Return a version as numbers, in which 0.10 follows 0.9."""
    return tuple(int(number) for number in re.findall(r"\d+", version))
