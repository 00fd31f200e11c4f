"""Judge the answers of the program under test: the tests' end of the connection.

The program is believed about its own objects, and about nothing else. Whatever a test computes from plain data and an
object of the program stays an object of the program, so that it cannot be taken for the number that a test expects.
"""

import os
import secrets
import sys
import types
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from tenure.sandbox.inside import endpoint, proxies
from tenure.sandbox.inside.callbacks import FRAMEWORKS, Callbacks
from tenure.sandbox.inside.protocol import Channel, ContainerTransfer, Encoded, ProgramEnded, ProtocolError
from tenure.sandbox.inside.proxies import (
    ARITHMETIC,
    COMPARISONS,
    CONVERSIONS,
    ORDERINGS,
    find_owner,
    get_owner,
    is_remote,
)

COMBINED, DIFFERENCE, DISTANCE = 1, 2, 3
"""Ways in which an object was computed with plain data: by any operator, as a difference, as one from a container."""
_DIFFERENCES: Final = frozenset(
    f"__{side}{name}__"
    for name in ("sub", "truediv", "floordiv", "mod", "divmod", "xor", "and")
    for side in ("", "r", "i")
)
READINGS: Final = ("__len__", "__iter__", "__next__", "__getitem__", "__repr__", "__str__")
"""Special methods that leave the length of an object as it is; after any other request it may be another one."""
CATCHING_ASSERTIONS: Final = ("AssertionError", "Exception", "BaseException")
"""Classes that a program cannot give to a test as its own exception."""
_FORMS: Final = (
    {"ask", "with"},
    *({kind, *changed} for kind in ("value", "raised", "stop") for changed in ((), ("changed",))),
)
"""Fields of a request and of each kind of reply."""
_SCALARS: Final = (bool, int, float, complex, str)
_OPERATIONS: Final = ("call", "special", "getattr", "setattr", "delattr", "await", "input", "stdin")
_IMMUTABLE: Final = (str, bytes, int, float, complex, tuple, frozenset, range)
_GETTERS: Final = ("itemgetter", "attrgetter", "methodcaller")


class JudgeEndpoint(endpoint.Endpoint):
    """The tests' end: it accepts a closed set of answers, and keeps account of exceptions that the program swallows."""

    def __init__(self, channel: Channel, callbacks: Callbacks) -> None:
        super().__init__(channel, "")
        self._callbacks = callbacks
        self._computed: dict[int, int] = {}
        self._raised: list[BaseException] = []
        self._suppressed: list[str] = []
        self._lengths: dict[int, int] = {}
        self._iterations: dict[int, list[int]] = {}
        self._contradictions: list[str] = []
        self._known: dict[str, Any] = {}
        self.violation = ""
        """Description of the first violation of the protocol."""

    # Messages.

    def attach(self, message: dict[str, Any]) -> dict[str, Any]:
        """Attach the changed working folder, arguments and environment."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        around = {"folder": _get_working_folder(), "arguments": ["", *sys.argv[1:]], "environment": environment}
        if around == self._known:
            return message
        self._known = around
        return {**message, "around": around}

    def accept_extras(self, message: dict[str, Any]) -> None:
        """Print the output of the program."""
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            if type(text := message.get(name, "")) is not str:
                raise ProtocolError("the program under test sent output that is no text")
            if text:
                stream.write(text)

    def receive(self) -> dict[str, Any]:
        """Receive a message, which has no other fields than a request or a reply."""
        message = super().receive()
        if message.keys() - {"out", "err"} not in _FORMS:
            raise ProtocolError("the program under test sent a message of an unknown form")
        return message

    def check_order(self) -> str:
        """Return the reason to doubt the last answer: an unrequested message, or the end of the process; else empty.

        The next message must be the answer to a request with a random text. An unrequested message precedes that
        answer, however late it arrives.
        """
        if not self._lock.acquire(blocking=False):
            return ""  # a thread of the test still waits for an answer
        try:
            token = secrets.token_hex(8)
            if super().request("echo", token) == token:
                return ""
            self.violation = self.violation or "the program under test sent an answer without a request"
        except ProgramEnded as error:
            return str(error)
        except ProtocolError as error:
            self.violation = self.violation or str(error)
        except BaseException as error:
            self.violation = self.violation or f"the program under test raised {_describe(error)} without a request"
        finally:
            self._lock.release()
        return self.violation

    def request(self, operation: str, *arguments: Any) -> Any:
        """Send a request and return its result, and record exceptions of the test that the program holds back."""
        if operation != "special" or arguments[1] not in READINGS:
            self._lengths.clear()
        handled = sys.exc_info()[1]
        try:
            result = super().request(operation, *arguments)
        except ProtocolError as error:
            self.violation = self.violation or str(error)
            raise
        except BaseException as error:
            self._note_replaced(operation, arguments, handled, error)
            raise
        self._note_replaced(operation, arguments, handled, None)
        return result

    def _note_replaced(
        self, operation: str, arguments: tuple[Any, ...], handled: BaseException | None, error: BaseException | None
    ) -> None:
        """Note a failed assertion that was passed to a call of the program, which did not raise it again."""
        if operation != "call" or handled is None or error is handled or not _is_control(handled):
            return
        if any(one is handled for one in _flatten(arguments)):
            self._suppressed.append(_describe(handled))

    def answer(self, message: dict[str, Any]) -> None:
        """Execute a request of the program."""
        try:
            super().answer(message)
        except ProtocolError as error:
            self.violation = self.violation or str(error)
            raise

    def check_target(self, operation: str, sent: list[Encoded]) -> None:
        """Accept only operations on an object that a test has handed over."""
        if operation not in _OPERATIONS:
            raise ProtocolError(f"the program under test asked for {operation!r}")
        if operation not in ("input", "stdin") and not (sent and type(sent[0]) is list and sent[0][:1] == ["yours"]):
            raise ProtocolError("the program under test asked for an operation on what no test handed to it")

    def execute(self, operation: str, arguments: list[Any]) -> Any:
        """Execute a request of the program."""
        return self._callbacks.execute(operation, arguments)

    def record_error(self, error: BaseException) -> None:
        """Record an exception that only the test may handle, until the program raises it again."""
        if _is_control(error):
            self._raised.append(error)

    def raise_answer(self, error: BaseException) -> NoReturn:
        """Raise the exception of an answer; an exception that controls a test run must come from the test itself."""
        if any(one is error for one in self._raised):
            self._raised = [one for one in self._raised if one is not error]
        elif not find_owner(error) and (not self.may_raise(type(error)) or _is_of_framework(type(error))):
            raise RuntimeError(f"the program raised {_describe(error)}, which is no answer") from None
        raise error

    def may_raise(self, kind: type[BaseException]) -> bool:
        """Return whether the program may raise an exception of a class."""
        if issubclass(kind, (StopIteration, StopAsyncIteration)) or not issubclass(kind, (Exception, SystemExit)):
            return False
        return not _is_of_framework(kind)

    def _decode_error_class(self, transfer: ContainerTransfer, kind: str, name: str, mirror: Encoded) -> Any:
        """Decode a class of exceptions as an answer; a class that would catch failed assertions stays a mirror."""
        if name in CATCHING_ASSERTIONS:
            return self.decode(mirror, transfer)
        return super()._decode_error_class(transfer, kind, name, mirror)

    def find_swallowed(self) -> str:
        """Return the exceptions of the test that the program did not give back, and forget them."""
        found = dict.fromkeys([*(_describe(one) for one in self._raised), *self._suppressed])
        self._raised, self._suppressed = [], []
        return "; ".join(found)

    # Objects of the tests.

    def encode_object(self, value: Any, transfer: ContainerTransfer, depth: int) -> Encoded:
        """Encode an object; objects that the program can create for itself are described and not handed over."""
        if issubclass(type(value), types.ModuleType) and (handle := value.__dict__.get("_tenure_known")) is not None:
            return super().encode_object(handle, transfer, depth)
        if (name := _find_public_name(value)) is not None:
            return ["named", *name]
        kind = type(value)
        if kind.__module__ == "functools" and kind.__qualname__ == "partial" and not vars(value):
            return [
                "partial",
                *(self.encode(one, transfer, depth + 1) for one in (value.func, value.args, value.keywords)),
            ]
        if kind.__module__ == "operator" and kind.__qualname__ in _GETTERS:
            made, arguments = value.__reduce__()[:2]
            if made is kind:
                return ["named call", kind.__qualname__, self.encode(arguments, transfer, depth + 1)]
        if kind is types.BuiltinMethodType and type(value.__self__) in _IMMUTABLE:
            return ["bound", self.encode(value.__self__, transfer, depth + 1), value.__name__]
        return super().encode_object(value, transfer, depth)

    # Objects of the program.

    def read_attribute(self, target: Any, name: str) -> Any:
        """Read an attribute of an object of the program."""
        return self._derive(target, name, self.request("getattr", target, name))

    def apply_special(self, target: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Apply a special method of an object of the program."""
        if name in COMPARISONS:
            return self._compare(target, name, arguments)
        if name == "__exit__":
            return self._exit(target, arguments, sys._getframe(2))
        if name == "__format__" and arguments[0] and self._level(target):
            raise TypeError(f"an object of the program {_COMPUTED}: it has no format {arguments[0]!r}")
        if name in ARITHMETIC:
            return self._compute(target, name, arguments, named)
        try:
            result = self.request("special", target, name, arguments, named)
        except StopIteration:
            self._end_iteration(target)
            raise
        except IndexError:
            self._note_missing_item(target, name, arguments)
            raise
        self._note_length(target, name, result)
        return result if name == "__repr__" else self._derive(target, name, result)

    async def apply_asynchronous(self, target: Any, name: str, arguments: list[Any]) -> Any:
        """Apply a special method of an object of the program that is awaited."""
        if name == "__aexit__":
            return self._exit(target, arguments, sys._getframe(1), "__aexit__")
        result = self.request("special", target, name, arguments, {})
        return self._derive(target, name, result)

    def is_computed(self, target: Any) -> bool:
        """Return whether an object was computed with plain data."""
        return self._level(target) > 0

    def _level(self, value: Any) -> int:
        """Return how an object was computed with plain data; 0 for not at all."""
        owner = find_owner(value)
        return self._computed.get(owner[1], 0) if owner is not None else 0

    def _mark(self, value: Any, level: int) -> None:
        if level and (owner := find_owner(value)) is not None:
            self._computed[owner[1]] = max(level, self._level(value))

    def _compare(self, target: Any, name: str, arguments: list[Any]) -> Any:
        """Compare two objects of the program; with anything else there is nothing to compare."""
        if not is_remote(arguments[0]):
            return NotImplemented
        if name in ORDERINGS and max(self._level(target), self._level(arguments[0])) >= DIFFERENCE:
            raise TypeError(f"an object of the program {_COMPUTED}: it cannot be put in order")
        return self.request("special", target, name, arguments, {})

    def _compute(self, target: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Apply an operator; with plain data it has to give an object of the program."""
        result = self.request("special", target, name, arguments, named)
        level = max([self._level(target), *map(self._level, arguments)])
        plain = [one for one in arguments if not is_remote(one)]
        if result is NotImplemented or (not plain and not level):
            return result
        if plain and not (result is target and name.startswith("__i") and name not in _DIFFERENCES):
            scalar = all(type(one) in _SCALARS for one in plain)
            level = max(level, COMBINED if name not in _DIFFERENCES else DIFFERENCE if scalar else DISTANCE)
        pair = result if type(result) is tuple and "divmod" in name else (result,)
        if not all(map(is_remote, pair)):
            raise TypeError(f"{name} of an object of the program with plain data has to give such an object again")
        for one in pair:
            self._mark(one, level)
        return result

    def _derive(self, target: Any, name: str, result: Any) -> Any:
        """Check what an object that was computed with plain data gives."""
        level = self._level(target)
        if not level or name == "__hash__":
            return result
        if is_remote(result):
            self._mark(result, level)
        elif (
            name in CONVERSIONS
            or (name == "__len__" and level >= DIFFERENCE)
            or (level >= DISTANCE and result is not None)
        ):
            raise TypeError(f"an object of the program {_COMPUTED}: {name} gives no plain data")
        return result

    # Lengths.

    def _note_length(self, target: Any, name: str, result: Any) -> None:
        """Note a length, the start of an iteration or one of its items."""
        number = get_owner(target)[1]
        if name == "__len__":
            if self._lengths.setdefault(number, result) != result:
                self._contradictions.append("an object of the program changed its length between two questions for it")
        elif name == "__iter__" and number in self._lengths and (owner := find_owner(result)) is not None:
            self._iterations[owner[1]] = [self._lengths[number], 0]
        elif name == "__next__" and number in self._iterations:
            self._iterations[number][1] += 1

    def _end_iteration(self, target: Any) -> None:
        """Compare the items of an iteration with the length that the object had just given."""
        expected, count = self._iterations.pop(get_owner(target)[1], (0, 0))
        if expected != count:
            self._contradictions.append(f"an object of the program has the length {expected} and gave {count} items")

    def _note_missing_item(self, target: Any, name: str, arguments: list[Any]) -> None:
        """Note that there is no item at a place within the length that the object had just given."""
        length = self._lengths.get(get_owner(target)[1], 0)
        if name == "__getitem__" and type(arguments[0]) is int and 0 <= arguments[0] < length:
            self._contradictions.append(f"an object of the program has the length {length} and no item {arguments[0]}")

    def find_contradiction(self) -> str:
        """Return how the program contradicted itself, and forget it."""
        found, self._contradictions = self._contradictions, []
        return found[0] if found else ""

    # Context managers.

    def _exit(self, target: Any, arguments: list[Any], frame: types.FrameType, name: str = "__exit__") -> Any:
        """Leave a context manager of the program; it may suppress an exception only if the test intends that."""
        error = arguments[1] if len(arguments) > 1 else None
        try:
            result = self.request("special", target, name, arguments, {})
            suppresses = bool(result)
        except BaseException as other:
            if error is not None and other is not error and _is_control(error):
                self._suppressed.append(_describe(error))
            raise
        if error is None or not suppresses:
            return None
        if not _is_control(error):
            from tenure.sandbox.inside import intention

            if intention.is_intended(error, frame):
                return True
        self._suppressed.append(_describe(error))
        return None


_COMPUTED: Final = "was computed with plain data"


def _is_control(error: BaseException) -> bool:
    """Return whether an exception is a failed assertion or controls the test run."""
    if isinstance(error, (AssertionError, ProtocolError)) or _is_of_framework(type(error)):
        return True
    return not isinstance(error, (Exception, SystemExit, GeneratorExit)) and "Cancelled" not in type(error).__name__


def _is_of_framework(kind: type[BaseException]) -> bool:
    """Return whether a test framework defines a class of exceptions; it never defines one that is mirrored."""
    own = [base for base in kind.__mro__ if not issubclass(base, proxies.RemoteObject)]
    return any(str(base.__module__).split(".")[0] in FRAMEWORKS for base in own)


def _describe(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}".split("\n")[0][:300].removesuffix(": ")


def _flatten(values: Any) -> Iterator[Any]:
    for one in values:
        if type(one) in (list, tuple):
            yield from _flatten(one)
        else:
            yield one


def _find_public_name(value: Any) -> tuple[str, str] | None:
    """Return module and name of a class, function or module that the program can import for itself."""
    # By its type: a mock can claim to be an instance of anything.
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        module = str(value.__name__)
        return (module, "") if _is_shared(module) and sys.modules.get(module) is value else None
    functions = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType)
    if not issubclass(kind, functions) and kind.__name__ not in ("ufunc", "_ArrayFunctionDispatcher"):
        return None
    owner = getattr(value, "__objclass__", None)
    module = str(getattr(owner or value, "__module__", None) or "")
    name = f"{owner.__qualname__}.{value.__name__}" if owner else getattr(value, "__qualname__", value.__name__)
    if kind.__name__ == "ufunc":
        module = "numpy"
    found: Any = sys.modules.get(module) if _is_shared(module) else None
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def _is_shared(module: str) -> bool:
    """Return whether a module is one of the standard library or NumPy, and not of a test framework."""
    base = module.split(".")[0]
    return base not in FRAMEWORKS and (base in sys.stdlib_module_names or base in ("numpy", "pandas"))


def _get_working_folder() -> str:
    """Return the working folder, or an empty string if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""
