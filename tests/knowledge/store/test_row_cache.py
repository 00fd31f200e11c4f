"""Test the cache of rows."""

from tenure.knowledge.store.row_cache import RowCache

A, B, C = ({"id": name} for name in "abc")


def test_the_oldest_rows_make_room_for_new_ones() -> None:
    """A cache never exceeds its limit, even after a larger addition."""
    cache = RowCache(max_rows=2)

    cache.add(1, {"a": A, "b": B})
    assert cache.select(1, ["b", "c", "a"]) == {"a": A, "b": B}
    cache.add(1, {"c": C})
    assert cache.select(1, ["a", "b", "c"]) == {"b": B, "c": C}
    cache.add(2, {"a": A, "b": B, "c": C})
    assert cache.select(2, ["a", "b", "c"]) == {"b": B, "c": C}


def test_rows_belong_to_one_version() -> None:
    """Rows of another version are unknown, and dropped as soon as newer rows are added."""
    cache = RowCache()

    cache.add(1, {"a": A})
    assert cache.select(2, ["a"]) == {}
    cache.add(2, {"b": B})
    assert cache.select(2, ["a", "b"]) == {"b": B}
    assert cache.select(1, ["a", "b"]) == {}
