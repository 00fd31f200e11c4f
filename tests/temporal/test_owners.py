"""Owners whose namespaces cannot be used, and the service of the others, with a real server and its gate."""

from pathlib import Path

import pytest
from pydantic import SecretStr
from temporalio.runtime import Runtime

from tenure.settings import Settings
from tenure.temporal.connection import ServerUnreachable
from tenure.temporal.owners import connect_owners, find_owner_fault
from tests.support.ports import free_ports
from tests.temporal.gate.test_owner_relay import Gated, gated
from tests.temporal.test_owner_payloads import TOKENS

__all__ = ["gated"]

WRONG = "w" * 32


def make_settings(home: Path, owners: dict[str, str]) -> Settings:
    """Return settings of a worker for owners with tokens."""
    return Settings(home=home, owners={name: SecretStr(token) for name, token in owners.items()}, _env_file=None)


@pytest.mark.parametrize(
    ("has_gate", "owners", "served", "words"),
    [
        (True, {"ann": TOKENS["ann"], "bob": WRONG}, ["ann"], "set TENURE_OWNER and TENURE_OWNER_TOKEN"),
        (False, {"ann": TOKENS["ann"], "cy": WRONG}, ["", "ann"], "Namespace cy is not found"),
    ],
    ids=["wrong key", "missing namespace"],
)
async def test_an_owner_that_cannot_be_served_does_not_stop_the_others(
    gated: Gated,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_gate: bool,
    owners: dict[str, str],
    served: list[str],
    words: str,
) -> None:
    """The log and `doctor` name the owner and the reason."""
    address = f"127.0.0.1:{gated.port}" if has_gate else gated.direct.service_client.config.target_host
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    # Both cases have the same server, whose namespaces are bound to one base.
    settings = make_settings(tmp_path_factory.getbasetemp() / "owners", owners)
    found = await connect_owners(settings, Runtime.default(), [], binds=True)
    faults = {own.owner: await find_owner_fault(own) for own in settings.list_owners()}
    (broken,) = owners.keys() - {"ann"}

    assert [own.owner for own, _ in found] == served
    assert {owner for owner, fault in faults.items() if not fault} == set(served)
    assert words in faults[broken]
    logged = capsys.readouterr().out
    assert "an owner is not served" in logged and f"owner={broken}" in logged


async def test_a_worker_without_any_owner_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is the error of a worker, as without owners."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{free_ports(1)[0]}")
    with pytest.raises(ServerUnreachable):
        await connect_owners(make_settings(tmp_path, TOKENS), Runtime.default(), [], binds=True)
