"""Answer the requests of a run by hand: `python -m evals.by_hand COMMAND --folder FOLDER`.

    serve --port PORT     OpenAI-compatible server on the loopback interface; writes each request to the folder;
                          with --replay FILE, a recording answers what it can
    next                  print the oldest open request; with --new, only its messages after those of the one before
    answer N FILE         store the answer of request N, after a check against its schema
    list                  print one line for each request
    export FILE           write all answers to a recording, compressed if its name ends in .xz

Prompts can be tried in this way with people or with any assistant. A run that uses the server needs a long timeout:
`OPENAI_BASE_URL=http://127.0.0.1:PORT/v1 TENURE_MODEL_TIMEOUT=1800`. The retry of a call that timed out keeps the
number of its request, so no answer is lost.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from evals.by_hand.answers import RefusedAnswer
from evals.by_hand.folder import RequestFolder, StoredRequest
from evals.by_hand.server import ByHandServer
from tests.model_server.recording import Recording, record_answer, save_recording

_POLL_SECONDS = 0.2


def serve(folder: RequestFolder, port: int, recording: Recording | None) -> int:
    """Serve until the process is interrupted."""
    with ByHandServer(folder, port, recording) as server:
        print(f"OPENAI_BASE_URL={server.base_url} TENURE_MODEL_TIMEOUT=1800", flush=True)
        try:
            server.closing.wait()
        except KeyboardInterrupt:
            print("stopped")
    return 0


def show_next(folder: RequestFolder, wait_seconds: float, *, only_new: bool = False) -> int:
    """Print the oldest open request, or only what continues an earlier one, waiting for it at most for a time."""
    end = time.monotonic() + wait_seconds
    while (request := folder.find_open()) is None:
        if time.monotonic() >= end:
            print("no open request", file=sys.stderr)
            return 1
        time.sleep(_POLL_SECONDS)
    earlier = [other for other in folder.load_all() if only_new and other.number < request.number]
    # The request before the last one can belong to another role, and this one continue an older one.
    texts = [request.prompt, *map(request.render_continuation, earlier)]
    print(min(texts, key=len), end="")
    return 0


def save_answer(folder: RequestFolder, number: int, path: Path) -> int:
    """Store an answer, or print the reasons why it does not fit."""
    try:
        request = folder.load(number)
    except KeyError:
        print(f"there is no request {number}", file=sys.stderr)
        return 1
    try:
        request.save_answer(path.read_text(encoding="utf-8"))
    except (OSError, RefusedAnswer) as error:
        print(f"not stored: {error}", file=sys.stderr)
        return 1
    return 0


def show_list(folder: RequestFolder) -> int:
    """Print number, role and state of each request."""
    for request in folder.load_all():
        print(f"{request.number:4} {request.role or 'text':24} {_describe_state(request)}")
    return 0


def export(folder: RequestFolder, path: Path) -> int:
    """Write the answers to a recording, in order of their requests."""
    answered = [(request.body, request.answer) for request in folder.load_all()]
    save_recording(path, (record_answer(body, answer) for body, answer in answered if answer is not None))
    return 0


def _describe_state(request: StoredRequest) -> str:
    if request.answer is not None:
        return "answered"
    return "open" if request.is_open else "abandoned"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.by_hand", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--folder", type=Path, required=True, metavar="FOLDER", help="folder of requests and answers")
    serving = commands.add_parser("serve", parents=[common], help="serve the model")
    serving.add_argument("--port", type=int, default=0, metavar="PORT", help="port; 0 for a free one (default: 0)")
    serving.add_argument("--replay", type=Path, metavar="FILE", help="recording that answers what it can")
    waiting = commands.add_parser("next", parents=[common], help="print the oldest open request")
    waiting.add_argument("--new", action="store_true", help="leave out the messages of an earlier request")
    waiting.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="wait for one (default: 0)")
    answering = commands.add_parser("answer", parents=[common], help="store an answer")
    answering.add_argument("number", type=int, metavar="N", help="number of the request")
    answering.add_argument("file", type=Path, metavar="FILE", help="file with the answer")
    commands.add_parser("list", parents=[common], help="print one line for each request")
    exporting = commands.add_parser("export", parents=[common], help="write all answers to a recording")
    exporting.add_argument("file", type=Path, metavar="FILE", help="file of the recording")
    given = parser.parse_args(arguments)
    folder = RequestFolder(given.folder)
    match given.command:
        case "serve":
            return serve(folder, given.port, Recording.load(given.replay) if given.replay else None)
        case "next":
            return show_next(folder, given.wait, only_new=given.new)
        case "answer":
            return save_answer(folder, given.number, given.file)
        case "export":
            return export(folder, given.file)
        case _:
            return show_list(folder)


if __name__ == "__main__":
    sys.exit(main())
