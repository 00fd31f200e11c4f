"""Cache the answers of models, so that an identical question to the same model is paid once.

Each run has rows of its own, also for the answers that it takes from other runs. The answers of a run can therefore be
deleted with it, and nothing has to be counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pyarrow as pa

from tenure.contracts.messages import Tier
from tenure.contracts.run.role_calls import StoredAnswer
from tenure.knowledge.store.errors import CorruptTable
from tenure.knowledge.store.schema import ANSWERS, ANSWERS_SCHEMA, hash_parts
from tenure.knowledge.store.store import Store, quote_literal


class AnswerCipher(Protocol):
    """Encryption of stored answers; `tenure/temporal/answer_cipher.py` implements it with the keys of the settings."""

    def encrypt(self, data: bytes) -> bytes:
        """Return encrypted data, or the data itself without keys."""

    def decrypt(self, data: bytes) -> bytes | None:
        """Return decrypted data, or None if no key decrypts it."""


class AnswerCache:
    """Answers of all runs of one store; safe to share between threads, processes and machines."""

    def __init__(self, store: Store, max_age: timedelta, cipher: AnswerCipher | None = None) -> None:
        self._store = store
        self._max_age = max_age
        self._cipher = cipher

    def load_answer(self, request: str, run: str) -> StoredAnswer | None:
        """Return the newest answer to a request that the keys decrypt, and store it for the run as well."""
        try:
            hashed, oldest = quote_literal(request), quote_literal(_format_oldest(self._max_age))
            where = f"request = {hashed} AND created_at >= {oldest}"
            rows = self._store.read_rows(ANSWERS, ["run", "created_at", "answer"], where).to_pylist()
        except CorruptTable as error:
            self._store.replace_cache(ANSWERS, error)
            return None
        for row in sorted(rows, key=lambda row: str(row["created_at"]), reverse=True):
            data = self._cipher.decrypt(row["answer"]) if self._cipher else row["answer"]
            if data is not None:
                if all(row["run"] != run for row in rows):
                    self._write(request, run, data, row["created_at"])
                return StoredAnswer.model_validate_json(data)
        return None

    def select_run(self, workflow: str, identify: Callable[[str, Tier], str], *, fresh: bool = False) -> "RunAnswers":
        """Return the answers for the run to which a workflow belongs."""
        return RunAnswers(self, get_run(workflow), identify, fresh)

    def save_answer(self, request: str, run: str, answer: StoredAnswer) -> None:
        """Store the answer of a run to a request, with the time, by which the newest is chosen."""
        created_at = datetime.now(UTC).isoformat(timespec="microseconds")
        self._write(request, run, answer.model_dump_json().encode(), created_at)

    def _write(self, request: str, run: str, data: bytes, created_at: str) -> None:
        sealed = self._cipher.encrypt(data) if self._cipher else data
        row = {
            "key": hash_parts(request, run),
            "request": request,
            "run": run,
            "created_at": created_at,
            "size": len(sealed),
            "answer": sealed,
        }
        self._store.upsert(ANSWERS, pa.Table.from_pylist([row], schema=ANSWERS_SCHEMA), "key")


@dataclass(frozen=True)
class RunAnswers:
    """Answers of the cache for one run."""

    cache: AnswerCache
    run: str
    identify: Callable[[str, Tier], str]
    """Return server, model and parameters that answer a role of a tier."""
    fresh: bool = False
    """Whether the model answers again; its answers replace the cached ones."""

    def load(self, request: str) -> StoredAnswer | None:
        """Return the answer to a request, or None if the model has to be asked."""
        return None if self.fresh else self.cache.load_answer(request, self.run)

    def save(self, request: str, answer: StoredAnswer) -> None:
        """Store the answer to a request."""
        self.cache.save_answer(request, self.run, answer)


def get_run(workflow: str) -> str:
    """Return the id of the run to which a workflow belongs."""
    return workflow.partition("/")[0]


def delete_answers(store: Store, run: str) -> None:
    """Delete the answers of a run and of the follow-up questions to it."""
    if ANSWERS in store.list_table_names():
        store.delete_rows(ANSWERS, f"run = {quote_literal(get_run(run))}")


def trim_answers(store: Store, max_bytes: int, max_age: timedelta) -> int:
    """Remove the answers that are too old, and the oldest ones until the rest is small enough; return the number."""
    oldest = _format_oldest(max_age)
    return store.trim_rows(ANSWERS, "key", "created_at", max_bytes, _ROW_OVERHEAD_BYTES, oldest)


_ROW_OVERHEAD_BYTES = 300
"""Estimated bytes of a row besides the answer."""


def _format_oldest(max_age: timedelta) -> str:
    """Return the time of the oldest answer of an age, in the format of the table."""
    return (datetime.now(UTC) - max_age).isoformat(timespec="microseconds")
