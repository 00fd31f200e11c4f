"""Exchange requests between the two processes, with their objects as handles.

Both processes send in the same way: plain data by value, their own objects as numbers. Each process has a subclass that
defines which requests it executes and which answers it accepts.
"""

import threading
import types
from collections.abc import Coroutine
from typing import Any, Final, NoReturn

from tenure.sandbox.inside import proxies
from tenure.sandbox.inside.protocol import (
    MUTABLE,
    PLAIN_BASES,
    Channel,
    ContainerTransfer,
    Encoded,
    ProtocolError,
    ValueCodec,
    fill,
    find_class,
    find_class_name,
)
from tenure.sandbox.inside.proxies import SPECIAL, Handle, RemoteType, find_owner

MAX_TRACE_CHARS: Final = 6000
"""Maximum length of a traceback."""


class Endpoint(ValueCodec):
    """One end of the connection: sends requests, and executes those of the other side while it waits."""

    def __init__(self, channel: Channel, folder: str) -> None:
        """Initialize one end; lines of the folder's files are reported with exceptions."""
        super().__init__()
        self._channel = channel
        self._folder = folder
        self._lock = threading.RLock()
        self._kept: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._handles: dict[int, Any] = {}
        self._mirrors: dict[int, type] = {}
        self._decoders |= {
            "yours": lambda transfer, kind, number: self._kept[number],
            "class": self._decode_class,
            "error": self._decode_error_class,
            "mirror": self._decode_mirror,
            "object": self._decode_handle,
            "exception": self._decode_exception,
            "coroutine": self._decode_coroutine,
        }

    def execute(self, operation: str, arguments: list[Any]) -> Any:
        """Execute a request of the other side."""
        raise NotImplementedError

    def attach(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message with additional facts for the other side."""
        return message

    def accept_extras(self, message: dict[str, Any]) -> None:
        """Process the additional facts of a message."""

    def receive(self) -> dict[str, Any]:
        """Receive a message."""
        message = self._channel.receive()
        self.accept_extras(message)
        return message

    def request(self, operation: str, *arguments: Any) -> Any:
        """Send a request and return its result, or raise the exception it raised."""
        with self._lock:
            transfer = ContainerTransfer()
            asked = {"ask": operation, "with": [self.encode(one, transfer) for one in arguments]}
            transfer.collecting = False
            self._channel.send(self.attach(asked))
            while "ask" in (message := self.receive()):
                self.answer(message)
            return self._take_reply(operation, arguments, message, transfer)

    def _take_reply(
        self, operation: str, arguments: tuple[Any, ...], message: dict[str, Any], given: ContainerTransfer
    ) -> Any:
        changed = message.get("changed", [])
        if type(changed) is not list or any(type(one) is not list or len(one) != 2 for one in changed):
            raise ProtocolError("the program under test sent no reply")
        for target, new in [(given.get(number), self.decode(new, given)) for number, new in changed]:
            fill(target, new)
        if "raised" in message:
            error = self.decode(message["raised"], given)
            if not isinstance(error, BaseException):
                raise ProtocolError("the program under test raised no exception")
            self.raise_answer(error)
        if "stop" in message:
            value = self.decode(message["stop"], given)
            if operation == "special" and arguments[1] == "__next__":
                raise StopIteration(value)
            if operation == "special" and arguments[1] == "__anext__":
                raise StopAsyncIteration
            raise ProtocolError("the program under test ended an iteration that was not asked for")
        if "value" not in message:
            raise ProtocolError("the program under test sent no reply")
        return self.decode(message["value"], given)

    def raise_answer(self, error: BaseException) -> NoReturn:
        """Raise the exception that a request has raised on the other side."""
        raise error

    def answer(self, message: dict[str, Any]) -> None:
        """Execute a request and send the reply."""
        operation, sent, transfer = message.get("ask"), message.get("with"), ContainerTransfer()
        if type(operation) is not str or type(sent) is not list:
            raise ProtocolError("the program under test sent no request")
        self.check_target(operation, sent)
        arguments = [self.decode(one, transfer) for one in sent]
        transfer.record_contents()
        try:
            reply: dict[str, Any] = {"value": self.encode(self.execute(operation, arguments), transfer)}
        except ProtocolError:
            raise
        except BaseException as error:
            if _ends_iteration(error, operation, arguments):
                reply = {"stop": self.encode(getattr(error, "value", None), transfer)}
            else:
                self.record_error(error)
                reply = {"raised": self.encode_exception(error, transfer)}
        changed = [[number, self.encode_content(one, transfer)] for number, one in transfer.iterate_changed()]
        self._channel.send(self.attach({**reply, "changed": changed} if changed else reply))

    def check_target(self, operation: str, sent: list[Encoded]) -> None:
        """Check the encoded arguments of a request before they are decoded."""

    def record_error(self, error: BaseException) -> None:
        """Record an exception that is sent to the other side."""

    # Operations on remote objects.

    def read_attribute(self, target: Any, name: str) -> Any:
        """Read an attribute of a remote object."""
        return self.request("getattr", target, name)

    def apply_special(self, target: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Apply a special method of a remote object."""
        return self.request("special", target, name, arguments, named)

    async def apply_asynchronous(self, target: Any, name: str, arguments: list[Any]) -> Any:
        """Apply a special method of a remote object that is awaited."""
        return self.request("special", target, name, arguments, {})

    async def wait_for(self, target: Any) -> Any:
        """Wait for a remote object."""
        return self.request("await", target)

    def is_computed(self, target: Any) -> bool:
        """Return whether a remote object was computed with plain data."""
        return False

    # Own objects.

    def _keep(self, value: Any) -> int:
        """Keep an object for the other side and return its number."""
        if (number := self._numbers.get(id(value))) is None:
            number = len(self._kept) + 1
            self._kept[number] = value
            self._numbers[id(value)] = number
        return number

    def encode_object(self, value: Any, transfer: ContainerTransfer, depth: int) -> Encoded:
        """Encode a value that is no plain data."""
        if (owner := find_owner(value)) is not None and owner[0] is self:
            return ["yours", owner[1]]
        # By its type: a mock can claim to be an instance of anything.
        kind = type(value)
        if issubclass(kind, BaseException):
            return self.encode_exception(value, transfer)
        if issubclass(kind, type):
            return self._encode_class(value)
        if kind is types.CoroutineType:
            return ["coroutine", self._keep(value)]
        if kind is types.TracebackType:
            return None
        base = next((one for one in PLAIN_BASES if issubclass(kind, one)), None)
        plain = None
        if base is not None:
            # By the methods of the plain type, so that an overridden method is not called.
            plain = self.encode(_copy_plain(base, value), ContainerTransfer(collecting=False), depth + 1)
        return ["object", self._keep(value), self._encode_class(kind), plain]

    def _encode_class(self, kind: type) -> Encoded:
        if (owner := find_owner(kind)) is not None and owner[0] is self:
            return ["yours", owner[1]]
        if (name := find_class_name(kind)) is not None and not (known := issubclass(kind, BaseException)):
            return ["class", name]
        specials = "" if issubclass(kind, BaseException) else " ".join(_iterate_specials(kind))
        bases = [self._encode_class(base) for base in kind.__bases__ if base is not object]
        mirror = ["mirror", self._keep(kind), kind.__name__, bases, specials]
        return mirror if name is None else ["error", name, mirror] if known else mirror

    def encode_exception(self, error: BaseException, transfer: ContainerTransfer) -> Encoded:
        """Encode an exception with its arguments, its public attributes, its text and its traceback."""
        if (owner := find_owner(error)) is not None and owner[0] is self:
            return ["yours", owner[1]]
        lines, text = _format_traceback(error, self._folder)
        given = error.args
        if isinstance(error, OSError) and error.filename is not None and len(given) == 2:
            given = (*given, error.filename)
        arguments = [self._encode_part(one) for one in given[:20]]
        fields = [
            [name, self._encode_part(one)]
            for name, one in list(getattr(error, "__dict__", {}).items())[:40]
            if isinstance(name, str) and not name.startswith("_")
        ]
        kind = self._encode_class(type(error))
        return ["exception", self._keep(error), kind, arguments, fields, _format_error(error), lines, text]

    def _encode_part(self, value: Any) -> Encoded:
        """Encode an argument of an exception, or its type if it cannot be sent."""
        try:
            return self.encode(value, ContainerTransfer(collecting=False))
        except Exception:
            return f"<{type(value).__name__}>"

    # Objects of the other side.

    def _decode_class(self, transfer: ContainerTransfer, kind: str, name: str) -> Any:
        if (found := find_class(name)) is None or issubclass(found, BaseException):
            raise ProtocolError("the program under test sent a class that is not shared")
        return found

    def _decode_error_class(self, transfer: ContainerTransfer, kind: str, name: str, mirror: Encoded) -> Any:
        return self._decode_class_of(["error", name, mirror], transfer)

    def _decode_class_of(self, data: Encoded, transfer: ContainerTransfer) -> Any:
        """Decode the class of an exception, or a base of a class; both sides share known classes of exceptions."""
        if type(data) is not list or len(data) != 3 or data[0] != "error":
            return self.decode(data, transfer)
        found = find_class(data[1])
        return found if found is not None and issubclass(found, BaseException) else self.decode(data[2], transfer)

    def _decode_mirror(
        self, transfer: ContainerTransfer, kind: str, number: int, name: str, bases: list[Any], specials: str
    ) -> Any:
        if (known := self._mirrors.get(number)) is not None:
            return known
        found = [self._decode_class_of(one, transfer) for one in bases]
        if type(number) is not int or number < 1 or any(not isinstance(one, type) for one in found):
            raise ProtocolError("the program under test sent no class")
        kept = [one for one in found if isinstance(one, RemoteType) or issubclass(one, (BaseException, *PLAIN_BASES))]
        try:
            made = proxies.make_mirror(self, number, str(name), kept, specials.split())
        except TypeError:
            # The bases cannot be combined here.
            made = proxies.make_mirror(self, number, str(name), kept[:1], specials.split())
        self._mirrors[number] = made
        return made

    def _decode_handle(
        self, transfer: ContainerTransfer, kind: str, number: int, owner: Encoded, plain: Encoded
    ) -> Any:
        if type(number) is not int or number < 1:
            raise ProtocolError("the program under test sent no object")
        if (known := self._handles.get(number)) is not None and plain is None:
            return known
        mirror = self.decode(owner, transfer)
        if not isinstance(mirror, RemoteType) or issubclass(mirror, BaseException):
            mirror = Handle
        made = self._make_plain(
            mirror, self.decode(plain, ContainerTransfer(collecting=False)) if plain is not None else None
        )
        object.__setattr__(made, "_tenure_handle", (self, number))
        self._handles[number] = made
        return made

    def _make_plain(self, mirror: Any, plain: Any) -> Any:
        """Create an instance of a mirrored class, with its plain data if the class is one of a plain type."""
        base = next((one for one in PLAIN_BASES if issubclass(mirror, one)), None)
        if base is None and plain is None:
            return object.__new__(mirror)
        if type(plain) not in PLAIN_BASES or (base is not None and type(plain) is not base):
            raise ProtocolError("the program under test sent an object whose data is not of its type")
        if base is None:
            mirror = proxies.make_mirror(self, 0, mirror.__name__, [type(plain)], [])
        own: Any = type(plain)
        if own in MUTABLE:
            made = own.__new__(mirror)
            own.__init__(made, plain)
            return made
        return own.__new__(mirror, plain)

    def _decode_exception(
        self,
        transfer: ContainerTransfer,
        kind: str,
        number: int,
        owner: Encoded,
        arguments: list[Any],
        fields: list[Any],
        text: str,
        lines: list[Any],
        trace: str,
    ) -> Any:
        if isinstance(known := self._handles.get(number), BaseException):
            return known
        mirror = self._decode_class_of(owner, transfer)
        if not (isinstance(mirror, type) and issubclass(mirror, BaseException) and self.may_raise(mirror)):
            mirror = proxies.make_mirror(self, 0, getattr(mirror, "__name__", "Exception"), [Exception], [])
        given = [self.decode(one, ContainerTransfer(collecting=False)) for one in arguments]
        made: Any = _make_exception(mirror, given)
        if not isinstance(mirror, RemoteType):
            made.__dict__.update(
                (str(name), self.decode(one, ContainerTransfer(collecting=False)))
                for name, one in fields
                if str(name).isidentifier() and not str(name).startswith("_")
            )
        made.__dict__["_tenure_text"] = str(text)
        made.__dict__["_tenure_trace"] = str(trace)
        made.__dict__["_tenure_lines"] = [[str(name), int(line)] for name, line in lines]
        if isinstance(made, proxies.RemoteObject):
            made.__dict__["_tenure_handle"] = (self, number)
            self._handles[number] = made
        return made

    def may_raise(self, kind: type[BaseException]) -> bool:
        """Return whether the other side may raise an exception of a class."""
        return True

    def _decode_coroutine(self, transfer: ContainerTransfer, kind: str, number: int) -> Coroutine[Any, Any, Any]:
        if type(number) is not int or number < 1:
            raise ProtocolError("the program under test sent no object")
        return self.wait_for(Reference(self, number))


class Reference(proxies.RemoteObject):
    """Reference with nothing but a number."""

    __slots__ = ("_tenure_handle",)

    def __init__(self, end: Endpoint, number: int) -> None:
        self._tenure_handle = (end, number)


def apply_special(target: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Apply a special method with Python's own lookup."""
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
    if name not in SPECIAL and name not in proxies.SHOWING:
        raise ProtocolError(f"there is no special method {name!r}")
    method = getattr(type(target), name, None)
    if method is None:
        if name in proxies.ARITHMETIC or name in proxies.COMPARISONS:
            return NotImplemented
        raise TypeError(f"{type(target).__name__!r} object has no {name}")
    return method(target, *arguments, **named)


def run_awaitable(waited: Any) -> Any:
    """Wait for an awaitable in an event loop of its own, even inside of another one."""
    import asyncio

    async def wait() -> Any:
        return await waited

    around = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(wait())
        finally:
            loop.close()
    finally:
        asyncio._set_running_loop(around)


def _ends_iteration(error: BaseException, operation: str, arguments: list[Any]) -> bool:
    """Return whether an exception is the answer that there is no next item."""
    if operation != "special" or len(arguments) < 2:
        return False
    name = arguments[1]
    return (type(error) is StopIteration and name == "__next__") or (
        type(error) is StopAsyncIteration and name == "__anext__"
    )


def _iterate_specials(kind: type) -> list[str]:
    """Return the special methods of a class that `object` does not give it."""
    found = []
    for name in SPECIAL:
        owner = next((one for one in kind.__mro__ if name in one.__dict__), object)
        if owner is not object and owner.__dict__[name] is not None:
            found.append(name)
    return sorted(found)


def _copy_plain(base: type, value: Any) -> Any:
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


def _make_exception(kind: type[BaseException], given: list[Any]) -> BaseException:
    """Create an exception without running any initialization that is written in Python."""
    new: Any = kind.__new__
    try:
        made: BaseException = new(kind, *given)
        if isinstance(kind.__init__, types.WrapperDescriptorType):
            kind.__init__(made, *given)
    except Exception:
        # The arguments of the constructor may differ from the final state.
        made = BaseException.__new__(kind)
    if not isinstance(made, OSError):
        BaseException.args.__set__(made, tuple(given))  # type: ignore[attr-defined]
    return made


def _format_error(error: BaseException) -> str:
    """Return the text of an exception, independently of its own methods."""
    try:
        return str(error)[:2000]
    except BaseException:
        return ""


def _format_traceback(error: BaseException, folder: str) -> tuple[list[list[Any]], str]:
    """Return the lines of a folder's files in an exception's traceback, and the traceback as text."""
    import traceback

    lines = []
    try:
        for entry in traceback.extract_tb(error.__traceback__)[-40:]:
            if folder and entry.filename.startswith(folder + "/"):
                lines.append([entry.filename[len(folder) + 1 :], entry.lineno or 0])
        text = "".join(traceback.format_exception(type(error), error, _find_own_part(error, folder), limit=-20))
        text = text[-MAX_TRACE_CHARS:]
    except BaseException:
        text = ""
    return lines, text


def _find_own_part(error: BaseException, folder: str) -> types.TracebackType | None:
    """Return the part of a traceback that begins in a folder, or all of it if no part does."""
    part = error.__traceback__
    while part is not None and not part.tb_frame.f_code.co_filename.startswith(folder + "/"):
        part = part.tb_next
    return part or error.__traceback__
