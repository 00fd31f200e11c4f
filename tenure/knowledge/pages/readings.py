"""Record which web pages a run has read or failed to read, and how search providers answered.

There is one row per page and corpus, and one per provider and query. The texts are stored in the sources.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa

from tenure.algorithms.text.near_duplicates import Fingerprint
from tenure.contracts.evidence.web import PageStatus, ProviderOutcome, ProviderUsage, WebPage, WebReport
from tenure.knowledge.store.catalogue import format_utc_now
from tenure.knowledge.store.schema import READINGS, READINGS_SCHEMA, hash_parts
from tenure.knowledge.store.store import Store, quote_literal

MAX_PAGES = 150
"""Pages listed in a report, so that it fits into one payload."""

_STATUS_ORDER: Sequence[str] = ("read", "left_out", "refused", "failed")


@dataclass(frozen=True)
class PageReading:
    """Page and its outcome."""

    url: str
    status: PageStatus | Literal["moved"]
    """Outcome; `moved` for a requested URL whose page is cited by another one."""
    query: str = ""
    cycle: int = 0
    source_id: str = ""
    title: str = ""
    quality: float = 1.0
    flaws: tuple[str, ...] = ()
    note: str = ""
    fingerprint: Fingerprint = ()


def store_readings(store: Store, corpus: str, readings: Iterable[PageReading]) -> None:
    """Record the outcomes of pages; the last one of each URL counts."""
    rows = {
        reading.url: asdict(reading)
        | {"id": hash_parts(corpus, reading.url), "corpus": corpus, "at": format_utc_now(), "provider": ""}
        for reading in readings
    }
    _upsert(store, rows.values())


def store_provider_answers(
    store: Store, corpus: str, query: str, cycle: int, answers: Sequence[ProviderOutcome]
) -> None:
    """Record how providers answered a query."""
    blank = asdict(PageReading(url="", status="read", query=query, cycle=cycle))
    _upsert(
        store,
        [
            blank
            | {
                "id": hash_parts(corpus, answer.provider, query),
                "corpus": corpus,
                "at": format_utc_now(),
                "provider": answer.provider,
                "status": answer.status,
                "note": answer.note,
            }
            for answer in answers
        ],
    )


def copy_readings(store: Store, old: str, new: str, cycle: int, sources: Mapping[str, str]) -> None:
    """Copy the readings up to a cycle to another corpus; `sources` maps source ids to ids of copies."""
    where = f"corpus = {quote_literal(old)} AND cycle <= {cycle}"
    rows = store.read_rows(READINGS, READINGS_SCHEMA.names, where).to_pylist()
    _upsert(store, [row | _rename_row(row, new, sources) for row in rows])


def _rename_row(row: Mapping[str, str], corpus: str, sources: Mapping[str, str]) -> dict[str, object]:
    key = (row["provider"], row["query"]) if row["provider"] else (row["url"],)
    return {"id": hash_parts(corpus, *key), "corpus": corpus, "source_id": sources.get(row["source_id"], "")}


def load_readings(store: Store, corpus: str) -> dict[str, PageReading]:
    """Return the readings of a corpus by URL."""
    columns = list(PageReading.__dataclass_fields__)
    rows = store.read_rows(READINGS, columns, f"corpus = {quote_literal(corpus)} AND provider = ''").to_pylist()
    return {
        row["url"]: PageReading(**row | {name: tuple(row[name]) for name in ("flaws", "fingerprint")}) for row in rows
    }


def build_web_report(store: Store, corpus: str) -> WebReport:
    """Return the pages that a run has read, and the usage of search providers."""
    pages = [page for page in load_readings(store, corpus).values() if page.status != "moved"]
    read = sorted(pages, key=lambda page: (_STATUS_ORDER.index(page.status), page.url))
    listed = tuple(
        WebPage.model_validate({name: getattr(page, name) for name in WebPage.model_fields})
        for page in read[:MAX_PAGES]
    )
    return WebReport(providers=_count_provider_usage(store, corpus), pages=listed, omitted=len(read) - len(listed))


def _count_provider_usage(store: Store, corpus: str) -> tuple[ProviderUsage, ...]:
    rows = store.read_rows(
        READINGS, ["provider", "status", "note", "at"], f"corpus = {quote_literal(corpus)} AND provider != ''"
    )
    served: dict[str, ProviderUsage] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: (row["provider"], row["at"], row["note"])):
        before = served.get(row["provider"], ProviderUsage(provider=row["provider"]))
        served[row["provider"]] = ProviderUsage(
            provider=row["provider"],
            searches=before.searches + (row["status"] != "left_out"),
            answered=before.answered + (row["status"] == "answered"),
            configured=row["status"] != "left_out",
            note=row["note"] or before.note,
        )
    return tuple(served.values())


def _upsert(store: Store, rows: Iterable[dict[str, object]]) -> None:
    if listed := list(rows):
        store.upsert(READINGS, pa.Table.from_pylist(listed, schema=READINGS_SCHEMA), "id")
