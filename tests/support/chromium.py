"""Locate the machine's Chromium for browser tests."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from tenure.sandbox.launcher import UNPRIVILEGED_ID

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Path of the browser, or None if none is installed."""

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and "TENURE_REQUIRE_BROWSER" not in os.environ,
    reason="no Chromium on this machine: `apt-get install chromium` installs it",
)
"""Mark that skips a test without a browser; with `TENURE_REQUIRE_BROWSER` set, as in .ci/run, it fails instead."""

_AS_ORDINARY_USER = """#!/bin/sh
# Give the profile to the user, and start the browser as that user: its own sandbox does not work for root.
for argument in "$@"; do
    case "$argument" in --user-data-dir=*) HOME="${{argument#*=}}"; chown -R {user}:{user} "$HOME";; esac
done
export HOME
exec setpriv --reuid={user} --regid={user} --clear-groups --inh-caps=-all {browser} "$@"
"""


def find_browser(folder: Path) -> Path:
    """Return a browser that this user can start with its own sandbox: for root, a script that becomes another user."""
    assert CHROMIUM is not None
    if os.geteuid() != 0:
        return Path(CHROMIUM)
    script = folder / "chromium"
    script.write_text(_AS_ORDINARY_USER.format(user=UNPRIVILEGED_ID, browser=shlex.quote(CHROMIUM)), encoding="utf-8")
    script.chmod(0o755)
    return script
