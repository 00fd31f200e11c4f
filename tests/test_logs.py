"""One line an event, for our own events and for those of libraries."""

import builtins
import logging
import re
from collections.abc import Iterator

import pytest
import structlog

from tenure.logs import QUIET, configure


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Leave logging as it was found."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in QUIET}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
    structlog.reset_defaults()


def test_our_lines_and_those_of_libraries_look_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Time in UTC, level, event, fields and the logger's name, on standard error."""
    configure("INFO")

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


def test_what_is_below_the_level_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """The level holds for our own lines and for those of libraries."""
    configure("WARNING")

    structlog.get_logger("a").info("chatter")
    logging.getLogger("b").info("chatter")

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", QUIET)
def test_chatty_libraries_speak_only_to_warn(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Even at the finest level their everyday lines stay out."""
    configure("DEBUG")

    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("trouble")

    assert [line for line in capsys.readouterr().err.splitlines() if "chatter" in line] == []


def test_configuring_twice_does_not_double_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """There is one handler, however often logging is set up."""
    configure("INFO")
    configure("INFO")

    logging.getLogger("b").warning("once")

    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_exception_is_written_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong can be found in the log."""
    configure("INFO")
    try:
        raise KeyError("gone")
    except KeyError:
        structlog.get_logger("a").exception("failed")

    err = capsys.readouterr().err
    assert "failed" in err and "KeyError: 'gone'" in err and "test_logs.py" in err


def test_a_traceback_needs_no_import(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside the workflow sandbox, where nothing may be imported, is written all the same."""
    configure("INFO")

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
