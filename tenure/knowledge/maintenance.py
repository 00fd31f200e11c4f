"""Maintenance: what keeps tables quick and small, done beside whatever else goes on.

Each step goes through all tables. A table that cannot be read, or that others write to without a pause,
keeps no other from its turn. No version younger than `KEEP_VERSIONS` is removed, and none that bears a
tag, so whoever reads an older state of a table can finish. The page cache is trimmed before it is compacted.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from tenure.contracts.knowledge.maintenance import MaintenanceProgress, MaintenanceStep, StepReport
from tenure.knowledge.pages.cache import trim
from tenure.knowledge.store.errors import CommitConflict, CorruptTable, MaintenanceCancelled
from tenure.knowledge.store.schema import PAGES, is_ours
from tenure.knowledge.store.store import KEEP_VERSIONS, Store


def maintain(
    store: Store,
    step: MaintenanceStep,
    report: Callable[[MaintenanceProgress], None],
    cancelled: Callable[[], bool],
    keep: timedelta = KEEP_VERSIONS,
    page_bytes: int | None = None,
) -> StepReport:
    """Do one step to every table.

    Args:
        store: whose tables.
        step: what is done to them.
        report: told how far it is.
        cancelled: asked whether to stop.
        keep: age below which versions stay.
        page_bytes: size of the pages of the web that stay; None for any.

    Raises:
        MaintenanceCancelled: `cancelled` said so, between two tables.
    """
    started = time.monotonic()
    tables = sorted(name for name in store.names() if is_ours(name))
    changed, left = 0, []
    for done, name in enumerate(tables):
        report(MaintenanceProgress(step=step, table=name, done=done, total=len(tables)))
        if cancelled():
            raise MaintenanceCancelled(step, done, len(tables))
        try:
            if name == PAGES and step == "compact" and page_bytes is not None:
                trim(store, page_bytes)
            changed += _done(store, step, name, keep)
        except (CorruptTable, CommitConflict) as error:
            left.append(str(error))
    report(MaintenanceProgress(step=step, done=len(tables), total=len(tables)))
    return StepReport(
        step=step,
        tables=len(tables) - len(left),
        changed=changed,
        seconds=time.monotonic() - started,
        left=tuple(left),
    )


def _done(store: Store, step: MaintenanceStep, name: str, keep: timedelta) -> int:
    if step == "compact":
        return store.compact(name)
    if step == "index":
        return store.refresh_indexes(name)
    return store.clean(name, keep)
