"""Tests of the log format of our own messages and of libraries."""

import builtins
import logging
import re
from collections.abc import Iterator

import pytest
import structlog

from tenure.logs import QUIET_LIBRARIES, configure_logging


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Restore the logging configuration."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in QUIET_LIBRARIES}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
    structlog.reset_defaults()


def test_own_and_library_messages_have_the_same_format(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines contain UTC time, level, event, fields and logger name, on standard error."""
    configure_logging("INFO")

    structlog.get_logger("ours").info("worker is serving", queues=["tenure"])
    logging.getLogger("theirs").warning("disk is %s", "slow", extra={"free": 3})

    out, err = capsys.readouterr()
    ours, theirs = err.splitlines()
    assert out == ""
    for line, level, event, name in (
        (ours, "info", "worker is serving", "ours"),
        (theirs, "warning", "disk is slow", "theirs"),
    ):
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ", line)
        assert level in line and event in line and f"[{name}]" in line
    assert "queues=['tenure']" in ours
    assert "free=3" in theirs


def test_messages_below_the_level_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    """The level applies to our own messages and to those of libraries."""
    configure_logging("WARNING")

    structlog.get_logger("a").info("chatter")
    logging.getLogger("b").info("chatter")

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", QUIET_LIBRARIES)
def test_quiet_libraries_log_only_warnings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Even at the lowest level their debug and info messages are dropped."""
    configure_logging("DEBUG")

    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("trouble")

    assert [line for line in capsys.readouterr().err.splitlines() if "chatter" in line] == []


def test_configuring_twice_does_not_duplicate_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """There is one handler, however often logging is configured."""
    configure_logging("INFO")
    configure_logging("INFO")

    logging.getLogger("b").warning("once")

    assert len(capsys.readouterr().err.splitlines()) == 1


def test_exceptions_are_logged_with_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """The log contains the traceback of an exception."""
    configure_logging("INFO")
    try:
        raise KeyError("gone")
    except KeyError:
        structlog.get_logger("a").exception("failed")

    err = capsys.readouterr().err
    assert "failed" in err and "KeyError: 'gone'" in err and "test_logs.py" in err


def test_tracebacks_need_no_imports(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside the workflow sandbox, where imports are forbidden, is logged, too."""
    configure_logging("INFO")

    def refuse(name: str, *args: object, **kwargs: object) -> None:
        raise RuntimeError(f"no import of {name} here")

    logger = logging.getLogger("temporalio.workflow")
    with monkeypatch.context() as sandbox:
        sandbox.setattr(builtins, "__import__", refuse)
        try:
            raise KeyError("gone")
        except KeyError:
            logger.exception("failed")

    err = capsys.readouterr().err
    assert "KeyError: 'gone'" in err
    assert "no import of" not in err
    assert "╭" not in err
