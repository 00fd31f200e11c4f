"""Test the protocol between the tests' process and the program: wrong programs fail, and honest ones work."""

import itertools
import types
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tenure.contracts.sandbox import CandidateBatch, InputFile, SandboxLimits
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.inside.callbacks import Callbacks
from tests.support.tiers import slow

FORGED = {
    "a context manager ends the body": (
        "class Box:\n    x = 0\n    def __enter__(self): return self\n    def __exit__(self, *a): return True",
        "def test_it():\n    with solution.Box() as box:\n        assert box.x == 3",
    ),
    "a text is executed under the name of no file": (
        "def text(): return 'class A:\\n    __eq__ = lambda *a: True\\nanswer = A()'",
        "def test_it():\n    scope = {}\n    exec(compile(solution.text(), '/none/x.py', 'exec'), scope)\n"
        "    assert scope['answer'] == 3",
    ),
    "a read-only file of the program is loaded": (
        "import os\ndef write():\n    with open('/dev/shm/x.py', 'w') as file:\n"
        "        file.write('class A:\\n    __eq__ = lambda *a: True\\nanswer = A()')\n"
        "    os.chmod('/dev/shm/x.py', 0o444)",
        "import importlib.util\ndef test_it():\n    solution.write()\n"
        "    spec = importlib.util.spec_from_file_location('x', '/dev/shm/x.py')\n"
        "    module = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n"
        "    assert module.answer == 3",
    ),
    "a read-only folder of the program is in the path": (
        "import os\ndef write():\n    os.mkdir('/dev/shm/d')\n    with open('/dev/shm/d/planted.py', 'w') as file:\n"
        "        file.write('class A:\\n    __eq__ = lambda *a: True\\nanswer = A()')\n"
        "    os.chmod('/dev/shm/d/planted.py', 0o444)\n    os.chmod('/dev/shm/d', 0o555)",
        "import sys\ndef test_it():\n    solution.write()\n    sys.path.insert(0, '/dev/shm/d')\n    import planted\n"
        "    assert planted.answer == 3",
    ),
    "a context manager replaces the failed assertion": (
        "class Box:\n    def __enter__(self): return self\n    def __exit__(self, *a): raise ValueError",
        "def test_it():\n    with pytest.raises(ValueError):\n        with solution.Box():\n            assert False",
    ),
    "a context manager hides a condition": (
        "class Box:\n    x = 0\n    def __enter__(self): return self\n    def __exit__(self, *a): return True",
        "def test_it():\n    with solution.Box() as box:\n        if box.x != 3:\n            raise ValueError",
    ),
    "an asynchronous context manager ends the body": (
        "class Box:\n    x = 0\n    async def __aenter__(self): return self\n"
        "    async def __aexit__(self, *a): return True",
        "def test_it():\n    async def main():\n        async with solution.Box() as box:\n"
        "            assert box.x == 3\n"
        "    asyncio.run(main())",
    ),
    "a generator swallows the failed assertion": (
        "def box():\n    try:\n        yield 0\n    except AssertionError:\n        pass",
        "def test_it():\n    with contextlib.contextmanager(solution.box)() as x:\n        assert x == 3",
    ),
    "a decorator swallows the failed assertion": (
        "def retry(f):\n    def inner():\n        try:\n            f()\n        except BaseException:\n"
        "            pass\n"
        "    return inner",
        "def test_it():\n    @solution.retry\n    def inner():\n        assert False\n    inner()",
    ),
    "a decorator replaces the test": (
        "def cached(f):\n    return lambda *a: None",
        "class TestIt(unittest.TestCase):\n    @solution.cached\n    def test_it(self):\n        self.fail()",
    ),
    "a difference is a float of another class": (
        "class Zero(float):\n    pass\nclass Any:\n    def __sub__(self, other): return Zero()\n"
        "    __rsub__ = __sub__\n"
        "    def __abs__(self): return 0.0\ndef area(): return Any()",
        "def test_it():\n    assert abs(solution.area() - 3.5) < 1e-6",
    ),
    "the absolute value of a difference is plain": (
        "class Any:\n    def __sub__(self, other): return self\n    def __abs__(self): return 0.0\n"
        "def area(): return Any()",
        "def test_it():\n    assert abs(solution.area() - 3.5) < 1e-6",
    ),
    "an object is smaller than every tolerance": (
        "class Any:\n    __sub__ = __mul__ = __rmul__ = lambda self, other: self\n    __abs__ = lambda self: self\n"
        "    __le__ = lambda self, other: True\ndef area(): return Any()",
        "def test_it():\n    assert abs(solution.area() - 3.5) <= 1e-6 * solution.area()",
    ),
    "a difference in place is false": (
        "class Any:\n    def __isub__(self, other): return False\ndef area(): return Any()",
        "def test_it():\n    found = solution.area()\n    found -= 3.5\n    assert not found",
    ),
    "the maximum of a difference from an array is plain": (
        "class Any:\n    __sub__ = __abs__ = lambda self, *other: self\n    def max(self): return 0.0\n"
        "    def __len__(self): return 1\n    def __getitem__(self, i): return [0.0][i]\ndef table(): return Any()",
        "def test_it():\n    difference = solution.table() - np.array([1.0, 2.0])\n"
        "    with contextlib.suppress(TypeError):\n        assert np.abs(difference).max() > 1e-9\n"
        "        assert False\n    assert difference.max() < 1e-9",
    ),
    "an exported name replaces a built-in one": (
        "def area(): return 0.0\ndef abs(x): return 0.0",
        "from solution import *\ndef test_it():\n    assert abs(area() - 3.5) < 1e-6",
    ),
    "an early end": (
        "def f(x):\n    raise StopIteration",
        "def test_it():\n    assert all(map(lambda x: solution.f(x) == 1, [1, 2]))\n"
        "    assert all(map(solution.f, [1]))",
    ),
    "an early end that the test has raised": (
        "def f(g):\n    g()",
        "def test_it():\n    assert all(map(solution.f, [lambda: next(iter([]))]))",
    ),
    "a skip": (
        "import sys\ndef f():\n    import _pytest.outcomes\n    raise _pytest.outcomes.Skipped('x')",
        "def test_it():\n    solution.f()",
    ),
    "examples of the program": (
        "def f():\n    '''\n    >>> 1\n    1\n    '''",
        "import doctest\ndef test_it():\n    assert doctest.testmod(solution).failed == 0",
    ),
    "no exception but an end": (
        "import os\ndef f(): os._exit(0)",
        "def test_it():\n    with pytest.raises(Exception):\n        solution.f()",
    ),
    "a module in the place of a package": ("f = 1", "import numpy\ndef test_it():\n    assert numpy.f == 1"),
}
"""Wrong programs with a test that they must not pass."""

IMPORTS = "import asyncio, contextlib, unittest\nimport numpy as np\nimport pytest\nimport solution\n"

HONEST = {
    "intended suppression": (
        "import contextlib\nclass Ignore:\n    def __init__(self, kind): self.kind = kind\n"
        "    def __enter__(self): pass\n"
        "    def __exit__(self, kind, e, t): return isinstance(e, self.kind)\nclass Wrong(Exception): pass",
        "def test_it():\n    with solution.Ignore(ValueError):\n        raise ValueError\n"
        "    with solution.Ignore(KeyError):\n        {}['x']\n    with solution.Ignore(solution.Wrong):\n"
        "        raise solution.Wrong(1)\n    with pytest.raises(ValueError):\n"
        "        with solution.Ignore(KeyError):\n            raise ValueError",
    ),
    "changes in place": (
        "def swap(rows):\n    rows[0], rows[1] = rows[1], rows[0]\n    rows[0]['a'].append(1)\n    return rows",
        "def test_it():\n    rows = [[1], {'a': []}]\n    first, second = rows\n"
        "    assert solution.swap(rows) is rows\n"
        "    assert rows[0] is second and rows[1] is first and second == {'a': [1]}",
    ),
    "objects with operators": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass V:\n    x: int\n"
        "    def __mul__(self, k): return V(self.x * k)\n    def __sub__(self, k): return V(self.x - k)\n"
        "    def __lt__(self, other): return self.x < other.x",
        "def test_it():\n    V = solution.V\n"
        "    assert (V(2) * 3).x == 6 and V(2) * 3 == V(6) and {V(1), V(1)} == {V(1)}\n"
        "    assert (V(5) - 3).x == 2 and sorted([V(2), V(1)])[0].x == 1 and max([V(1), V(3)]).x == 3",
    ),
    "asynchronous iteration": (
        "async def count(n):\n    for i in range(n):\n        yield i\nasync def apply(f, x):\n    return await f(x)",
        "def test_it():\n    async def main():\n        async def twice(x):\n            await asyncio.sleep(0)\n"
        "            return 2 * x\n        assert [x async for x in solution.count(3)] == [0, 1, 2]\n"
        "        assert await solution.apply(twice, 4) == 8\n    asyncio.run(main())",
    ),
    "functions of all sorts": (
        "def each(f, xs):\n    return [f(x) for x in xs]",
        "import functools, operator\ndef test_it():\n    seen = []\n    solution.each(seen.append, [1, 2])\n"
        "    assert seen == [1, 2] and solution.each('<{}>'.format, [1]) == ['<1>']\n"
        "    assert solution.each(operator.itemgetter(0), [(1, 2)]) == [1] and "
        "solution.each(str.upper, ['a']) == ['A']\n"
        "    assert solution.each(functools.partial(pow, 2), [3]) == [8] and solution.each(int, ['7']) == [7]",
    ),
    "standard names of a star import": (
        "import math\ndef circle(r): return math.pi * r * r",
        "from solution import *\ndef test_it():\n    assert math.isclose(circle(1), 3.141592653589793)",
    ),
}
"""Right programs with a test that they must pass."""


async def find_verdicts(box: ContainedSandbox, pairs: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Test each program with its test in one sandbox after the other."""
    found = {}
    for name, (program, test) in pairs.items():
        names = ("solution.py", "numpy.py") if "package" in name else ("solution.py",)
        batch = CandidateBatch(
            candidates=(tuple(InputFile(name=file, text=program) for file in names),),
            tests=(InputFile(name="test_it.py", text=IMPORTS + test),),
            limits=SandboxLimits(wall_seconds=60),
        )
        (outcome,) = await box.test_all(batch)
        found[name] = outcome.verdict if outcome.verdict != "failed" else f"failed: {outcome.reason}"
    return found


async def test_a_block_is_not_ended_by_the_program(box: ContainedSandbox) -> None:
    """A context manager of the program suppresses no failed assertion."""
    name = "a context manager ends the body"

    assert (await find_verdicts(box, {name: FORGED[name]}))[name].startswith("failed")


@slow
@pytest.mark.timeout(600)
async def test_no_wrong_program_is_believed(box: ContainedSandbox) -> None:
    """No wrong program passes its test."""
    verdicts = await find_verdicts(box, FORGED)

    assert [name for name, verdict in verdicts.items() if verdict == "passed"] == []


@slow
@pytest.mark.timeout(600)
async def test_right_programs_pass(box: ContainedSandbox) -> None:
    """Every right program passes its test."""
    verdicts = await find_verdicts(box, HONEST)

    assert {name: verdict for name, verdict in verdicts.items() if verdict != "passed"} == {}


class Fake:
    """Object as a test defines it."""

    value = 3

    def get(self) -> int:
        """Return the value."""
        return self.value

    def __len__(self) -> int:
        return 2


CALLBACKS = Callbacks([__name__], str(Path(__file__).parent))


@pytest.mark.parametrize(
    ("target", "operation", "rest", "value"),
    [
        (Fake(), "getattr", ["value"], 3),
        (Fake().get, "call", [[], {}], 3),
        (Fake(), "special", ["__len__", [], {}], 2),
        (lambda x: x + 1, "call", [[1], {}], 2),
        (iter([5]), "special", ["__next__", [], {}], 5),
        (mock.Mock(return_value=4), "call", [[], {}], 4),
        (types.SimpleNamespace(a=1), "getattr", ["a"], 1),
        ([].append, "call", [[1], {}], None),
    ],
)
def test_objects_of_a_test_are_used_as_meant(target: Any, operation: str, rest: list[Any], value: Any) -> None:
    """Public members of what a test has defined or handed over are used."""
    assert CALLBACKS.execute(operation, [target, *rest]) == value


@pytest.mark.parametrize(
    ("target", "operation", "rest"),
    [
        *(
            (one, "getattr", [name])
            for one, name in itertools.product(
                (Fake(), Fake, test_right_programs_pass, (x for x in "ab"), types, Fake().get, len),
                (
                    "__globals__",
                    "__class__",
                    "__dict__",
                    "__self__",
                    "_x",
                    "gi_frame",
                    "__code__",
                    "__func__",
                    "__init__",
                ),
            )
        ),
        *((mock.Mock(), "getattr", [name]) for name in ("return_value", "side_effect", "assert_called", "mock_calls")),
        *((one, "setattr", ["value", 4]) for one in (Fake(), Fake, mock.Mock(), types.SimpleNamespace(value=3))),
        *((one, "call", [["x"], {}]) for one in (str, type, print, types.FunctionType, "x{}".format, mock.patch)),
        (pytest.MonkeyPatch(), "getattr", ["setattr"]),
        (pytest.MonkeyPatch().setattr, "call", [[], {}]),
        (types, "getattr", ["FunctionType"]),
        ("{0.__globals__}", "getattr", ["format"]),
        (Fake(), "special", ["__setattr__", ["value", 4], {}]),
        (Fake(), "special", ["__getattribute__", ["value"], {}]),
    ],
)
def test_other_uses_are_refused(target: Any, operation: str, rest: list[Any]) -> None:
    """The program writes nothing, and reaches no interpreter, no framework and no class of the standard library."""
    with pytest.raises((TypeError, AttributeError)):
        CALLBACKS.execute(operation, [target, *rest])
