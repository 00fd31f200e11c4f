"""Connect a test to a candidate that runs in another process.

A test must be able to write `from solution import add` and `assert add(1, 2) == 3` although no code of the candidate
may run in the test's process. Both sides exchange messages over a socket. Plain data is sent by value and arrives with
exactly its type; every other object stays in its process and is reached through a handle. A handle's own methods run
in the other process, so a handle never equals plain data.
"""

import base64
import builtins
import collections
import importlib
import json
import os
import socket
import sys
import threading
import types
from collections.abc import Callable, Coroutine
from typing import Any, Final, NoReturn

MAX_MESSAGE_BYTES: Final = 64 << 20
"""Maximum size of one message."""
MAX_DEPTH: Final = 200
"""Maximum depth of nested containers sent by value."""
MAX_TRACE_CHARS: Final = 6000
"""Maximum length of a traceback."""

Encoded = Any
"""Data that JSON can represent: a plain value as itself, anything else as a list whose first item is its kind."""

COMPARISONS: Final = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
ARITHMETIC: Final = (
    *(
        f"__{side}{name}__"
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "divmod")
        for side in ("", "r")
    ),
    *("__lshift__", "__rshift__"),
)
IN_PLACE: Final = ("__iadd__", "__isub__", "__imul__", "__ior__", "__iand__", "__ixor__")
OTHERS: Final = (
    *("__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__call__", "__iter__", "__next__"),
    *("__str__", "__repr__", "__bool__", "__int__", "__float__", "__index__", "__abs__", "__neg__", "__pos__"),
    *("__invert__", "__enter__", "__exit__", "__reversed__", "__round__", "__hash__", "__format__", "__dir__"),
)
SPECIAL: Final = frozenset({*COMPARISONS, *ARITHMETIC, *IN_PLACE, *OTHERS})
"""Operators that a handle forwards."""

PLAIN_BASES: Final = (int, str, float, complex, list, tuple, dict, set, frozenset, bytes, bytearray)
"""Types whose subclasses arrive as subclasses, with the operators of the plain type."""

NOT_MIRRORED: Final = ("unittest", "doctest", "bdb", "_pytest", "pytest", "pluggy")
"""Packages whose exceptions control a test run; from the other side they arrive as unrelated classes."""

VALUES: Final[dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]]] = {
    "builtins.bytes": (lambda value: base64.b64encode(value).decode(), lambda kind, plain: base64.b64decode(plain)),
    "builtins.bytearray": (
        lambda value: base64.b64encode(value).decode(),
        lambda kind, plain: kind(base64.b64decode(plain)),
    ),
    "builtins.complex": (lambda value: [value.real, value.imag], lambda kind, plain: kind(*plain)),
    "builtins.range": (lambda value: [value.start, value.stop, value.step], lambda kind, plain: kind(*plain)),
    "decimal.Decimal": (str, lambda kind, plain: kind(plain)),
    "fractions.Fraction": (str, lambda kind, plain: kind(plain)),
    "datetime.datetime": (lambda value: value.isoformat(), lambda kind, plain: kind.fromisoformat(plain)),
    "datetime.date": (lambda value: value.isoformat(), lambda kind, plain: kind.fromisoformat(plain)),
    "datetime.time": (lambda value: value.isoformat(), lambda kind, plain: kind.fromisoformat(plain)),
    "datetime.timedelta": (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda kind, plain: kind(*plain),
    ),
    "uuid.UUID": (str, lambda kind, plain: kind(plain)),
    "pathlib.PosixPath": (str, lambda kind, plain: kind(plain)),
    "pathlib.PurePosixPath": (str, lambda kind, plain: kind(plain)),
}
"""Plain values that JSON does not have, with conversions in both directions; their modules are imported when needed."""

CONTAINERS: Final[dict[type, str]] = {
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
    collections.deque: "deque",
}
CONTAINER_NAMES: Final[dict[str, Callable[[Any], Any]]] = {name: kind for kind, name in CONTAINERS.items()}
MAPPINGS: Final[dict[type, str]] = {
    dict: "dict",
    collections.OrderedDict: "ordered",
    collections.Counter: "counter",
    collections.defaultdict: "default",
}
MAPPING_NAMES: Final[dict[str, Callable[[Any], Any]]] = {
    "dict": dict,
    "ordered": collections.OrderedDict,
    "counter": lambda pairs: collections.Counter(dict(pairs)),
    "default": lambda pairs: collections.defaultdict(None, pairs),
}
MUTABLE: Final = (list, dict, set, bytearray, collections.deque, collections.OrderedDict, collections.defaultdict)


class WireError(Exception):
    """The other side violated the protocol or has ended; the message says which."""


class RemoteObject:
    """Reference of a handle or a remote exception to its owner."""

    __slots__ = ()


class Endpoint:
    """One end of the connection: serves requests of the other side and sends requests to it."""

    def __init__(self, stream: socket.socket, serves: Callable[[str, list[Any]], Any], strict: bool) -> None:
        """Initialize one end; a strict end ignores a handle's own comparison with plain data."""
        self._stream = stream
        self._serves = serves
        self.strict = strict
        self._lock = threading.RLock()
        self._kept: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._handles: dict[int, Any] = {}
        self._mirrors: dict[int, type] = {}
        self.folder = ""
        self.outgoing: Callable[[], dict[str, Any]] = dict
        self.incoming: Callable[[dict[str, Any]], None] = lambda message: None

    # Messages.

    def _send(self, message: dict[str, Any]) -> None:
        block = json.dumps({**message, **self.outgoing()}).encode()
        try:
            self._stream.sendall(len(block).to_bytes(4, "big") + block)
        except OSError:
            raise WireError("the program under test is gone") from None

    def _read(self, count: int) -> bytes:
        parts = []
        while count:
            try:
                piece = self._stream.recv(min(count, 1 << 20))
            except OSError:
                piece = b""
            if not piece:
                raise WireError("the program under test ended its interpreter")
            parts.append(piece)
            count -= len(piece)
        return b"".join(parts)

    def _receive(self) -> dict[str, Any]:
        size = int.from_bytes(self._read(4), "big")
        if size > MAX_MESSAGE_BYTES:
            raise WireError("the program under test sent too much")
        try:
            message = json.loads(self._read(size))
        except (ValueError, RecursionError):
            raise WireError("the program under test sent no message") from None
        if not isinstance(message, dict):
            raise WireError("the program under test sent no message")
        self.incoming(message)
        return message

    def request(self, operation: str, *arguments: Any) -> Any:
        """Send a request and return its result, or raise the exception it raised."""
        with self._lock:
            self._send({"ask": operation, "with": [self.encode(one) for one in arguments]})
            while "ask" in (message := self._receive()):
                self._answer(message)
            self._write_back(arguments, message)
            if "raised" in message:
                self._raise(message["raised"])
            return self.decode(message.get("value"))

    def serve(self) -> None:
        """Answer requests until the connection is closed."""
        while True:
            try:
                message = self._receive()
            except WireError:
                return
            self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        arguments = [self.decode(one) for one in message["with"]]
        before = [one if type(one) in MUTABLE else None for one in _flat(arguments)]
        known = [None if one is None else json.dumps(self.encode(one)) for one in before]
        try:
            reply: dict[str, Any] = {"value": self.encode(self._serves(str(message["ask"]), arguments))}
        except WireError:
            raise
        except BaseException as error:
            reply = {"raised": self._encode_exception(error)}
        changed = {}
        for number, (one, was) in enumerate(zip(before, known, strict=True)):
            if one is not None and json.dumps(now := self.encode(one)) != was:
                changed[str(number)] = now
        self._send({**reply, "changed": changed} if changed else reply)

    def _write_back(self, arguments: tuple[Any, ...], message: dict[str, Any]) -> None:
        """Apply in-place changes of the other side to the objects that were passed."""
        given = _flat(list(arguments))
        for number, new in message.get("changed", {}).items():
            fill(given[int(number)], self.decode(new))

    # Values.

    def encode(self, value: Any, depth: int = 0) -> Encoded:
        """Encode a value: plain values by value, others as handles."""
        kind = type(value)
        if value is None or kind in (bool, str, int, float):
            return value
        if depth > MAX_DEPTH:
            raise ValueError("the value is nested too deeply")
        if kind in CONTAINERS:
            return [CONTAINERS[kind], [self.encode(one, depth + 1) for one in value]]
        if kind in MAPPINGS:
            pairs = [[self.encode(key, depth + 1), self.encode(one, depth + 1)] for key, one in value.items()]
            return ["map", MAPPINGS[kind], pairs]
        if (name := _value_name(kind)) is not None:
            return ["value", name, VALUES[name][0](value)]
        return self._encode_rest(value, kind, depth)

    def _encode_rest(self, value: Any, kind: type, depth: int) -> Encoded:
        if kind is slice:
            return ["slice", [self.encode(one, depth + 1) for one in (value.start, value.stop, value.step)]]
        if value is Ellipsis or value is NotImplemented:
            return ["constant", str(value)]
        if isinstance(value, RemoteObject) and (owned := find_owner(value)) and owned[0] is self:
            return ["yours", owned[1]]
        if isinstance(value, type) and (owned := value.__dict__.get("_tenure_of")) and owned[0] is self:
            return ["yours", owned[1]]
        if (array := _array(value)) is not None:
            return array
        if (table := self._table(value, depth)) is not None:
            return table
        if isinstance(value, BaseException):
            return self._encode_exception(value)
        if isinstance(value, type) and _known_by_name(value):
            return ["class", value.__module__, value.__qualname__]
        return self._encode_handle(value, kind)

    def _table(self, value: Any, depth: int) -> Encoded | None:
        """Encode a pandas table or column by value; return None for anything else."""
        pandas = sys.modules.get("pandas")
        if pandas is None or type(value) not in (pandas.DataFrame, pandas.Series):
            return None
        column = type(value) is pandas.Series
        columns = [value] if column else [value.iloc[:, number] for number in range(value.shape[1])]
        labels = [None] if column else list(value.columns)
        index = value.index
        kept = range(index.start, index.stop, index.step) if type(index) is pandas.RangeIndex else _items(index)
        parts = [
            [self.encode(label, depth + 1), str(one.dtype), self.encode(_items(one), depth + 1)]
            for label, one in zip(labels, columns, strict=True)
        ]
        return ["frame", parts, self.encode(kept, depth + 1), [self.encode(value.name)] if column else None]

    def _keep(self, value: Any) -> int:
        """Keep an object for the other side and return its number."""
        if (number := self._numbers.get(id(value))) is None:
            number = len(self._kept) + 1
            self._kept[number] = value
            self._numbers[id(value)] = number
        return number

    def _encode_handle(self, value: Any, kind: type) -> Encoded:
        if isinstance(value, type):
            return self._encode_class(value)
        if isinstance(value, types.CoroutineType):
            return ["coroutine", self._keep(value)]
        base = next((one for one in PLAIN_BASES if isinstance(value, one)), None)
        plain = None
        if base is not None and _has_data(value):
            # By the methods of the plain type, so that an overridden method is not called.
            plain = [base.__name__, self.encode(_plain(base, value))]
        return ["handle", self._keep(value), self.encode(kind), plain]

    def _encode_class(self, kind: type) -> Encoded:
        bases = [self.encode(base) for base in kind.__bases__]
        return ["mirror", self._keep(kind), kind.__name__, bases]

    def _encode_exception(self, error: BaseException) -> Encoded:
        lines, text = _traceback(error, self.folder)
        arguments = []
        for one in error.args[:20]:
            try:
                arguments.append(self.encode(one))
            except Exception:
                arguments.append(f"<{type(one).__name__}>")
        return ["exception", self._keep(error), self.encode(type(error)), arguments, _text(error), lines, text]

    def decode(self, data: Encoded) -> Any:
        """Decode data into a value."""
        if not isinstance(data, list):
            if isinstance(data, dict):
                raise WireError("the program under test sent no value")
            return data
        try:
            kind, *rest = data
            if kind in CONTAINER_NAMES:
                return CONTAINER_NAMES[kind]([self.decode(one) for one in rest[0]])
            return getattr(self, f"_decode_{kind}")(*rest)
        except (AttributeError, IndexError, KeyError, TypeError, RecursionError) as error:
            raise WireError(f"the program under test sent no value: {error}") from None

    def _decode_map(self, kind: str, pairs: list[list[Any]]) -> Any:
        return MAPPING_NAMES[kind]([(self.decode(key), self.decode(value)) for key, value in pairs])

    def _decode_value(self, kind: str, plain: Any) -> Any:
        module, _, name = kind.rpartition(".")
        return VALUES[kind][1](getattr(importlib.import_module(module), name), plain)

    def _decode_slice(self, parts: list[Any]) -> slice:
        return slice(*(self.decode(one) for one in parts))

    def _decode_constant(self, name: str) -> Any:
        return {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}[name]

    def _decode_yours(self, number: int) -> Any:
        return self._kept[number]

    def _decode_array(self, kind: str, shape: list[int] | None, content: str) -> Any:
        numpy = importlib.import_module("numpy")
        flat = numpy.frombuffer(base64.b64decode(content), dtype=numpy.dtype(kind))
        return flat[0] if shape is None else flat.reshape(shape).copy()

    def _decode_frame(self, columns: list[Any], index: Any, name: Any) -> Any:
        pandas = importlib.import_module("pandas")
        kept = self.decode(index)
        index = pandas.RangeIndex(kept) if isinstance(kept, range) else pandas.Index(kept)
        made = [pandas.Series(self.decode(values), index=index, dtype=kind) for _, kind, values in columns]
        if name is not None:
            return made[0].rename(self.decode(name[0]))
        frame = pandas.concat(made, axis=1) if made else pandas.DataFrame(index=index)
        frame.columns = [self.decode(label) for label, _, _ in columns]
        return frame

    def _decode_class(self, module: str, name: str) -> Any:
        found: Any = importlib.import_module(module) if module in sys.stdlib_module_names else None
        for part in name.split("."):
            found = getattr(found, part)
        if not isinstance(found, type) or not _known_by_name(found):
            raise WireError(f"{module}.{name} is no class to share")
        return found

    def _decode_coroutine(self, number: int) -> Coroutine[Any, Any, Any]:
        async def wait() -> Any:
            return self.request("await", _Reference(self, number))

        return wait()

    def _decode_mirror(self, number: int, name: str, bases: list[Any]) -> type:
        if (known := self._mirrors.get(number)) is not None:
            return known
        kinds = [kind for one in bases if isinstance(kind := self.decode(one), type)]
        made = make_mirror(self, number, str(name), kinds)
        self._mirrors[number] = made
        return made

    def _decode_handle(self, number: int, kind: Any, plain: list[Any] | None) -> Any:
        if (known := self._handles.get(number)) is not None and plain is None:
            return known
        owner = self.decode(kind)
        if not (isinstance(owner, type) and issubclass(owner, RemoteObject)):
            owner = Handle
        if plain is not None:
            base = getattr(builtins, plain[0])
            kinds = owner if issubclass(owner, base) else make_mirror(self, 0, owner.__name__, [base])
            made = base.__new__(kinds, *(() if base in MUTABLE else (self.decode(plain[1]),)))
            if base in MUTABLE:
                fill(made, self.decode(plain[1]), base)
        else:
            made = object.__new__(owner) if issubclass(owner, Handle) else object.__new__(Handle)
        object.__setattr__(made, "_tenure_handle", (self, number))
        self._handles[number] = made
        return made

    def _decode_exception(self, number: int, kind: Any, arguments: list[Any], text: str, *trace: Any) -> Any:
        owner = self.decode(kind)
        if not (isinstance(owner, type) and issubclass(owner, BaseException)):
            owner = make_mirror(self, 0, str(owner), [Exception])
        given = [self.decode(one) for one in arguments]
        try:
            made = owner(*given)
        except Exception:
            # The constructor's arguments may differ from the final state.
            made = owner.__new__(owner)
        made.args = tuple(given)
        for name, value in (("_tenure_handle", (self, number)), ("_tenure_text", str(text))):
            object.__setattr__(made, name, value)
        made._tenure_lines, made._tenure_trace = trace
        made.__notes__ = ["in the program under test:", *str(trace[1]).splitlines()]
        return made

    def _raise(self, data: Encoded) -> NoReturn:
        error = self.decode(data)
        if not isinstance(error, BaseException):
            raise WireError("the program under test raised no exception")
        raise error


class _Reference(RemoteObject):
    """Handle with nothing but a number."""

    __slots__ = ("_tenure_handle",)

    def __init__(self, end: Endpoint, number: int) -> None:
        self._tenure_handle = (end, number)


def find_owner(value: Any) -> tuple[Endpoint, int] | None:
    """Return the endpoint of a remote object, and its number there."""
    try:
        found: tuple[Endpoint, int] = object.__getattribute__(value, "_tenure_handle")
    except AttributeError:
        return None
    return found


def is_remote(value: Any) -> bool:
    """Return whether a value is an object of the other side and not plain data."""
    return isinstance(value, Handle) or isinstance(type(value), RemoteType) or isinstance(value, RemoteType)


def _forwarded(name: str) -> Callable[..., Any]:
    """Return the method of a handle that forwards an operator."""

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        end, number = object.__getattribute__(self, "_tenure_handle")
        if end.strict and name in COMPARISONS and not is_remote(arguments[0]):
            return _against_plain(name, self, arguments[0])
        if name == "__hash__":
            return hash(number)
        result = end.request("special", _Reference(end, number), name, list(arguments), named)
        if end.strict and name in ARITHMETIC and arguments and not is_remote(arguments[0]) and not is_remote(result):
            raise TypeError(f"{name} of an object of the program with plain data has to give such an object again")
        return result

    method.__name__ = name
    return method


def _against_plain(name: str, handle: Any, plain: Any) -> Any:
    """Compare a handle with plain data: never equal."""
    if name in ("__eq__", "__ne__"):
        return name == "__ne__"
    raise TypeError(f"an object of the program cannot be put in order with {type(plain).__name__}")


class RemoteType(type):
    """Metaclass of the other side's classes: calling one creates an object there."""

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        """Create an object of the class."""
        if (owned := cls.__dict__.get("_tenure_of")) is None or owned[1] == 0:
            return super().__call__(*arguments, **named)
        end, number = owned
        return end.request("call", _Reference(end, number), list(arguments), named)

    def __getattr__(cls, name: str) -> Any:
        """Read an attribute of the class."""
        owned = cls.__dict__.get("_tenure_of")
        if owned is None or owned[1] == 0 or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        end, number = owned
        return end.request("getattr", _Reference(end, number), name)


def _forwarded_by_class(name: str) -> Callable[..., Any]:
    """Return the method of a remote class that forwards an operator."""

    def method(cls: Any, *arguments: Any) -> Any:
        owned = cls.__dict__.get("_tenure_of")
        if owned is None or owned[1] == 0:
            raise TypeError(f"{cls.__name__} has no {name}")
        end, number = owned
        return end.request("special", _Reference(end, number), name, list(arguments), {})

    return method


for _name in ("__getitem__", "__iter__", "__len__", "__contains__"):
    setattr(RemoteType, _name, _forwarded_by_class(_name))


class Attributes(RemoteObject):
    """Access to the attributes of a remote object."""

    def __getattr__(self, name: str) -> Any:
        """Read an attribute of the object."""
        if (owned := find_owner(self)) is None or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        return owned[0].request("getattr", _Reference(*owned), name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the object."""
        if name.startswith(("_tenure_", "__")) or (owned := find_owner(self)) is None:
            object.__setattr__(self, name, value)
        else:
            owned[0].request("setattr", _Reference(*owned), name, value)


class Handle(Attributes, metaclass=RemoteType):
    """Proxy of a remote object."""


for _name in SPECIAL:
    setattr(Handle, _name, _forwarded(_name))


class Raised(Attributes):
    """Content of a remote exception."""

    def __str__(self) -> str:
        """Return its text, as the other side wrote it."""
        return str(self.__dict__.get("_tenure_text", ""))


def make_mirror(end: Endpoint, number: int, name: str, bases: list[type]) -> type:
    """Create a class that represents a remote class; number 0 represents none."""
    body = {"_tenure_of": (end, number), "__module__": "program"}
    if any(issubclass(base, BaseException) for base in bases):
        own = [base for base in bases if issubclass(base, BaseException)]
        extra = [] if any(issubclass(base, Raised) for base in own) else [Raised]
        return types.new_class(name, (*extra, *own), {}, lambda space: space.update(body))
    mirrored = [base for base in bases if issubclass(base, RemoteObject)]
    plain = [base for base in bases if base in PLAIN_BASES]
    candidates = [(*mirrored, *plain), (Attributes, *plain)] if mirrored or plain else []
    for kinds in candidates:
        if plain and not mirrored:
            kinds = (Attributes, *plain)
        try:
            return RemoteType(name, kinds, dict(body))
        except TypeError:
            continue
    return RemoteType(name, (Handle,), dict(body))


def fill(target: Any, new: Any, kind: type | None = None) -> None:
    """Replace the content of a container by that of another one, keeping the identity of nested containers."""
    kind = kind or type(target)
    if issubclass(kind, (list, bytearray, collections.deque)):
        pairs = [_merged(old, fresh) for old, fresh in zip(list(target), new, strict=False)]
        if issubclass(kind, collections.deque):
            target.clear()
            target.extend([*pairs, *list(new)[len(pairs) :]])
        else:
            target[:] = bytes(new) if issubclass(kind, bytearray) else [*pairs, *new[len(pairs) :]]
    elif issubclass(kind, dict):
        merged = {key: _merged(target[key], value) if key in target else value for key, value in new.items()}
        target.clear()
        target.update(merged)
    else:
        target.clear()
        target.update(new)


def _merged(old: Any, new: Any) -> Any:
    """Return the old object with the new content if both are containers of one type, else the new object."""
    if type(old) is type(new) and type(old) in MUTABLE:
        fill(old, new)
        return old
    return new


def _value_name(kind: type) -> str | None:
    """Return the name of a type of plain values, or None if it is none or only has the name of one."""
    module = kind.__module__
    # Since Python 3.13 the classes of paths are defined in a submodule.
    shown = "pathlib" if module.startswith("pathlib.") else module
    name = f"{shown}.{kind.__qualname__}"
    return name if name in VALUES and getattr(sys.modules.get(shown), kind.__qualname__, None) is kind else None


def _flat(arguments: list[Any]) -> list[Any]:
    """Return arguments with the items of plain lists or dictionaries among them."""
    return [
        inner
        for one in arguments
        for inner in ([one, *one] if type(one) is list else [one, *one.values()] if type(one) is dict else [one])
    ]


def _known_by_name(kind: type) -> bool:
    """Return whether a class is the same on both sides: a harmless class of the standard library."""
    module = str(kind.__module__)
    if module.split(".")[0] in NOT_MIRRORED or module not in sys.stdlib_module_names:
        return False
    found: Any = sys.modules.get(module)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind and (module != "builtins" or kind not in (KeyboardInterrupt, GeneratorExit))


def _has_data(value: Any) -> bool:
    """Return whether an object of a subclass of a plain type is plain data, and not an enumeration member."""
    enum = sys.modules.get("enum")
    return enum is None or not isinstance(value, enum.Enum) or isinstance(value, (int, str))


def _plain(base: type, value: Any) -> Any:
    """Return the plain data inside an object of a subclass."""
    if base is str:
        return str.__str__(value)
    if base is int:
        return int.__index__(value)
    if base is float:
        return float.__float__(value)
    if base is complex:
        return complex(complex.real.__get__(value), complex.imag.__get__(value))
    if base is dict:
        return dict(dict.items(value))
    if base in (bytes, bytearray):
        return base(memoryview(value))
    return base(base.__iter__(value))  # type: ignore[attr-defined]


def _array(value: Any) -> Encoded | None:
    """Encode a NumPy array or scalar by value; return None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject:
        flat = numpy.ascontiguousarray(value)
        return ["array", flat.dtype.str, list(value.shape), base64.b64encode(flat.tobytes()).decode()]
    if numpy is not None and isinstance(value, numpy.generic) and type(value).__module__ == "numpy":
        return ["array", value.dtype.str, None, base64.b64encode(value.tobytes()).decode()]
    return None


def _items(column: Any) -> Any:
    """Return the items of a column as an array, or as a list if an array would contain objects."""
    array = column.to_numpy()
    return array.tolist() if array.dtype.hasobject else array


def _text(error: BaseException) -> str:
    """Return the text of an exception, independently of its own methods."""
    try:
        return str(error)[:2000]
    except BaseException:
        return ""


def _traceback(error: BaseException, folder: str) -> tuple[list[list[Any]], str]:
    """Return the lines of a folder's files in an exception's traceback, and the traceback as text."""
    import traceback

    lines = []
    try:
        for entry in traceback.extract_tb(error.__traceback__)[-40:]:
            if folder and entry.filename.startswith(folder + "/"):
                lines.append([entry.filename[len(folder) + 1 :], entry.lineno or 0])
        text = "".join(traceback.format_exception(type(error), error, _of_folder(error, folder), limit=-20))
        text = text[-MAX_TRACE_CHARS:]
    except BaseException:
        text = ""
    return lines, text


def _of_folder(error: BaseException, folder: str) -> types.TracebackType | None:
    """Return the part of a traceback that begins in a folder, or all of it if no part does."""
    part = error.__traceback__
    while part is not None and not part.tb_frame.f_code.co_filename.startswith(folder + "/"):
        part = part.tb_next
    return part or error.__traceback__


def run_coroutine(waited: Any) -> Any:
    """Run a coroutine in its own event loop."""
    import asyncio

    async def wait() -> Any:
        return await waited

    return asyncio.run(wait())


def apply(operation: str, arguments: list[Any]) -> Any:
    """Execute a plain operation on an object."""
    target, *rest = arguments
    if operation == "getattr":
        return getattr(target, rest[0])
    if operation == "setattr":
        return setattr(target, rest[0], rest[1])
    if operation == "delattr":
        return delattr(target, rest[0])
    if operation == "call":
        return target(*rest[0], **rest[1])
    if operation == "await":
        return run_coroutine(target)
    if operation == "special":
        return apply_special(target, *rest)
    raise WireError(f"there is no operation {operation!r}")


def apply_special(target: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Apply an operator to an object with Python's own lookup."""
    if name not in SPECIAL:
        raise WireError(f"there is no operator {name!r}")
    if name == "__bool__":
        return bool(target)
    if name == "__dir__":
        return dir(target)
    if name == "__iter__":
        return iter(target)
    if name == "__getitem__":
        return target[arguments[0]]
    if name == "__call__":
        return target(*arguments, **named)
    method = getattr(type(target), name, None)
    if method is None:
        if name in (*ARITHMETIC, *IN_PLACE, *COMPARISONS):
            return NotImplemented
        raise TypeError(f"{type(target).__name__!r} object has no {name}")
    return method(target, *arguments, **named)


def get_working_folder() -> str:
    """Return the working folder, or an empty string if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""
