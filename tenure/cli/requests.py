"""Parse arguments of the command line into the requests of `tenure.runs`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from tenure.runs.messages import validate_request

R = TypeVar("R", bound=BaseModel)


def parse_request(kind: type[R], arguments: Namespace, values: Mapping[str, Any] | None = None) -> R:
    """Return a request from the arguments of its fields' names, and from further values.

    Raises:
        InvalidRequest: a value does not fit.
    """
    given = {name: value for name, value in vars(arguments).items() if name in kind.model_fields and value is not None}
    return validate_request(kind, given | dict(values or {}))
