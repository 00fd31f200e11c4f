"""Hold the symbols and references of one state of a repository in memory."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from tenure.algorithms.coding.symbols import CodeSymbol


class StateFile(NamedTuple):
    """A file of a state of a repository."""

    path: str
    blob: str
    """Hash of its content."""


class IndexedFile(NamedTuple):
    """A file of the index."""

    path: str
    reason: str
    """Reason for which it is not indexed; empty if it is."""
    symbols: tuple[CodeSymbol, ...]
    references: str
    """A line for each name, with the numbers of its lines: `name 1 5 9`; the text begins with a line break."""

    def find_lines(self, name: str) -> tuple[int, ...]:
        """Return the lines that refer to a name."""
        start = self.references.find(f"\n{name} ")
        if start < 0:
            return ()
        start += len(name) + 2
        return tuple(map(int, self.references[start : self.references.find("\n", start)].split()))

    def count_references(self) -> Iterator[tuple[str, int]]:
        """Yield the names that the file refers to, with the number of lines."""
        for line in self.references.splitlines():
            name, _, lines = line.partition(" ")
            yield name, lines.count(" ") + 1


class Definition(NamedTuple):
    """A symbol and its file."""

    path: str
    symbol: CodeSymbol


class CodeSnapshot:
    """Symbols and references of the files of a state; immutable."""

    def __init__(self, files: Mapping[str, IndexedFile]) -> None:
        """Keep the files by their keys in the index."""
        self.files = files

    @cached_property
    def by_path(self) -> Mapping[str, IndexedFile]:
        """Files by their paths."""
        return {file.path: file for file in self.files.values()}

    @cached_property
    def definitions(self) -> Mapping[str, tuple[Definition, ...]]:
        """Definitions by the names of their symbols."""
        by_name: defaultdict[str, list[Definition]] = defaultdict(list)
        for file in self.files.values():
            for symbol in file.symbols:
                by_name[symbol.name].append(Definition(file.path, symbol))
        return {name: tuple(definitions) for name, definitions in by_name.items()}

    def find_references(self, name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the paths of the files that refer to a name, with the lines."""
        for file in self.files.values():
            if lines := file.find_lines(name):
                yield file.path, lines


def load_indexed_file(row: Mapping[str, Any]) -> IndexedFile:
    """Return a stored row as a file."""
    symbols = tuple(CodeSymbol(*symbol) for symbol in json.loads(row["symbols"]))
    return IndexedFile(row["path"], row["reason"], symbols, f"\n{row['references']}")
