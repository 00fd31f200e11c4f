"""Tests of the server of a local stack."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from tenure.settings import Settings
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.server import map_keys_to_namespaces


@pytest.mark.parametrize("main", ["default", "ann"])
def test_owners_have_different_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: str) -> None:
    """An owner whose key would open the namespace of another owner is refused."""
    monkeypatch.setenv("TEMPORAL_NAMESPACE", main)
    owners = {name: SecretStr(name * 20) for name in ("bob", main)}

    with pytest.raises(StackError, match=f"the namespace '{main}' of the owner '{main}' belongs to another owner"):
        map_keys_to_namespaces(Settings(_env_file=None, home=tmp_path, owners=owners))
