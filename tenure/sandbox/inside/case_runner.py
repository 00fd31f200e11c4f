"""Calls functions of a candidate and reports their values; what is expected is not known here."""

import json
import os
import time
from typing import Any

from tenure.sandbox.inside import wire
from tenure.sandbox.inside.serving import Served


def main(job: dict[str, Any], report: int) -> int:
    """Make the calls one after the other."""
    served = Served(job["trace"])
    for number, (module, function, arguments) in enumerate(job["cases"]):
        tell(report, job["nonce"], {"kind": "start", "id": str(number)})
        began = time.monotonic()
        found = call(served, module, function, json.loads(arguments))
        found["seconds"] = time.monotonic() - began
        if job["trace"] and served.begun and "gone" not in found:
            found["covered"] = coverage(served)
        tell(report, job["nonce"], {"kind": "case", "id": str(number), **found})
    tell(report, job["nonce"], {"kind": "end", "code": 0})
    return 0


def call(served: Served, module: str, function: str, arguments: list[Any]) -> dict[str, Any]:
    """Make one call and return its value as JSON, or what went wrong."""
    try:
        target = getattr(served.end.request("import", module), function)
        value = served.end.request("data", target, arguments, {})
    except wire.WireError as error:
        return {"error": served.how_it_ended() or str(error), "gone": True}
    except Exception as error:
        return {
            "error": f"{type(error).__name__}: {error}"[:500],
            "trace": getattr(error, "_tenure_trace", ""),
            "lines": getattr(error, "_tenure_lines", []),
        }
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    if (why := not_json(value)) is not None:
        return {"error": f"the value is no JSON: {why}"}
    return {"value": value}


def not_json(value: Any) -> str | None:
    """Return the type in a value that JSON does not have; None where there is none."""
    if value is None or type(value) in (bool, int, float, str):
        return None
    if type(value) in (list, tuple):
        return next((why for one in value if (why := not_json(one)) is not None), None)
    if type(value) is dict:
        keys = next((type(key).__name__ for key in value if type(key) not in (str, int, float, bool)), None)
        return keys or next((why for one in value.values() if (why := not_json(one)) is not None), None)
    return type(value).__name__


def coverage(served: Served) -> list[Any]:
    """Return the lines of the candidate that ran."""
    try:
        found = served.end.request("covered")
    except wire.WireError:
        return []
    return list(found) if isinstance(found, list) else []


def tell(report: int, nonce: str, message: dict[str, Any]) -> None:
    """Write one line of the report."""
    block = json.dumps({"nonce": nonce, **message}).encode() + b"\n"
    while block:
        block = block[os.write(report, block) :]
