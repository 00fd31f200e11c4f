"""Generate repair candidates for a failing program by spectrum-based fault localisation and mutation.

The suspicion of a line (Ochiai, Abreu et al. 2007) and the prior of the kind of edit rank the candidates: first all
single edits, then pairs of the best ones. Tests in the sandbox decide whether a candidate is correct.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tenure.algorithms.coding.mutation import KIND_PRIORS, SourceEdit, apply_edits, generate_edits, normalize_source

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

    source: str
    edits: tuple[SourceEdit, ...]
    changes: tuple[str, ...]
    """Description of each edit."""


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


def generate_candidates(source: str, suspicion: Mapping[int, float]) -> Iterator[ProgramCandidate]:
    """Yield distinct candidates with one edit, then with two, the most promising first; suspicion is by line."""

    def estimate_promise(*edits: SourceEdit) -> float:
        """Return the product of priors and suspicion; without suspicion all lines count equally."""
        return math.prod(
            KIND_PRIORS[edit.kind] * (max(suspicion.get(edit.line, 0.0), MIN_SUSPICION) if suspicion else 1.0)
            for edit in edits
        )

    known = {normalize_source(source)}
    edits = sorted(generate_edits(source), key=lambda edit: -estimate_promise(edit))
    apart = ((a, b) for a, b in combinations(edits[:MAX_PAIRED_EDITS], 2) if not a.is_overlapping(b))
    pairs = sorted(apart, key=lambda pair: -estimate_promise(*pair))
    for group in (*((edit,) for edit in edits), *pairs):
        changed = apply_edits(source, group)
        form = normalize_source(changed)
        if form not in known:
            known.add(form)
            yield ProgramCandidate(changed, group, tuple(_describe_edit(source, edit) for edit in group))


def _describe_edit(source: str, edit: SourceEdit) -> str:
    before = " ".join(source.encode()[edit.start : edit.end].decode().split())
    after = " ".join(edit.text.split())
    return f"line {edit.line}: `{before}` became `{after}`" if before else f"line {edit.line}: `{after}` was added"
