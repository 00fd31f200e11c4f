"""Decide what the program under test may do with objects that a test handed to it.

A request of the program names an object of the tests, an operation and, for reading an attribute, a public name. Every
other request is refused: attributes are never written, and nothing leads to modules, frames, code, the inside of
functions, classes of the standard library, or the test framework.
"""

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from tenure.sandbox.inside import endpoint, proxies
from tenure.sandbox.inside.protocol import MUTABLE, ProtocolError

FRAMEWORKS: Final = frozenset(
    "unittest pytest _pytest pluggy hypothesis _hypothesis_pytestplugin pytest_asyncio anyio doctest bdb pdb "
    "tenure".split()
)
"""Packages whose objects control a test run."""
CLOSURES: Final = ("functools", "contextlib")
"""Modules of the standard library whose closures stand for functions of the tests."""
MOCK_NAMES: Final = frozenset(
    "return_value side_effect called call_args call_args_list call_count".split()
) | frozenset(
    "method_calls mock_calls configure_mock reset_mock attach_mock mock_add_spec await_args await_args_list".split()
)
"""Names of a mock that belong to the test and not to the mocked object; so do those that begin with assert or await."""

_ITERATION: Final = frozenset({"__iter__", "__next__", "__length_hint__", "__aiter__", "__anext__"})
_VIEW: Final = frozenset({"__iter__", "__len__", "__contains__", "__getitem__", "__reversed__"})
_CONTEXT: Final = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})

INSTANCES: Final[dict[str, str]] = {
    "_io._IOBase": "read readline readlines readinto write writelines seek truncate flush close closed getvalue "
    "getbuffer readable writable seekable isatty name encoding mode",
    "queue.Queue": "put get put_nowait get_nowait task_done join qsize empty full maxsize",
    "_queue.SimpleQueue": "put get put_nowait get_nowait qsize empty",
    "asyncio.queues.Queue": "put get put_nowait get_nowait task_done join qsize empty full maxsize",
    "asyncio.locks.Event": "set clear wait is_set",
    "asyncio.locks.Lock": "acquire release locked",
    "asyncio.locks.Semaphore": "acquire release locked",
    "_thread.lock": "acquire release locked",
    "_thread.RLock": "acquire release",
    "threading.Event": "set clear wait is_set",
    "threading.Condition": "acquire release wait notify notify_all",
    "threading.Semaphore": "acquire release",
    "threading.Barrier": "wait parties n_waiting",
    "logging.Logger": "debug info warning warn error exception critical log isEnabledFor getEffectiveLevel getChild "
    "name level",
    "logging.LoggerAdapter": "debug info warning warn error exception critical log isEnabledFor",
    "random.Random": "random randint randrange choice choices sample uniform gauss normalvariate triangular "
    "expovariate getrandbits shuffle seed",
    "numpy.random._generator.Generator": "random integers normal choice uniform standard_normal permutation "
    "exponential poisson binomial shuffle",
    "numpy.random.mtrand.RandomState": "rand randn randint random normal choice uniform permutation shuffle",
    "sqlite3.Connection": "execute executemany executescript commit rollback cursor close total_changes in_transaction",
    "sqlite3.Cursor": "execute executemany executescript fetchone fetchall fetchmany close rowcount lastrowid "
    "description",
    "sqlite3.Row": "keys",
    "_csv.writer": "writerow writerows",
    "csv.DictWriter": "writeheader writerow writerows",
    "csv.DictReader": "fieldnames line_num",
    "re.Match": "group groups groupdict start end span string pos endpos lastindex lastgroup expand",
    "types.MappingProxyType": "get keys values items copy",
    "collections.ChainMap": "get keys values items",
    "collections.UserDict": "get keys values items pop setdefault update",
    "collections.UserList": "append extend insert pop remove index count",
    "array.array": "append extend insert pop remove index count tolist typecode",
    "builtins.memoryview": "tobytes tolist nbytes",
    "builtins.generator": "send close",
    "builtins.async_generator": "asend aclose",
    "builtins.coroutine": "send close",
    "string.Template": "substitute safe_substitute",
    "datetime.tzinfo": "utcoffset tzname dst",
    "time.struct_time": "tm_year tm_mon tm_mday tm_hour tm_min tm_sec tm_wday tm_yday tm_isdst",
    "contextlib.AbstractContextManager": "",
    "contextlib.AbstractAsyncContextManager": "",
}
"""Public names of instances of the standard library and NumPy, by class; their special methods may be used, too."""
DATA: Final = ("types.SimpleNamespace", "argparse.Namespace")
"""Classes whose instances have only data."""


class Use(NamedTuple):
    """Permitted operations on an object."""

    calls: bool
    has_name: Callable[[str], bool]
    """Whether a public attribute may be read."""
    specials: Iterable[str]


def _no_name(name: str) -> bool:
    return False


_OPAQUE: Final = Use(False, _no_name, ())
_CALL: Final = Use(True, _no_name, ("__call__",))


class Callbacks:
    """Operations of the program under test on objects of the tests."""

    def __init__(self, modules: Iterable[str], folder: str) -> None:
        """Initialize with the names of the tests' own modules and the folder that their code names."""
        self._modules = frozenset(modules)
        self._folder = folder + "/"

    def execute(self, operation: str, arguments: list[Any]) -> Any:
        """Execute a request of the program.

        Raises:
            ProtocolError: there is no such operation.
        """
        if operation == "input":
            return input(*(str(one) for one in arguments))
        if operation == "stdin":
            return {"read": sys.stdin.read, "readline": sys.stdin.readline}[arguments[0]](int(arguments[1]))
        target, *rest = arguments
        if operation in ("setattr", "delattr"):
            raise TypeError(f"the program may not change attributes of an object of the tests ({_describe(target)})")
        use = self.find_use(target)
        if operation == "getattr":
            return _read(target, str(rest[0]), use)
        if operation == "call" and use.calls:
            return target(*rest[0], **rest[1])
        if operation == "await" and ("__await__" in use.specials or isinstance(target, types.CoroutineType)):
            return endpoint.run_awaitable(target)
        if operation == "special":
            return _apply(target, use, *rest)
        if operation in ("call", "await"):
            raise TypeError(f"the program may not use this object of the tests ({_describe(target)})")
        raise ProtocolError(f"the program under test asked for {operation!r}")

    def find_use(self, target: Any) -> Use:
        """Return the permitted operations on an object of the tests."""
        kind = type(target)
        if _is_mock(target):
            return Use(callable(target), _is_mocked, proxies.SPECIAL)
        if isinstance(target, type):
            return Use(True, _is_public, ("__iter__", "__getitem__", "__len__")) if self._is_own(target) else _OPAQUE
        if isinstance(
            target, (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)
        ):
            return _CALL if self._is_function(target) else _OPAQUE
        if hasattr(kind, "cache_info") and kind.__module__ == "functools":
            return _CALL if self._is_function(target.__wrapped__) else _OPAQUE
        if self._is_own(kind):
            return Use(callable(target), _is_public, proxies.SPECIAL)
        if _is_of_framework(kind):
            return _OPAQUE
        if isinstance(target, BaseException):
            return Use(False, lambda name: _is_public(name) and not callable(getattr(target, name, None)), ())
        names = [_name_class(base) for base in kind.__mro__]
        if any(name in DATA for name in names):
            return Use(False, _is_public, ("__eq__", "__ne__"))
        listed = next((INSTANCES[name] for name in names if name in INSTANCES), None)
        if listed is not None:
            allowed = listed.split()
            return Use(
                False, lambda name: name in allowed, _ITERATION | _VIEW | _CONTEXT | {"__setitem__", "__await__"}
            )
        if kind.__module__ in ("builtins", "itertools", "collections") and hasattr(kind, "__iter__"):
            return Use(False, _no_name, _ITERATION | _VIEW)
        return _OPAQUE

    def _is_own(self, kind: type) -> bool:
        """Return whether a class is defined by the tests and by no test framework."""
        return kind.__module__ in self._modules and not any(map(_is_of_framework, kind.__mro__))

    def _is_function(self, target: Any) -> bool:
        """Return whether a function or bound method may be called."""
        if isinstance(target, types.MethodType):
            return self._is_function(target.__func__) or self._may_read(target.__self__, target.__name__)
        if isinstance(target, types.FunctionType):
            code = target.__code__
            return (
                code.co_filename.startswith(self._folder)
                or (code.co_filename == "<string>" and target.__module__ in self._modules)
                or (target.__module__ in CLOSURES and "<locals>" in target.__qualname__)
                or _is_mock(vars(target).get("mock"))
                or ("__wrapped__" in vars(target) and self._is_function(vars(target)["__wrapped__"]))
            )
        return self._may_read(target.__self__, target.__name__)

    def _may_read(self, owner: Any, name: str) -> bool:
        """Return whether a bound method that a test handed over belongs to an object that has it for the program."""
        if owner is None or isinstance(owner, (types.ModuleType, type)):
            return False
        if isinstance(owner, MUTABLE):
            return _is_public(name) or name in ("__getitem__", "__setitem__", "__contains__", "__delitem__", "__len__")
        use = self.find_use(owner)
        return use.has_name(name) or name in use.specials


def _read(target: Any, name: str, use: Use) -> Any:
    """Read a public attribute.

    Raises:
        AttributeError: the program may not read it.
    """
    if name in ("__name__", "__qualname__") and isinstance(target, (type, types.FunctionType, types.MethodType)):
        return str(getattr(target, name))
    if not use.has_name(name):
        raise AttributeError(f"the program may not read {name!r} of an object of the tests ({_describe(target)})")
    return getattr(target, name)


def _apply(target: Any, use: Use, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Apply a special method.

    Raises:
        TypeError: the program may not use it.
    """
    if name in proxies.SHOWING:
        shows = use.specials is proxies.SPECIAL or isinstance(target, (BaseException, *MUTABLE))
        if name == "__dir__":
            return []
        # A format is applied to the text by the program's own process.
        return (repr(target) if name == "__repr__" else str(target)) if shows else f"<{_describe(target)} of the tests>"
    if name not in use.specials:
        if name in proxies.COMPARISONS or name in proxies.ARITHMETIC:
            return NotImplemented
        raise TypeError(f"the program may not use {name!r} of an object of the tests ({_describe(target)})")
    if isinstance(target, type) and type(target).__module__ == "builtins":
        raise TypeError(f"{target.__name__} has no {name}")
    return endpoint.apply_special(target, name, arguments, named)


def _is_public(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name not in ("with_traceback", "add_note")


def _is_mocked(name: str) -> bool:
    return _is_public(name) and name not in MOCK_NAMES and not name.startswith(("assert", "await_"))


def _is_mock(target: Any) -> bool:
    mock = sys.modules.get("unittest.mock")
    return mock is not None and issubclass(type(target), mock.NonCallableMock)


def _is_of_framework(kind: type) -> bool:
    return str(kind.__module__).split(".")[0] in FRAMEWORKS


def _name_class(kind: type) -> str:
    module = "sqlite3" if kind.__module__ == "sqlite3.dbapi2" else kind.__module__
    if kind is types.MappingProxyType:
        return "types.MappingProxyType"
    return f"{module}.{kind.__qualname__}"


def _describe(target: Any) -> str:
    return type(target).__name__ if not isinstance(target, type) else f"class {target.__name__}"
