"""Give titles and tags to runs."""

import asyncio
from contextlib import suppress

from temporalio.api.common.v1 import Payload

from tenure.runs.messages import RunLabel
from tenure.runs.session.connection import Session
from tenure.runs.session.run_records import LABELS_FOLDER, explain_archive_errors, open_run, read_archive
from tenure.settings.home import ConnectionSettings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError


async def read_labels(settings: ConnectionSettings) -> dict[str, RunLabel]:
    """Return the titles and tags of runs by run id, without those that are encrypted for another owner.

    Raises:
        TenureError: they cannot be read.
    """
    stored: dict[str, bytes] = await read_archive(settings, lambda a: a.list_labels(settings), {}, LABELS_FOLDER)
    converter, labels = make_data_converter(settings), {}
    for run, payload in stored.items():
        with suppress(DecryptionError):
            (labels[run],) = await converter.decode([Payload.FromString(payload)], [RunLabel])
    return labels


async def label_run(session: Session, run_id: str, label: RunLabel) -> RunLabel:
    """Store the title and the tags of a run, and return them.

    Raises:
        MissingRun: there is no such run.
        TenureError: they cannot be stored.
    """
    await open_run(session, run_id)
    # Imported when needed: the database takes a second.
    from tenure.temporal.archive.access import write_label

    (payload,) = await make_data_converter(session.settings).encode([label])
    with explain_archive_errors():
        await asyncio.to_thread(write_label, session.settings, run_id, payload.SerializeToString())
    return label
