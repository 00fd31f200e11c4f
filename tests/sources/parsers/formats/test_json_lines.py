"""Tests of the parser of JSON lines, and of the choice between table and text."""

import json
from pathlib import Path

import pytest

from tenure.sources.parsers.formats.json_lines import parse_json_lines
from tenure.sources.parsers.parse import parse_file
from tests.architecture.text_functions import TextFunction

CHAT = [{"messages": [{"role": "user", "content": f"Which oven, {n}?"}, {"content": "Hot."}]} for n in range(300)]


def write(folder: Path, records: list[object]) -> Path:
    """Write records, one a line."""
    path = folder / "a.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_records_are_lines_of_names_and_values() -> None:
    """Nested values have the names that lead to them, and a damaged line stays."""
    text = '{"a": {"b": [1, true, null, ""]}, "c": "We ship."}\n["x"]\n"y"\n\n{"a": 1'

    assert parse_json_lines(text).text == 'a b: 1\na b: true\nc: We ship.\n\nx\n\ny\n\n{"a": 1'


def test_uniform_records_are_a_table(tmp_path: Path) -> None:
    """Single values that most records have are described like the rows of a table."""
    assert "The table a has 2 rows" in parse_file(write(tmp_path, [{"a": 1, "b": "x"}, {"a": 2}])).text


@pytest.mark.parametrize(
    "records",
    [
        CHAT,
        [{"a": n} if n % 3 else {"b": "Which oven, 299?"} for n in range(300)],
        [{"text": f"Which oven, {n}? {'Words. ' * 40}"} for n in range(300)],
    ],
)
def test_other_records_are_read_to_the_end(tmp_path: Path, records: list[object]) -> None:
    """Nested values, records of different forms and long texts are text, of which a description has only a part."""
    text = parse_file(write(tmp_path, records)).text

    assert "Which oven, 299?" in text
    assert "The table" not in text


@pytest.mark.parametrize("piece", ["[", '{"a":', '{"a": 1}\n', '["a"]\n', "a\n"])
def test_time_grows_with_length(piece: str) -> None:
    """A text of one repeated piece is read in proportional time."""
    assert not TextFunction(parse_json_lines).is_slow(piece)
