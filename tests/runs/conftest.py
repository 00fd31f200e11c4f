"""Fixtures of the command line, whose stack runs the stub worker."""

from tests.cli.conftest import running

__all__ = ["running"]
