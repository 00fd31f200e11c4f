"""Time all functions of a text over texts that make slow patterns slow.

`python -m tests.support.text_functions [MODULE...]` prints the slowest functions at 20,000 characters.
"""

import collections
import collections.abc
import dataclasses
import enum
import importlib
import inspect
import pkgutil
import signal
import sys
import time
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from types import FrameType, ModuleType
from typing import Any, Final

from pydantic import BaseModel, ValidationError

PACKAGES: Final = (
    *("tenure.algorithms", "tenure.roles", "tenure.report", "tenure.knowledge.graph", "tenure.knowledge.memory"),
    *("tenure.knowledge.store", "tenure.sources.document", "tenure.sources.parsers", "tenure.sources.search"),
)
"""Packages whose functions of texts open no files and start no processes."""
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
    *("x = ", "ignore ", "e.g. ", "Dr. ", "A. ", "1. a\n"),
)
"""Texts that are repeated up to a size: runs of each class of characters, pairs, open brackets, connectives, dates."""
UNTESTED_PARAMETERS: Final = frozenset("path root folder directory command host port secret key".split())
"""Names of parameters whose texts name files and processes, not what people and documents say."""


class TooSlow(BaseException):
    """A call used up its processor time."""


class Unbuildable(Exception):
    """A parameter has a type of which no value can be made from a text."""


@dataclasses.dataclass(frozen=True)
class TextFunction:
    """A function whose arguments can be built from one text."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """Dotted name without the package."""
        return f"{self.function.__module__.removeprefix('tenure.')}.{self.function.__name__}"

    def measure(self, text: str, max_seconds: float) -> float:
        """Return the seconds of processor time of a call; the maximum if it takes longer.

        A refusal of the text is an answer.
        """
        try:
            arguments, named = build_arguments(self.function, text)
        except (Unbuildable, ValidationError, ValueError, TypeError):
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


def list_functions(packages: Sequence[str] = PACKAGES) -> list[TextFunction]:
    """Return the functions of all modules of the packages that take a text and whose arguments can be built."""
    found = []
    for module in _import_modules(packages):
        for function in vars(module).values():
            if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
                function = getattr(function, "__wrapped__", None)  # behind a cache
            if inspect.isfunction(function) and function.__module__ == module.__name__ and takes_text(function):
                found.append(TextFunction(function))
    return found


def build_text(shape: str, length: int) -> str:
    """Return a shape repeated up to a length."""
    return (shape * (length // len(shape) + 1))[:length]


def build_arguments(function: Callable[..., Any], text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments for a function, each text in them the given one.

    Raises:
        Unbuildable: a parameter without default has a type that is not built.
    """
    hints = typing.get_type_hints(function, include_extras=False)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        # A second text that differs at its end is compared with the first one to its end.
        given = f"{text[:-1]}x" if index % 2 else text
        try:
            value = build_value(hints.get(parameter.name, Any), given)
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


def build_value(hint: Any, text: str, depth: int = 0) -> Any:
    """Return a value of a type; each text in it is the given one, each list has one item.

    Raises:
        Unbuildable: values of the type are not built.
    """
    if depth > 8:
        raise Unbuildable(hint)
    hint = getattr(hint, "__supertype__", hint)
    if isinstance(hint, typing.TypeVar):
        hint = hint.__bound__
    simple = {str: text, bytes: text.encode("utf-8", "surrogatepass"), int: 1, float: 0.5, bool: True, complex: 1j}
    simple |= {date: date(2026, 1, 1), datetime: datetime(2026, 1, 1, tzinfo=UTC), type(None): None}
    if hint in simple:
        return simple[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments[0]
    if origin is typing.Annotated:
        return build_value(arguments[0], text, depth)
    if origin in (typing.Union, types.UnionType):
        return _build_first([option for option in arguments if option is not type(None)], text, depth)
    if origin is not None:
        return _build_collection(origin, arguments, text, depth)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return next(iter(hint))
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return _build_model(hint, text, depth)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        fields = [field for field in dataclasses.fields(hint) if field.init]
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: build_value(hints[field.name], text, depth + 1) for field in fields})
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        hints = typing.get_type_hints(hint)
        return hint(*(build_value(hints[name], text, depth + 1) for name in hint._fields))
    raise Unbuildable(hint)


def _build_first(options: Sequence[Any], text: str, depth: int) -> Any:
    for option in options:
        try:
            return build_value(option, text, depth)
        except Unbuildable:
            continue
    raise Unbuildable(options)


def _build_collection(origin: Any, arguments: tuple[Any, ...], text: str, depth: int) -> Any:
    if not isinstance(origin, type) or not arguments:
        raise Unbuildable(origin)
    if issubclass(origin, collections.abc.Mapping):
        return {build_value(arguments[0], text, depth + 1): build_value(arguments[1], text, depth + 1)}
    if origin is tuple and arguments[-1] is not Ellipsis:
        return tuple(build_value(argument, text, depth + 1) for argument in arguments)
    # Lists of texts are mostly words or sentences of one text.
    items = text.split() or [text] if arguments[0] is str else [build_value(arguments[0], text, depth + 1)]
    if issubclass(origin, frozenset):
        return frozenset(items)
    if issubclass(origin, collections.abc.Set):
        return set(items)
    if issubclass(origin, tuple):
        return tuple(items)
    if issubclass(origin, collections.abc.Iterable):
        return iter(items) if issubclass(origin, collections.abc.Iterator) else list(items)
    raise Unbuildable(origin)


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
        return model(**values)
    except ValidationError as error:
        for problem in error.errors():
            name = str(problem["loc"][0]) if problem["loc"] else ""
            if problem["type"] == "string_too_long" and isinstance(values.get(name), str):
                values[name] = values[name][: problem["ctx"]["max_length"]]
            elif name in model.model_fields and not model.model_fields[name].is_required():
                values.pop(name, None)
        return model(**values)


def _contains_text(value: Any) -> bool:
    return not isinstance(value, bool | int | float | complex | date | type(None))


def takes_text(function: Callable[..., Any]) -> bool:
    """Return whether a value for each parameter can be built and one contains the text."""
    if UNTESTED_PARAMETERS & inspect.signature(function).parameters.keys():
        return False
    marker = "marker of a text"
    try:
        arguments, named = build_arguments(function, marker)
    except Exception:
        return False
    return any("marker" in repr(argument) for argument in (*arguments, *named.values()))


def _import_modules(names: Sequence[str]) -> Iterator[ModuleType]:
    for name in names:
        module = importlib.import_module(name)
        yield module
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{name}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


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


def main(modules: Sequence[str]) -> None:
    """Print the time of each function at 20,000 characters of its slowest shape."""
    for function in list_functions(modules or PACKAGES):
        times: list[tuple[float, str]] = []
        for shape in SHAPES:
            times.append((function.measure(build_text(shape, 2_000), 0.3), shape))
            if sum(seconds >= 0.3 for seconds, _ in times) > 2:
                break
        # The shapes that are slowest for short texts are so for long ones as well.
        slowest = max((function.measure(build_text(shape, 20_000), 4.0), shape) for _, shape in sorted(times)[-3:])
        print(f"{slowest[0]:8.3f} s  {function.name}  {slowest[1]!r}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
