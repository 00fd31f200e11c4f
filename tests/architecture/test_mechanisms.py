"""The pages of mechanisms and of the architecture name code and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mechanisms.md"
# A row of the page: | mechanism | `path::name` or `path` | `path::test` | effect |
_ROW = re.compile(r"^\| [^|]+ \| `(\S+?\.py)(?:::(\w+))?` \| `(\S+\.py)::(test_\w+)` \| [^|]+ \|$", re.MULTILINE)


def test_every_mechanism_has_its_code_and_its_test() -> None:
    """Every row names a definition of the product and a test function."""
    rows = _ROW.findall(page := PAGE.read_text(encoding="utf-8"))
    headers = page.count("| mechanism | code | test | effect |")

    assert len(rows) == page.count("\n|") - 2 * headers > 40
    wrong = [
        (path, name)
        for code, definition, test, function in rows
        for path, name in ((code, definition), (f"tests/{test}", function))
        if not (ROOT / path).is_file() or not defines((ROOT / path).read_text(encoding="utf-8"), name)
    ]
    assert not wrong


def defines(source: str, name: str) -> bool:
    """Return whether a module defines a function, a class or a constant; an empty name stands for the module."""
    return not name or bool(re.search(rf"^(?:(?:async )?def|class) {name}\b|^{name}(?::| =)", source, re.MULTILINE))


def test_names_of_the_architecture_exist() -> None:
    """Every `path::name` that the page of the architecture points to is defined."""
    names = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))

    assert len(names) > 80
    assert not [f"{path}::{name}" for path, name in names if not defines((ROOT / path).read_text("utf-8"), name)]
