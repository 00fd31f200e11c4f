"""Declare options: a field of a class with its type, its default, its bounds and its words, once for everything.

Models of requests and of Temporal messages inherit from the class, so that a declaration is a field of each with its
bounds and its description. The command line, OpenAPI, the tools of MCP, the Python interface and the manual read it.
The module imports nothing slow, since `--help` needs it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from pydantic import BaseModel as _Base
else:
    _Base = object


class Declaration(_Base):
    """Base class of declarations; type checkers see a model, which each class that inherits from both is."""


OptionKind = Literal["", "duration", "amount", "language", "paths"]
"""Form of a value on the command line, if it does not follow from the type of the field."""


@dataclass(frozen=True)
class Option:
    """Words and bounds of an option, in the annotation of its field (`Annotated[int, Option(…)]`).

    Attributes:
        description: meaning, for the manual, for programs and for models.
        flag: option of the command line with its dashes; empty for a field that it does not set.
        help: help text of the command line, if it says more than the description.
        metavar: placeholder of the value in the help.
        kind: form of the value on the command line.
        minimum: smallest allowed value.
        above: value that must be exceeded.
        maximum: largest allowed value.
        max_length: maximum length of a text, or of a list.
        pattern: regular expression that a text matches.
    """

    __is_annotated_types_grouped_metadata__: ClassVar = True

    description: str
    flag: str = ""
    help: str = ""
    metavar: str | None = None
    _: KW_ONLY
    kind: OptionKind = ""
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    max_length: int | None = None
    pattern: str = ""

    def __iter__(self) -> Iterator[Any]:
        """Yield the bounds and the description as Pydantic reads them."""
        from annotated_types import Ge, Gt, Le, MaxLen
        from pydantic import StringConstraints

        bounds: tuple[tuple[Callable[..., Any], Any], ...] = (
            (Ge, self.minimum),
            (Gt, self.above),
            (Le, self.maximum),
            (MaxLen, self.max_length),
        )
        yield from (bound(value) for bound, value in bounds if value is not None)
        if self.pattern:
            yield from StringConstraints(pattern=self.pattern)
        yield _Described(self.description)


@dataclass(frozen=True)
class _Described:
    """Description of a field in its JSON schema."""

    _text: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core), "description": self._text}


def get_option(metadata: Sequence[Any]) -> Option | None:
    """Return the option among the metadata of a field, or None."""
    return next((item for item in metadata if isinstance(item, Option)), None)


def list_options(declaration: type) -> Iterator[tuple[str, Any, Option]]:
    """Yield the names, types and words of the declared options, those of a class before those that it inherits."""
    from inspect import get_annotations

    for kind in declaration.__mro__:
        for name, annotation in get_annotations(kind).items():
            option = get_option(getattr(annotation, "__metadata__", ()))
            if option is not None and option.flag:
                yield name, annotation.__origin__, option
