"""The benchmark of chunks: the structures it finds and the cuts it counts."""

import json
from pathlib import Path

import pytest

from benchmarks import chunks
from benchmarks.chunks import find_blocks, find_wholes

TEXT = """# Title

A sentence. These are the parts:

1. one

    code()

    more()

2. two

| a | b |
| c | d |

    call()  # (1)

Notes:

1. first
2. second"""


def test_blocks_are_found_by_their_first_line() -> None:
    """Code includes its blank lines; other blocks end at a blank line."""
    assert [(block.kind, TEXT[block.start : block.end].count("\n") + 1) for block in find_blocks(TEXT)] == [
        ("heading", 1),
        ("prose", 1),
        ("list", 1),
        ("code", 3),
        ("list", 1),
        ("table", 2),
        ("code", 1),
        ("prose", 1),
        ("list", 2),
    ]


def test_wholes_are_the_texts_that_a_cut_separates() -> None:
    """A list continues below the code of an item; an introduction is the last sentence with a colon."""
    found = [(whole.kind, TEXT[whole.start : whole.end]) for whole in find_wholes(TEXT)]

    assert ("list", "1. one\n\n    code()\n\n    more()\n\n2. two") in found
    assert ("code", "    code()\n\n    more()") in found
    assert ("table", "| a | b |\n| c | d |") in found
    assert ("introduction", "These are the parts:\n\n1. one") in found
    assert ("introduction", "Notes:\n\n1. first\n2. second") in found
    assert ("notes", TEXT[TEXT.index("    call()") :]) in found
    assert len(found) == 8


def test_figures_count_the_cuts_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A list that is too long for a chunk has one unavoidable cut, and a short one has none."""
    for name, items in (("even.md", 60), ("odd.md", 3)):
        rows = "\n".join(f"- item {n} of this list" for n in range(items))
        (tmp_path / name).write_text(f"# Title\n\nThese are the items:\n\n{rows}\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["chunks", str(tmp_path), "--json"])

    chunks.main()

    figures = json.loads(capsys.readouterr().out)
    counts = {half: figures[half]["cuts"]["list"] for half in ("even", "odd")}
    assert counts == {"even": {"places": 1, "cuts": 1, "avoidable": 0}, "odd": {"places": 1, "cuts": 0, "avoidable": 0}}
    assert (figures["even"]["chunks"], figures["odd"]["chunks"], figures["even"]["broken"]) == (2, 1, 2)
