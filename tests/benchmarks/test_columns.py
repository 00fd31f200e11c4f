"""Test the table of figures."""

from benchmarks.support.columns import format_columns


def test_the_table_has_a_column_for_each_system() -> None:
    """Columns are as wide as the names of the systems, and lines begin with the names of the figures."""
    table = format_columns({"HTTP": {"call_p50_ms": 1.5}, "a system with a name": {"call_p50_ms": 20.0}})

    head, line = table.splitlines()
    assert head.split(maxsplit=1) == ["HTTP", "a system with a name"]
    assert line.split() == ["call", "p50", "ms", "1.5", "20.0"] and len(head) == len(line)
