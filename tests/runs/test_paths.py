"""Test which paths a shared home opens."""

from pathlib import Path

import pytest

from tenure.runs.errors import InvalidRequest
from tenure.runs.paths import check_shared_paths
from tenure.settings import Settings


def test_a_root_around_the_home_opens_no_uploads_of_others(tmp_path: Path) -> None:
    """Documents next to the home are open, and what another owner has uploaded into the home is not."""
    home = tmp_path / "home"
    settings = Settings(_env_file=None, home=home, document_roots=(tmp_path,))

    check_shared_paths(settings, [tmp_path / "documents" / "page.md"])
    with pytest.raises(InvalidRequest, match="is not open on this server"):
        check_shared_paths(settings, [home / "owners" / "bob" / "uploads" / "page.md"])
