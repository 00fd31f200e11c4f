"""Choose the ports of a home's stack: two homes on one machine run side by side without any setting.

A port that the settings name is used as it is. Without a setting, a running stack keeps the ports that it was started
with, and a new one avoids those of another home's stack: its runs, documents and memories would otherwise be read and
written there.
"""

from itertools import count
from typing import TypeVar

import psutil

from tenure.settings.home import StackSettings
from tenure.temporal.stack.record import StackRecord
from tenure.temporal.stack.server import GATE_MODULE, is_free

_Stack = TypeVar("_Stack", bound=StackSettings)

_PORTS = ("temporal_port", "ui_port", "site_port")

PORT_STEP = 10
"""Distance between the ports of two homes; more than the default ports of one, 8233 to 8237."""


def keep_ports(settings: _Stack, record: StackRecord) -> _Stack:
    """Return settings with the ports of a running stack, as far as the settings name no others."""
    ports = {"temporal_port": record.port, "ui_port": record.ui_port}
    if record.site:
        ports["site_port"] = record.site.port
    missing = {name: port for name, port in ports.items() if name not in settings.model_fields_set}
    return settings.model_copy(update=missing)


def move_ports(settings: _Stack, notes: list[str]) -> _Stack:
    """Return settings with free ports if the stack of another home has the default ones, and note that.

    Raises:
        StackError: a port cannot be used at all.
    """
    if "temporal_port" in settings.model_fields_set or not (home := _find_gate(settings.temporal_port)):
        return settings
    ports = {name: getattr(settings, name) for name in _PORTS if name not in settings.model_fields_set}
    step = next(step for step in count(PORT_STEP, PORT_STEP) if all(is_free(port + step) for port in ports.values()))
    moved = settings.model_copy(update={name: port + step for name, port in ports.items()})
    notes.append(
        f"the stack of {home} uses port {settings.temporal_port}: this home's uses {moved.temporal_port} and "
        f"{moved.ui_port}"
    )
    return moved


def _find_gate(port: int) -> str:
    """Return the home whose gate listens on a port of this machine, empty if another program does, or none."""
    if is_free(port):
        return ""
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if GATE_MODULE in command and command[command.index("--port") + 1] == str(port):
                return command[command.index("--home") + 1]
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # already ended, or another user's
    return ""
