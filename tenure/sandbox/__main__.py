"""Run or test one program exactly as the coding path does: `python -m tenure.sandbox FILE [--tests FILE]`."""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tenure.contracts.sandbox import (
    InputFile,
    Language,
    Program,
    SandboxLimits,
    SandboxOutcome,
    SandboxSelfTest,
    TestRun,
)
from tenure.files.discovery import discover_files
from tenure.sandbox.base import SandboxError
from tenure.sandbox.choice import make_sandbox
from tenure.settings import Settings
from tenure.settings.worker import SandboxSettings

LANGUAGES: Final[dict[str, Language]] = {".py": "python", ".js": "node", ".mjs": "node", ".sh": "shell"}
"""Languages by file suffix."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line parser."""
    parser = argparse.ArgumentParser(prog="python -m tenure.sandbox", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the program, or the module under test")
    parser.add_argument("--tests", type=Path, action="append", default=[], metavar="FILE", help="a file of pytest")
    parser.add_argument("--files", type=Path, nargs="+", default=[], metavar="PATH", help="further files or folders")
    parser.add_argument("--arg", action="append", default=[], metavar="TEXT", help="an argument of the program")
    parser.add_argument("--stdin", type=Path, metavar="FILE", help="standard input of the program")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="folder for its artifacts")
    parser.add_argument("--seconds", type=float, metavar="N", help="time by the clock")
    parser.add_argument("--memory", type=int, metavar="MIB", help="memory of all processes together")
    parser.add_argument("--check", action="store_true", help="try the isolation itself, and run nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def read_files(paths: list[Path]) -> tuple[InputFile, ...]:
    """Return files, and all visible files of folders, by their names in the sandbox.

    Raises:
        FileNotFoundError: a file does not exist.
        DiscoveryFailed: a folder has too many files.
    """
    found = []
    for path in map(Path.resolve, paths):
        files = discover_files([path], include_secrets=True, all_visible=True).files
        found += [InputFile(name=Path(one.path).relative_to(path.parent).as_posix(), path=one.path) for one in files]
    return tuple(found)


async def run_command(arguments: argparse.Namespace, settings: SandboxSettings, keep: Path) -> SandboxOutcome:
    """Run or test the program of the command line."""
    box = make_sandbox(settings)
    chosen = {"wall_seconds": arguments.seconds, "memory_mib": arguments.memory}
    limits = SandboxLimits(**{name: value for name, value in chosen.items() if value is not None})
    files = read_files([arguments.file, *arguments.files])
    if arguments.tests:
        return await box.test(TestRun(files=files, tests=read_files(arguments.tests), limits=limits), keep)
    program = Program(
        files=files,
        entry=arguments.file.name,
        language=LANGUAGES.get(arguments.file.suffix, "python"),
        args=tuple(arguments.arg),
        stdin=arguments.stdin.read_text(encoding="utf-8") if arguments.stdin else "",
        limits=limits,
    )
    return await box.run(program, keep)


async def run_self_test(settings: SandboxSettings) -> SandboxSelfTest:
    """Test the isolation."""
    return await make_sandbox(settings).check()


def render_outcome(found: SandboxOutcome) -> str:
    """Return an outcome as text."""
    lines = [f"verdict: {found.verdict}" + (f" ({found.reason})" if found.reason else "")]
    ended = found.signal or ("killed" if found.exit_code is None else f"exit code {found.exit_code}")
    memory = "" if found.peak_memory_mib is None else f", peak memory {found.peak_memory_mib:.0f} MiB"
    lines.append(f"ended: {ended}, {found.seconds:.2f} s{memory}")
    if found.limits_hit:
        lines.append(f"limits hit: {', '.join(found.limits_hit)}")
    for test in found.tests:
        lines.append(f"{'passed' if test.passed else 'FAILED'} {test.name}{': ' * bool(test.error)}{test.error}")
    if found.proof != "none":
        lines.append(f"proof: {found.proof.replace('_', ' ')}")
    lines += [f"note: {note}" for note in found.notes]
    lines += [f"artifact: {one.name} ({one.bytes} bytes, {one.path})" for one in found.artifacts]
    for name, text in (("stdout", found.stdout), ("stderr", found.stderr)):
        if text:
            lines.append(f"{name}:\n{text.rstrip()}")
    if found.isolation is not None:
        lines.append(f"held by: {found.isolation.backend} {found.isolation.version}, memory {found.isolation.memory}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command and return the exit code: 0 passed, 3 not passed, 2 usage, 4 no sandbox."""
    arguments = build_parser().parse_args(argv)
    if arguments.file is None and not arguments.check:
        build_parser().error("name a FILE, or --check")
    try:
        settings = Settings()
        if arguments.check:
            tested = asyncio.run(run_self_test(settings))
            print(tested.model_dump_json(indent=2) if arguments.json else tested.message)
            return 0 if tested.usable else 4
        keep = arguments.keep or Path(tempfile.mkdtemp(prefix="tenure-artifacts-"))
        found = asyncio.run(run_command(arguments, settings, keep))
    except (OSError, ValidationError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    if arguments.keep is None and not found.artifacts:
        keep.rmdir()
    print(json.dumps(found.model_dump(mode="json"), indent=2) if arguments.json else render_outcome(found))
    return 0 if found.verdict == "passed" else 3


if __name__ == "__main__":
    sys.exit(main())
