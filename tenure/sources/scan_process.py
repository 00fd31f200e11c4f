"""List the files of paths in a separate process, so that no tree of folders can stop or crash the worker.

The request is JSON on standard input, the reply JSON on standard output after the line `READY_LINE`.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tenure.files.discovery import Discovery, DiscoveryFailed, FoundFile, SkippedPath, discover_files
from tenure.sources.isolation import limit_memory

READY_LINE: Final = "ready\n"
"""First line of the output; the process has started."""
SCAN_PROGRAM: Final = "from tenure.sources.scan_process import main; main()"
_MAX_MEMORY_MB: Final = 2048


def build_request(paths: Sequence[Path], *, include_secrets: bool) -> str:
    """Return the request for the files of paths."""
    return json.dumps({"paths": [str(path) for path in paths], "include_secrets": include_secrets})


def parse_reply(reply: str) -> Discovery:
    """Return the files in a reply."""
    answer = json.loads(reply)
    if "missing" in answer:
        raise FileNotFoundError(answer["missing"])
    if "failed" in answer:
        raise DiscoveryFailed(*answer["failed"])
    return Discovery(
        tuple(FoundFile(*file) for file in answer["files"]),
        tuple(SkippedPath(*skipped) for skipped in answer["skipped"]),
        answer["skipped_total"],
    )


def answer_request(request: dict[str, Any], search: Callable[..., Discovery] = discover_files) -> dict[str, Any]:
    """Return the reply to a request; errors become part of the reply."""
    paths = [Path(path) for path in request["paths"]]
    try:
        discovery = search(paths, include_secrets=request["include_secrets"])
    except FileNotFoundError as error:
        return {"missing": str(error)}
    except DiscoveryFailed as error:
        return {"failed": [error.path, error.reason]}
    except MemoryError:
        return {"failed": [", ".join(request["paths"]), "cannot be listed in the permitted memory"]}
    # A repetition would meet the same error, so it is part of the reply.
    except Exception as error:
        words = f"{type(error).__name__}: {error}"[:300]
        return {"failed": [", ".join(request["paths"]), f"cannot be listed ({words})"]}
    return {"files": discovery.files, "skipped": discovery.skipped, "skipped_total": discovery.skipped_total}


def main() -> None:
    """Answer the request on standard input."""
    sys.stdout.write(READY_LINE)
    sys.stdout.flush()
    request = json.load(sys.stdin)
    limit_memory(_MAX_MEMORY_MB)
    json.dump(answer_request(request), sys.stdout)
