"""Test reading runs from the archive."""

from pathlib import Path

import pytest

from tenure.runs.errors import TenureError
from tenure.runs.session.run_records import load_archived
from tenure.settings import Settings


async def test_a_folder_that_cannot_be_read_is_a_line(tmp_path: Path) -> None:
    """An archive whose folder the system refuses to look into is an error that names it, without a traceback."""
    name = "x" * 300  # longer than a name of a file may be
    settings = Settings(home=tmp_path, lancedb_uri=str(tmp_path / name), _env_file=None)

    with pytest.raises(TenureError, match=f"the archive at .*{name} cannot be read: File name too long"):
        await load_archived(settings, "run")
