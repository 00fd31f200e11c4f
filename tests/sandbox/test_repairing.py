"""The search for a small edit: with a scripted sandbox for its order and ends, with the real one for its proof."""

from pathlib import Path

import pytest

from tenure.algorithms.coding.programs import hash_program
from tenure.contracts.result.programs import RepairProgress, RepairReply, RepairRequest
from tenure.contracts.sandbox import CallCase, InputFile, Program, SandboxLimits, SandboxOutcome
from tenure.sandbox import repairing
from tenure.sandbox.base import Sandbox
from tenure.sandbox.choice import make_sandbox
from tenure.sandbox.repairing import MAX_BATCH_CANDIDATES, search_repair
from tenure.settings import Settings
from tests.support.repositories.program_python import make_program_python
from tests.support.sandboxes import ScriptedSandbox
from tests.support.tiers import exhaustive, slow

GCD = "def gcd(a, b):\n    if b == 0:\n        return a\n    return gcd(a % b, b)\n"
CASES = tuple(
    CallCase(function="gcd", args=(a, b), expected=c) for a, b, c in ((8, 4, 4), (35, 21, 7), (17, 0, 17), (13, 5, 1))
)
TESTS = InputFile(
    name="test_gcd.py",
    text="import pytest\n\nfrom numbers_of.gcd import gcd\n\n\n"
    "@pytest.mark.parametrize('a, b, c', [(8, 4, 4), (35, 21, 7), (13, 5, 1)])\n"
    "def test_gcd(a, b, c):\n    assert gcd(a, b) == c\n",
)
LIMITS = SandboxLimits(wall_seconds=60, cpu_seconds=60)


def request(source: str, *, name: str = "solution.py", **others: object) -> RepairRequest:
    files = (InputFile(name=name, text=source),)
    return RepairRequest.model_validate({"files": files, "editable": (name,), "limits": LIMITS, **others})


async def searched(box: Sandbox, wanted: RepairRequest, begun: RepairProgress | None = None) -> RepairReply:
    return await search_repair(box, wanted, begun or RepairProgress(), lambda progress: None, Path("unused"))


async def test_the_first_edit_that_passes_is_returned_with_what_it_changed() -> None:
    """The reply has the whole changed file, the change in words, and how many were tried."""
    found = await searched(ScriptedSandbox(needed=("return 2",)), request("def f():\n    return 1\n", tests=(TESTS,)))

    assert [file.text for file in found.files] == ["def f():\n    return 2\n"]
    assert found.changes == ("line 2: `1` became `2`",)
    assert found.tried >= 1 and not found.exhausted


async def test_a_screening_that_lies_proves_nothing() -> None:
    """Whatever a candidate says of itself, only the sandbox's own verdict counts."""

    class Lying(ScriptedSandbox):
        async def run(self, program: Program, keep: Path) -> SandboxOutcome:
            return SandboxOutcome(verdict="passed", exit_code=0, stdout="green 0\ngreen 999999\ngreen x\nseen 9999\n")

    found = await searched(Lying(needed=("never",)), request("def f():\n    return 1\n", tests=(TESTS,)))

    assert found.files == () and found.exhausted


async def test_a_search_without_success_ends_when_nothing_is_left() -> None:
    """A screening that says nothing still gets on, so that the search ends."""

    class Silent(ScriptedSandbox):
        async def run(self, program: Program, keep: Path) -> SandboxOutcome:
            self.programs.append(program)
            return SandboxOutcome(verdict="timeout")

    box = Silent()
    found = await searched(box, request("x = True\n", tests=(TESTS,)))

    assert found.files == () and found.exhausted and found.tried == 1
    assert len(box.programs) == 1


async def test_a_search_respects_its_time_limit() -> None:
    """A search reports the end of its time, and a later attempt continues it."""
    wanted = request("def f():\n    return 1\n", tests=(TESTS,), seconds=5)
    over = await searched(ScriptedSandbox(needed=("never",)), wanted, RepairProgress(tried=3, seconds=6))

    assert (over.files, over.exhausted, over.tried) == ((), False, 3)


async def test_programs_that_failed_before_are_left_out() -> None:
    """A digest among the tried ones is never a candidate again."""
    box = ScriptedSandbox(needed=("return 2",))
    wanted = request("def f():\n    return 1\n", tests=(TESTS,))
    first = await searched(box, wanted)
    again = await searched(box, wanted.model_copy(update={"tried_digests": (hash_program(first.files),)}))
    assert again.files != first.files


@slow
async def test_a_job_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates beyond the size of a job go into the next one, and large edits into none."""
    monkeypatch.setattr(repairing, "MAX_JOB_CHARS", 3_000)
    monkeypatch.setattr(repairing, "MAX_EDIT_CHARS", 60)
    box = ScriptedSandbox(needed=("never",))
    found = await searched(box, request(GCD, tests=(TESTS,)))

    assert found.exhausted and len(box.programs) > found.tried / MAX_BATCH_CANDIDATES + 1


@pytest.fixture
def real(tmp_path: Path) -> Sandbox:
    """Return the real sandbox, with the interpreter of the tests."""
    return make_sandbox(Settings(home=tmp_path, sandbox_python=make_program_python(), _env_file=None))


@slow
@pytest.mark.parametrize("name", [pytest.param("solution.py", marks=exhaustive), "numbers_of/gcd.py"])
async def test_a_real_program_is_repaired_in_the_real_sandbox(real: Sandbox, name: str, tmp_path: Path) -> None:
    """Swapped arguments are found by cases and by tests of pytest, and the verdict is that of a trial."""
    tests = {"cases": CASES} if name == "solution.py" else {"tests": (TESTS,)}
    told: list[RepairProgress] = []
    found = await search_repair(real, request(GCD, name=name, **tests), RepairProgress(), told.append, tmp_path)

    assert [file.path for file in found.files] == [name]
    assert "gcd(b, (a % b))" in found.files[0].text
    assert told[-1].tried == found.tried > 0
