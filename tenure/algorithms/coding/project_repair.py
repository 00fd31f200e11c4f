"""Describe the search for a repair of a project: the tests that it is for, its edit, or its end without one."""

import re
from collections.abc import Sequence

from tenure.contracts.coding.engineering import EngineerAction
from tenure.contracts.coding.repositories import ProjectRepairReply


def list_named_tests(task: str, failing: Sequence[str]) -> tuple[str, ...]:
    """Return the failing tests that a task names by their ids; `a.py::test_a` is not named by `a.py::test_ab`."""
    return tuple(name for name in failing if re.search(rf"(?<![\w/.]){re.escape(name)}(?![\w\[:])", task))


def describe_repair(reply: ProjectRepairReply) -> EngineerAction:
    """Return cause, change and commit message of an edit."""
    path, changes = reply.change.files[0].path if reply.change else "", "; ".join(reply.changes)
    return EngineerAction(
        kind="done",
        cause=f"An edit of {path} makes the failing tests pass: {changes}.",
        change=f"{path}, {changes}. No model wrote this: it is the first of {reply.tried} small edits near the lines "
        "that the failing tests execute with which they pass and no other test fails. It is only as good as the tests.",
        text=f"{path.rpartition('/')[2].removesuffix('.py')}: make the failing tests pass\n\n{changes}",
    )


def describe_unrepaired(reply: ProjectRepairReply, seconds: float) -> str:
    """Return the reason why a search has found no edit."""
    if not reply.tried:
        return "No small edit was searched for: the failing tests execute no line of the project in Python."
    ended = "no other was left" if reply.exhausted else f"the {seconds:g} s were over"
    return (
        f"A search for a small edit found none with which the failing tests pass and no other one fails: "
        f"{reply.tried} were tried, then {ended}. It changes one or two places and writes nothing new."
    )
