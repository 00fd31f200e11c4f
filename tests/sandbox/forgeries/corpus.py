"""Read the corpus of forgeries: programs that give wrong answers, and the tests that they want to pass.

A text file holds sections, each with a heading `#### name: description` and Python code. A forgery is executed after
the wrong program, whose answers all pass through its function `cheat`, so that a few lines apply one trick to every
kind of test. A cheat is a program of its own with its own test. The text `USE LINK` in a forgery is replaced by code
that makes every test pass if the tests execute it.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tenure.contracts.sandbox import CandidateBatch, InputFile, SandboxLimits, SandboxOutcome
from tenure.sandbox.base import Sandbox

HERE: Final = Path(__file__).parent
GROUPS: Final = ("values", "control", "objects", "processes")
"""Groups of forgeries, each in a text file: lying values, exceptions, objects of the test, files and processes."""
DATA: Final = (
    InputFile(name="expected.json", text='{"sum": 5}'),
    InputFile(name="data/title.txt", text="Ab\n"),
)
"""Files that the tests of some kinds read."""


class Cheat(NamedTuple):
    """A program with the test that it is to pass."""

    program: tuple[InputFile, ...]
    tests: tuple[InputFile, ...]


def read_sections(name: str) -> dict[str, str]:
    """Return the code of each section of a text file by the section's name."""
    parts = re.split(r"^#### (.+)$", (HERE / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    names = [heading.split(":")[0].strip() for heading in parts[::2]]
    assert len(set(names)) == len(names), f"{name}.txt: two sections have the same name"
    return dict(zip(names, parts[1::2], strict=True))


def read_kinds() -> dict[str, InputFile]:
    """Return the test file of each kind of test."""
    return {
        name: InputFile(name=f"test_{name.replace(' ', '_')}.py", text=text)
        for name, text in read_sections("kinds").items()
    }


def read_honest() -> str:
    """Return the source of the right program."""
    return read_sections("honest")["right"]


def read_wrong() -> str:
    """Return the source of the wrong program without a trick."""
    return read_sections("wrong")["wrong"]


def read_group(group: str) -> dict[str, str]:
    """Return the source of each forgery of a group."""
    link = read_sections("link")["link"]
    return {name: read_wrong() + text.replace("USE LINK", link) for name, text in read_sections(group).items()}


def read_programs(name: str) -> dict[str, Cheat]:
    """Return the programs of a text file, each with its own test, its further files and the data of both."""
    found = {}
    for title, text in read_sections(name).items():
        first, *parts = re.split(r"^---- (.+)\n", text, flags=re.MULTILINE)
        program, tests = [InputFile(name="solution.py", text=first.lstrip("\n"))], []
        for heading, body in zip(parts[::2], parts[1::2], strict=True):
            kind, _, file = heading.partition(" ")
            if kind == "file":
                program.append(InputFile(name=file, text=body))
            else:
                tests.append(InputFile(name=file or "test_it.py", text=body))
        found[title] = Cheat(tuple(program), tuple(tests))
    return found


async def run_candidates(
    box: Sandbox, programs: Sequence[str], tests: Sequence[InputFile], seconds_each: float
) -> list[SandboxOutcome]:
    """Test each program with the same tests; a program that ends its batch costs the others nothing."""
    outcomes: list[SandboxOutcome] = []
    data = [one for one in DATA if any(one.name.split("/")[-1] in (test.text or "") for test in tests)]
    while waiting := programs[len(outcomes) :]:
        batch = CandidateBatch(
            candidates=tuple((InputFile(name="solution.py", text=text),) for text in waiting),
            tests=(*tests, *data),
            limits=SandboxLimits(wall_seconds=min(3600, seconds_each * len(waiting)), cpu_seconds=60),
            seconds_each=seconds_each,
        )
        outcomes += await box.test_all(batch)
    return outcomes


async def run_cheat(box: Sandbox, cheat: Cheat) -> SandboxOutcome:
    """Test a program with its own test."""
    limits = SandboxLimits(wall_seconds=12)
    (outcome,) = await box.test_all(CandidateBatch(candidates=(cheat.program,), tests=cheat.tests, limits=limits))
    return outcome


def list_passed_kinds(outcome: SandboxOutcome, kinds: Mapping[str, InputFile]) -> list[str]:
    """Return the kinds of tests of which every test passed."""
    results: dict[str, list[bool]] = {}
    for test in outcome.tests:
        results.setdefault(test.name.split("::")[0], []).append(test.passed)
    return [name for name, file in kinds.items() if all(results.get(file.name, [False]))]


def list_own_notes(outcome: SandboxOutcome) -> list[str]:
    """Return the notes on a forgery that are not about the wrong program before it."""
    lines = read_wrong().count("\n")
    places = {note: re.match(r"solution\.py, line (\d+):", note) for note in outcome.notes}
    return [note for note, place in places.items() if place is None or int(place[1]) > lines]
