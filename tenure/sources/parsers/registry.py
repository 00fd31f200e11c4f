"""Find document formats: each module in `tenure/sources/parsers/formats/` declares the formats that it parses.

A declaration is an assignment `NAME: Final = Format(...)` with literal arguments, before the first function or class
of the module. It is read from the source text without importing the module: the libraries behind the parsers take a
second to import, and most documents need only one of them. A parser is imported with the first document of its format.
"""

import ast
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tenure.extensions import DOCUMENT_FORMATS
from tenure.sources.document.document import Document

_FIRST_DEFINITION: Final = re.compile(r"^(?:def|class|async def|@)", re.MULTILINE)  # "class Reader:", "@dataclass".


@dataclass(frozen=True, kw_only=True)
class Format:
    """Declaration of a document format."""

    parser: str
    """Function of the module: `(text: str) -> Document`, or `(data: bytes, limit_bytes: int) -> Document` if binary.
    It raises `Unreadable` with the reason for a file that it cannot parse.
    """
    description: str
    """Content that the parser extracts, for the documentation."""
    suffixes: tuple[str, ...]
    """Suffixes of files, in lower case with their dot."""
    media_types: tuple[str, ...] = ()
    """Media types under which servers deliver the format."""
    is_binary: bool = False
    """Whether the parser takes bytes instead of decoded text."""
    signature: bytes = b""
    """Bytes at the start of every file of the format."""
    package_member: bytes = b""
    """Bytes that every ZIP package of the format contains uncompressed, such as the name of a member."""
    module: str = ""
    """Name of the declaring module; set by the registry."""

    def load_text_parser(self) -> Callable[[str], Document]:
        """Import the parser of a text format."""
        return self._load()

    def load_binary_parser(self) -> Callable[[bytes, int], Document]:
        """Import the parser of a binary format, which also takes the size limit of a file."""
        return self._load()

    def _load(self) -> Callable[..., Document]:
        parser: Callable[..., Document] = getattr(import_module(f"{DOCUMENT_FORMATS}.{self.module}"), self.parser)
        return parser


def list_formats() -> tuple[Format, ...]:
    """Return all declared formats, by module."""
    return _read_formats(tuple(import_module(DOCUMENT_FORMATS).__path__))


def find_format(suffix: str) -> Format | None:
    """Return the format of a suffix, or None if no parser declares it."""
    return _index_suffixes(list_formats()).get(suffix)


def find_suffix(media_type: str) -> str:
    """Return the suffix of a media type, or an empty text if no parser declares it."""
    return _index_media_types(list_formats()).get(media_type, "")


@lru_cache
def _index_suffixes(formats: tuple[Format, ...]) -> Mapping[str, Format]:
    return MappingProxyType({suffix: declared for declared in formats for suffix in declared.suffixes})


@lru_cache
def _index_media_types(formats: tuple[Format, ...]) -> Mapping[str, str]:
    return MappingProxyType({name: declared.suffixes[0] for declared in formats for name in declared.media_types})


@lru_cache
def _read_formats(folders: tuple[str, ...]) -> tuple[Format, ...]:
    files = [Path(folder, f"{module.name}.py") for folder in folders for module in pkgutil.iter_modules([folder])]
    return tuple(declared for file in sorted(files, key=lambda file: file.stem) for declared in read_declarations(file))


def read_declarations(file: Path) -> Iterator[Format]:
    """Yield the formats that a module declares, without importing it.

    Raises:
        ValueError: an argument of a declaration is no literal.
        TypeError: a declaration lacks an argument.
    """
    for node in _parse_header(file.read_text(encoding="utf-8")).body:
        call = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == Format.__name__:
            arguments = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
            yield replace(Format(**arguments), module=file.stem)


def _parse_header(source: str) -> ast.Module:
    """Parse the part of a module before its first function or class, which is much faster than parsing all of it."""
    first = _FIRST_DEFINITION.search(source)
    try:
        return ast.parse(source[: first.start()] if first else source)
    except SyntaxError:  # the match is a line of a docstring
        return ast.parse(source)
