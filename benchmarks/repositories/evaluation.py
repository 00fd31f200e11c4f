"""Evaluate patches by the rule of SWE-bench: an instance is resolved if all its tests to fix and to keep pass.

The patch is applied to a new copy of the base, then the files of the hidden tests get their content of the fix,
whatever the patch did to them, and the whole suite runs in the box.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.repositories.clones import PatchRefused, apply_patch, list_patched_files, restore_files
from benchmarks.repositories.instances import InstallConfig, Instance
from benchmarks.repositories.offline import hand_over
from benchmarks.repositories.test_runs import run_tests
from benchmarks.repositories.verification import lend_copy


@dataclass(frozen=True)
class Verdict:
    """Verdict of the hidden tests on a patch."""

    instance_id: str
    resolved: bool
    applied: bool
    """Whether the patch could be applied; an empty one cannot."""
    fixed: tuple[str, ...] = ()
    unfixed: tuple[str, ...] = ()
    """Tests to fix that do not pass."""
    broken: tuple[str, ...] = ()
    """Tests to keep that do not pass."""
    kept: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Reason for a patch that could not be applied, or the end of the output if no test ran."""


def evaluate(instance: Instance, patch: str, clone: Path, environment: Path, folder: Path) -> Verdict:
    """Apply a patch to the base of an instance and run the tests.

    Raises:
        ValueError: the instance does not say how its tests are run.
    """
    config = instance.install_config
    if config is None:
        raise ValueError(f"{instance.instance_id} has no install_config")
    if not patch.strip():
        return Verdict(instance.instance_id, resolved=False, applied=False, reason="the patch is empty")
    began = time.perf_counter()
    try:
        with lend_copy(clone, instance.base_commit, [patch], folder) as work:
            restore_files(clone, instance.base_commit, work, list_patched_files(instance.test_patch))
            apply_patch(work, instance.test_patch)
            hand_over(work)
            return _judge(instance, config, work, environment, began)
    except PatchRefused as refused:
        return Verdict(instance.instance_id, resolved=False, applied=False, reason=str(refused))


def _judge(instance: Instance, config: InstallConfig, work: Path, environment: Path, began: float) -> Verdict:
    outcomes, output = run_tests(config, work, environment)
    passed = {name for name, outcome in outcomes.items() if outcome == "passed"}
    unfixed = tuple(name for name in instance.FAIL_TO_PASS if name not in passed)
    broken = tuple(name for name in instance.PASS_TO_PASS if name not in passed)
    return Verdict(
        instance.instance_id,
        resolved=not unfixed and not broken,
        applied=True,
        fixed=tuple(name for name in instance.FAIL_TO_PASS if name in passed),
        unfixed=unfixed,
        broken=broken,
        kept=len(instance.PASS_TO_PASS) - len(broken),
        seconds=round(time.perf_counter() - began, 1),
        reason="" if outcomes else output[-500:],
    )
