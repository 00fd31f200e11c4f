"""Base class of groups of settings, and types of their fields."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic_settings import NoDecode

IdentifierName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""Name that a person gives to a database or server."""


def _split_words(text: object) -> object:
    """Split a text at commas and drop duplicates."""
    if not isinstance(text, str):
        return text
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


CommaSeparated = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_words)]
"""List of words, separated by commas in the environment."""


def _split_paths(text: object) -> object:
    """Split a text at colons into absolute paths."""
    if not isinstance(text, str):
        return text
    paths = [Path(part.strip()).expanduser() for part in text.split(os.pathsep) if part.strip()]
    if relative := [path for path in paths if not path.is_absolute()]:
        raise ValueError(f"{str(relative[0])!r} is not an absolute path")
    return tuple(dict.fromkeys(paths))


AbsolutePaths = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split_paths)]
"""List of absolute paths, separated by colons in the environment."""


class SettingsGroup(BaseModel):
    """Settings that one room of the program reads; only `Settings` reads the environment.

    The first line of a group's docstring is its heading in `docs/settings.md`, and the rest is the introduction.
    """

    # Most processes build only `Settings`: the validators of all groups at the import would cost each command 30 ms.
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, populate_by_name=True, defer_build=True)
