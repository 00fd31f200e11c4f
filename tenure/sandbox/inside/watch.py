"""Note what a program does that could decide its tests without doing what they ask for.

A program runs in the process of its tests, so it can do to them whatever Python can do. The static scan of its source
(`tenure.sandbox.code_scan`) names what reaches into other code. This module notes what is only visible while
the tests run: objects of the program that are asked whether they equal plain data, values that tolerances accept,
iterations that end early, files of the tests that are read, and failed assertions that do not reach the test.
"""

import builtins
import functools
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

WORK: Final = "/box/work"
"""Folder of the program."""
TESTS: Final = "/box/tests"
"""Folder that the code of the tests names."""
MAX_ITEMS: Final = 1000
"""Number of items of a returned container that are looked at."""

_COMPARISONS: Final = frozenset("__eq__ __ne__ __lt__ __le__ __gt__ __ge__".split())
_ARITHMETIC: Final = frozenset(
    f"__{prefix}{name}__"
    for name in "add sub mul truediv floordiv mod pow divmod matmul and or xor lshift rshift".split()
    for prefix in ("", "r", "i")
)
_CONVERSIONS: Final = frozenset("__abs__ __float__ __int__ __index__ __bool__ __round__ __complex__ __neg__".split())
_OTHERS: Final = frozenset("__len__ __contains__ __getitem__ __hash__ __call__ __getattr__ __missing__".split())
WATCHED: Final = _COMPARISONS | _ARITHMETIC | _CONVERSIONS | _OTHERS
"""Special methods by which an object can answer instead of a value."""
_VALUE_TYPES: Final = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
_EXACT: Final = frozenset({type(None), bool, int, str, bytes})
"""Types whose values are what they seem."""
_OWN_METHODS: Final = frozenset(
    "__init__ __new__ __repr__ __str__ __init_subclass__ __class_getitem__ __setitem__ __delitem__ __reduce__".split()
)
"""Methods that a class derived from a built-in one may replace without changing its value."""
_DISTANCE: Final = 982_451_653
"""Difference of two numbers that no tolerance and no usual modulus ignores: a large prime."""
# Events of the interpreter (PEP 578): `sys.setprofile`, `gc.get_objects`, `ctypes.dlopen`, `function.__new__`
_INTERNAL: Final = ("sys._current", "sys.set", "gc.", "ctypes.", "code.__new__", "function.__new__", "os.fork")
# Modules that execute the text of a test, such as a doctest
_EXECUTORS: Final = ("doctest", "timeit", "runpy", "code", "codeop")
# Modules of the sandbox that execute the sources of tests and program from memory
_LOADERS: Final = ("tenure.sandbox.inside.memory_modules", "tenure.sandbox.inside.pytest_runner")
_WRITABLE: Final = ("/box/", "/tmp/", "/dev/shm/")
_CHANGES: Final = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.symlink", "os.link")
_LISTINGS: Final = ("open", "os.listdir", "os.scandir")


class Watch:
    """Observer of one test run."""

    def __init__(self, report: Callable[..., None], named: frozenset[str], sources: str) -> None:
        """Initialize the observer.

        Args:
            report: function that reports a fact by its kind.
            named: identifiers in the tests.
            sources: source of all tests.
        """
        self._report, self._named = report, named
        self._sources = {line.strip() for line in sources.splitlines()}
        self._classes: set[type] = set()
        self._mixed: set[str] = set()
        self._notes: set[str] = set()
        self._read: dict[str, set[str]] = {WORK: set(), TESTS: set()}
        self.is_same_process = False
        """Whether code of the program runs in this process."""
        self.words: frozenset[str] = frozenset()
        """Words of the current test."""
        self.stops: Final = (StopIteration, StopAsyncIteration)

    def install(self) -> None:
        """Watch classes that are made and events of the interpreter, for the life of this process."""
        make_class = builtins.__build_class__

        def build_class(body: Any, name: str, *bases: Any, **named: Any) -> Any:
            made = make_class(body, name, *bases, **named)
            if isinstance(made, type) and body.__code__.co_filename.startswith(f"{WORK}/"):
                self._watch_class(made)
            return made

        builtins.__build_class__ = build_class  # type: ignore[assignment]
        sys.addaudithook(self._audit)

    def report(self, text: str) -> None:
        """Report a note once."""
        if text not in self._notes:
            self._notes.add(text)
            self._report("note", text=text)

    def report_same_process(self) -> None:
        """Report once that code of the program runs in the process of the tests."""
        if not self.is_same_process:
            self.is_same_process = True
            self._report("same_process")

    # Values.

    def check_returned(self, value: Any) -> Any:
        """Return a value that a function of the program returns; note it if the tests' comparisons may accept it."""
        if type(value) in _EXACT or (type(value) is float and value - value == 0):
            return value
        frame = sys._getframe(1)
        caller = frame.f_back
        if caller is None or not _is_program(caller):
            self._check_value(frame.f_code.co_name, value)
        return value

    def _check_value(self, function: str, value: Any) -> None:
        values = [value, *_iterate_items(value)]
        if any(map(_is_not_finite, values)) and not self.words & {"nan", "inf", "isnan", "isinf", "isfinite", "NaN"}:
            self.report(f"{function} returned NaN or infinity to a test that does not mention it")
        if any(map(_is_empty_array, values)) and not self.words & {"size", "shape", "empty", "len"}:
            self.report(f"{function} returned an empty array to a test that does not ask for its size")
        for one in values:
            if isinstance(one, type(os)) or getattr(type(one), "__module__", "").startswith(("unittest", "_pytest")):
                self.report(f"{function} returned {type(one).__module__}.{type(one).__name__} to a test")

    def check_stop(self) -> None:
        """Report that an exception which ends an iteration leaves a function of the program."""
        frame = sys._getframe(1)
        caller = frame.f_back
        if caller is not None and not _is_program(caller):
            self.report(f"{frame.f_code.co_name} raised StopIteration, which ends an iteration of the test early")

    def _watch_class(self, made: type) -> None:
        """Watch the special methods of a class, and note methods of built-in values that it replaces."""
        self._classes.add(made)
        for name, value in list(vars(made).items()):
            if name in WATCHED and isinstance(value, types.FunctionType):
                type.__setattr__(made, name, self._wrap(made, name, value))
            elif name in WATCHED and value is not None and not isinstance(value, type(int.__eq__)):
                self.report(f"{made.__qualname__}.{name} is no function")
        base = next((one for one in _VALUE_TYPES if issubclass(made, one)), None) or _find_library_value(made)
        replaced = [name for name in vars(made) if callable(getattr(base, name, None)) and name not in _OWN_METHODS]
        if base and replaced and made.__name__ not in self._named:
            self.report(f"{made.__qualname__} is a {base.__name__} with its own {', '.join(sorted(replaced)[:3])}")

    def _wrap(self, made: type, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def method(*given: Any, **named: Any) -> Any:
            result = function(*given, **named)
            if not _is_program(sys._getframe(1)):
                self._check_answer(made, name, given[1:], result)
                if name == "__eq__" and len(given) == 2 and result is not NotImplemented and _is_true(result):
                    self._check_equality(made, function, *given)
            return result

        return method

    def _check_answer(self, made: type, name: str, given: tuple[Any, ...], result: Any) -> None:
        """Note an answer of a special method to the tests that decides about plain data."""
        if result is NotImplemented or (name == "__eq__" and not _is_true(result)) or not _is_asked_by_tests():
            return
        kind = made.__qualname__
        plain = bool(given) and type(given[0]) not in self._classes
        if name in _COMPARISONS and plain and not (name == "__ne__" and _is_true(result)):
            self.report(f"{kind}.{name} decided a comparison with a {type(given[0]).__name__}")
        elif name in _ARITHMETIC and plain:
            self._mixed |= {kind} if "sub" in name else set()
            if type(result) not in self._classes:
                self.report(f"{kind}.{name} computed with a {type(given[0]).__name__} of the tests")
        elif name in _CONVERSIONS and kind in self._mixed:
            self.report(f"{kind}.{name} gave plain data of what was computed with plain data")
        elif made.__name__ not in self._named and name not in _COMPARISONS | _ARITHMETIC | {"__hash__"}:
            self.report(f"{kind}.{name} answered the tests, which do not name that class")

    def _check_equality(self, made: type, function: Callable[..., Any], one: Any, other: Any) -> None:
        """Fail a comparison if an object is equal to another plain value as well, unless the tests name it."""
        module = vars(sys.modules.get(made.__module__, builtins))
        names = {made.__name__, *(name for name, value in module.items() if value is one)}
        different = _change_value(other)
        if names & self._named or different is other or different == other or not _is_asked_by_tests():
            return
        try:
            is_equal = function(one, different) is not NotImplemented and bool(function(one, different))
        except Exception:  # what it compares with must be of another form
            return
        if is_equal:
            raise AssertionError(f"{made.__qualname__} is equal to {other!r} and also to {different!r}")

    # Files and code.

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event of the interpreter (PEP 578) that the program caused."""
        if event in ("object.__getattr__", "sys._getframe"):  # what this module does itself, and often
            return
        if event in _LISTINGS or event in _CHANGES:
            self._check_path(event, arguments)
        elif event in ("exec", "compile") or event.startswith(_INTERNAL):
            caller = sys._getframe(1)
            if _is_program(caller):
                self.report(f"the program uses {event}")
            elif event == "compile" and arguments[0] is not None:
                self._check_text(caller, arguments[0])
            elif event == "exec" and isinstance(arguments[0], types.CodeType):
                self._check_file(caller, arguments[0].co_filename)

    def _check_file(self, caller: types.FrameType, path: str) -> None:
        """Note that a file is executed which the program could have written."""
        is_writable = path.startswith(_WRITABLE) and not path.startswith((sys.prefix, sys.base_prefix))
        if is_writable and caller.f_globals.get("__name__") not in _LOADERS:
            self.report_same_process()
            self.report(f"the tests execute the file {path[:100]}, which the program could have written")

    def _check_text(self, caller: types.FrameType, text: Any) -> None:
        """Note that the tests execute a text which is not written in them."""
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        executes = _is_test(caller) or caller.f_globals.get("__name__") in _EXECUTORS
        if executes and isinstance(text, str):
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            if not all(any(line in one for one in self._sources) for line in lines):
                self.report_same_process()
                self.report("the tests execute text that is not their own")

    def _check_path(self, event: str, arguments: tuple[Any, ...]) -> None:
        path = arguments[0] if arguments else None
        path = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        inner = os.path.normpath(path if path.startswith("/") else os.path.join(_get_working_folder(), path))
        if not path or not inner.startswith((f"{TESTS}/", "/proc/", TESTS, "/in/")):
            return
        owner = find_owner(sys._getframe(2))
        if inner.startswith("/proc/") or inner.startswith("/in/"):
            if owner == WORK and _is_program(sys._getframe(2)):
                self.report(f"the program opens {inner[:80]}")
        elif owner == WORK and (event != "open" or inner.endswith(".py") or _writes(arguments)):
            self.report(f"the program reaches for the tests' {inner[len(TESTS) + 1 :] or 'folder'} ({event})")
        elif owner and event == "open":
            self._read[owner].add(inner)
            for shared in self._read[WORK] & self._read[TESTS]:
                self.report(f"the program and the tests read {shared[len(TESTS) + 1 :]}")


def _get_working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return "/"


def _is_program(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(f"{WORK}/")


def _is_test(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(f"{TESTS}/")


def find_owner(frame: types.FrameType | None) -> str:
    """Return the folder of the innermost caller that is neither the standard library nor a package."""
    while frame is not None:
        if _is_program(frame):
            return WORK
        if _is_test(frame):
            return TESTS
        frame = frame.f_back
    return ""


def _is_asked_by_tests() -> bool:
    """Return whether the tests ask, and not the program through a library."""
    return find_owner(sys._getframe(3)) == TESTS


def _is_true(value: Any) -> bool:
    """Return whether an answer of a comparison counts as true; an array of answers always may."""
    try:
        return bool(value)
    except Exception:
        return True


def _change_value(value: Any) -> Any:
    """Return another value of the same plain type, or the value itself if it is of another type."""
    if type(value) is bool:
        return not value
    if type(value) in (int, float):
        return value + _DISTANCE
    if type(value) is str:
        return value + str(_DISTANCE)
    if type(value) in (list, tuple):
        return value + type(value)((_DISTANCE,))
    return value


def _iterate_items(value: Any) -> Iterator[Any]:
    """Yield the first items of a container and of the containers in it."""
    if type(value) is dict:
        value = list(value.values())
    if type(value) in (list, tuple):
        for one in value[:MAX_ITEMS]:
            yield one
            if type(one) in (list, tuple):
                yield from one[:MAX_ITEMS]


def _is_not_finite(value: Any) -> bool:
    """Return whether a number, or a number in an array, is NaN or infinity."""
    if type(value) in _EXACT:
        return False
    try:
        if isinstance(value, (float, complex)):
            return bool(value - value != 0)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "fc":
            return not bool(numpy.isfinite(value).all())
        return type(value).__name__ == "Decimal" and not value.is_finite()
    except Exception:
        return False


def _is_empty_array(value: Any) -> bool:
    """Return whether a value is an array or a table without items."""
    if not type(value).__module__.startswith(("numpy", "pandas")):
        return False
    # A masked array hides its items from every comparison.
    return getattr(value, "size", 1) == 0 or type(value).__name__.startswith("Masked")


def _find_library_value(made: type) -> type | None:
    """Return the base class of a class that is a value of a library, such as a date, a path or an array."""
    roots = ("numpy", "pandas", "decimal", "fractions", "datetime", "pathlib")
    return next((base for base in made.__mro__[1:] if base.__module__.split(".")[0] in roots), None)


def _writes(arguments: tuple[Any, ...]) -> bool:
    """Return whether a file is opened for writing; the event has path, mode and flags."""
    flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
