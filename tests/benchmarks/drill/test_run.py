"""Test the plan of the drill, its verdict, and whole runs in their short form."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.drill import build_table, is_passed
from benchmarks.support.drill.accounting import RowDifferences
from benchmarks.support.drill.faults import DrillFault, Struck, damage_file, list_faults
from benchmarks.support.drill.run import Outcome, plan_runs
from benchmarks.support.drill.world import RunKind, World
from tests.support.tiers import exhaustive

ROOT = Path(__file__).parents[3]
CALLS: dict[RunKind, int] = {"research": 20, "code": 4}


def run_drill(*arguments: str) -> dict[str, Any]:
    """Run the drill as a process and return its results."""
    command = [sys.executable, "-m", "benchmarks.drill", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1100)
    assert done.stdout, done.stderr
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])  # after warnings of the SDK
    assert results["passed"], done.stderr
    return results


def test_a_plan_depends_only_on_its_seed() -> None:
    """The same seed gives the same faults at the same moments, another one gives others."""
    faults = list_faults()
    one, same, other = (plan_runs(seed, 10, 50, faults, CALLS) for seed in (1, 1, 2))

    assert one == same != other


def test_faults_are_spread_over_runs_that_they_can_strike() -> None:
    """Every fault comes before any comes again, longer runs get more of them, and moments are in order."""
    faults = list_faults()
    plans = plan_runs(1, 40, 200, faults, CALLS)
    planned = Counter(one.fault.name for _, plan in plans for one in plan)

    assert (planned.total(), set(planned)) == (200, {fault.name for fault in faults})
    assert all(kind in one.fault.kinds for kind, plan in plans for one in plan)
    assert {len(plan) for kind, plan in plans if kind == "research"} <= {5, 6, 7}
    assert {len(plan) for kind, plan in plans if kind == "code"} <= {2, 3}
    for _, plan in plans:
        assert sum(one.fault.moment in ("ingest", "reader") for one in plan) <= 1
    for kind, plan in plans:
        moments = [one.requests for one in plan]
        assert moments == sorted(moments)
        assert all(1 <= moment <= CALLS[kind] - 2 for moment in moments)


def test_names_of_faults_are_unique() -> None:
    """The table has one row for each name."""
    assert max(Counter(fault.name for fault in list_faults()).values()) == 1


def test_one_failed_run_fails_the_drill() -> None:
    """A drill has passed only if all runs have finished, without repetitions, changed rows and problems."""

    def outcome(**changes: Any) -> Outcome:
        return Outcome(1, "research", **{"finished": True, "struck": [("worker: kill", 4.0)], **changes})

    bad: list[dict[str, Any]] = [
        {"finished": False},
        {"repeated": 1},
        {"rows": RowDifferences(lost=1)},
        {"problem": "accepted"},
    ]

    assert is_passed([outcome(), outcome()])
    assert not any(is_passed([outcome(), outcome(**changes)]) for changes in bad)


def test_the_table_has_a_row_for_each_fault_and_one_for_all() -> None:
    """Times are medians and maxima over all strikes; counts are sums over the runs."""
    one = Outcome(1, "research", finished=True, struck=[("a", 2.0), ("a", 4.0), ("b", None)])
    two = Outcome(2, "research", repeated=2, struck=[("a", 9.0)])
    first, second, everything = build_table([one, two])

    assert (first["fault"], first["times"], first["finished"], first["repeated"]) == ("a", 3, 2, 2)
    assert (first["median s"], first["max s"], second["median s"]) == (4.0, 9.0, None)
    assert (everything["times"], everything["repeated"], everything["max s"]) == (4, 2, 9.0)


def test_the_table_may_have_a_row_for_each_part() -> None:
    """The part is the text of a fault's name up to the colon."""
    one = Outcome(1, "research", finished=True, struck=[("worker: kill", 2.0), ("worker: stop", 4.0)])

    assert [row["fault"] for row in build_table([one], by_part=True)] == ["worker", "all, in 1 runs"]


def test_a_damaged_file_differs(tmp_path: Path) -> None:
    """Damage either truncates a file or inverts bits in it, and never leaves it as it was."""
    path, sizes = tmp_path / "file", set()
    for seed in range(20):
        path.write_bytes(bytes(1000))
        damage_file(path, Random(seed))
        assert path.read_bytes() != bytes(1000)
        sizes.add(path.stat().st_size)

    assert sizes == {500, 1000}


async def test_a_fault_may_come_from_another_drill() -> None:
    """A drill of upgrades adds faults of its own to the plan."""

    async def upgrade(world: World, chance: Random) -> Struck:
        return Struck(0.0)

    ((_, plan),) = plan_runs(1, 1, 2, [DrillFault("upgrade", upgrade)], CALLS)

    assert [one.fault.name for one in plan] == ["upgrade", "upgrade"]


@exhaustive  # `tests/system/test_coding_durability.py` strikes in the same way
@pytest.mark.timeout(600)
def test_a_run_survives_a_kill_of_its_worker() -> None:
    """A program is written and tested although the worker is killed; no finished call is repeated."""
    results = run_drill("--runs", "1", "--faults", "1", "--only", "worker: kill", "--kind", "code")

    assert results["table"][0]["times"] == 1


@exhaustive
@pytest.mark.timeout(1200)
def test_runs_survive_one_of_each_fault() -> None:
    """Every fault that this machine can produce strikes once; all runs finish with the rows of undisturbed ones."""
    results = run_drill("--runs", "10", "--faults", str(len(list_faults())), "--seed", "3", "--worlds", "4")

    assert results["table"][-1]["times"] >= 40
