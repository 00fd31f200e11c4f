"""Ports of several homes on one machine, with real Temporal servers."""

import socket
from pathlib import Path

from tenure.settings import Settings
from tenure.temporal.stack import local
from tenure.temporal.stack.ports import move_ports
from tests.support.tiers import slow


def make_unset(home: Path, occupied: Settings) -> Settings:
    """Return settings of a home that name no ports; the default ones are those of another home."""

    class DefaultPorts(Settings):
        temporal_port: int = occupied.temporal_port
        ui_port: int = occupied.ui_port

    return DefaultPorts(home=home, site_port=0, _env_file=None)


@slow
def test_second_home_gets_ports_of_its_own_and_keeps_them(
    settings: Settings, worker: list[str], tmp_path: Path
) -> None:
    """While the stack of one home has the default ports, that of another starts on free ones, and stays there."""
    local.start_stack(settings, worker_command=worker)
    other = make_unset(tmp_path / "other", settings)
    try:
        first = local.start_stack(other, worker_command=worker)
        second = local.start_stack(other, worker_command=worker)
        status = local.get_status(other)
    finally:
        local.stop_stack(other)

    assert first.server_ready
    assert first.port != settings.temporal_port
    assert str(settings.home) in first.notes[0]
    assert not second.started
    assert {first.port, second.port} == {status.port}
    assert (first.ui_port, second.ui_port, status.notes) == (status.ui_port, first.ui_port, ())


@slow
def test_home_without_a_stack_is_not_served_by_another_home(
    settings: Settings, worker: list[str], tmp_path: Path
) -> None:
    """The state of a home that runs nothing names a free port, not that of another home's server."""
    local.start_stack(settings, worker_command=worker)
    status = local.get_status(make_unset(tmp_path / "other", settings))

    assert status.server_pid is None
    assert status.port != settings.temporal_port


def test_another_program_moves_no_port(settings: Settings, tmp_path: Path) -> None:
    """A port of any other program, perhaps a Temporal server, is left to the caller."""
    notes: list[str] = []
    unset = make_unset(tmp_path / "other", settings)
    with socket.create_server(("127.0.0.1", unset.temporal_port)):
        assert move_ports(unset, notes).temporal_port == unset.temporal_port
    assert notes == []


@slow
def test_named_ports_are_used_as_they_are(settings: Settings, worker: list[str], tmp_path: Path) -> None:
    """A setting wins; ports without one move."""
    local.start_stack(settings, worker_command=worker)
    unset = make_unset(tmp_path / "other", settings)
    moved = move_ports(unset.model_copy(update={"ui_port": unset.ui_port}), [])

    assert moved.ui_port == unset.ui_port
    assert moved.temporal_port != unset.temporal_port
    assert move_ports(unset.model_copy(update={"temporal_port": unset.temporal_port}), []).ui_port == unset.ui_port
