"""Test what `doctor` finds out about owners; tests/cli/test_commands.py runs the whole command."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.cli.commands.doctor import check_owners
from tenure.settings import Settings
from tests.support.ports import free_ports


def test_owners_that_are_not_served_are_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each owner of the installation has a line with the reason; without owners the check is left out."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{free_ports(1)[0]}")
    settings = Settings(home=tmp_path, _env_file=None)
    owned = settings.model_copy(update={"owners": {"ann": SecretStr("a" * 32)}})

    assert check_owners(settings) == []
    assert [(check.name, check.level) for check in check_owners(owned)] == [
        ("owner without a name", "fail"),
        ("owner ann", "fail"),
    ]
    assert "is not served: cannot reach the Temporal server" in check_owners(owned)[1].message
