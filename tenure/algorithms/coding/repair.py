"""Generate repair candidates for a failing program by spectrum-based fault localisation and mutation.

The suspicion of a line (Ochiai, Abreu et al. 2007) and the prior of the kind of edit rank the candidates: first all
single edits, then pairs of the best ones. Tests in the sandbox decide whether a candidate is correct.
"""

import ast
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

from tenure.algorithms.coding.mutation import (
    KIND_PRIORS,
    SCOPES,
    SourceEdit,
    apply_edits,
    generate_edits,
    normalize_source,
)
from tenure.algorithms.text.code_blocks import parse_python

MIN_SUSPICION = 0.05
"""Suspicion of lines that no failing test executed, since missing code may belong anywhere."""

MAX_PAIRED_EDITS = 90
"""Number of best edits that are combined into pairs."""


@dataclass(frozen=True)
class LineCoverage:
    """Lines of a file that a test executed."""

    lines: frozenset[int]
    """Line numbers, from 1."""
    passed: bool


@dataclass(frozen=True)
class ProgramCandidate:
    """Possibly repaired program."""

    path: str
    """Changed file."""
    original: str
    """Its text before the change."""
    edits: tuple[SourceEdit, ...]

    @property
    def source(self) -> str:
        """Changed text of the file."""
        return apply_edits(self.original, self.edits)

    @property
    def changes(self) -> tuple[str, ...]:
        """Description of each edit."""
        return tuple(_describe_edit(self.original, edit) for edit in self.edits)


def compute_ochiai(tests: Sequence[LineCoverage]) -> dict[int, float]:
    """Return the Ochiai suspicion of each line that a failing test executed, from 0 to 1.

    The suspicion of a line is f / √(F · (f + p)), with f of F failing tests and p passing tests that executed it.
    """
    failing = [test.lines for test in tests if not test.passed]
    passing = [test.lines for test in tests if test.passed]
    suspicion: dict[int, float] = {}
    for line in sorted(frozenset[int]().union(*failing)):
        f, p = sum(line in lines for lines in failing), sum(line in lines for lines in passing)
        suspicion[line] = f / math.sqrt(len(failing) * (f + p))
    return suspicion


def generate_candidates(
    sources: Mapping[str, str], suspicion: Mapping[str, Mapping[int, float]]
) -> Iterator[ProgramCandidate]:
    """Yield distinct candidates with one edit, then with two, the most promising first.

    Edits of lines that failing tests executed come first, whatever their file is; then file by file all others, and
    pairs. So only one large file has all its edits in memory.

    Args:
        sources: texts of the files that may be changed.
        suspicion: suspicion of executed lines by file.
    """
    executed = [
        (-_estimate_promise(edit, suspicion[path]), path, edit)
        for path, source in sources.items()
        if (lines := suspicion.get(path))
        for edit in generate_edits(source)
        if edit.line in lines
    ]
    executed.sort(key=lambda entry: entry[0])
    known = {path: _DistinctEdits(source) for path, source in sources.items()}
    for _, path, edit in executed:
        yield from known[path].build(path, (edit,))
    by_suspicion = sorted(sources, key=lambda path: -max(suspicion.get(path, {}).values(), default=0.0))
    # A file without an executed line comes last, and all its lines count equally.
    promises = {path: partial(_estimate_promise, suspicion=suspicion.get(path, {})) for path in by_suspicion}
    for path in by_suspicion:
        for edit in sorted(generate_edits(sources[path]), key=lambda edit: -promises[path](edit)):
            if edit.line not in suspicion.get(path, {}):
                yield from known[path].build(path, (edit,))
    for path in by_suspicion:
        promise = promises[path]
        best = sorted(generate_edits(sources[path]), key=lambda edit: -promise(edit))[:MAX_PAIRED_EDITS]
        apart = ((a, b) for a, b in combinations(best, 2) if not a.is_overlapping(b))
        for pair in sorted(apart, key=lambda pair: -promise(pair[0]) * promise(pair[1])):
            yield from known[path].build(path, pair)


def _estimate_promise(edit: SourceEdit, suspicion: Mapping[int, float]) -> float:
    """Return the product of prior and suspicion; without suspicion all lines count equally."""
    return KIND_PRIORS[edit.kind] * (max(suspicion.get(edit.line, 0.0), MIN_SUSPICION) if suspicion else 1.0)


class _DistinctEdits:
    """Builder of the candidates of a file, which leaves out those that are equal to the original or an earlier one.

    Programs are compared by the innermost functions, or statements of the module, that their edits change: comparing
    whole modules takes 0.1 to 0.3 s in files of 4,000 lines.
    """

    def __init__(self, source: str) -> None:
        self._source, self._data = source, source.encode()
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._pieces: dict[int, tuple[int, int]] = {}
        tree = parse_python(source)
        nodes = list(ast.walk(tree)) if tree else []
        pieces = [*(tree.body if tree else ()), *(node for node in nodes if isinstance(node, SCOPES))]
        for node in pieces:  # inner functions come after outer ones
            span = (self._starts[node.lineno - 1], self._starts[node.end_lineno or node.lineno])
            self._pieces |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), span)
        self._known: set[tuple[tuple[int, str], ...]] = set()

    def build(self, path: str, edits: tuple[SourceEdit, ...]) -> Iterator[ProgramCandidate]:
        """Yield the candidate with some edits, unless it is known."""
        original = {self._normalize(edit, ()) for edit in edits}
        form = tuple(sorted({self._normalize(edit, edits) for edit in edits} - original))
        if not form or form in self._known:
            return
        self._known.add(form)
        yield ProgramCandidate(path, self._source, edits)

    def _normalize(self, edit: SourceEdit, edits: tuple[SourceEdit, ...]) -> tuple[int, str]:
        start, end = self._pieces.get(edit.line, (0, len(self._data)))
        if not start <= edit.start <= edit.end <= end:
            start, end = 0, len(self._data)
        inside = [
            replace(other, start=other.start - start, end=other.end - start)
            for other in edits
            if start <= other.start <= other.end <= end
        ]
        piece = self._data[start:end].decode()
        return start, normalize_source(textwrap.dedent(apply_edits(piece, inside)))


def _describe_edit(source: str, edit: SourceEdit) -> str:
    before = " ".join(source.encode()[edit.start : edit.end].decode().split())
    after = " ".join(edit.text.split())
    return f"line {edit.line}: `{before}` became `{after}`" if before else f"line {edit.line}: `{after}` was added"
