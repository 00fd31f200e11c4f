"""A sandbox that follows a script, at the seam where programs leave for the real one.

It runs nothing: a test says which words in a program make it pass. Whatever it was given it remembers, so
that a test sees what would have been run, and how often.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tenure.algorithms.coding.mutation import SourceEdit, apply_edits
from tenure.contracts.sandbox import (
    Artifact,
    CandidateBatch,
    InputFile,
    Program,
    SandboxOutcome,
    SandboxSelfTest,
    SandboxVerdict,
    TestResult,
    TestRun,
)
from tenure.sandbox.base import CommandOutcome, FolderCommand, SetupFailed

USABLE = SandboxSelfTest(usable=True, message="a script", languages=("python",), packages=("numpy 2.0",))


@dataclass
class ScriptedSandbox:
    """Says that a program passes the tests of whose words it holds all."""

    needed: tuple[str, ...] = ("right",)
    """One word for each test."""
    found: SandboxSelfTest = USABLE
    """Result of its self-test."""
    trials: list[TestRun] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    batches: list[CandidateBatch] = field(default_factory=list)
    breaks: int = 0
    """Number of remaining set-up failures."""
    prints: str = ""
    """Output of a program that succeeds; empty for its arguments."""
    made: tuple[Artifact, ...] = ()
    """Files that such a program leaves."""
    folders: list[Path] = field(default_factory=list)
    """Folders of the programs' files."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    held: bool = False
    """Whether trials wait until the test lets go."""

    async def check(self) -> SandboxSelfTest:
        return self.found

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        self.trials.append(trial)
        if self.breaks:
            self.breaks -= 1
            raise SetupFailed("no namespace was left")
        if self.held:
            self.reached.set()
            await self.released.wait()
        return self.judged(trial.files)

    async def run(self, program: Program, keep: Path) -> SandboxOutcome:
        if program.entry == "empty.py":
            return SandboxOutcome(verdict="passed", exit_code=0)
        self.programs.append(program)
        self.folders.append(keep)
        if program.entry == "screening.py":
            return self._screened(program)
        text = _text(program.files)
        if "crash" in text:
            return SandboxOutcome(verdict="failed", exit_code=3, stderr="Traceback\nValueError: crash\n", seconds=0.1)
        printed = self.prints or f"args {' '.join(program.args)}\n"
        return SandboxOutcome(verdict="passed", exit_code=0, stdout=printed, seconds=0.1, artifacts=self.made)

    async def run_command(self, command: FolderCommand) -> CommandOutcome:
        raise SetupFailed("no command runs here")

    async def test_all(self, batch: CandidateBatch) -> tuple[SandboxOutcome, ...]:
        self.batches.append(batch)
        outcomes: list[SandboxOutcome] = []
        for files in batch.candidates:
            outcomes.append(self.judged(files))
            if batch.stop_at_first_pass and outcomes[-1].verdict == "passed":
                break
        return tuple(outcomes)

    def _screened(self, program: Program) -> SandboxOutcome:
        """Answer like a screening: the candidates that contain every word, at most three."""
        (job,) = (json.loads(file.text or "") for file in program.files if file.name == "screening.json")
        sources = [
            apply_edits(
                job["sources"][name], [SourceEdit(start, end, text, 1, "constant") for start, end, text in edits]
            )
            for name, edits in job["candidates"]
        ]
        green = [n for n, source in enumerate(sources) if all(word in source for word in self.needed)][:3]
        lines = [*(f"green {n}" for n in green), f"seen {green[-1] + 1 if green else len(sources)}"]
        return SandboxOutcome(verdict="passed", exit_code=0, stdout="\n".join(lines) + "\n")

    def judged(self, files: Sequence[InputFile]) -> SandboxOutcome:
        text = _text(files)
        tests = tuple(
            TestResult(name=f"test_{word}", passed=word in text, error="" if word in text else f"no {word}")
            for word in self.needed
        )
        verdict: SandboxVerdict = "passed" if all(test.passed for test in tests) else "failed"
        return SandboxOutcome(
            verdict=verdict, proof="tests_in_same_process", tests=tests, seconds=0.25, stdout="tested\n"
        )


def _text(files: Sequence[InputFile]) -> str:
    return "\n".join(file.text or "" for file in files)
