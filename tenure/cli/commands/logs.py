"""Command `logs`: print the end of the logs of the local stack."""

import os
import sys
import time
from pathlib import Path

from tenure.cli.terminal import print_line, print_note, print_text
from tenure.installation import PROGRAM
from tenure.runs.errors import TenureError
from tenure.settings.home import HomeSettings
from tenure.temporal.stack import local, local_model, site
from tenure.temporal.stack.processes import read_tail

POLL_SECONDS = 0.5
"""Pause between two looks at a log that is followed."""


def show_logs(settings: HomeSettings, part: str, lines: int, follow: bool) -> None:
    """Print the last lines of the log of a part, and with `follow` what is added to it until Ctrl-C.

    Raises:
        TenureError: there is no log.
    """
    log = {
        "worker": local.get_worker_log,
        "page": site.get_site_log,
        "temporal": local.get_server_log,
        "model": local_model.get_model_log,
    }[part](settings.home)
    if not log.is_file():
        raise TenureError(f"there is no log of the {part} in {settings.home}: `{PROGRAM} up` starts the local stack")
    print_note(str(log))
    before = log.stat()
    for line in read_tail(log, lines):
        print_line(line)
    if follow:
        sys.stdout.flush()
        _follow(log, before)


def _follow(log: Path, seen: os.stat_result) -> None:
    """Print lines of a log after a state of it; a log that was rotated is read from its beginning."""
    position = seen.st_size
    while True:
        time.sleep(POLL_SECONDS)
        now = log.stat()
        if now.st_ino != seen.st_ino or now.st_size < position:
            position = 0
        seen = now
        with log.open("rb") as file:
            file.seek(position)
            added = file.read()
        position += len(added)
        if added:
            print_text(added.decode("utf-8", "replace"))
            sys.stdout.flush()
