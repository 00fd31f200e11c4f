"""Runs one program, or tests it, exactly as the coding path would: `python -m tenure.sandbox FILE [--tests FILE]`."""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tenure.contracts.sandbox import GivenFile, Language, Outcome, Program, SandboxLimits, SelfTest, Trial
from tenure.sandbox.base import SandboxError
from tenure.sandbox.choice import sandbox
from tenure.settings import Settings

LANGUAGES: Final[dict[str, Language]] = {".py": "python", ".js": "node", ".mjs": "node", ".sh": "shell"}
"""What a file is, by its suffix."""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(prog="python -m tenure.sandbox", description=__doc__)
    made.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the program, or the module under test")
    made.add_argument("--tests", type=Path, action="append", default=[], metavar="FILE", help="a file of pytest")
    made.add_argument("--files", type=Path, nargs="+", default=[], metavar="PATH", help="files or folders beside it")
    made.add_argument("--arg", action="append", default=[], metavar="TEXT", help="an argument of the program")
    made.add_argument("--stdin", type=Path, metavar="FILE", help="standard input of the program")
    made.add_argument("--keep", type=Path, metavar="FOLDER", help="where files that it makes are stored")
    made.add_argument("--seconds", type=float, metavar="N", help="time by the clock")
    made.add_argument("--memory", type=int, metavar="MIB", help="memory of all processes together")
    made.add_argument("--check", action="store_true", help="try the isolation itself, and run nothing")
    made.add_argument("--json", action="store_true", help="print one JSON document")
    return made


def given(paths: list[Path]) -> tuple[GivenFile, ...]:
    """Return files, and all files of folders, by the names they get in the sandbox.

    Raises:
        OSError: there is no such file.
    """
    found = []
    for path in paths:
        if path.is_dir():
            inner = sorted(one for one in path.rglob("*") if one.is_file() and "__pycache__" not in one.parts)
            names = [(f"{path.resolve().name}/{one.relative_to(path).as_posix()}", one) for one in inner]
        else:
            path.stat()
            names = [(path.name, path)]
        found += [GivenFile(name=name, path=str(one.absolute())) for name, one in names]
    return tuple(found)


async def outcome(arguments: argparse.Namespace, settings: Settings, keep: Path) -> Outcome:
    """Run or test what the command line names."""
    box = sandbox(settings)
    chosen = {"wall_seconds": arguments.seconds, "memory_mib": arguments.memory}
    limits = SandboxLimits(**{name: value for name, value in chosen.items() if value is not None})
    files = given([arguments.file, *arguments.files])
    if arguments.tests:
        return await box.test(Trial(files=files, tests=given(arguments.tests), limits=limits), keep)
    program = Program(
        files=files,
        entry=arguments.file.name,
        language=LANGUAGES.get(arguments.file.suffix, "python"),
        args=tuple(arguments.arg),
        stdin=arguments.stdin.read_text(encoding="utf-8") if arguments.stdin else "",
        limits=limits,
    )
    return await box.run(program, keep)


async def self_test(settings: Settings) -> SelfTest:
    """Try the isolation."""
    return await sandbox(settings).check()


def rendered(found: Outcome) -> str:
    """Return an outcome for a person."""
    lines = [f"verdict: {found.verdict}" + (f" ({found.reason})" if found.reason else "")]
    ended = found.signal or ("not by itself" if found.exit_code is None else f"exit code {found.exit_code}")
    memory = "" if found.peak_memory_mib is None else f", peak memory {found.peak_memory_mib:.0f} MiB"
    lines.append(f"ended: {ended}, {found.seconds:.2f} s{memory}")
    if found.limits_hit:
        lines.append(f"limits hit: {', '.join(found.limits_hit)}")
    for test in found.tests:
        lines.append(f"{'passed' if test.passed else 'FAILED'} {test.name}{': ' * bool(test.error)}{test.error}")
    lines += [f"artifact: {one.name} ({one.bytes} bytes, {one.path})" for one in found.artifacts]
    for name, text in (("stdout", found.stdout), ("stderr", found.stderr)):
        if text:
            lines.append(f"{name}:\n{text.rstrip()}")
    if found.isolation is not None:
        lines.append(f"held by: {found.isolation.backend} {found.isolation.version}, memory {found.isolation.memory}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command: 0 passed, 3 did not, 2 usage, 4 no sandbox."""
    arguments = parser().parse_args(argv)
    if arguments.file is None and not arguments.check:
        parser().error("name a FILE, or --check")
    try:
        settings = Settings()
        if arguments.check:
            tested = asyncio.run(self_test(settings))
            print(tested.model_dump_json(indent=2) if arguments.json else tested.message)
            return 0 if tested.usable else 4
        keep = arguments.keep or Path(tempfile.mkdtemp(prefix="tenure-artifacts-"))
        found = asyncio.run(outcome(arguments, settings, keep))
    except (OSError, ValidationError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    if arguments.keep is None and not found.artifacts:
        keep.rmdir()
    print(json.dumps(found.model_dump(mode="json"), indent=2) if arguments.json else rendered(found))
    return 0 if found.verdict == "passed" else 3


if __name__ == "__main__":
    sys.exit(main())
