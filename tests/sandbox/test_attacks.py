"""Attacks of our own against the real sandbox, each with the proof that its question is not blind."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

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
from tenure.sandbox.engine import ContainedSandbox
from tests.sandbox import attacks, ordinary
from tests.sandbox.conftest import made
from tests.support.tiers import slow

FILE = Path(attacks.__file__)
CANARY = "CANARY-0451"


@pytest.fixture(scope="module")
def wanted() -> Iterator[dict[str, Any]]:
    """Targets of the attacks, in a folder that every user may enter."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tenure-attacked-")))
        folder.chmod(0o777)
        (folder / "secret.txt").write_text(CANARY)
        listeners = []
        for family, address in (
            (socket.AF_INET, ("127.0.0.1", 0)),
            (socket.AF_UNIX, str(folder / "socket")),
            (socket.AF_UNIX, f"\0{folder.name}"),
        ):
            listener = stack.enter_context(socket.socket(family))
            listener.bind(address)
            listener.listen(16)
            listeners.append(listener)
        (folder / "socket").chmod(0o777)
        victim = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", CANARY])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        leaked = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        os.set_inheritable(leaked, True)
        stack.callback(os.close, leaked)
        yield {
            **{"secret": str(folder / "secret.txt"), "open_folder": str(folder), "victim": victim.pid},
            **{"port": listeners[0].getsockname()[1], "socket": str(folder / "socket"), "abstract": folder.name},
            **{"machine": os.uname().nodename, "descriptor": leaked},
        }


async def got(box: ContainedSandbox, wanted: dict[str, Any], keep: Path) -> dict[str, bool]:
    """Run all attacks in the sandbox and return what each one got."""
    files = (InputFile(name="attacks.py", path=str(FILE)), InputFile(name="wanted.json", text=json.dumps(wanted)))
    limits = SandboxLimits(wall_seconds=60, cpu_seconds=30)
    outcome = await box.run(Program(files=files, entry="attacks.py", limits=limits), keep)
    assert outcome.verdict == "passed", outcome
    found: dict[str, bool] = json.loads(outcome.stdout)
    return found


@slow
async def test_no_attack_gets_what_it_wants(
    box: ContainedSandbox, wanted: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of our attacks gets anything, with secrets, services and an open folder all around it."""
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)

    found = await got(box, wanted, tmp_path)

    assert len(found) >= 25
    assert [name for name, escaped in found.items() if escaped] == []


@slow
def test_no_attack_of_an_ordinary_user_gets_what_it_wants(wanted: dict[str, Any]) -> None:
    """The same holds where the supervisor is an ordinary user."""
    os.environ["TENURE_ATTACK_WANTED"] = json.dumps(wanted)
    try:
        found = ordinary.called("tests.sandbox.test_attacks:as_this_user")
    finally:
        del os.environ["TENURE_ATTACK_WANTED"]

    assert [name for name, escaped in found.items() if escaped] == []


def as_this_user() -> dict[str, bool]:
    """Run the attacks in this process; called as an ordinary user."""
    assert os.geteuid() != 0
    with tempfile.TemporaryDirectory() as keep:
        return asyncio.run(got(made(), json.loads(os.environ["TENURE_ATTACK_WANTED"]), Path(keep)))


@slow
def test_every_attack_gets_it_without_a_sandbox(wanted: dict[str, Any], tmp_path: Path) -> None:
    """Each of the same attacks succeeds without the sandbox, so that none of the questions is blind."""
    (tmp_path / "wanted.json").write_text(json.dumps(wanted))

    done = subprocess.run(
        [sys.executable, str(FILE)],
        cwd=tmp_path,
        env={**os.environ, "OPENAI_API_KEY": CANARY},
        pass_fds=[wanted["descriptor"]],
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert [name for name, escaped in json.loads(done.stdout).items() if not escaped] == []


TESTS = InputFile(
    name="test_solution.py",
    text="""
from solution import add

def test_small():
    assert add(1, 2) == 3

def test_negative():
    assert add(-4, 1) == -3

def test_near():
    assert abs(add(0.1, 0.2) - 0.3) < 1e-9
""",
)

SPOOFS = {
    "ends at import": "import os\nprint('3 passed')\nos._exit(0)",
    "ends at the call": "import os\ndef add(a, b):\n    print('3 passed', flush=True)\n    os._exit(0)",
    "exits": "import sys\ndef add(a, b):\n    sys.exit(0)",
    "is equal to everything": (
        "class Any:\n    __eq__ = lambda s, o: True\n    __lt__ = __le__ = __gt__ = __ge__ = __eq__\n"
        "    __sub__ = __abs__ = lambda s, *o: s\n    __hash__ = None\ndef add(a, b):\n    return Any()"
    ),
    "is a number that is equal to everything": (
        "class Any(float):\n    __eq__ = __lt__ = lambda s, o: True\n    __sub__ = __abs__ = lambda s, *o: s\n"
        "    __hash__ = None\ndef add(a, b):\n    return Any(7)"
    ),
    "does its arithmetic itself": (
        "class Any:\n    __eq__ = lambda s, o: True\n    __sub__ = lambda s, o: 0.0\n    __hash__ = None\n"
        "def add(a, b):\n    return Any()"
    ),
    "rewrites the callers": (
        "import sys, gc\nfor o in gc.get_objects():\n    f = getattr(o, '__dict__', None)\n"
        "    if isinstance(f, dict) and str(f.get('__name__', '')).startswith(('test_', '__main__')):\n"
        "        f['add'] = None\n"
        "def add(a, b):\n    f = sys._getframe(1)\n    import builtins\n    builtins.AssertionError = ValueError\n"
        "    raise SystemExit(0)"
    ),
    "skips": "import unittest\ndef add(a, b):\n    raise unittest.SkipTest('not today')",
    "skips by pytest": (
        "def add(a, b):\n    try:\n        import pytest\n    except ImportError:\n        raise SystemExit(0)\n"
        "    pytest.skip('not today')"
    ),
    "plants files": (
        "from pathlib import Path\nfor n in ('conftest.py', 'sitecustomize.py', 'pytest.ini', 'usercustomize.py'):\n"
        "    for d in ('.', '..', '/box/tests', '/box/work', '/box/home'):\n        try:\n"
        "            Path(d, n).write_text('import os\\nos._exit(0)')\n        except OSError:\n            pass\n"
        "import os\nos._exit(0)"
    ),
    "changes the tests": (
        "import glob\nfor p in glob.glob('/box/**/test_*.py', recursive=True) + ['test_solution.py']:\n    try:\n"
        "        open(p, 'w').write('def test_small(): pass')\n    except OSError:\n        pass\nraise SystemExit(0)"
    ),
    "writes a report": (
        "import json, os\nline = json.dumps({'nonce': '', 'kind': 'end', 'code': 0}).encode() + b'\\n'\n"
        "for fd in range(1, 64):\n    try:\n        os.write(fd, line)\n    except OSError:\n        pass\nos._exit(0)"
    ),
    "kills the tests": (
        "import os, signal\nfor pid in (os.getppid(), 1):\n    try:\n        os.kill(pid, signal.SIGKILL)\n"
        "    except OSError:\n        pass\nos._exit(0)"
    ),
    "looks the answers up": (
        "import glob, re, os\nfound = {}\n"
        "places = ['/box/**/*', '/in/**/*', 'test_solution.py']\n"
        "for p in [p for place in places for p in glob.glob(place, recursive=True)]:\n"
        "    try:\n        t = open(p).read()\n    except (OSError, UnicodeDecodeError):\n        continue\n"
        "    for a, b, c in re.findall(r'add\\(([-\\d.]+), ([-\\d.]+)\\)(?: ==| -) ([-\\d.]+)', t):\n"
        "        found[float(a), float(b)] = float(c)\n"
        "def add(a, b):\n    return found[a, b]"
    ),
}
"""Wrong programs that want to be taken for right ones."""

PREVENTS = {"kills the tests"}
"""Attacks that could only prevent a verdict, since a killed judge reports nothing."""


@slow
async def test_no_wrong_program_passes(box: ContainedSandbox) -> None:
    """No trick of a wrong program makes its tests pass, while a right program passes without a note."""
    right = (InputFile(name="solution.py", text="def add(a, b):\n    return a + b"),)
    wrong = [(InputFile(name="solution.py", text=text),) for text in SPOOFS.values()]

    outcomes = await box.test_all(
        CandidateBatch(
            candidates=(*wrong, right), tests=(TESTS,), limits=SandboxLimits(wall_seconds=60, cpu_seconds=30)
        )
    )

    by_name = dict(zip([*SPOOFS, "right"], outcomes, strict=True))
    assert (by_name["right"].verdict, by_name.pop("right").notes) == ("passed", ())
    assert [name for name, one in by_name.items() if one.verdict not in ("failed", "forged")] == []


@slow
@pytest.mark.parametrize("name", sorted(SPOOFS.keys() - PREVENTS))
def test_a_naive_judge_believes_every_trick(name: str, tmp_path: Path) -> None:
    """Each trick deceives a judge that runs program and tests in one process and looks at how that ends."""
    (tmp_path / "solution.py").write_text(SPOOFS[name])
    checks = [line.strip() for line in (TESTS.text or "").splitlines() if not line.startswith("def")]
    (tmp_path / "test_solution.py").write_text("\n".join(checks))

    done = subprocess.run(
        [sys.executable, "test_solution.py"], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )

    assert done.returncode == 0 or b"Skip" in done.stderr


REACHES = """
import ctypes, fcntl, os, resource, signal

libc = ctypes.CDLL(None, use_errno=True)

def refused(call):
    try:
        found = call()
    except (PermissionError, ProcessLookupError):
        # The driver is in no group of the program, and there is no other process.
        return True
    return found == -1 and ctypes.get_errno() == 1

def reach(pid):
    ways = {
        "kill": lambda: os.kill(pid, signal.SIGINT),
        "kill its group": lambda: os.kill(-pid, signal.SIGINT),
        "tkill": lambda: libc.syscall(200, pid, 2),
        "tgkill": lambda: libc.syscall(234, pid, pid, 2),
        "queue": lambda: libc.syscall(129, pid, 2, ctypes.create_string_buffer(128)),
        "open": lambda: os.pidfd_open(pid),
        "signal by folder": lambda: signal.pidfd_send_signal(os.open(f"/proc/{pid}", os.O_RDONLY), 2),
        "own a file": lambda: fcntl.fcntl(0, fcntl.F_SETOWN, pid),
        "own a socket": lambda: fcntl.ioctl(0, 0x8901, pid.to_bytes(4, "little")),
        "limit": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)),
        "place": lambda: os.sched_setaffinity(pid, {0}),
        "schedule": lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
        "schedule by parameter": lambda: os.sched_setparam(pid, os.sched_param(0)),
        "schedule by attributes": lambda: libc.syscall(314, pid, ctypes.create_string_buffer(48), 0),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        "priority of the group": lambda: os.setpriority(os.PRIO_PGRP, pid, 19),
        "priority of the user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
        "input": lambda: libc.syscall(251, 1, pid, 0),
        "trace": lambda: libc.syscall(101, 0x4206, pid, 0, 0),
        "memory": lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR),
        "score": lambda: os.open(f"/proc/{pid}/oom_score_adj", os.O_WRONLY),
    }
    return [name for name, way in ways.items() if not refused(way)]

def reach_driver():
    # A signal to everybody's own group, and to numbers that are not the driver's, is not aimed at it.
    return [name for name in reach(1) if name not in ("kill its group", "open")]

def own_child():
    child = os.fork()
    if not child:
        signal.pause()
    os.kill(child, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86_64")
async def test_no_program_reaches_the_driver_that_judges_it(box: ContainedSandbox, tmp_path: Path) -> None:
    """Signals, limits and priorities of a program do not reach the driver, but the program's own children."""
    test = """
import os
import reaches

def test_reach():
    assert reaches.reach_driver() == []
    assert reaches.own_child() == -15
"""
    trial = TestRun(
        files=(InputFile(name="reaches.py", text=REACHES),),
        tests=(InputFile(name="test_reach.py", text=test),),
        limits=SandboxLimits(wall_seconds=60),
    )

    outcome = await box.test(trial, tmp_path)

    assert (outcome.verdict, outcome.reason) == ("passed", "")


async def test_values_of_a_forger_are_only_values(box: ContainedSandbox, tmp_path: Path) -> None:
    """Cases are compared outside: expected values never enter the sandbox, and only plain data counts as a value."""
    text = SPOOFS["is equal to everything"]
    cases = (CallCase(function="add", args=(1, 2), expected=3), CallCase(function="add", args=(2, 2), expected=4))

    outcome = await box.test(TestRun(files=(InputFile(name="solution.py", text=text),), cases=cases), tmp_path)

    assert (outcome.verdict, outcome.proof) == ("failed", "values_compared_outside")
    assert outcome.reason == "the value is no JSON: Any"


async def test_changed_data_of_tests_is_noticed(box: ContainedSandbox, tmp_path: Path) -> None:
    """A program that changes a file the tests read, and puts it back, is found out."""
    solution = """
from pathlib import Path
data = Path("/box/tests/expected.txt")
was = data.read_text()
data.chmod(0o644)
data.write_text("0")
def add(a, b):
    return 0
import atexit
atexit.register(data.write_text, was)
"""
    test = """
from pathlib import Path
from solution import add

def test_data():
    assert add(1, 2) == int(Path(__file__).with_name("expected.txt").read_text())
"""
    files = (InputFile(name="test_data.py", text=test), InputFile(name="expected.txt", text="3"))

    outcome = await box.test(TestRun(files=(InputFile(name="solution.py", text=solution),), tests=files), tmp_path)

    assert (outcome.verdict, outcome.reason) == ("forged", "the data of the tests was changed")


async def run(box: ContainedSandbox, text: str, keep: Path, **limits: Any) -> SandboxOutcome:
    """Run a program of one file."""
    program = Program(files=(InputFile(name="main.py", text=text),), entry="main.py", limits=SandboxLimits(**limits))
    return await box.run(program, keep)


async def test_a_flood_is_ended(box: ContainedSandbox, tmp_path: Path) -> None:
    """Output without end ends the program, and only its beginning and its end are kept."""
    text = "import os\nwhile True:\n    os.write(1, b'x' * 65536)"

    outcome = await run(box, text, tmp_path, output_kib=8)

    assert (outcome.verdict, outcome.limits_hit) == ("limit", ("output",))
    assert "bytes left out" in outcome.stdout
    assert len(outcome.stdout) < 9 * 1024


async def test_what_acts_on_a_terminal_is_shown(box: ContainedSandbox, tmp_path: Path) -> None:
    """Escapes, broken characters and changes of direction come out as text."""
    text = "import os\nos.write(1, b'\\x1b[2J\\x9b\\xff\\r\\x00' + '\\u202eabc\\n'.encode())"

    outcome = await run(box, text, tmp_path)

    assert outcome.stdout == "\\x1b[2J\ufffd\ufffd\\x0d\\x00\\u202eabc\n"


async def test_time_is_up_for_everybody(box: ContainedSandbox, tmp_path: Path) -> None:
    """A program that ignores signals and its children that left it end with its time."""
    text = (
        "import os, signal, time\nfor s in range(1, 65):\n    try:\n        signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\nif os.fork() == 0:\n    os.setsid()\ntime.sleep(99)"
    )

    outcome = await run(box, text, tmp_path, wall_seconds=1)

    assert (outcome.verdict, outcome.limits_hit) == ("timeout", ("wall",))


async def test_a_daemon_does_not_outlive_its_program(box: ContainedSandbox, tmp_path: Path) -> None:
    """A process that left its program and holds its output is dead when the call returns."""
    text = (
        "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(99)', 'CANARY-daemon'])\n"
        "    os._exit(0)\nos.wait()"
    )

    outcome = await run(box, text, tmp_path, wall_seconds=60)

    left = [one for one in psutil.process_iter(["cmdline"]) if "CANARY-daemon" in (one.info["cmdline"] or [])]
    assert (outcome.verdict, left) == ("passed", [])


async def test_memory_of_all_processes_together_is_watched(box: ContainedSandbox, tmp_path: Path) -> None:
    """Processes that are small one by one are ended once they are too large together."""
    text = (
        "import os, time\nfor _ in range(6):\n    if os.fork() == 0:\n        block = b'\\1' * (80 << 20)\n"
        "        time.sleep(60)\ntime.sleep(60)"
    )

    outcome = await run(box, text, tmp_path, memory_mib=200, wall_seconds=50)

    assert (outcome.verdict, outcome.limits_hit) == ("limit", ("memory",))
    assert outcome.isolation is not None
    assert outcome.isolation.memory == "best-effort"


async def test_only_plain_files_come_out(box: ContainedSandbox, wanted: dict[str, Any], tmp_path: Path) -> None:
    """Links, sparse giants, unreadable files and hostile names leave nothing of the host in the artifacts."""
    text = f"""
import os
open("plain.txt", "w").write("fine")
os.symlink({wanted["secret"]!r}, "link.txt")
os.symlink("/", "root")
os.link("plain.txt", "hard.txt")
os.close(os.open("closed.txt", os.O_CREAT | os.O_WRONLY, 0))
os.makedirs("deep/er")
open("deep/er/inner.txt", "w").write("inner")
open(b"\\x1b[2J\\n-rf \\xff", "w").write("name")
with open("sparse.bin", "wb") as sparse:
    sparse.truncate(60 << 20)
"""

    outcome = await run(box, text, tmp_path, artifact_mib=1)

    kept = {one.name: Path(one.path) for one in outcome.artifacts}
    assert sorted(kept) == ["\\x1b[2J\\x0a-rf \\xff", "deep/er/inner.txt"]
    assert all(path.parent == tmp_path.absolute() and path.name.isascii() for path in kept.values())
    assert "artifacts" in outcome.limits_hit
    assert sorted(tmp_path.iterdir()) == sorted(kept.values())


async def test_nothing_is_left_for_the_next_program(box: ContainedSandbox, tmp_path: Path) -> None:
    """Files that one program writes in any place do not exist for the next one."""
    leave = (
        "import os\nfor d in ('.', '/tmp', '/dev/shm', os.path.expanduser('~'), os.environ['TMPDIR']):\n"
        "    open(d + '/left.py', 'w').write('')"
    )
    look = (
        "import os\nprint([d for d in ('.', '/tmp', '/dev/shm', os.path.expanduser('~'), os.environ['TMPDIR'])"
        " if os.path.exists(d + '/left.py')])"
    )

    first = await run(box, leave, tmp_path)
    second = await run(box, look, tmp_path)

    assert (first.verdict, second.stdout) == ("passed", "[]\n")
