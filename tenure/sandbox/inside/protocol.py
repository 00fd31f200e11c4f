"""Carry messages between the tests' process and the program's process, and copy plain data by value.

A message is a length and a JSON object. Data is a JSON scalar as itself, or a list whose first item names its kind. The
kinds are a closed table: nothing is imported, called or read by a name that the other side sends.
"""

import base64
import builtins
import collections
import importlib
import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

MAX_MESSAGE_BYTES: Final = 64 << 20
"""Maximum size of one message."""
MAX_DEPTH: Final = 200
"""Maximum depth of nested containers sent by value."""
MAX_DIGIT_BITS: Final = 10_000
"""Size in bits from which an integer is sent in hexadecimal digits, whose number Python does not limit."""

Encoded = Any
"""Data that JSON can represent."""

CONTAINERS: Final[dict[str, type]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
}
MAPPINGS: Final[dict[str, type]] = {
    "dict": dict,
    "ordered": collections.OrderedDict,
    "counter": collections.Counter,
    "default": collections.defaultdict,
}
KINDS: Final = {kind: name for name, kind in {**CONTAINERS, **MAPPINGS}.items()}
MUTABLE: Final = (list, set, collections.deque, *MAPPINGS.values(), bytearray)
"""Containers whose changes in place are sent back."""
PLAIN_BASES: Final = (int, str, float, complex, list, tuple, dict, set, frozenset, bytes, bytearray)
"""Types whose subclasses are sent with a copy of their plain data, and have the operators of the plain type."""

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
    "datetime.timezone": (
        lambda value: value.utcoffset(None).total_seconds(),
        lambda kind, plain: kind(importlib.import_module("datetime").timedelta(seconds=plain)),
    ),
    "re.Pattern": (lambda value: [value.pattern, value.flags], lambda kind, plain: re.compile(*plain)),
    "uuid.UUID": (str, lambda kind, plain: kind(plain)),
    "pathlib.PosixPath": (str, lambda kind, plain: kind(plain)),
    "pathlib.PurePosixPath": (str, lambda kind, plain: kind(plain)),
}
"""Plain values that JSON does not have, with conversions in both directions; their modules are imported when needed."""

_BUILTIN_CLASSES: Final = (*PLAIN_BASES, bool, object, range, slice, type(None), memoryview)
CLASSES: Final[dict[str, type]] = {kind.__name__: kind for kind in (*_BUILTIN_CLASSES, *KINDS)}
"""Classes that are the same on both sides as plain answers; the types of VALUES are shared by their names, too."""

_UNSHARED: Final = ("StopIteration", "StopAsyncIteration", "ExceptionGroup")
ERRORS: Final[dict[str, type[BaseException]]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and name == kind.__name__ and name not in _UNSHARED
} | {"SystemExit": SystemExit}
"""Built-in exceptions that are the same on both sides."""

MODULE_ERRORS: Final = frozenset(
    f"{module}.{name}"
    for module, names in {
        "argparse": "ArgumentError ArgumentTypeError",
        "asyncio.exceptions": "InvalidStateError IncompleteReadError LimitOverrunError",
        "asyncio.queues": "QueueEmpty QueueFull",
        "binascii": "Error Incomplete",
        "calendar": "IllegalMonthError IllegalWeekdayError",
        "concurrent.futures._base": "InvalidStateError BrokenExecutor TimeoutError",
        "configparser": "Error NoSectionError NoOptionError DuplicateSectionError DuplicateOptionError ParsingError "
        "MissingSectionHeaderError InterpolationError",
        "copy": "Error",
        "_csv": "Error",
        "dataclasses": "FrozenInstanceError",
        "decimal": "DecimalException InvalidOperation DivisionByZero Overflow Underflow Inexact Rounded Subnormal "
        "ConversionSyntax FloatOperation",
        "getopt": "GetoptError",
        "graphlib": "CycleError",
        "http.client": "HTTPException BadStatusLine IncompleteRead InvalidURL RemoteDisconnected",
        "io": "UnsupportedOperation",
        "ipaddress": "AddressValueError NetmaskValueError",
        "json.decoder": "JSONDecodeError",
        "_lzma": "LZMAError",
        "numpy.linalg": "LinAlgError",
        "numpy.exceptions": "AxisError DTypePromotionError",
        "pandas.errors": "EmptyDataError ParserError MergeError OutOfBoundsDatetime",
        "_pickle": "PickleError PicklingError UnpicklingError",
        "_queue": "Empty",
        "queue": "Empty Full",
        "re": "error",
        "shutil": "Error SameFileError SpecialFileError ReadError",
        "socket": "gaierror herror",
        "sqlite3": "Error DatabaseError IntegrityError OperationalError ProgrammingError InterfaceError DataError "
        "InternalError NotSupportedError Warning",
        "statistics": "StatisticsError",
        "struct": "error",
        "subprocess": "SubprocessError CalledProcessError TimeoutExpired",
        "tarfile": "TarError ReadError ExtractError",
        "threading": "BrokenBarrierError",
        "tomllib": "TOMLDecodeError",
        "urllib.error": "URLError HTTPError ContentTooShortError",
        "xml.etree.ElementTree": "ParseError",
        "zipfile": "BadZipFile LargeZipFile",
        "zlib": "error",
        "zoneinfo._common": "ZoneInfoNotFoundError",
    }.items()
    for name in names.split()
)
"""Exceptions of modules that are the same on both sides while the receiver itself has imported their module."""


class ProtocolError(BaseException):
    """The other side violated the protocol or has ended; no test may catch it as an ordinary exception."""


class ProgramEnded(ProtocolError):
    """The process of the other side has ended."""


class Channel:
    """Connection that carries messages."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        block = json.dumps(message).encode()
        try:
            self._stream.sendall(len(block).to_bytes(4, "big") + block)
        except OSError:
            raise ProgramEnded("the program under test is gone") from None

    def receive(self) -> dict[str, Any]:
        """Receive one message."""
        size = int.from_bytes(self._read(4), "big")
        if size > MAX_MESSAGE_BYTES:
            raise ProtocolError("the program under test sent too much")
        try:
            message = json.loads(self._read(size))
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise ProtocolError("the program under test sent no message")
        return message

    def _read(self, count: int) -> bytes:
        parts = []
        while count:
            try:
                piece = self._stream.recv(min(count, 1 << 20))
            except OSError:
                piece = b""
            if not piece:
                raise ProgramEnded("the program under test ended its interpreter")
            parts.append(piece)
            count -= len(piece)
        return b"".join(parts)


class ContainerTransfer:
    """Mutable containers of one request: their identity and their changes in place go back with the reply."""

    def __init__(self, collecting: bool = True) -> None:
        """Initialize the transfer; containers are collected in the request, and only found in its reply."""
        self.collecting = collecting
        self.items: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._before: list[Any] = []

    def add(self, container: Any) -> None:
        """Add a container in the order of the message."""
        self._numbers[id(container)] = len(self.items)
        self.items.append(container)

    def find(self, container: Any) -> int | None:
        """Return the number of a container of the request, or None."""
        return self._numbers.get(id(container))

    def get(self, number: Any) -> Any:
        """Return a container by its number."""
        if type(number) is not int or not 0 <= number < len(self.items):
            raise ProtocolError("the program under test names a container that was not passed to it")
        return self.items[number]

    def record_contents(self) -> None:
        """Remember the contents, and end the collection."""
        self.collecting = False
        self._before = [_list_content(one) for one in self.items]

    def iterate_changed(self) -> Iterator[tuple[int, Any]]:
        """Yield the containers whose content is not the remembered one."""
        for number, (one, before) in enumerate(zip(self.items, self._before, strict=True)):
            now = _list_content(one)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                yield number, one


class ValueCodec:
    """Encoder and decoder of plain data; subclasses add objects."""

    def __init__(self) -> None:
        self._decoders: dict[str, Callable[..., Any]] = {
            **dict.fromkeys(CONTAINERS, self._decode_container),
            **dict.fromkeys(MAPPINGS, self._decode_mapping),
            "argument": lambda transfer, kind, number: transfer.get(number),
            "int": lambda transfer, kind, digits: int(digits, 16),
            "slice": lambda transfer, kind, parts: slice(*(self.decode(one, transfer) for one in parts)),
            "constant": lambda transfer, kind, name: {"Ellipsis": ..., "NotImplemented": NotImplemented}[name],
            "value": self._decode_value,
            "array": self._decode_array,
            "frame": self._decode_frame,
        }

    def encode(self, value: Any, transfer: ContainerTransfer, depth: int = 0) -> Encoded:
        """Encode a value: plain values by value, others as subclasses define."""
        kind = type(value)
        if value is None or kind in (bool, str, float):
            return value
        if kind is int:
            return value if value.bit_length() < MAX_DIGIT_BITS else ["int", hex(value)]
        if depth > MAX_DEPTH:
            raise ValueError("the value is nested too deeply")
        if kind in MUTABLE:
            if (number := transfer.find(value)) is not None:
                return ["argument", number]
            if transfer.collecting:
                transfer.add(value)
        if kind in KINDS:
            return self.encode_content(value, transfer, depth)
        if (name := find_value_name(kind)) is not None:
            return ["value", name, VALUES[name][0](value)]
        if kind is slice:
            return ["slice", [self.encode(one, transfer, depth + 1) for one in (value.start, value.stop, value.step)]]
        if value is Ellipsis or value is NotImplemented:
            return ["constant", str(value)]
        if (array := _encode_array(value)) is not None:
            return array
        return self._encode_frame(value, transfer, depth) or self.encode_object(value, transfer, depth)

    def encode_content(self, value: Any, transfer: ContainerTransfer, depth: int = 0) -> Encoded:
        """Encode a container itself, even if it is one of the request."""
        kind = type(value)
        if kind is bytearray:
            return ["value", "builtins.bytearray", VALUES["builtins.bytearray"][0](value)]
        if kind in MAPPINGS.values():
            pairs = [
                [self.encode(key, transfer, depth + 1), self.encode(one, transfer, depth + 1)]
                for key, one in value.items()
            ]
            return [KINDS[kind], pairs]
        return [KINDS[kind], [self.encode(one, transfer, depth + 1) for one in value]]

    def encode_object(self, value: Any, transfer: ContainerTransfer, depth: int) -> Encoded:
        """Encode a value that is no plain data."""
        raise NotImplementedError

    def decode(self, data: Encoded, transfer: ContainerTransfer) -> Any:
        """Decode data into a value."""
        if data is None or type(data) in (bool, int, float, str):
            return data
        if type(data) is not list or not data or type(data[0]) is not str or data[0] not in self._decoders:
            raise ProtocolError("the program under test sent no value")
        try:
            return self._decoders[data[0]](transfer, *data)
        except ProtocolError:
            raise
        except Exception as error:
            raise ProtocolError(f"the program under test sent no value: {type(error).__name__}: {error}") from None

    def _decode_container(self, transfer: ContainerTransfer, name: str, items: list[Any]) -> Any:
        kind = CONTAINERS[name]
        if kind in (tuple, frozenset):
            return kind(self.decode(one, transfer) for one in items)
        made: Any = kind()
        if transfer.collecting:
            transfer.add(made)
        add = made.add if kind is set else made.append
        for one in items:
            add(self.decode(one, transfer))
        return made

    def _decode_mapping(self, transfer: ContainerTransfer, name: str, pairs: list[list[Any]]) -> Any:
        made: Any = MAPPINGS[name]()
        if transfer.collecting:
            transfer.add(made)
        for key, value in pairs:
            made[self.decode(key, transfer)] = self.decode(value, transfer)
        return made

    def _decode_value(self, transfer: ContainerTransfer, kind: str, name: str, plain: Any) -> Any:
        module, _, short = name.rpartition(".")
        decode = VALUES[name][1]
        made = decode(getattr(importlib.import_module(module), short), plain)
        if type(made) is bytearray and transfer.collecting:
            transfer.add(made)
        return made

    def _encode_frame(self, value: Any, transfer: ContainerTransfer, depth: int) -> Encoded | None:
        """Encode a pandas table or column by value; return None for anything else."""
        pandas = sys.modules.get("pandas")
        if pandas is None or type(value) not in (pandas.DataFrame, pandas.Series):
            return None
        column = type(value) is pandas.Series
        columns = [value] if column else [value.iloc[:, number] for number in range(value.shape[1])]
        labels = [None] if column else list(value.columns)
        index = value.index
        kept = range(index.start, index.stop, index.step) if type(index) is pandas.RangeIndex else _items(index)
        closed = ContainerTransfer(collecting=False)
        parts = [
            [self.encode(label, closed, depth + 1), str(one.dtype), self.encode(_items(one), closed, depth + 1)]
            for label, one in zip(labels, columns, strict=True)
        ]
        name = [self.encode(value.name, closed, depth + 1)] if column else None
        return ["frame", parts, self.encode(kept, closed, depth + 1), name]

    def _decode_frame(self, transfer: ContainerTransfer, kind: str, columns: list[Any], index: Any, name: Any) -> Any:
        pandas = importlib.import_module("pandas")

        closed = ContainerTransfer(collecting=False)
        kept = self.decode(index, closed)
        labels = pandas.RangeIndex(kept) if isinstance(kept, range) else pandas.Index(kept)
        made = [
            pandas.Series(self.decode(values, closed), index=labels, dtype=str(dtype)) for _, dtype, values in columns
        ]
        if name is not None:
            return made[0].rename(self.decode(name[0], closed))
        frame = pandas.concat(made, axis=1) if made else pandas.DataFrame(index=labels)
        frame.columns = [self.decode(label, closed) for label, _, _ in columns]
        return frame

    def _decode_array(
        self, transfer: ContainerTransfer, kind: str, dtype: Any, shape: list[int] | None, content: str
    ) -> Any:
        import numpy

        if type(dtype) is not str or not re.fullmatch(r"[<>|=]?[?biufcmMSUV]\w*(\[\w+\])?", dtype):
            raise ProtocolError("the program under test sent an array of an unknown type")
        flat = numpy.frombuffer(base64.b64decode(content), dtype=numpy.dtype(dtype))
        return flat[0] if shape is None else flat.reshape(shape).copy()


def fill(target: Any, new: Any) -> None:
    """Replace the content of a container by that of another one of the same type."""
    if type(target) is not type(new):
        raise ProtocolError("the program under test changed the type of a container")
    if isinstance(target, (list, bytearray)):
        target[:] = new
    elif isinstance(target, collections.deque):
        target.clear()
        target.extend(new)
    else:
        content = dict(new) if isinstance(new, dict) else set(new)
        target.clear()
        target.update(content)


def find_value_name(kind: type) -> str | None:
    """Return the name of a type of plain values, or None if it is none or only has the name of one."""
    module = kind.__module__
    # Since Python 3.13 the classes of paths are defined in a submodule.
    shown = "pathlib" if module.startswith("pathlib.") else module
    name = f"{shown}.{kind.__qualname__}"
    return name if name in VALUES and getattr(sys.modules.get(shown), kind.__qualname__, None) is kind else None


def find_class(name: str) -> type | None:
    """Return a class that both sides know, or None."""
    if (found := CLASSES.get(name) or ERRORS.get(name)) is not None:
        return found
    if name not in VALUES and name not in MODULE_ERRORS:
        return None
    module, _, short = name.rpartition(".")
    kind = getattr(sys.modules.get(module), short, None)
    return kind if isinstance(kind, type) else None


def find_class_name(kind: type) -> str | None:
    """Return the name by which both sides know a class, or None."""
    module, short = kind.__module__, kind.__qualname__
    names = (kind.__name__, f"{module}.{short}", f"{'pathlib' if module.startswith('pathlib.') else module}.{short}")
    return next((name for name in names if find_class(name) is kind), None)


def _list_content(container: Any) -> Any:
    """Return the content of a container, so that changes of it can be found."""
    if isinstance(container, dict):
        return [part for pair in container.items() for part in pair]
    return list(container)


def _encode_array(value: Any) -> Encoded | None:
    """Encode a NumPy array or scalar by value; return None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject and value.dtype.names is None:
        flat = numpy.ascontiguousarray(value)
        return ["array", flat.dtype.str, list(value.shape), base64.b64encode(flat.tobytes()).decode()]
    if numpy is not None and isinstance(value, numpy.generic) and type(value).__module__ == "numpy":
        return ["array", value.dtype.str, None, base64.b64encode(value.tobytes()).decode()]
    return None


def _items(column: Any) -> Any:
    """Return the items of a column as an array, or as a list if an array would contain objects."""
    array = column.to_numpy()
    return array.tolist() if array.dtype.hasobject else array
