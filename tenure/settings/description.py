"""Describe settings: their meanings, types and values, for `docs/settings.md` and for the page."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from tenure.contracts.run.options import get_option
from tenure.settings import Settings, get_environment_variable


def describe_field(field: FieldInfo) -> str:
    """Return the meaning of a field."""
    option = get_option(field.metadata)
    return option.description if option else field.description or ""


def insert_variables(text: str) -> str:
    """Return a text on one line, with variables in place of the names of settings: `max_calls`."""

    def replace(match: re.Match[str]) -> str:
        return f"`{get_environment_variable(match[1])}`" if match[1] in Settings.model_fields else match[0]

    return re.sub(r"`(\w+)`", replace, " ".join(text.split()))


def list_types(annotation: Any) -> Iterator[Any]:
    """Yield the types of an annotation that is optional, a union, or has constraints."""
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from list_types(part)
    elif get_origin(annotation) is Annotated:
        yield from list_types(get_args(annotation)[0])
    else:
        yield annotation


def serialize_setting(value: object) -> str | None:
    """Return the value of a setting as that of its environment variable, with secrets."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_unset=True)
    if isinstance(value, dict):
        return json.dumps(value, default=_serialize_part)
    if isinstance(value, tuple):
        return (os.pathsep if any(isinstance(part, Path) for part in value) else ",").join(map(str, value))
    return None if value is None else str(value)


def _serialize_part(value: SecretStr | BaseModel) -> object:
    """Return a value inside a setting that is a JSON object."""
    return value.get_secret_value() if isinstance(value, SecretStr) else value.model_dump(exclude_unset=True)
