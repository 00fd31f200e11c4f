"""Start and replace the process of the page, which is part of the stack unless it is turned off.

A page never prevents runs: whatever hinders it becomes a note. No page is started for a home with owners, because it
would act for the owner who started it.
"""

import errno
import os
import socket
import sys
from pathlib import Path
from typing import Final

from tenure.installation import PROGRAM, PROGRAM_VARIABLE
from tenure.settings import Settings
from tenure.temporal.gate.access_key import HOST
from tenure.temporal.stack import processes
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.fingerprint import build_site_environment, compute_site_state
from tenure.temporal.stack.record import SiteRecord, StackRecord, save
from tenure.temporal.stack.server import describe_listener

SITE_GRACE_SECONDS: Final = 5.0
"""Time that the page gets to end."""


def get_site_log(home: Path) -> Path:
    """Return the path of the log of the page."""
    return home.absolute() / "logs" / "site.log"


def ensure_site(
    settings: Settings, external: str | None, record: StackRecord, root: Path, notes: list[str]
) -> StackRecord:
    """Return a record whose page runs the current code with the current settings, as far as possible."""
    address = external or f"{HOST}:{settings.temporal_port}"
    state = compute_site_state(settings, address, record.source)
    site = record.site
    if site and site.process.pid == os.getppid():
        return record  # this process is the page, and has the settings that it is called with
    is_enabled = settings.site_port > 0 and not settings.owners
    if site and is_enabled and processes.is_alive(site.process) and site.state == state:
        return record
    try:
        if site:
            if not processes.stop(site.process, SITE_GRACE_SECONDS) and is_enabled:
                last = processes.read_last_line(get_site_log(settings.home))
                notes.append(f"the page had ended and was restarted; its last log line: {last}")
            record = record.model_copy(update={"site": None})
        if is_enabled:
            record = record.model_copy(update={"site": _start(settings, root, state, notes)})
    except StackError as error:
        notes.append(f"the page is not served: {error}")
    if record.site != site:
        save(settings.home.absolute(), record)
    return record


def _start(settings: Settings, root: Path, state: str, notes: list[str]) -> SiteRecord | None:
    """Start the process, or return None if its port is taken.

    Raises:
        StackError: the process cannot be started.
    """
    port, home = settings.site_port, settings.home.absolute()
    changes = build_site_environment(settings)
    environment = {name: value for name, value in os.environ.items() if name not in changes}
    environment |= {name: value for name, value in changes.items() if value is not None}
    environment |= {"TENURE_HOME": str(home), "PYTHONPATH": str(root), PROGRAM_VARIABLE: PROGRAM}
    try:
        # Opened here, so that the link of the page works immediately.
        listener = socket.create_server((HOST, port))
    except OSError as error:
        owner = f"taken by {describe_listener(port)}" if error.errno == errno.EADDRINUSE else error.strerror
        notes.append(
            f"the page is not served: port {port} is {owner}; set TENURE_SITE_PORT to a free port, or to 0 for no page"
        )
        return None
    with listener:
        descriptor = listener.fileno()
        # Without the working directory on the import path: it is the home.
        command = [sys.executable, "-P", "-m", processes.SITE_MODULE, str(descriptor)]
        process = processes.spawn(command, environment, home, get_site_log(home), [descriptor])
    return SiteRecord(process=process, port=port, state=state)
