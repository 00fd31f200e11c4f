"""Store finished runs, so that their reports do not depend on the Temporal server.

A row holds the histories of a run as an opaque archive. Payloads stay encoded, so that everything the server stores
encrypted is encrypted here as well. The key of a row is the execution that ended the run, so a repeated write replaces
the row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa

from tenure.contracts.knowledge.archive import RunDescription
from tenure.knowledge.store.schema import LABELS, LABELS_SCHEMA, RUNS, RUNS_SCHEMA
from tenure.knowledge.store.store import Store, quote_list, quote_literal

_DESCRIPTION = [name for name in RUNS_SCHEMA.names if name not in ("version", "archive")]


@dataclass(frozen=True)
class ArchivedRun:
    """A finished run with its histories."""

    description: RunDescription
    version: int
    archive: bytes


class ArchivedRuns:
    """Archive of the finished runs of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, uri: str) -> Self | None:
        """Return the archive of a knowledge base, or None if it has none; nothing is created."""
        store = open_store(uri)
        return cls(store) if store and RUNS in store.list_table_names() else None

    def save_run(self, run: ArchivedRun) -> None:
        """Insert or replace a run."""
        row = {**run.description.model_dump(), "version": run.version, "archive": run.archive}
        self._store.upsert(RUNS, pa.Table.from_pylist([row], schema=RUNS_SCHEMA), "execution")

    def find_run(self, id: str) -> ArchivedRun | None:
        """Return the latest run with a workflow id, or None if there is none."""
        described = self.describe_runs(id)
        return self.load_run(described[0].execution) if described else None

    def load_run(self, execution: str) -> ArchivedRun | None:
        """Return the run that an execution ended, or None if it is not archived."""
        rows = self._store.read_rows(RUNS, RUNS_SCHEMA.names, f"execution = {quote_literal(execution)}").to_pylist()
        if not rows:
            return None
        description = RunDescription(**{name: rows[0][name] for name in _DESCRIPTION})
        return ArchivedRun(description=description, version=rows[0]["version"], archive=rows[0]["archive"])

    def describe_runs(self, id: str) -> list[RunDescription]:
        """Return the runs with a workflow id, latest first: an id may be used again."""
        return self._describe(f"id = {quote_literal(id)}")

    def describe_related_runs(self, id: str) -> list[RunDescription]:
        """Return the runs with a workflow id and the follow-up questions to them, latest first."""
        return self._describe(f"id = {quote_literal(id)} OR id = {quote_literal(f'{id}/ask')}")

    def list_runs(self, type: str, owner: str = "", status: str = "") -> list[RunDescription]:
        """Return the runs of a workflow type, latest first; with an owner or status only theirs."""
        values = {"type": type, "owner": owner, "status": status}
        return self._describe(" AND ".join(f"{name} = {quote_literal(text)}" for name, text in values.items() if text))

    def find_executions(self, executions: Sequence[str]) -> frozenset[str]:
        """Return those of some executions that ended archived runs."""
        return frozenset(
            self._store.read_rows_in(RUNS, ["execution"], "execution", executions)["execution"].to_pylist()
        )

    def delete_runs(self, executions: Sequence[str]) -> None:
        """Delete the runs that these executions ended."""
        if executions:
            self._store.delete_rows(RUNS, f"execution IN {quote_list(executions)}")

    def _describe(self, where: str) -> list[RunDescription]:
        rows = self._store.read_rows(RUNS, _DESCRIPTION, where).to_pylist()
        runs = [RunDescription(**row) for row in rows]
        return sorted(runs, key=lambda run: (run.started_at, run.closed_at), reverse=True)


def open_store(uri: str) -> Store | None:
    """Return the knowledge base at a URI, or None if there is none; nothing is created."""
    return Store(uri) if "://" in uri or Path(uri).is_dir() else None


def read_labels(store: Store) -> dict[str, bytes]:
    """Return the titles and tags that people gave to runs, as encoded payloads by run id."""
    rows = store.read_rows(LABELS, LABELS_SCHEMA.names).to_pylist() if LABELS in store.list_table_names() else []
    return {row["run"]: row["label"] for row in rows}


def save_label(store: Store, run: str, label: bytes) -> None:
    """Insert or replace the title and the tags of a run."""
    store.upsert(LABELS, pa.Table.from_pylist([{"run": run, "label": label}], schema=LABELS_SCHEMA), "run")


def delete_label(store: Store, run: str) -> None:
    """Delete the title and the tags of a run."""
    if LABELS in store.list_table_names():
        store.delete_rows(LABELS, f"run = {quote_literal(run)}")
