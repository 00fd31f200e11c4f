"""Test what commands see of a running workflow, against a real server and the stub worker."""

from types import SimpleNamespace
from typing import Any

import pytest

from tenure.contracts.evidence.corpora import IngestProgress
from tenure.runs.session.monitor import _ingestion
from tests.cli.conftest import CommandLine
from tests.runs.session.test_diagnostics import watch_until


def test_embedding_in_the_background_is_shown(running: CommandLine) -> None:
    """The display names the chunks that wait for the embedding workflow which a run has started."""
    words = "embedding in the background: 3,800 chunks left, found by words only"
    assert running("start", "wait and embed", "--id", "embedding", "--detach").returncode == 0
    shown = watch_until(running, words, "embedding")

    assert len([line for line in shown if words in line]) == 1


@pytest.mark.parametrize(
    ("activity", "progress"),
    [("ingest_corpus", IngestProgress()), ("embed_for_question", None), ("search_passages", None)],
)
async def test_embedding_without_a_heartbeat_is_not_shown_as_reading(
    activity: str, progress: IngestProgress | None
) -> None:
    """Only the reading of documents starts with a look for them."""
    pending = SimpleNamespace(
        activity_type=SimpleNamespace(name=activity), heartbeat_details=SimpleNamespace(payloads=())
    )
    description: Any = SimpleNamespace(raw_description=SimpleNamespace(pending_activities=[pending]))
    client: Any = None

    assert await _ingestion(client, description) == progress
