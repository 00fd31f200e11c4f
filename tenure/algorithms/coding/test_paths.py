"""Tell files of tests from those of the program, by their paths."""

import re
from typing import Final

# tests/data/a.txt, src/pkg/tests/test_a.py, spec/models/a_spec.rb, __tests__/a.js, testdata/a.golden
_FOLDERS: Final = frozenset(("test", "tests", "testing", "testdata", "test_data", "spec", "specs", "__tests__", "e2e"))
# test_a.py, a_test.go, a.test.ts, a.spec.js, ATest.java, ATests.cs, conftest.py, a_spec.rb
_FILE: Final = re.compile(
    r"(?:test_.+|.+_tests?|.+[._-](?:test|spec)s?|conftest|tests)\.[a-z]{1,4}x?|.+(?:Test|Tests|TestCase|Spec)\.[a-z]{2,6}"
)


def is_test_path(path: str) -> bool:
    """Return whether a path is that of a file of tests, or of their data."""
    *folders, name = path.split("/")
    return any(folder.lower() in _FOLDERS for folder in folders) or _FILE.fullmatch(name) is not None
