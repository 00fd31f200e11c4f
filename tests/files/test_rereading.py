"""Tests of reading the texts of files on disk."""

from pathlib import Path

from tenure.files.rereading import MAX_TEXT_BYTES, read_texts


def test_only_readable_texts_are_read(tmp_path: Path) -> None:
    """Binary, very large, missing and linked files, other encodings and relative paths are left out."""
    contents = {
        "good.md": b"one\r\ntwo",
        "binary.dat": b"a\0b",
        "latin.txt": b"caf\xe9",
        "large.txt": b"x" * (MAX_TEXT_BYTES + 1),
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link.md").symlink_to(tmp_path / "good.md")
    paths = [str(tmp_path / name) for name in (*contents, "link.md", "gone.md")]

    assert read_texts([*paths, "good.md", "https://example.org/good.md"]) == {paths[0]: "one\r\ntwo"}
