"""Honest programs in the real sandbox: hardening must not break what people write."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tenure.contracts.sandbox import (
    CallCase,
    CandidateBatch,
    InputFile,
    Program,
    SandboxLimits,
    SandboxOutcome,
    TestRun,
)
from tenure.sandbox.base import SetupFailed
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.memory import list_descendants
from tests.support.tiers import slow
from tests.support.waiting import block_until, wait_until

HONEST = """
import asyncio, concurrent.futures, json, multiprocessing, os, socket, sqlite3, subprocess, sys, tempfile, threading
import numpy
from helper import twice

def work(number):
    return number * number

def main():
    assert sys.argv[1:] == ["first", "second"], sys.argv
    assert sys.stdin.read() == "typed"
    assert json.load(open("data/given.json"))["answer"] == 42
    assert numpy.arange(4).sum() == 6 and numpy.linalg.inv(numpy.eye(3)).trace() == 3
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(twice, [1, 2])) == [2, 4]
    with multiprocessing.Pool(2) as pool:
        assert pool.map(work, [2, 3]) == [4, 9]
    assert asyncio.run(asyncio.sleep(0, "slept")) == "slept"
    assert subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True).stdout == b"7\\n"
    with tempfile.TemporaryDirectory() as folder, sqlite3.connect(folder + "/a.db") as base:
        base.execute("create table t (a)")
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname()).close()
    open("made.txt", "w").write("made")
    print("all done")

if __name__ == "__main__":
    main()
"""


async def test_an_honest_program_finds_what_it_needs(box: ContainedSandbox, tmp_path: Path) -> None:
    """Arguments, input, given files, threads, processes and loopback work, and what is made comes out."""
    given = tmp_path / "given.json"
    given.write_text('{"answer": 42}')
    files = (
        InputFile(name="main.py", text=HONEST),
        InputFile(name="helper.py", text="def twice(x):\n    return 2 * x"),
        InputFile(name="data/given.json", path=str(given)),
    )
    program = Program(
        files=files,
        entry="main.py",
        args=("first", "second"),
        stdin="typed",
        limits=SandboxLimits(wall_seconds=60, cpu_seconds=30),
    )

    outcome = await box.run(program, tmp_path / "kept")

    assert (outcome.verdict, outcome.stdout, outcome.stderr) == ("passed", "all done\n", "")
    assert [(one.name, one.bytes, Path(one.path).read_text()) for one in outcome.artifacts] == [("made.txt", 4, "made")]


@pytest.mark.parametrize(
    ("language", "entry", "text"), [("node", "a.js", "console.log(6 * 7)"), ("shell", "a.sh", "echo 42")]
)
async def test_other_installed_languages_run(
    box: ContainedSandbox, tmp_path: Path, language: str, entry: str, text: str
) -> None:
    """Node.js and the shell run like Python; a missing interpreter is an error that says so."""
    program = Program.model_validate({"files": [{"name": entry, "text": text}], "entry": entry, "language": language})

    outcome = await box.run(program, tmp_path)

    if language in box.runtime.languages:
        assert (outcome.verdict, outcome.stdout) == ("passed", "42\n"), outcome.stderr
    else:
        assert (outcome.verdict, outcome.reason) == ("error", f"{language} is not installed here")


async def test_how_a_program_ends_is_told(box: ContainedSandbox, tmp_path: Path) -> None:
    """Exit codes, signals and tracebacks come out as they are."""
    crash = InputFile(name="crash.py", text="import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    wrong = InputFile(name="wrong.py", text="1 / 0")

    crashed = await box.run(Program(files=(crash,), entry="crash.py"), tmp_path)
    failed = await box.run(Program(files=(wrong,), entry="wrong.py"), tmp_path)

    assert (crashed.verdict, crashed.signal, crashed.exit_code) == ("failed", "SIGSEGV", None)
    assert (failed.verdict, failed.signal, failed.exit_code) == ("failed", None, 1)
    assert "ZeroDivisionError" in failed.stderr


SOLUTION = """
import dataclasses, enum, sys
from collections import namedtuple

LIMIT = 3
Pair = namedtuple("Pair", "left right")

class Colour(enum.Enum):
    RED = 1

class Level(enum.IntEnum):
    LOW = 1

class Wrong(ValueError):
    def __init__(self, code):
        super().__init__(f"wrong {code}")
        self.code = code

@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)
    def moved(self, by):
        return Point(self.x + by, self.y)

class Stack:
    def __init__(self):
        self._items = []
    def push(self, item):
        self._items.append(item)
    def __len__(self):
        return len(self._items)
    def __iter__(self):
        return iter(self._items)
    def __contains__(self, item):
        return item in self._items
    def __enter__(self):
        return self
    def __exit__(self, *args):
        self._items.clear()

def fail(code):
    raise Wrong(code)

def sort_in_place(items):
    items.sort()

def apply(function, items):
    return [function(item) for item in items]

def walk(node):
    while node is not None:
        yield node.value
        node = node.next

def ask():
    return input("name? ")

def say(text):
    print(text)
    print(text, file=sys.stderr)

def over():
    return LIMIT

async def later(value):
    return value

def table():
    import numpy
    return numpy.arange(6).reshape(2, 3)
"""

USES = """
import asyncio, io
from unittest import mock
import numpy
import pytest
import solution
from solution import *
from solution import Colour, Level, Pair, Point, Stack, Wrong

@pytest.fixture
def stack():
    made = Stack()
    made.push(1)
    return made

def test_values():
    assert solution.apply(lambda x: x * 2, [1, 2]) == [2, 4]
    assert apply(str, (1, 2)) == ["1", "2"]
    assert solution.over() == 3

def test_objects(stack):
    assert Point(1, 2) + Point(1) == Point(2, 2)
    assert Point(1).moved(by=4).x == 5
    assert isinstance(Point(1), Point) and Point(1) != Point(2)
    stack.push("b")
    assert len(stack) == 2 and list(stack) == [1, "b"] and "b" in stack and "c" not in stack
    with stack as same:
        assert len(same) == 2
    assert not stack

def test_enumerations_and_tuples():
    assert Colour.RED is Colour.RED and Colour["RED"] == Colour.RED and Colour.RED.value == 1
    assert Level.LOW == 1
    pair = Pair(1, right=2)
    assert pair == (1, 2) and pair.right == 2
    left, right = pair
    assert left + right == 3

def test_errors():
    with pytest.raises(Wrong, match="wrong 7") as caught:
        solution.fail(7)
    assert caught.value.code == 7 and isinstance(caught.value, ValueError)
    with pytest.raises(ZeroDivisionError):
        apply(lambda x: 1 / x, [0])
    with pytest.raises(TypeError):
        solution.fail()

def test_changes_in_place():
    items = [[3], [1]]
    kept = items
    solution.sort_in_place(items)
    assert kept == [[1], [3]]

def test_objects_of_the_test():
    class Node:
        def __init__(self, value, next=None):
            self.value, self.next = value, next
    assert list(solution.walk(Node(1, Node(2)))) == [1, 2]

def test_input_and_output(monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt: prompt + "Ann")
    assert solution.ask() == "name? Ann"
    solution.say("loud")
    assert capsys.readouterr() == ("loud\\n", "loud\\n")

def test_patches(monkeypatch):
    monkeypatch.setattr(solution, "LIMIT", 9)
    assert solution.over() == 9
    with mock.patch("solution.over", return_value=5) as patched:
        assert solution.over() == 5
    patched.assert_called_once()

def test_patches_are_undone():
    assert solution.over() == 3

def test_coroutines():
    assert asyncio.run(solution.later(4)) == 4

def test_arrays():
    numpy.testing.assert_array_equal(solution.table(), [[0, 1, 2], [3, 4, 5]])

class TestGroup:
    @pytest.mark.parametrize("value", [1, 2])
    def test_grouped(self, value):
        assert Point(value).x == value

@pytest.mark.skip(reason="its own source says so")
def test_left_out():
    assert False
"""


@slow
async def test_tests_reach_a_candidate_in_its_own_process(box: ContainedSandbox, tmp_path: Path) -> None:
    """Functions, classes, errors, patches, output and arrays of a candidate are tested as if they were near."""
    trial = TestRun(
        files=(InputFile(name="solution.py", text=SOLUTION),),
        tests=(InputFile(name="test_solution.py", text=USES),),
        limits=SandboxLimits(wall_seconds=60, cpu_seconds=30),
    )

    outcome = await box.test(trial, tmp_path)

    assert [(one.name, one.error, one.trace) for one in outcome.tests if not one.passed] == []
    assert (outcome.verdict, outcome.proof, len(outcome.tests)) == ("passed", "tests_in_same_process", 13), (
        outcome.reason
    )


@slow
async def test_a_failure_tells_where_it_comes_from(box: ContainedSandbox, tmp_path: Path) -> None:
    """A failing test names its error, the candidate's line, and the lines that ran."""
    solution = "def half(x):\n    if x:\n        return 2 // 0\n    return 0\n"
    test = "from solution import half\ndef test_zero():\n    assert half(0) == 0\ndef test_two():\n    assert half(2)\n"
    trial = TestRun(
        files=(InputFile(name="solution.py", text=solution),),
        tests=(InputFile(name="test_solution.py", text=test),),
        trace=True,
        limits=SandboxLimits(wall_seconds=60),
    )

    zero, two = (await box.test(trial, tmp_path)).tests

    assert (zero.passed, zero.covered) == (True, {"solution.py": (2, 4)})
    assert (two.passed, two.covered) == (False, {"solution.py": (2, 3)})
    assert two.error.startswith("ZeroDivisionError")
    assert two.lines == (("solution.py", 3),)


async def test_cases_are_compared_outside(box: ContainedSandbox) -> None:
    """Values, errors and generators of each candidate are judged, and the batch ends with the first right one."""
    texts = ["def count(n):\n    return n", "def count(n):\n    yield from range(n)", "never = 1"]
    cases = (CallCase(function="count", args=(2,), expected=[0, 1]), CallCase(function="count", args=(0,), expected=[]))

    outcomes = await box.test_all(
        CandidateBatch(
            candidates=tuple((InputFile(name="solution.py", text=text),) for text in texts),
            cases=cases,
            stop_at_first_pass=True,
            limits=SandboxLimits(wall_seconds=60),
        )
    )

    assert [one.verdict for one in outcomes] == ["failed", "passed"]
    assert [test.error for test in outcomes[0].tests] == ["gave 2 instead of [0, 1]", "gave 0 instead of []"]


@slow
@pytest.mark.parametrize(
    ("test", "verdict", "reason"),
    [
        ("def helper():\n    pass", "error", "the tests have no test"),
        ("def test_broken(:", "error", "invalid syntax"),
        ("import missing_module\ndef test_a():\n    pass", "error", "missing_module"),
    ],
)
async def test_faults_of_the_tests_are_theirs(
    box: ContainedSandbox, tmp_path: Path, test: str, verdict: str, reason: str
) -> None:
    """Tests that are empty, no Python, or miss a module are an error and no failure of the candidate."""
    files = (InputFile(name="solution.py", text=""),)

    outcome = await box.test(TestRun(files=files, tests=(InputFile(name="test_a.py", text=test),)), tmp_path)

    assert outcome.verdict == verdict
    assert reason in outcome.reason


@slow
async def test_a_hanging_candidate_is_timed_out_alone(box: ContainedSandbox) -> None:
    """A candidate that hangs costs its own time, and the next one is tested."""
    texts = ["def f():\n    while True:\n        pass", "def f():\n    return 1"]

    outcomes = await box.test_all(
        CandidateBatch(
            candidates=tuple((InputFile(name="solution.py", text=text),) for text in texts),
            cases=(CallCase(function="f", expected=1),),
            seconds_each=3,
            limits=SandboxLimits(wall_seconds=60, cpu_seconds=30),
        )
    )

    assert [one.verdict for one in outcomes] == ["timeout", "passed"]


async def test_a_cancelled_run_leaves_nothing(box: ContainedSandbox, tmp_path: Path) -> None:
    """Cancelling a run ends its processes before the cancellation is passed on."""
    before = set(list_descendants(os.getpid()))
    program = Program(
        files=(InputFile(name="a.py", text="import time\ntime.sleep(99)"),),
        entry="a.py",
        limits=SandboxLimits(wall_seconds=99),
    )
    running = asyncio.create_task(box.run(program, tmp_path))
    await wait_until("a process", lambda: set(list_descendants(os.getpid())) - before)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert set(list_descendants(os.getpid())) - before == set()


async def test_a_sandbox_that_is_killed_from_outside_is_run_again(box: ContainedSandbox, tmp_path: Path) -> None:
    """A kill that no limit explains, as by a machine short of memory, is no verdict on the program."""
    before = set(list_descendants(os.getpid()))
    program = Program(
        files=(InputFile(name="a.py", text="import time\ntime.sleep(2)\nopen('made.txt', 'w').write('x')"),),
        entry="a.py",
    )
    running = asyncio.create_task(box.run(program, tmp_path))
    started = await wait_until(
        "three processes", lambda: set(list_descendants(os.getpid())) - before, lambda pids: len(pids) >= 3
    )
    for pid in started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    outcome = await running

    assert (outcome.verdict, [artifact.name for artifact in outcome.artifacts]) == ("passed", ["made.txt"])


@slow
async def test_a_stopped_sandbox_is_ended(box: ContainedSandbox, tmp_path: Path) -> None:
    """A sandbox all of whose processes are stopped counts as a program that hangs, and nothing of it remains."""
    before = set(list_descendants(os.getpid()))
    program = Program(
        files=(InputFile(name="a.py", text="import time\ntime.sleep(99)"),),
        entry="a.py",
        limits=SandboxLimits(wall_seconds=3),
    )
    running = asyncio.create_task(box.run(program, tmp_path))
    started = await wait_until(
        "three processes", lambda: set(list_descendants(os.getpid())) - before, lambda pids: len(pids) >= 3
    )
    for pid in started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    outcome = await running

    assert (outcome.verdict, outcome.limits_hit) == ("timeout", ("wall",))
    assert set(list_descendants(os.getpid())) - before == set()


async def test_a_missing_file_is_an_error_of_the_set_up(box: ContainedSandbox, tmp_path: Path) -> None:
    """A missing file is named before anything is run."""
    program = Program(files=(InputFile(name="a.py", path=str(tmp_path / "none.py")),), entry="a.py")

    with pytest.raises(SetupFailed, match=r"none\.py cannot be read"):
        await box.run(program, tmp_path)


async def test_the_isolation_works_on_this_machine(box: ContainedSandbox) -> None:
    """The self-test finds every boundary closed, and lists the importable packages."""
    found = await box.check()

    assert (found.usable, found.findings) == (True, ())
    assert any(name.startswith("numpy ") for name in found.packages)


async def test_the_environment_is_created_for_the_first_program(box: ContainedSandbox, tmp_path: Path) -> None:
    """The self-test of a starting worker waits for no packages, and only the first program has them created."""
    created: list[str] = []
    lazy = ContainedSandbox(box._backend, box.runtime, lambda: created.append("packages"))
    program = Program(files=(InputFile(name="a.py", text="pass"),), entry="a.py")

    assert (await lazy.check()).usable
    assert created == []
    assert [(await lazy.run(program, tmp_path)).verdict for _ in range(2)] == ["passed", "passed"]
    assert created == ["packages"]


SUPERVISOR = """
import asyncio, sys
from pathlib import Path
from tenure.contracts.sandbox import InputFile, Program, SandboxLimits
from tests.sandbox.conftest import made

async def main():
    text = "import os, sys, time\\nif os.fork() == 0:\\n    os.setsid()\\nprint('up', flush=True)\\ntime.sleep(300)"
    files = (InputFile(name="a.py", text=text),)
    program = Program(files=files, entry="a.py", args=("TENURE-ORPHAN",), limits=SandboxLimits(wall_seconds=300))
    await asyncio.gather(*(made().run(program, Path(sys.argv[1])) for _ in range(2)))

asyncio.run(main())
"""


@slow
def test_nothing_outlives_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    """Killing the process that supervises ends every sandboxed process, daemons among them."""
    supervisor = subprocess.Popen([sys.executable, "-c", SUPERVISOR, str(tmp_path)], cwd=Path(__file__).parents[2])
    # Two sandboxes of a monitor, a driver, a program and its daemon each.
    family = block_until(
        "eight processes",
        lambda: psutil.Process(supervisor.pid).children(recursive=True),
        lambda found: len(found) >= 8,
    )

    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.wait()

    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []


@slow
def test_the_command_says_what_the_sandbox_says(tmp_path: Path) -> None:
    """`python -m tenure.sandbox` tests a file and prints one document, and its exit code is the verdict."""
    (tmp_path / "solution.py").write_text("def add(a, b):\n    return a - b")
    (tmp_path / "test_add.py").write_text("from solution import add\ndef test_add():\n    assert add(1, 2) == 3")

    done = subprocess.run(
        [
            *(sys.executable, "-m", "tenure.sandbox", str(tmp_path / "solution.py")),
            *("--tests", str(tmp_path / "test_add.py"), "--json"),
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        timeout=100,
        check=False,
    )

    outcome = SandboxOutcome.model_validate(json.loads(done.stdout))
    assert (done.returncode, outcome.verdict, outcome.reason) == (3, "failed", "AssertionError: assert -1 == 3")
