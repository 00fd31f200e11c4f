"""Parse words of a command line into requests."""

from typing import TypeVar

from pydantic import BaseModel

from tenure.cli.command import parse_request
from tenure.cli.parser import build_parser
from tenure.contracts.run.run import RunRequest
from tenure.runs.messages import StartRequest
from tenure.runs.start import build_request
from tenure.settings import Settings

R = TypeVar("R", bound=BaseModel)
PARSER = build_parser()
"""Parser of all tests, which takes 30 ms to build; a parse leaves it as it was."""


def parse(kind: type[R], *words: str) -> R:
    """Return the request of a command line."""
    return parse_request(kind, vars(PARSER.parse_args(words)))


def build_run(*words: str, settings: Settings | None = None) -> RunRequest:
    """Return the input of the workflow that `start` with some words begins."""
    return build_request(parse(StartRequest, "start", *words), settings or Settings(_env_file=None), print)
