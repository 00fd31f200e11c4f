"""Instances in the format of SWE-bench: read from JSONL, JSON or Parquet, written as JSONL.

`install_config` is the extension that SWE-rebench and others use for the command and the packages of the tests. The
official data has none, since its containers contain the environments.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Self

import pyarrow.parquet as parquet

Ecosystem = Literal["python", "node"]
Runner = Literal["pytest", "node", "jest", "tap"]

_TEST_LISTS: Final = ("FAIL_TO_PASS", "PASS_TO_PASS")


@dataclass(frozen=True)
class InstallConfig:
    """Runner, packages and places of the tests of a repository."""

    environment: str
    """Name of the environment; instances of one repository share it."""
    ecosystem: Ecosystem = "python"
    runner: Runner = "pytest"
    packages: tuple[str, ...] = ()
    """Packages of the registry that the tests need besides the project and its dependencies."""
    paths: tuple[str, ...] = ()
    """Folders from which the project is imported; none for the top one."""
    tests: tuple[str, ...] = ()
    """Files and folders with all tests; none for what the runner finds."""
    before: str = ""
    """Command that builds the project before the tests."""

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """Read it from JSON; keys of other producers are ignored."""
        known = {one.name: data[one.name] for one in fields(cls) if one.name in data}
        values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in known.items()}
        return cls(**values)


@dataclass(frozen=True)
class Instance:
    """A task: a commit, a statement, and its hidden tests."""

    instance_id: str
    repo: str
    """Owner and name."""
    base_commit: str
    problem_statement: str
    patch: str
    """The fix without its tests; no system reads it."""
    test_patch: str
    FAIL_TO_PASS: tuple[str, ...]
    PASS_TO_PASS: tuple[str, ...]
    hints_text: str = ""
    created_at: str = ""
    version: str = ""
    environment_setup_commit: str = ""
    install_config: InstallConfig | None = field(default=None)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """Read it from a row; the official data has the lists of tests as JSON in a string."""
        row = {one.name: data[one.name] for one in fields(cls) if data.get(one.name) is not None}
        for name in _TEST_LISTS:
            value = row[name]
            row[name] = tuple(json.loads(value) if isinstance(value, str) else value)
        config = row.get("install_config")
        if isinstance(config, str):
            config = json.loads(config)
        row["install_config"] = InstallConfig.read(config) if config and "environment" in config else None
        return cls(**row)

    def to_row(self) -> dict[str, Any]:
        """Return the row of the official format: lists of tests are JSON in a string."""
        return {**asdict(self), **{name: json.dumps(getattr(self, name)) for name in _TEST_LISTS}}


@dataclass(frozen=True)
class Prediction:
    """An answer in the format that the official evaluation reads."""

    instance_id: str
    model_name_or_path: str
    model_patch: str


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        yield from parquet.read_table(path).to_pylist()
        return
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
        return
    yield from (json.loads(line) for line in text.splitlines() if line.strip())


def read_instances(path: Path, ids: Sequence[str] = ()) -> tuple[Instance, ...]:
    """Read instances, all or some by their ids.

    Raises:
        KeyError: the file lacks one of the ids.
    """
    instances = {row["instance_id"]: Instance.read(row) for row in _read_rows(path)}
    return tuple(instances[one] for one in ids) if ids else tuple(instances.values())


def write_instances(path: Path, instances: Iterable[Instance]) -> None:
    """Write instances as JSONL."""
    path.write_text("".join(json.dumps(one.to_row()) + "\n" for one in instances), encoding="utf-8")


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Read predictions; those of a JSON object by id, which some agents write, as well."""
    text = path.read_text(encoding="utf-8")
    try:
        document = json.loads(text)
    except ValueError:
        document = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(document, dict) and "instance_id" in document:
        document = [document]
    rows = document.values() if isinstance(document, dict) else document
    names = [one.name for one in fields(Prediction)]
    return tuple(Prediction(**{name: row.get(name) or "" for name in names}) for row in rows)


def append_prediction(path: Path, prediction: Prediction) -> None:
    """Add a line to the file of predictions."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(prediction)) + "\n")
