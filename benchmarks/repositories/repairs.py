"""Compare the repairs of seeded faults with the originals.

Half of the faults, those with an odd place in their file, are for development; figures of the others count.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.repositories.clones import apply_patch, check_out, find_clone, list_patched_files
from benchmarks.repositories.instances import Instance
from tenure.algorithms.coding.mutation import normalize_source

Outcome = Literal["identical", "different, all tests pass", "wrong", "none"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("identical", "different, all tests pass", "wrong", "none")
"""Outcomes of a fault: the program is the original one again; another one passes all tests; the patch does not make
them pass; or there is no patch."""


def compare_repair(instance: Instance, patch: str, clones: Path, *, resolved: bool) -> Outcome:
    """Return the outcome of a fault by the patch and the verdict of its tests."""
    if not patch.strip():
        return "none"
    if not resolved:
        return "wrong"
    clone = find_clone(clones, instance.repo)
    original, repaired = (_apply(instance, text, clone) for text in (instance.patch, patch))
    return "identical" if original == repaired else "different, all tests pass"


def _apply(instance: Instance, patch: str, clone: Path) -> dict[str, str]:
    """Return the syntax of the files that a patch changes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "files"
        check_out(clone, instance.base_commit, folder)
        apply_patch(folder, patch)
        return {path: normalize_source((folder / path).read_text()) for path in list_patched_files(patch)}


def sum_repairs(
    instances: Sequence[Instance], outcomes: Mapping[str, Outcome], seconds: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Return the figures of both halves and of all faults that were tried."""
    halves = {"development": instances[::2], "others": instances[1::2], "all": instances}
    return {name: _sum([one.instance_id for one in half], outcomes, seconds) for name, half in halves.items()}


def _sum(ids: Sequence[str], outcomes: Mapping[str, Outcome], seconds: Mapping[str, float]) -> dict[str, Any]:
    tried = [name for name in ids if name in outcomes]
    counts: dict[str, int] = {outcome: sum(outcomes[name] == outcome for name in tried) for outcome in OUTCOMES}
    repaired = counts["identical"] + counts["different, all tests pass"]
    spent = sorted(seconds[name] for name in tried)
    return {
        "faults": len(tried),
        "repaired": repaired,
        **counts,
        "median_seconds": spent[len(spent) // 2] if spent else 0.0,
    }


def read_repairs(folder: Path, instances: Sequence[Instance], clones: Path) -> dict[str, tuple[Outcome, float]]:
    """Return outcome and seconds of each fault with a verdict, from the folder of a system of `benchmarks.swebench`."""
    verdicts = json.loads((folder / "verdicts.json").read_text())
    repairs = {}
    for instance in instances:
        if instance.instance_id in verdicts:
            attempt = json.loads((folder / instance.instance_id / "attempt.json").read_text())
            resolved = verdicts[instance.instance_id]["resolved"]
            outcome = compare_repair(instance, attempt["patch"], clones, resolved=resolved)
            repairs[instance.instance_id] = outcome, attempt["seconds"]
    return repairs
