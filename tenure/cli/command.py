"""Call the function of a command with what its parameters ask for.

A parameter gets, by its name or by its type:

settings             the settings
home                 the home, which the function opens after its own checks
service              the operations on the home, which is opened
a model of a request the request of the options and arguments of its fields' names
a class of output    its values among the options
anything else        the option or argument of its name, checked by the function in its annotation if there is one
"""

import asyncio
import importlib
import inspect
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from tenure.cli.terminal import print_notes
from tenure.settings import Settings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tenure.runs.service import Service

R = TypeVar("R", bound="BaseModel")


@dataclass(frozen=True)
class CommandHome:
    """Home of a command."""

    settings: Settings
    """Its settings."""
    starts: bool
    """Whether the command starts the local stack if it is needed and not running."""
    verbosity: str
    """Amount of progress."""

    def open(self) -> "Service":
        """Return the operations on the home.

        Raises:
            TenureError: the local stack cannot be started.
        """
        # Imported when needed: some commands need no server.
        from tenure.runs.service import Service
        from tenure.runs.session.server_target import ensure_server, locate_server

        server = ensure_server(self.settings) if self.starts else locate_server(self.settings)
        if self.starts:
            print_notes(server, self.verbosity)
        return Service(server)


def load_function(handler: str) -> Callable[..., Any]:
    """Return the function of a command by its name, `module:function`."""
    module, name = handler.split(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def run_command(function: Callable[..., Any], arguments: Namespace, settings: Settings) -> int:
    """Run the function of a command, also if it is a coroutine, and return its exit code.

    Raises:
        InvalidRequest: a value does not fit.
    """
    values = vars(arguments)
    home = CommandHome(settings, arguments.starts, arguments.verbosity)
    values_by_name: dict[str, Any] = {"settings": settings, "home": home}
    parameters = inspect.signature(function).parameters
    values_by_name |= {
        name: _take(name, parameter.annotation, values)
        for name, parameter in parameters.items()
        if name not in (*values_by_name, "service")
    }
    if "service" in parameters:
        values_by_name["service"] = home.open()  # after every check
    done = function(**{name: values_by_name[name] for name in parameters})
    return (asyncio.run(done) if inspect.iscoroutine(done) else done) or 0


def parse_request(kind: type[R], values: Mapping[str, Any]) -> R:
    """Return a request from the values of its fields' names.

    Raises:
        InvalidRequest: a value does not fit.
    """
    from tenure.runs.messages import validate_request

    return validate_request(kind, {name: value for name, value in values.items() if name in kind.model_fields})


def _take(name: str, annotation: Any, values: Mapping[str, Any]) -> Any:
    if hasattr(annotation, "model_fields"):
        return parse_request(annotation, values)
    if is_dataclass(annotation):
        return annotation(**{field.name: values[field.name] for field in fields(annotation) if field.name in values})  # type: ignore[operator]
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[1](values[name])
    return values[name]
