"""Tests of the notebook parser."""

import json

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.notebook import parse_notebook

CELLS = [
    {"cell_type": "markdown", "source": ["# A study\n", "\n", "Some *words*."]},
    {
        "cell_type": "code",
        "source": "print('```')\nx = 1",
        "outputs": [
            {"output_type": "stream", "text": ["```\n"]},
            {"output_type": "execute_result", "data": {"text/plain": ["42"], "image/png": "iVBORw0KGgo"}},
            {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo"}},
            {"output_type": "error", "traceback": ["\x1b[31mZeroDivisionError\x1b[0m", "division"]},
            "nonsense",
        ],
    },
    {"cell_type": "raw", "source": "as it is"},
    {"cell_type": "code", "source": ""},
    "nonsense",
]


def test_text_code_and_output_are_parsed() -> None:
    """Cells are in order, without images and without the colours of errors."""
    document = parse_notebook(json.dumps({"cells": CELLS, "metadata": {"authors": [{"name": "Ann Lee"}, 1]}}))

    assert document.text == (
        "# A study\n\nSome words.\n\n    print('```')\n    x = 1\n\n    ```\n\n    42\n\n"
        "    ZeroDivisionError\n    division\n\n    as it is"
    )
    assert (document.title, document.author) == ("A study", "Ann Lee")


def test_notebooks_of_old_versions_are_parsed() -> None:
    """Version 3 has worksheets, heading cells, and another field for code."""
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "x", "outputs": [{"output_type": "pyout", "text": "1"}]},
    ]

    document = parse_notebook(json.dumps({"worksheets": [{"cells": cells}], "metadata": {"title": "Named"}}))

    assert (document.title, document.text) == ("Named", "## Old\n\n    x\n\n    1")


def test_long_output_is_truncated() -> None:
    """Endless output is stored in part."""
    cell = {"cell_type": "code", "source": "go()", "outputs": [{"text": "line\n" * 100_000}]}

    assert len(parse_notebook(json.dumps({"cells": [cell]})).text) < 20_000


@pytest.mark.parametrize("text", ["", "{", "[]", "1"])
def test_other_json_is_unreadable(text: str) -> None:
    """Other JSON and other text are unreadable."""
    with pytest.raises(Unreadable, match="is not a valid notebook"):
        parse_notebook(text)
