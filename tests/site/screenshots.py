"""Refresh the screenshots of the manual: `python -m tests.site.screenshots`."""

import os
import sys

import pytest

from tests.site.test_screenshots import FOLDER_VARIABLE, IMAGES
from tests.site.test_screenshots import __file__ as test_file

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    os.environ[FOLDER_VARIABLE] = str(IMAGES)
    sys.exit(pytest.main(["-n", "0", "--slow", "-q", test_file]))
