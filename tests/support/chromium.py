"""Locate the machine's Chromium for browser tests."""

import os
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Path of the browser, or None if none is installed."""

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and "TENURE_REQUIRE_BROWSER" not in os.environ,
    reason="no Chromium on this machine: `apt-get install chromium` installs it",
)
"""Mark that skips a test without a browser; with `TENURE_REQUIRE_BROWSER` set, as in .ci/run, it fails instead."""
