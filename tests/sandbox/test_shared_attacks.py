"""Run the shared corpus of attacks as root and as an ordinary user; skipped if the corpus is absent.

The programs are data: each reports its result in its last line, or is judged by the files it left. A table of program,
expected and observed result is written next to the other output of the tests.
"""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from filelock import FileLock

from tenure.contracts.sandbox import InputFile, Program, SandboxLimits, SandboxOutcome, TestRun
from tenure.sandbox.base import Sandbox
from tests.sandbox import ordinary
from tests.sandbox.conftest import made

ATTACKS = (Path(__file__).resolve().parents[3] / "shared" / "attacks").resolve()
CANARY = Path(tempfile.gettempdir()) / "sbx-canary"
LIMITS = SandboxLimits(wall_seconds=5, cpu_seconds=5)
CHECK = "a09_persist_check"
Row = tuple[str, str, str, bool]
ADD = """
import pytest
from solution import add

@pytest.mark.parametrize(("a", "b", "total"), [(1, 2, 3), (2, 2, 4), (-1, 1, 0), (10, 5, 15)])
def test_add(a, b, total):
    assert add(a, b) == total
"""

pytestmark = pytest.mark.skipif(not ATTACKS.is_dir(), reason="the corpus of attacks is not beside the repository")


def told(outcome: SandboxOutcome) -> str:
    """Return the result that a program reported."""
    found = re.findall(r"@@RESULT (\{.*\})", outcome.stdout)
    return str(json.loads(found[-1])["verdict"]) if found else "no result"


def programs(mode: str) -> list[Path]:
    """Return the attacks of one kind."""
    return [path for path in sorted(ATTACKS.glob("a*.py")) if f"# mode: {mode}" in path.read_text(encoding="utf-8")]


def header(path: Path, key: str) -> str:
    """Return a line of an attack's description."""
    found = re.search(rf"^# {key}: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


@contextmanager
def surroundings() -> Iterator[None]:
    """Set up what the attacks look for: secrets, listeners, processes; none of it is real."""
    with ExitStack() as stack:
        # The corpus gives its secrets and listeners fixed names: one test at a time.
        stack.enter_context(FileLock(CANARY.with_suffix(".lock")))
        (CANARY / "project").mkdir(parents=True, exist_ok=True)
        (CANARY / "drop").mkdir(exist_ok=True, mode=0o777)
        (CANARY / "drop").chmod(0o777)
        stack.callback(shutil.rmtree, CANARY, ignore_errors=True)
        (CANARY / "project" / ".env").write_text("SBXCANARY-file\n")
        listeners = [("\0sbx-canary-abstract", socket.AF_UNIX), (str(CANARY / "host.sock"), socket.AF_UNIX)]
        for address, family in listeners:
            listener = stack.enter_context(socket.socket(family))
            listener.bind(address)
            listener.listen()
        victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "SBX_VICTIM"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        leaked = os.open(CANARY, os.O_RDONLY | os.O_DIRECTORY)
        os.set_inheritable(leaked, True)
        stack.callback(os.close, leaked)
        os.environ["OPENAI_API_KEY"] = "SBXCANARY-environment"
        stack.callback(os.environ.pop, "OPENAI_API_KEY", None)
        yield


def daemons() -> list[int]:
    """Return the processes that an attack has left."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if "SBX_DAEMON" in (process.info["cmdline"] or []):
            found.append(process.pid)
    return found


def seen(path: Path, outcome: SandboxOutcome, seconds: float) -> tuple[str, bool]:
    """Return the result of an attack in words, and whether it was contained."""
    word = told(outcome)
    facts = f"{word}, {outcome.verdict}" + (f", {', '.join(outcome.limits_hit)}" if outcome.limits_hit else "")
    dropped = [one.name for one in (CANARY / "drop").iterdir()]
    secret = any(b"SBXCANARY" in Path(one.path).read_bytes() for one in outcome.artifacts)
    harmless = all(one == "\n" or one == "\t" or one.isprintable() for one in outcome.stdout + outcome.stderr)
    # Daemons of another attack that runs now are looked for once all are done.
    held = not dropped and not secret and harmless and seconds < LIMITS.wall_seconds + 20
    held = held and not re.search(r"[\x1b\x9b\r\x00\u202e]", outcome.stdout)
    if word == "EXPOSED" and path.stem == "a40_proc_sys_dev":
        # Only this machine's own setting of oom_score_adj, which a program may lower to what it was before.
        return f"{facts} (oom_score_adj)", held and "w:" not in outcome.stdout and "r:" not in outcome.stdout
    if word == "no result":
        return facts, held and outcome.verdict in ("timeout", "limit", "failed")
    return facts, held and word in ("CONTAINED", "INFO")


async def attacked(box: Sandbox, keep: Path) -> list[Row]:
    """Run every attack, four at a time, and return program, expected, seen and whether it was contained."""
    room = asyncio.Semaphore(4)

    async def one(path: Path, attack: Callable[[Sandbox, Path, Path], Awaitable[Row]]) -> Row:
        async with room:
            return await attack(box, path, keep / path.stem)

    found = [one(path, of_program) for path in programs("program") if path.stem != CHECK]
    found += [one(path, of_solution) for path in programs("solution")]
    rows = [*await asyncio.gather(*found)]
    # The second half of a pair, which looks for files that the first half left.
    rows.append(await of_program(box, ATTACKS / f"{CHECK}.py", keep / CHECK))
    return sorted(rows)


async def of_program(box: Sandbox, path: Path, keep: Path) -> Row:
    """Run an attack that says itself what it got."""
    began = time.monotonic()
    program = Program(files=(InputFile(name=path.name, path=str(path)),), entry=path.name, limits=LIMITS)
    outcome = await box.run(program, keep)
    return path.stem, header(path, "safe"), *seen(path, outcome, time.monotonic() - began)


async def of_solution(box: Sandbox, path: Path, keep: Path) -> Row:
    """Test an attack that pretends to be a right solution."""
    trial = TestRun(
        files=(InputFile(name="solution.py", path=str(path)),),
        tests=(InputFile(name="test_add.py", text=ADD),),
        limits=SandboxLimits(wall_seconds=60, cpu_seconds=20),
    )
    outcome = await box.test(trial, keep)
    dropped = [*(CANARY / "drop").iterdir()]
    words = f"{outcome.verdict}: {outcome.reason}"[:120]
    return path.stem, header(path, "safe"), words, outcome.verdict in ("failed", "forged") and not dropped


def table(rows: list[Row], who: str) -> str:
    """Return the table of a user."""
    lines = [f"## As {who}", "", "| program | expected | seen | contained |", "|---|---|---|---|"]
    lines += [f"| {name} | {wanted} | {words} | {'yes' if held else 'NO'} |" for name, wanted, words, held in rows]
    return "\n".join(lines) + "\n"


def written(rows: list[Row], who: str) -> None:
    """Write the table of a user where a person finds it."""
    folder = Path(os.environ.get("TENURE_ATTACK_TABLES", tempfile.gettempdir()))
    (folder / f"tenure-attacks-{who.replace(' ', '-')}.md").write_text(table(rows, who), encoding="utf-8")


def missed(rows: list[Row]) -> list[Any]:
    """Return the attacks that were not contained."""
    return [row for row in rows if not row[3]]


@pytest.mark.timeout(600)
async def test_the_corpus_is_contained(box: Sandbox, tmp_path: Path) -> None:
    """Every program of the corpus is contained for the user who runs the tests."""
    with surroundings():
        rows = await attacked(box, tmp_path)

    written(rows, "root" if os.geteuid() == 0 else "ordinary user")
    assert daemons() == []
    assert len(rows) > 50
    assert missed(rows) == []


@pytest.mark.timeout(600)
def test_the_corpus_is_contained_for_an_ordinary_user() -> None:
    """Every program of the corpus is contained where the supervisor itself is an ordinary user."""
    with surroundings():
        for folder in (CANARY, CANARY / "drop", CANARY / "project"):
            folder.chmod(0o777)
        found = ordinary.called("tests.sandbox.test_shared_attacks:as_this_user")

    rows = [(str(row[0]), str(row[1]), str(row[2]), bool(row[3])) for row in found]
    written(rows, "ordinary user")
    assert daemons() == []
    assert len(rows) > 50
    assert missed(rows) == []


def as_this_user() -> list[Row]:
    """Run the corpus in this process; called as an ordinary user."""
    assert os.geteuid() != 0
    with tempfile.TemporaryDirectory() as keep:
        return asyncio.run(attacked(made(), Path(keep)))
