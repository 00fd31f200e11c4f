"""Tests of the log format of our own messages and of libraries."""

import builtins
import json
import logging
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import structlog

from tenure.logs import QUIET_LIBRARIES, configure_logging


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


def log_json(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the lines of the log as objects."""
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_json_lines_have_the_fields_of_text_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Own and library messages are objects with time, level, logger, event and fields."""
    configure_logging("INFO", "json")

    structlog.get_logger("ours").info("worker is serving", queues=("tenure",), home=Path("home"))
    logging.getLogger("theirs").warning("disk is %s", "slow", extra={"free": 3})

    ours, theirs = log_json(capsys)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", ours.pop("timestamp"))
    assert ours == {
        "level": "info",
        "logger": "ours",
        "event": "worker is serving",
        "queues": ["tenure"],
        "home": "home",
    }
    assert theirs["event"] == "disk is slow" and theirs["free"] == 3


def test_every_message_is_one_json_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Line breaks, control characters, tracebacks and warnings of Python stay inside one object."""
    configure_logging("INFO", "json")

    logging.getLogger("b").warning("first\nsecond \x1b[31m \u2028 \u202e")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # After the filter of the tests, which has replaced the function that writes warnings.
        configure_logging("INFO", "json")
        warnings.warn("deprecated", UserWarning, stacklevel=1)
    try:
        raise KeyError("gone")
    except KeyError:
        logging.getLogger("b").exception("failed")

    text = capsys.readouterr().err
    assert text.isascii() and text.count("\n") == 3 and "\x1b" not in text
    first, second, third = map(json.loads, text.splitlines())
    assert first["event"].startswith("first\nsecond")
    assert "deprecated" in second["event"]
    assert "KeyError: 'gone'" in third["exception"]


ACTIVITY = {
    "activity_id": "7",
    "activity_type": "router",
    "attempt": 2,
    "namespace": "default",
    "task_queue": "tenure-model",
    "workflow_id": "lighthouses/spiral/3-1",
    "workflow_run_id": "01a2",
    "workflow_type": "SubagentWorkflow",
}
WORKFLOW = {
    "attempt": 1,
    "namespace": "default",
    "run_id": "01a2",
    "task_queue": "tenure",
    "workflow_id": "lighthouses/research",
    "workflow_type": "ResearchWorkflow",
}


def test_details_of_the_sdk_become_ids(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of the SDK's loggers name run, workflow, cycle and activity instead of holding a dictionary."""
    configure_logging("INFO", "json")

    logging.getLogger("temporalio.activity").warning("slow", extra={"temporal_activity": ACTIVITY})
    logging.getLogger("temporalio.workflow").warning("odd", extra={"temporal_workflow": WORKFLOW})
    logging.getLogger("temporalio.core").warning("lost", extra={"temporal_log": object()})

    activity, workflow, core = log_json(capsys)
    assert {
        name: activity.get(name) for name in ("run", "workflow", "cycle", "activity", "activity_id", "attempt")
    } == {
        "run": "lighthouses",
        "workflow": "lighthouses/spiral/3-1",
        "cycle": 3,
        "activity": "router",
        "activity_id": "7",
        "attempt": 2,
    }
    assert (workflow["run"], workflow["workflow"], workflow["workflow_run"]) == (
        "lighthouses",
        "lighthouses/research",
        "01a2",
    )
    assert "cycle" not in workflow and "attempt" not in workflow
    assert core.keys() == {"event", "level", "logger", "timestamp"}


def test_ids_that_are_bound_are_in_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A library that logs inside an activity names its run, in both formats."""
    for line_format in ("json", "text"):
        configure_logging("INFO", line_format)
        with structlog.contextvars.bound_contextvars(run="lighthouses", activity="router"):
            logging.getLogger("theirs").warning("slow")
            structlog.get_logger("ours").warning("slow")

    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["run"] for line in lines[:2]] == ["lighthouses"] * 2
    assert all("run=lighthouses" in line and "activity=router" in line for line in lines[2:])


def test_json_lines_need_no_imports(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error inside the workflow sandbox, where imports are forbidden, is one JSON line."""
    configure_logging("INFO", "json")

    def refuse(name: str, *args: object, **kwargs: object) -> None:
        raise RuntimeError(f"no import of {name} here")

    logger = logging.getLogger("temporalio.workflow")
    with monkeypatch.context() as sandbox:
        sandbox.setattr(builtins, "__import__", refuse)
        try:
            raise KeyError("gone")
        except KeyError:
            logger.exception("failed", extra={"temporal_workflow": WORKFLOW})

    (line,) = log_json(capsys)
    assert "KeyError: 'gone'" in line["exception"] and line["run"] == "lighthouses"
