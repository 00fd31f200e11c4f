"""Keep the tables fast and small while other processes use them: compaction, indexes, removal of old versions.

A failure of one table (unreadable, or permanent commit conflicts) does not stop the others. Versions that are younger
than `KEEP_VERSIONS` or tagged are never removed, so that a reader of an older version can finish.
"""

import time
from collections.abc import Callable
from datetime import timedelta

from tenure.contracts.knowledge.maintenance import MaintenanceStep, UpkeepProgress, UpkeepReport
from tenure.knowledge.answers import trim_answers
from tenure.knowledge.code.index import trim_indexes
from tenure.knowledge.pages.cache import trim_pages
from tenure.knowledge.patches import trim_patches
from tenure.knowledge.store.errors import CommitConflict, CorruptTable, WorkCancelled
from tenure.knowledge.store.schema import ANSWERS, CODE_USES, PAGES, PATCHES, RUNS, is_knowledge_table
from tenure.knowledge.store.store import KEEP_VERSIONS, Store
from tenure.settings.knowledge import KnowledgeSettings

MIN_ARCHIVE_FILES = 100
"""Data files from which on the archive of runs is maintained. Every run adds a file, and each compaction copies all of
them.
"""


class Maintenance:
    """Maintenance of all tables of one store."""

    def __init__(
        self,
        store: Store,
        settings: KnowledgeSettings,
        min_age: timedelta = KEEP_VERSIONS,
    ) -> None:
        self._store, self._settings, self._min_age = store, settings, min_age

    def run_step(
        self,
        step: MaintenanceStep,
        report: Callable[[UpkeepProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> UpkeepReport:
        """Run one step on every table; list the tables that fail in the report."""
        started = time.monotonic()
        tables = sorted(name for name in self._store.list_table_names() if is_knowledge_table(name))
        changed, failures = 0, []
        for done, name in enumerate(tables):
            report(UpkeepProgress(step=step, table=name, done=done, total=len(tables)))
            if cancelled():
                raise WorkCancelled(f"maintenance step {step} stopped after {done} of {len(tables)} tables")
            try:
                if name == PAGES and step == "compact":
                    trim_pages(self._store, self._settings.page_cache_megabytes * 1_000_000)
                if name == ANSWERS and step == "compact":
                    max_age = timedelta(days=self._settings.answer_cache_days)
                    trim_answers(self._store, self._settings.answer_cache_megabytes * 1_000_000, max_age)
                if name == PATCHES and step == "compact":
                    trim_patches(self._store)
                if name == CODE_USES and step == "compact":
                    trim_indexes(self._store)
                changed += self._run_on_table(step, name)
            except (CorruptTable, CommitConflict) as error:
                failures.append(str(error))
        report(UpkeepProgress(step=step, done=len(tables), total=len(tables)))
        return UpkeepReport(
            step=step,
            processed=len(tables) - len(failures),
            changed=changed,
            seconds=time.monotonic() - started,
            failed_tables=tuple(failures),
        )

    def _run_on_table(self, step: MaintenanceStep, name: str) -> int:
        if name == RUNS and self._store.describe_table(name).files < MIN_ARCHIVE_FILES:
            return 0
        if step == "compact":
            return self._store.compact(name)
        if step == "index":
            return self._store.refresh_indexes(name)
        return self._store.remove_old_versions(name, self._min_age)
