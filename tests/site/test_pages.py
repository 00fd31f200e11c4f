"""The templates of the page, for states that no run of the other tests stays in."""

from typing import Any

from tenure.contracts.evidence.corpora import IngestProgress
from tenure.site.messages import RunDetails
from tenure.site.pages import _render


def test_page_of_a_run_shows_the_embedding_that_it_waits_for() -> None:
    """The embedding is shown in chunks, and the reading in files."""
    details = RunDetails(
        id="one",
        started="",
        seen="",
        question="Why?",
        status="running",
        is_running=True,
        is_completed=False,
        is_archived=False,
        ingest=IngestProgress(stage="embedding", embedded=120, to_embed=400, files_total=7),
    )
    values: dict[str, Any] = {
        "run_id": "one",
        "details": details,
        "progress": None,
        "phase": "",
        "usage": "",
        "temporal": "",
    }
    page = bytes(_render("live.html.jinja", **values).body)

    assert b"embedding: 120 of 400 chunks" in page
    assert b'max="400" value="120"' in page
    assert b"files" not in page
