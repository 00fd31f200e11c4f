"""Call functions of a candidate and report the return values; the expected values are not known here."""

import json
import os
import time
from typing import Any

from tenure.sandbox.inside.protocol import ProtocolError
from tenure.sandbox.inside.serving import CandidateProcess


def main(job: dict[str, Any], report: int) -> int:
    """Make the calls one after the other."""
    served = CandidateProcess(job["trace"])
    for number, (module, function, arguments) in enumerate(job["cases"]):
        write_line(report, job["nonce"], {"kind": "start", "id": str(number)})
        began = time.monotonic()
        found = call(served, module, function, json.loads(arguments))
        if "gone" not in found and (fault := served.find_fault()):
            found = {"error": fault}
        found["seconds"] = time.monotonic() - began
        if job["trace"] and served.is_started and "gone" not in found:
            found["covered"] = list_executed_lines(served)
        write_line(report, job["nonce"], {"kind": "case", "id": str(number), **found})
    write_line(report, job["nonce"], {"kind": "end", "code": 0})
    return 0


def call(served: CandidateProcess, module: str, function: str, arguments: list[Any]) -> dict[str, Any]:
    """Make one call and return its value as JSON, or the error."""
    try:
        target = getattr(served.end.request("import", module), function)
        value = served.end.request("data", target, arguments)
    except ProtocolError as error:
        return {"error": served.describe_end() or str(error), "gone": True}
    except Exception as error:
        return {
            "error": f"{type(error).__name__}: {error}"[:500],
            "trace": getattr(error, "_tenure_trace", ""),
            "lines": getattr(error, "_tenure_lines", []),
        }
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    if (why := find_unsupported_type(value)) is not None:
        return {"error": f"the value is no JSON: {why}"}
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


def list_executed_lines(served: CandidateProcess) -> list[Any]:
    """Return the executed lines of the candidate."""
    try:
        found = served.end.request("covered")
    except ProtocolError:
        return []
    return list(found) if isinstance(found, list) else []


def write_line(report: int, nonce: str, message: dict[str, Any]) -> None:
    """Write one line of the report."""
    block = json.dumps({"nonce": nonce, **message}).encode() + b"\n"
    while block:
        block = block[os.write(report, block) :]
