"""Test a sandbox: a probe inside tries each boundary, and a sandbox with an open boundary is not used.

The probe is small and harmless: every attempt is undone immediately or could have no effect.
"""

import json
import shlex
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from tenure.contracts.sandbox import InputFile, Isolation, Program, SandboxLimits, SandboxOutcome, SandboxSelfTest
from tenure.sandbox.base import ENVIRONMENT, WORKSPACE, CommandOutcome, FolderCommand, SandboxError
from tenure.sandbox.bubblewrap import add_advice
from tenure.sandbox.runtime import Runtime

Run = Callable[[Program, Path], Awaitable[SandboxOutcome]]
CommandRunner = Callable[[FolderCommand], Awaitable[CommandOutcome]]

# Smaller than what the probe tries: 40 processes, 24 MiB of scratch space, 64 MiB in a folder
LIMITS: Final = SandboxLimits(wall_seconds=30, memory_mib=256, processes=32, scratch_mib=16, artifacts=4)

PROBE: Final = (Path(__file__).resolve().parent / "inside" / "probe.py").read_text(encoding="utf-8")
"""Source of the probe."""


async def check(run: Run, run_command: CommandRunner, isolation: Isolation, runtime: Runtime) -> SandboxSelfTest:
    """Run the probe and return its findings."""
    packages = tuple(f"{name} {version}" for name, version in runtime.packages)
    facts = SandboxSelfTest(
        usable=False, message="", isolation=isolation, languages=runtime.languages, packages=packages
    )
    with tempfile.TemporaryDirectory(prefix="tenure-selftest-") as folder:
        program = Program(files=(InputFile(name="probe.py", text=PROBE),), entry="probe.py", limits=LIMITS)
        try:
            outcome = await run(program, Path(folder))
            findings = _findings(outcome) or await _probe_folders(run_command, runtime, Path(folder))
        except SandboxError as error:
            return facts.model_copy(update={"message": add_advice(str(error))})
    if findings:
        problem = f"the isolation does not hold: {findings[0]}"
        return facts.model_copy(update={"message": problem, "findings": findings})
    memory = "memory limited by the kernel" if isolation.memory == "enforced" else "memory watched, best effort"
    memory += f" ({isolation.memory_note})" if isolation.memory_note else ""
    note = f"; {runtime.note}" if runtime.note else ""
    message = f"{isolation.backend} {isolation.version}, {memory}{note}"
    return facts.model_copy(update={"usable": True, "message": message})


async def _probe_folders(run_command: CommandRunner, runtime: Runtime, folder: Path) -> tuple[str, ...]:
    """Run the probe as a command in a folder of the host; return the boundaries that are open."""
    workspace, environment = folder / "workspace", folder / "environment"
    for path in (workspace, environment):
        path.mkdir()
        path.chmod(0o755)
    (workspace / "probe.py").write_text(PROBE, encoding="utf-8")
    command = FolderCommand(
        f"{shlex.quote(str(runtime.plain))} -I probe.py {WORKSPACE} {ENVIRONMENT}",
        workspace=workspace,
        environment=environment,
        limits=LIMITS.model_copy(update={"growth_mib": 8}),
    )
    outcome = await run_command(command)
    if outcome.limits_hit != ("folder",):
        return (f"a folder can grow without bound ({outcome.exit_code}, {outcome.limits_hit})",)
    try:
        found = tuple(str(one) for one in json.loads(outcome.stdout.splitlines()[0]))
    except (ValueError, TypeError, IndexError):
        return (f"the probe of folders said nothing ({outcome.stderr.strip()[-200:]})",)
    if not found and (workspace / "made.txt").read_bytes() != b"made in the sandbox\n":
        return ("a file that the probe made is not in its folder",)
    return found


def _findings(outcome: SandboxOutcome) -> tuple[str, ...]:
    """Return the boundaries that are open, or the failure of the probe."""
    if outcome.verdict != "passed":
        said = outcome.stderr.strip().splitlines()
        return (f"the probe ended with {outcome.verdict} ({said[-1] if said else outcome.reason})",)
    try:
        found = tuple(str(one) for one in json.loads(outcome.stdout))
    except (ValueError, TypeError):
        return ("the probe said nothing",)
    kept = [Path(artifact.path).read_bytes() for artifact in outcome.artifacts]
    if not found and kept != [b"made in the sandbox\n"]:
        return ("a file that the probe made did not come out",)
    return found
