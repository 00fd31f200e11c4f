"""Call functions of a program and report the return values; the expected values are not known here."""

import importlib
import json
import os
import sys
import time
from typing import Any

from tenure.sandbox.inside.memory_modules import MemoryFinder
from tenure.sandbox.inside.program_lines import LineTracer, find_program_lines

WORK = "/box/work"
"""Folder of the program."""


def main(job: dict[str, Any], report: int) -> int:
    """Make the calls one after the other."""
    finder = MemoryFinder(WORK, job["program"], lambda path, source: compile(source, path, "exec", dont_inherit=True))
    sys.meta_path.append(finder)
    tracer = LineTracer(WORK)
    if job["trace"]:
        tracer.start()
    for number, (module, function, arguments) in enumerate(job["cases"]):
        began = time.monotonic()
        facts = call(module, function, json.loads(arguments))
        facts |= {"seconds": time.monotonic() - began, "covered": tracer.read_new_lines()}
        write_line(report, job["nonce"], {"kind": "case", "id": str(number), **facts})
    return 0


def call(module: str, function: str, arguments: list[Any]) -> dict[str, Any]:
    """Make one call and return its value as JSON, or the error."""
    try:
        value = getattr(importlib.import_module(module), function)(*arguments)
        value = list(value) if hasattr(value, "__next__") else value
        if (why := find_unsupported_type(value)) is not None:
            return {"error": f"the value is no JSON: {why}"}
        json.dumps(value)
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:500], "lines": find_program_lines(error, WORK)}
    return {"value": value}


def find_unsupported_type(value: Any) -> str | None:
    """Return the name of a type that JSON does not have, or None."""
    if value is None or type(value) in (bool, int, float, str):
        return None
    if type(value) in (list, tuple):
        return next((why for one in value if (why := find_unsupported_type(one)) is not None), None)
    if type(value) is dict:
        keys = next((type(key).__name__ for key in value if type(key) not in (str, int, float, bool)), None)
        return keys or next((why for one in value.values() if (why := find_unsupported_type(one)) is not None), None)
    return type(value).__name__


def write_line(report: int, nonce: str, message: dict[str, Any]) -> None:
    """Write one line of the report."""
    block = json.dumps({"nonce": nonce, **message}).encode() + b"\n"
    while block:
        block = block[os.write(report, block) :]
