"""Find the functions of the product that take a text, and time them over texts that make slow patterns slow."""

import collections
import collections.abc
import dataclasses
import enum
import functools
import importlib
import inspect
import pkgutil
import re
import signal
import sys
import time
import types
import typing
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from ipaddress import IPv4Address
from itertools import count
from pathlib import Path, PurePath
from types import FrameType, ModuleType
from typing import Any, Final

import httpx
from pydantic import BaseModel, SecretStr, ValidationError

import tenure

EXCLUDED_MODULES: Final = {
    "starts programs or processes": (
        *("local_models", "sandbox.bubblewrap", "sandbox.choice", "sandbox.docker", "sandbox.engine"),
        *("sandbox.groups", "sandbox.inside", "sandbox.launcher", "sandbox.memory", "sandbox.repairing"),
        *("sandbox.runtime", "sandbox.seccomp", "sandbox.selftest", "sandbox.supervisor", "sources.isolation"),
        *("sources.mcp.process", "sources.scan_process", "sources.sql_process", "temporal", "site.process"),
    ),
    "opens files, whose names the operating system bounds": (
        *(
            "cli.delivery",
            "cli.paths",
            "cli.program_files",
            "cli.remembered",
            "document_roots",
            "extensions",
            "files.discovery",
        ),
        *("files.file_store", "files.opening", "files.rereading", "private_files", "settings"),
        *(
            "knowledge.ingestion",
            "knowledge.store",
            "knowledge.tables.queries",
            "models.minilm",
        ),
    ),
    "speaks to a server or to a terminal": (
        *("cli.commands", "cli.main", "cli.terminal", "logs", "mcp_server.server", "mcp_server.subscriptions"),
        *("models.factory", "models.probe", "python_api", "runs.session.server_target", "site.command", "site.server"),
        "sources.fetch.browser",
        "tracing",
    ),
}
"""Modules below `tenure` whose functions are not called here, by the reason."""
EXCLUDED_FUNCTIONS: Final = {
    "algorithms.coding.repair.generate_candidates": "a caller takes a limited number of changed programs",
    "algorithms.text.stock_phrases.compile_phrase": "its text is a pattern of this repository",
}
"""Functions that are not called here, with the reason."""
SHAPES: Final = (
    *"1aA .,;:()[]{}<>\"'-–_#*`|/\\=+&@%$~^?!\n\té中\u0301\u200b",
    *("1,", "1.", "1 ", "1, ", "1-", "1/", "1 + ", "1:", "a ", "A ", "a, ", "a,", "a.", "a. ", "a-", "a/"),
    *("a'", "A b ", "([", "()", "[]", "{}", '{"a":', "[[", "](", "<a", "</", "<!-- ", "<a>", "**", "* "),
    *("- ", "# ", "#\n", "> ", "|a", "| ", "\n\n", "\n ", " \n", "a\n", "- a\n", "```\n", "`a", "\\(", "$$"),
    *("[1]", "[1", "(1", "1)", '"a" ', "'a' ", "because ", "not ", "no ", "and ", "or ", "of ", "the "),
    *("if ", "that ", "is ", "which ", "what ", "who ", "but ", "and, ", "a and b, ", "because of "),
    *("if a then ", "the cat is red and ", "Because it rains, the road is wet ", "A causes B ", "more than "),
    *("less than 3 ", "between 1 and ", "compare a with ", "a vs. b ", "how many ", "why "),
    *("The Anna River ", "Anna ", "it is ", "he ", "does ", "10 % of ", "10 km ", "3 million ", "$1 "),
    *("2020 ", "in 2020 ", "2020-01-01 ", "1 January 2020 ", "January 1, ", "2020-", "Jan ", "http://"),
    *("http://a.b/", "www.", "a.b", "a@b ", "action: ", "Answer: ", "Step 1: ", "select ", "def a(): "),
    *("x = ", "ignore ", "e.g. ", "Dr. ", "A. ", "1. a\n", "# a\n", "- a [1]\n", "[1] ", "[1, ", "[3-", "a. [1] "),
    *("**a.** ", "(search: ", "| a | b |\n|---|---|\n| c | d |\n", "REPLACE 1: a\n", "SECTION a: ", "WRONG 1, "),
    "BLOCK 1:\n",
)
"""Texts that are repeated up to a size: runs of each class of characters, pairs, open brackets, connectives, dates,
Markdown, edits."""
EXCLUDED_PARAMETERS: Final = frozenset("path root folder directory command host port secret key".split())
"""Names of parameters whose texts name files and processes, outside of packages that open none."""
PURE_PACKAGES: Final = ("tenure.algorithms.", "tenure.contracts.", "tenure.roles.")
"""Packages whose functions open no file, whatever the names of their parameters are."""
UNBUILT_TYPES: Final = {
    "part of a parsed text: the function that parses the text is called": """PIL. ast. builtins.CalamineWorkbook
        docutils. docx. email.message. lxml. markdown_it. oxmsg. pptx. pydantic_core. pylatexenc. pypdfium2. re.Match
        tenure.report.render.html._CleanTemplate tenure.sources.parsers.formats.rst.
        tenure.sources.search.feeds._Element tree_sitter. zipfile.""".split(),
    "opens a database or a file": """_duckdb. _io. contextlib.ExitStack os.stat_result pyarrow. tenure.knowledge.
        tenure.models.multilingual.USE tenure.sources.tables.sql_engine. typing.IO""".split(),
    "speaks to a server, a process or a terminal": """argparse. httpx.Response mcp. multiprocessing. openai.
        asyncio.locks. rich. socket.socket starlette. temporalio. tenure.cli. tenure.files.file_store.
        tenure.models.openai. tenure.runs. tenure.sources.search.api_provider. tenure.team.""".split(),
    "numbers, or the declaration of a role": """tenure.roles.base. tenure.roles.registry.""".split(),
}
"""Types of parameters whose values are not built, or the beginnings of their names, by the reason.

A function with such a parameter is not called here. A parameter of another type that cannot be built fails the test."""

LENGTH: Final = 20_000
"""Characters of the longest question."""
MAX_SECONDS: Final = 1.0
"""Processor time of a call that is always fast enough; a workflow task has eight seconds, and a busy machine doubles
the time."""
MAX_GROWTH: Final = 3.0
"""Maximum factor by which the time grows with twice the text: 2 is linear, 4 is quadratic."""
MAX_MEASURED_SECONDS: Final = 8.0
"""Processor time after which a call is ended; the PDF of a report whose hundred texts have 20,000 characters each takes
three seconds."""
MAX_ITEMS: Final = 100
"""Items of a list of texts, such as queries and requests; each is compared with texts of the full length."""


class TooSlow(BaseException):
    """A call used up its processor time."""


class Unbuildable(Exception):
    """A parameter has a type of which no value can be made from a text."""

    def __init__(self, hint: Any) -> None:
        """Store the full name of the type."""
        origin = typing.get_origin(hint) or hint
        name = f"{origin.__module__}.{origin.__qualname__}" if isinstance(origin, type) else str(origin)
        super().__init__(name)
        self.type_name = name


@dataclasses.dataclass(frozen=True)
class TextFunction:
    """A function whose arguments can be built from one text."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """Dotted name without the package."""
        return f"{self.function.__module__.removeprefix('tenure.')}.{self.function.__qualname__}"

    def measure(self, text: str, max_seconds: float = MAX_MEASURED_SECONDS) -> float:
        """Return the seconds of processor time of a call; the maximum if it takes longer.

        A refusal of the text is an answer, even if an argument refuses it.
        """
        try:
            arguments, named = build_arguments(self.function, text)
        except Unbuildable:  # with another text they were built
            return 0.0
        began = time.process_time()
        try:
            with _limit_processor_time(max_seconds):
                answer = self.function(*arguments, **named)
                if isinstance(answer, Iterator):
                    collections.deque(answer, maxlen=0)
        except TooSlow:
            return max_seconds
        except Exception:
            return time.process_time() - began
        return time.process_time() - began

    def is_slow(self, shape: str, length: int = LENGTH, max_seconds: float = MAX_SECONDS) -> bool:
        """Return whether a text takes too long, and much more than twice as long as its half.

        Functions of many texts, such as a whole report, may take longer if their time is proportional to the length.
        """
        # Quadratic time of 0.1 s is 6 ms for a quarter of the length; the clock of some machines ticks every 4 ms.
        if self.measure(build_text(shape, length // 4)) < max_seconds / 32:
            return False
        for less in range(2):  # the first time, garbage may be collected meanwhile; equal texts may be in a cache
            seconds = self.measure(build_text(shape, length - less))
            if seconds >= MAX_MEASURED_SECONDS:
                return True
            if seconds < max_seconds or seconds <= MAX_GROWTH * self.measure(build_text(shape, length // 2 - less)):
                return False
        return True


@functools.cache
def list_functions() -> tuple[TextFunction, ...]:
    """Return the functions, methods and properties of the product that take a text and whose arguments can be built."""
    return tuple(function for function, type_name in _check_functions() if not type_name)


def list_unbuilt() -> Mapping[str, str]:
    """Return the functions whose arguments are not built, each with the type that prevents it."""
    return {function.name: type_name for function, type_name in _check_functions() if type_name}


@functools.cache
def _check_functions() -> tuple[tuple[TextFunction, str], ...]:
    """Return the functions that take a text or may take one, each with the type of an argument that is not built."""
    found: list[tuple[TextFunction, str]] = []
    for function in map(TextFunction, _iterate_functions()):
        if function.name in EXCLUDED_FUNCTIONS or _names_files(function.function):
            continue
        try:
            arguments, named = build_arguments(function.function, _MARKER)
        except Unbuildable as error:
            found.append((function, error.type_name))
            continue
        if _holds_marker((arguments, named)):
            found.append((function, ""))
    return tuple(found)


def _names_files(function: Callable[..., Any]) -> bool:
    is_pure = f"{function.__module__}.".startswith(PURE_PACKAGES)
    return not is_pure and bool(EXCLUDED_PARAMETERS & inspect.signature(function).parameters.keys())


_MARKER: Final = "marker of a text"


def _holds_marker(value: Any, depth: int = 0) -> bool:
    """Return whether a value, or a value inside it, is the marker."""
    if isinstance(value, str | bytes):
        return _MARKER.split()[0] in (value if isinstance(value, str) else value.decode(errors="replace"))
    if depth > 12 or isinstance(value, type | ModuleType | int | float | enum.Enum | count) or value is None:
        return False
    if isinstance(value, Mapping):
        value = (*value.keys(), *value.values())
    elif not isinstance(value, Iterable):
        value = getattr(value, "__dict__", {}).values()
    return any(_holds_marker(part, depth + 1) for part in value)


def _iterate_functions() -> Iterator[Callable[..., Any]]:
    for module in _import_modules():
        for value in vars(module).values():
            # A copy: Pydantic adds the signature of a class to it when an argument of the class is built.
            members = tuple(vars(value).values()) if inspect.isclass(value) else (value,)
            for member in members:
                # Behind a cache, a class method or a property.
                inner = (getattr(member, name, None) for name in ("__func__", "fget", "func"))
                function = inspect.unwrap(next(filter(None, inner), member))
                if (
                    inspect.isfunction(function)
                    and not inspect.iscoroutinefunction(function)
                    and function.__module__ == module.__name__
                    and not function.__qualname__.endswith("__")
                ):
                    yield function


def build_text(shape: str, length: int) -> str:
    """Return a shape repeated up to a length."""
    return (shape * (length // len(shape) + 1))[:length]


def build_arguments(function: Callable[..., Any], text: str, depth: int = 0) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments for a function, each text in them the given one.

    Raises:
        Unbuildable: a parameter without default has a type that is not built.
    """
    hints, parameters = _read_signature(function)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for index, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        # A second text that differs at its end is compared with the first one to its end.
        given = f"{text[:-1]}x" if index % 2 else text
        try:
            value = build_value(hints.get(parameter.name, Any), given, depth)
        except Unbuildable:
            if parameter.default is parameter.empty:
                raise
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        elif parameter.default is not parameter.empty and not _contains_text(value):
            named[parameter.name] = parameter.default
        elif named:
            named[parameter.name] = value
        else:
            positional.append(value)
    return positional, named


@functools.cache
def _read_signature(function: Callable[..., Any]) -> tuple[dict[str, Any], tuple[inspect.Parameter, ...]]:
    """Return the types of the parameters, and the parameters; that of a method's owner is its class."""
    parameters = tuple(inspect.signature(function).parameters.values())
    try:
        hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except (NameError, TypeError) as error:  # a type for type checkers only
        raise Unbuildable(f"{function.__module__}.{getattr(error, 'name', 'signature')}") from error
    if inspect.isclass(function):
        return hints, parameters
    owner: Any = sys.modules[function.__module__]
    for name in function.__qualname__.split(".")[:-1]:
        owner = getattr(owner, name, None)
    if inspect.isclass(owner) and not isinstance(vars(owner).get(function.__name__), staticmethod):
        is_classmethod = isinstance(vars(owner).get(function.__name__), classmethod)
        hints[parameters[0].name] = typing.Literal[owner] if is_classmethod else owner
    return hints, parameters


def build_value(hint: Any, text: str, depth: int = 0) -> Any:
    """Return a value of a type; each text in it is the given one, each list has one item.

    Raises:
        Unbuildable: values of the type are not built.
    """
    if depth > 20:
        raise Unbuildable(hint)
    hint = getattr(hint, "__supertype__", hint)
    if isinstance(hint, typing.TypeVar):
        hint = hint.__bound__
    if hint in (Any, object) or str(hint) == "JsonValue":
        return text
    simple: dict[Any, Any] = {
        str: text,
        bytes: text.encode("utf-8", "surrogatepass"),
        int: 1,
        float: 0.5,
        bool: True,
        complex: 1j,
    }
    simple |= {date: date(2026, 1, 1), datetime: datetime(2026, 1, 1, tzinfo=UTC), type(None): None, None: None}
    simple |= {Fraction: Fraction(1, 2), timedelta: timedelta(seconds=1), range: range(1), bytearray: bytearray(1)}
    # Nothing can be read or written below a device.
    simple |= {Path: Path("/dev/null/name.txt"), PurePath: PurePath("name.txt"), Hashable: text}
    simple |= {IPv4Address: IPv4Address("192.0.2.1"), BaseModel: _Model(text=text), type: _Model}
    if hint in simple:
        return simple[hint]
    if hint in (SecretStr, httpx.Headers):
        return SecretStr(text) if hint is SecretStr else httpx.Headers({"name": ascii(text)})
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments[0]
    if origin is typing.Annotated:
        return build_value(arguments[0], text, depth)
    if origin in (typing.Union, types.UnionType):
        return _build_first([option for option in arguments if option is not type(None)], text, depth)
    if origin is not None:
        return _build_collection(origin, arguments, text, depth)
    if isinstance(hint, type):
        return _build_instance(hint, text, depth)
    raise Unbuildable(hint)


class _Model(BaseModel):
    """Model for functions of any model."""

    text: str


def _build_instance(hint: type, text: str, depth: int) -> Any:
    if issubclass(hint, enum.Enum):
        return next(iter(hint))
    if issubclass(hint, BaseModel):
        return _build_model(hint, text, depth)
    if dataclasses.is_dataclass(hint) and hint.__module__.startswith("tenure.") and not inspect.isabstract(hint):
        fields = [field for field in dataclasses.fields(hint) if field.init]
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: build_value(hints[field.name], text, depth + 1) for field in fields})
    if issubclass(hint, tuple) and hasattr(hint, "_fields"):
        hints = typing.get_type_hints(hint)
        return hint(*(build_value(hints[name], text, depth + 1) for name in hint._fields))
    if hint in (Exception, OSError, TimeoutError):
        return hint(text)
    if getattr(hint, "_is_protocol", False) and hint.__module__.startswith("tenure."):
        return _build_protocol(hint, text, depth)
    if not _is_tested(hint.__module__) or inspect.isabstract(hint):
        raise Unbuildable(hint)
    try:
        positional, named = build_arguments(hint, text, depth + 1)
        return hint(*positional, **named)
    except Unbuildable:
        raise
    except Exception as error:
        raise Unbuildable(hint) from error


def _build_protocol(protocol: type, text: str, depth: int) -> Any:
    """Return an object with the attributes of a protocol, whose methods return values of their types."""
    members = {name: build_value(hint, text, depth + 1) for name, hint in typing.get_type_hints(protocol).items()}
    for name, member in vars(protocol).items():
        function = member.fget if isinstance(member, property) else member
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        hint = _read_signature(function)[0].get("return", Any)
        is_property = isinstance(member, property)
        members[name] = build_value(hint, text, depth + 1) if is_property else _build_method(hint, text, depth)
    return types.SimpleNamespace(**members)


def _build_method(hint: Any, text: str, depth: int) -> Callable[..., Any]:
    return lambda *_, **__: build_value(hint, text, depth + 1)


def _build_first(options: Sequence[Any], text: str, depth: int) -> Any:
    problem = Unbuildable(None)
    for option in options:
        try:
            return build_value(option, text, depth)
        except Unbuildable as error:
            problem = error
    raise problem


def _build_collection(origin: Any, arguments: tuple[Any, ...], text: str, depth: int) -> Any:
    if origin is re.Pattern:
        return re.compile("a")
    if origin is type:
        return _Model if isinstance(arguments[0], typing.TypeVar) or arguments[0] is Any else arguments[0]
    if not isinstance(origin, type) or not arguments:
        raise Unbuildable(origin)
    if origin.__name__ == "Callable":
        return _build_method(arguments[1], text, depth)
    if issubclass(origin, collections.Counter):
        return collections.Counter([build_value(arguments[0], text, depth + 1)])
    if issubclass(origin, collections.abc.Mapping):
        return {build_value(arguments[0], text, depth + 1): build_value(arguments[1], text, depth + 1)}
    if origin is tuple and arguments[-1] is not Ellipsis:
        return tuple(build_value(argument, text, depth + 1) for argument in arguments)
    # Lists of texts are mostly words or sentences of one text.
    items = text.split()[:MAX_ITEMS] or [text] if arguments[0] is str else [build_value(arguments[0], text, depth + 1)]
    if issubclass(origin, frozenset):
        return frozenset(items)
    if issubclass(origin, collections.abc.Set):
        return set(items)
    if issubclass(origin, tuple):
        return tuple(items)
    if issubclass(origin, collections.abc.Iterable):
        return iter(items) if issubclass(origin, collections.abc.Iterator) else list(items)
    raise Unbuildable(origin)


_CORRECTIONS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "string_too_long": lambda text, limits: text[: limits["max_length"]],
    # The pattern of a commit: forty hexadecimal digits.
    "string_pattern_mismatch": lambda text, limits: "a" * 40 if "{40}" in limits["pattern"] else "a",
    "greater_than_equal": lambda number, limits: limits["ge"],
}
"""Values that a model accepts in place of those that it refuses, by the type of the problem."""


@functools.lru_cache(maxsize=1024)  # the results of runs consist of hundreds of models
def _build_model(model: type[BaseModel], text: str, depth: int) -> BaseModel:
    """Return a model whose texts are as long as its limits allow."""
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        try:
            values[name] = build_value(field.annotation, text, depth + 1)
        except Unbuildable:
            if field.is_required():
                raise
    try:
        return _make_model(model, values)
    except ValidationError as error:
        for problem in error.errors():
            name = str(problem["loc"][0]) if problem["loc"] else ""
            if isinstance(value := values.get(name), str | int) and problem["type"] in _CORRECTIONS:
                values[name] = _CORRECTIONS[problem["type"]](value, problem.get("ctx", {}))
            elif name in model.model_fields and not model.model_fields[name].is_required():
                values.pop(name, None)
    # Of fields that exclude each other, the first one stays.
    optional = [name for name in values if not model.model_fields[name].is_required()]
    while True:
        try:
            return _make_model(model, values)
        except ValidationError as error:
            if not optional:
                raise Unbuildable(model) from error
            values.pop(optional.pop())


def _make_model(model: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    """Return a model of some values; a call of settings would read the environment each time, which takes 9 ms."""
    made = model.__new__(model)
    BaseModel.__init__(made, **values)
    return made


def _contains_text(value: Any) -> bool:
    return not isinstance(value, bool | int | float | complex | date | type(None))


def _import_modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(tenure.__path__, "tenure."):
        if _is_tested(found.name):
            yield importlib.import_module(found.name)


def _is_tested(module: str) -> bool:
    excluded = tuple(f"tenure.{name}." for names in EXCLUDED_MODULES.values() for name in names)
    return module.startswith("tenure.") and not f"{module}.".startswith(excluded) and not module.endswith("__main__")


@contextmanager
def _limit_processor_time(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the block after some processor time; regular expressions can be interrupted."""

    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlow

    earlier = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, earlier)
