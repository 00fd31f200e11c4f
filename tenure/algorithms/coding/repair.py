"""Classical program repair: which edits of a failing program are tried, and in which order.

Fault localisation says where (Ochiai over the lines that failing and passing tests ran), the kind of an
edit says how likely the mistake is, and first all single edits come, then pairs of the most promising
ones. Whether a candidate is any good only the tests decide, in the sandbox.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tenure.algorithms.coding.mutation import PRIOR, Edit, applied, edits, normal_form

UNTOUCHED = 0.05
"""Suspicion of a line that no failing test ran: what is missing may be missing anywhere."""

PAIRED = 90
"""Edits from which pairs are made: the first ones."""


@dataclass(frozen=True)
class Covered:
    """The lines of one file that one test ran."""

    lines: frozenset[int]
    """The lines, from 1."""
    passed: bool
    """Whether the test passed."""


@dataclass(frozen=True)
class Candidate:
    """A program that may be the repaired one."""

    source: str
    """Its source."""
    edits: tuple[Edit, ...]
    """What makes it of the failing one."""
    changes: tuple[str, ...]
    """What was changed, in words."""


def ochiai(tests: Sequence[Covered]) -> dict[int, float]:
    """Return the suspicion of every line that a failing test ran, from 0 to 1: Ochiai's coefficient.

    Suspicion of a line is f / √(F · (f + p)) with f of F failing tests and p passing tests that ran it.
    """
    failing = [test.lines for test in tests if not test.passed]
    passing = [test.lines for test in tests if test.passed]
    suspicion: dict[int, float] = {}
    for line in sorted(frozenset[int]().union(*failing)):
        f, p = sum(line in lines for lines in failing), sum(line in lines for lines in passing)
        suspicion[line] = f / math.sqrt(len(failing) * (f + p))
    return suspicion


def ordered(source: str, suspicion: Mapping[int, float]) -> list[Edit]:
    """Return the edits of a source, the most promising first; without any suspicion every line is as good."""
    return sorted(edits(source), key=lambda edit: -_promise(edit, suspicion))


def candidates(source: str, suspicion: Mapping[int, float], tried: Collection[str] = ()) -> Iterator[Candidate]:
    """Yield programs one edit away, then programs two edits away, each program once and none that was tried.

    Args:
        source: the failing program.
        suspicion: of its lines.
        tried: normal forms of programs that are known to fail.
    """
    known = {normal_form(source), *tried}
    found = ordered(source, suspicion)
    for group in (*((edit,) for edit in found), *_pairs(found[:PAIRED], suspicion)):
        changed = applied(source, group)
        form = normal_form(changed)
        if form not in known:
            known.add(form)
            yield Candidate(changed, group, tuple(_words(source, edit) for edit in group))


def _pairs(found: Sequence[Edit], suspicion: Mapping[int, float]) -> list[tuple[Edit, Edit]]:
    """Return pairs that can be made together, the most promising first."""
    apart = [(a, b) for a, b in combinations(found, 2) if not a.overlaps(b)]
    return sorted(apart, key=lambda pair: -_promise(pair[0], suspicion) * _promise(pair[1], suspicion))


def _promise(edit: Edit, suspicion: Mapping[int, float]) -> float:
    return PRIOR[edit.kind] * (max(suspicion.get(edit.line, 0.0), UNTOUCHED) if suspicion else 1.0)


def _words(source: str, edit: Edit) -> str:
    """Say what an edit changes."""
    before = " ".join(source.encode()[edit.start : edit.end].decode().split())
    after = " ".join(edit.text.split())
    return f"line {edit.line}: `{before}` became `{after}`" if before else f"line {edit.line}: `{after}` was added"
