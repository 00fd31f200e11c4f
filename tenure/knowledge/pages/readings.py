"""What a run has read of the web, and what it could not read: kept beside its corpus, for its report.

A page has one row for each corpus, an engine one for each query. The rows are small, since text stands in the
sources.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa

from tenure.algorithms.text.near_duplicates import Fingerprint
from tenure.contracts.evidence.web import PageStatus, ProviderAnswer, WebAccount, WebEngine, WebPage
from tenure.knowledge.store.catalogue import now
from tenure.knowledge.store.schema import READINGS, READINGS_SCHEMA, digest
from tenure.knowledge.store.store import Store, literal

MOST_PAGES = 150
"""Pages that an account lists, so that it travels in one payload."""

_FIRST: Sequence[str] = ("read", "left_out", "refused", "failed")


@dataclass(frozen=True)
class Reading:
    """A page and what became of it."""

    address: str
    status: PageStatus | Literal["moved"]
    """`moved` for an address under which a page was asked for that is cited by another one."""
    query: str = ""
    cycle: int = 0
    source_id: str = ""
    title: str = ""
    quality: float = 1.0
    flaws: tuple[str, ...] = ()
    note: str = ""
    fingerprint: Fingerprint = ()


def keep_pages(store: Store, corpus: str, readings: Iterable[Reading]) -> None:
    """Write down what became of pages; of one address the last word counts."""
    rows = {
        reading.address: asdict(reading)
        | {"id": digest(corpus, reading.address), "corpus": corpus, "at": now(), "engine": ""}
        for reading in readings
    }
    _merge(store, rows.values())


def keep_answers(store: Store, corpus: str, query: str, cycle: int, answers: Sequence[ProviderAnswer]) -> None:
    """Write down how engines answered a query."""
    blank = asdict(Reading(address="", status="read", query=query, cycle=cycle))
    _merge(
        store,
        [
            blank
            | {
                "id": digest(corpus, answer.provider, query),
                "corpus": corpus,
                "at": now(),
                "engine": answer.provider,
                "status": answer.status,
                "note": answer.note,
            }
            for answer in answers
        ],
    )


def copy(store: Store, old: str, new: str, cycle: int, sources: Mapping[str, str]) -> None:
    """Write down for another corpus what a run has read up to a cycle; `sources` are the ids of its copies."""
    where = f"corpus = {literal(old)} AND cycle <= {cycle}"
    rows = store.rows(READINGS, READINGS_SCHEMA.names, where).to_pylist()
    _merge(store, [row | _renamed(row, new, sources) for row in rows])


def _renamed(row: Mapping[str, str], corpus: str, sources: Mapping[str, str]) -> dict[str, object]:
    key = (row["engine"], row["query"]) if row["engine"] else (row["address"],)
    return {"id": digest(corpus, *key), "corpus": corpus, "source_id": sources.get(row["source_id"], "")}


def pages(store: Store, corpus: str) -> dict[str, Reading]:
    """Return what became of the pages of a corpus, by address."""
    columns = list(Reading.__dataclass_fields__)
    rows = store.rows(READINGS, columns, f"corpus = {literal(corpus)} AND engine = ''").to_pylist()
    return {
        row["address"]: Reading(**row | {name: tuple(row[name]) for name in ("flaws", "fingerprint")}) for row in rows
    }


def account(store: Store, corpus: str) -> WebAccount:
    """Return what a run has read of the web, and how the engines served it."""
    there = [page for page in pages(store, corpus).values() if page.status != "moved"]
    read = sorted(there, key=lambda page: (_FIRST.index(page.status), page.address))
    listed = tuple(
        WebPage.model_validate({name: getattr(page, name) for name in WebPage.model_fields})
        for page in read[:MOST_PAGES]
    )
    return WebAccount(engines=_engines(store, corpus), pages=listed, more=len(read) - len(listed))


def _engines(store: Store, corpus: str) -> tuple[WebEngine, ...]:
    rows = store.rows(READINGS, ["engine", "status", "note", "at"], f"corpus = {literal(corpus)} AND engine != ''")
    served: dict[str, WebEngine] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: (row["engine"], row["at"], row["note"])):
        before = served.get(row["engine"], WebEngine(engine=row["engine"]))
        served[row["engine"]] = WebEngine(
            engine=row["engine"],
            asked=before.asked + (row["status"] != "left_out"),
            answered=before.answered + (row["status"] == "answered"),
            set_up=row["status"] != "left_out",
            note=row["note"] or before.note,
        )
    return tuple(served.values())


def _merge(store: Store, rows: Iterable[dict[str, object]]) -> None:
    if listed := list(rows):
        store.merge(READINGS, pa.Table.from_pylist(listed, schema=READINGS_SCHEMA), "id")
