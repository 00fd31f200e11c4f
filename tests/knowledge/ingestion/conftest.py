"""Ingest with real reader processes, which are tested here."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def reader() -> None:
    """Leave the readers as they are."""
