"""Check a worker container: does the worker answer on its health port, and take work from its queues?

The answer comes from memory of the worker, within milliseconds; a frozen worker gives none.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from tenure.temporal.health.probe import READY_PATH, probe_worker


def find_fault(port: int, queues: Sequence[str]) -> str:
    """Return the reason why the worker is not healthy, or an empty string."""
    result = probe_worker("127.0.0.1", port, READY_PATH)
    if not result.healthy:
        return f"the worker is not healthy: {result.reason}"
    idle = [queue for queue in queues if queue not in result.reply.get("queues", ())]
    return f"the worker does not serve {', '.join(idle)}: see its log" if idle else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Exit with 0 if the worker serves the task queues, else with 1.")
    parser.add_argument("--queues", default="", help="task queues, separated by commas")
    parser.add_argument("--port", type=int, default=int(os.environ.get("TENURE_HEALTH_PORT") or 0))
    arguments = parser.parse_args()
    fault = find_fault(arguments.port, [queue for queue in arguments.queues.split(",") if queue])
    if fault:
        print(fault, file=sys.stderr)
    sys.exit(bool(fault))
