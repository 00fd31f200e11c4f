"""Run the command line of Tenure.

This module finds the command's handler and turns errors into one line and an exit code. Handlers are imported when
needed, so that `--help` and usage errors are fast.
"""

import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence

from tenure.cli.errors import get_exit_code
from tenure.cli.parser import build_parser
from tenure.runs.errors import InvalidRequest, MissingRun, TenureError

_RUN_ARGUMENTS = ("run", "a", "b")
"""Arguments that name runs."""

_NAMING_MODEL = frozenset({"start", "ask", "fork", "batch start", "schedule add", "up", "doctor"})
"""Commands that print which model was chosen."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        # The shell asks for completions; the process ends here.
        import argcomplete

        parser.examples = ""
        argcomplete.autocomplete(parser)
    arguments = parser.parse_args(argv)
    try:
        return _run_chosen(arguments)
    except TenureError as error:
        return _tell(error, get_exit_code(error), _name_option(arguments, error))
    except KeyboardInterrupt as error:
        return _tell(error, 130, "interrupted")
    except BrokenPipeError as error:
        # The reader of standard output has closed it, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _tell(error, 0, "")
    except Exception as error:
        return _tell(error, *_explain(error))


def _run_chosen(arguments: Namespace) -> int:
    """Run the command, and once more for each id of a run that is shortened, with the id that it begins."""
    while True:
        try:
            return _run(arguments)
        except MissingRun as error:
            from tenure.cli.run_choice import choose_run
            from tenure.cli.terminal import print_status

            shortened = [name for name in _RUN_ARGUMENTS if getattr(arguments, name, None) == error.run_id]
            run_id = choose_run(error)
            if not shortened:
                raise
            print_status(f"run {run_id}", arguments.verbosity)
            vars(arguments).update(dict.fromkeys(shortened, run_id))


def _run(arguments: Namespace) -> int:
    """Load the settings and run the function of the command."""
    from tenure.cli.command import load_function, run_command
    from tenure.local_models.choice import choose_model
    from tenure.settings import Settings
    from tenure.settings.models import AUTO_MODEL

    function = load_function(arguments.handler)
    # Standard output is the result of a command, and structlog writes there by default. Commands that
    # need no server load neither it nor its formatter.
    if "structlog" in sys.modules:
        from tenure.logs import configure_logging

        configure_logging("WARNING")
    configured = Settings()
    settings = choose_model(configured)
    if settings.model != configured.model == AUTO_MODEL and arguments.command in _NAMING_MODEL:
        from tenure.cli.terminal import print_status

        line = f"TENURE_MODEL=auto takes {settings.model} of {settings.openai_base_url}"
        print_status(line, arguments.verbosity)
    code = run_command(function, arguments, settings)
    sys.stdout.flush()
    return code


def _name_option(arguments: Namespace, error: TenureError) -> str:
    """Return the message of an error, with the option or the argument of the command in place of a field's name."""
    if not isinstance(error, InvalidRequest) or not error.field:
        return str(error)
    return f"{arguments.parser.find_argument(error.field)}: {error.message}"


def _explain(error: Exception) -> tuple[int, str]:
    """Return the exit code and the message for an error that a command did not raise itself."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from tenure.local_models.errors import LocalModelError
    from tenure.prices import PricesError
    from tenure.settings import Settings, describe_settings_error
    from tenure.temporal.connection import ServerUnreachable
    from tenure.temporal.encryption import DecryptionError
    from tenure.temporal.stack.backup import BackupError
    from tenure.temporal.stack.errors import StackError

    if isinstance(error, StackError | ServerUnreachable | LocalModelError):
        return 4, str(error)
    if isinstance(error, SettingsError) or (isinstance(error, ValidationError) and error.title == Settings.__name__):
        return 2, describe_settings_error(error)
    if isinstance(error, PricesError):
        return 2, str(error)
    if isinstance(error, DecryptionError | BackupError):
        return 1, str(error)
    words = " ".join(str(error).split())[:300] or "no more is known"
    return 1, f"{type(error).__name__}: {words} (TENURE_LOG_LEVEL=DEBUG shows where)"


def _tell(error: BaseException, code: int, line: str | None = None) -> int:
    """Print the message, with a traceback if TENURE_LOG_LEVEL is DEBUG."""
    from tenure.cli.terminal import print_note

    if os.environ.get("TENURE_LOG_LEVEL", "").upper() == "DEBUG":
        print_note("".join(traceback.format_exception(error)).rstrip())
    words = str(error) if line is None else line
    if words:
        print_note(words if code == 130 else f"error: {words}")
    return code


def leave(code: int) -> None:
    """Flush the output and end the process immediately.

    The SDK's threads may still hold a connection; the interpreter's shutdown can abort while they do.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)
