"""Tests of the map of a repository."""

import time

from tenure.algorithms.chunking.chunking import estimate_tokens
from tenure.algorithms.coding.code_map import MapFile, build_map, rank_symbols
from tenure.algorithms.coding.symbols import CodeSymbol


def define(name: str, line: int = 1, kind: str = "function") -> CodeSymbol:
    """Return a symbol of one line."""
    return CodeSymbol(name, name, kind, f"def {name}()", line, line)


FILES = [
    MapFile("core.py", [define("parse_header"), define("split_fields", 5)], []),
    MapFile("api.py", [define("handle_request")], [("parse_header", 4)]),
    MapFile("tests/test_core.py", [define("test_parse")], [("parse_header", 9), ("split_fields", 2)]),
    MapFile("other.py", [define("draw_window")], []),
]


def test_files_that_the_task_leads_to_come_first() -> None:
    """A file is ranked by the references of the files at which the search for the task starts."""
    drawn = build_map(FILES, "handle_request returns the wrong code", {"api.py": 3.0}, 200, estimate_tokens)

    names = [line.split(" (")[0] for line in drawn.text.splitlines() if not line.startswith(" ")]
    assert names[:2] == ["api.py", "core.py"]
    assert "  1: def parse_header()" in drawn.text


def test_mentioned_symbol_ranks_above_its_neighbours() -> None:
    """A symbol whose name is in the task precedes a symbol with more references."""
    _, symbols = rank_symbols(FILES, "split_fields loses a field", {})

    assert symbols["core.py", "split_fields"] > symbols["core.py", "parse_header"]


def test_map_keeps_its_budget() -> None:
    """The text never has more tokens than allowed, and more room shows more."""
    files = [MapFile(f"m{n}.py", [define(f"name_{n}_{k}", k) for k in range(30)], []) for n in range(50)]
    maps = [build_map(files, "", {}, size, estimate_tokens) for size in (100, 1_000, 5_000)]

    assert all(estimate_tokens(drawn.text) <= size for drawn, size in zip(maps, (100, 1_000, 5_000), strict=True))
    assert maps[0].shown < maps[1].shown < maps[2].shown


def test_map_is_the_same_in_any_order_of_the_files() -> None:
    """Equal ranks are ordered by path."""
    assert build_map(FILES, "fields", {}, 500, estimate_tokens) == build_map(
        FILES[::-1], "fields", {}, 500, estimate_tokens
    )


def test_repository_without_code_has_an_empty_map() -> None:
    """Nothing is drawn, and nothing fails."""
    assert build_map([], "task", {}, 100, estimate_tokens).shown == 0


def test_time_is_proportional_to_the_references() -> None:
    """Names that very many files define do not multiply the edges."""

    def measure(count: int) -> float:
        files = [
            MapFile(f"m{n}.py", [define("run"), define(f"own_{n}")], [("run", 3), (f"own_{n // 2}", 1)])
            for n in range(count)
        ]
        start = time.process_time()
        build_map(files, "run own", {}, 1_000, estimate_tokens)
        return time.process_time() - start

    assert measure(8_000) < 24 * max(measure(1_000), 0.02)
