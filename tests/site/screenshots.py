"""Refresh the screenshots of the manual: `python -m tests.site.screenshots`."""

import os
import sys

import pytest

from tests.site.test_screenshots import FOLDER_VARIABLE, IMAGES, test_a_run_without_a_model_is_shown
from tests.site.test_screenshots import __file__ as test_file

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    os.environ[FOLDER_VARIABLE] = str(IMAGES)
    # A test that is named runs in any tier.
    sys.exit(pytest.main(["-n", "0", "-q", f"{test_file}::{test_a_run_without_a_model_is_shown.__name__}"]))
