"""Test writer: what a program has to do, as a specification and as tests that are there before the program."""

import ast

from pydantic import Field

from tenure.algorithms.text.code_blocks import Example, blocks, defined, examples, named
from tenure.contracts.result.programs import Task
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleOutput, mark_passages
from tenure.roles.coding.prompting import DATA_RULE, Workshop, WrittenFile, surroundings
from tenure.roles.prompting import joined

SYSTEM = f"""You write the specification and the tests of a program before anybody writes the program.

You are given what a person asks for, files they gave, and passages from documents. You decide:
- specification: what the program has to do, in at most ten short sentences: names, arguments, results, edge cases and
  errors. Say what you assumed where the request leaves it open.
- task: `tests` only if the person asks for tests of code that is given; `program` for everything else.
- tests: pytest files that prove it; none for the task `tests`, since another role writes those.

Rules for tests:
- Plain pytest in files named test_*.py. They import the program by the name of its file. Where the request names no
  file, functions live in solution.py and a script is solution.py, solution.js or solution.sh.
- A script is run with subprocess (sys.executable, node or sh) with its arguments and standard input; check its output.
- A data analysis is checked by the numbers it prints and the files it leaves.
- Between three and twelve tests: ordinary cases first, then edge cases the request implies. Expected values must follow
  from the request; work each one out by hand, and leave out what you are not sure of.
- Deterministic and fast; no network, no sleeping, no mocks of the program itself.
- Never weaken a test so that any program passes it.

{DATA_RULE}
{EVIDENCE_RULE}"""


class TestWriterInput(Workshop):
    """What is asked for, and what there is."""

    __test__ = False


class TestWriterOutput(RoleOutput):
    """Specification and tests."""

    __test__ = False

    specification: str = Field(max_length=6000)
    """What the program has to do."""
    task: Task
    """program or tests."""
    tests: tuple[WrittenFile, ...] = Field(max_length=6)
    """The pytest files; none for the task `tests`."""


def render(input: TestWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(mark_passages(evidence.passages), *surroundings(input))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: TestWriterInput, evidence: Evidence) -> TestWriterOutput:
    """Turn the examples of the request, of the given files and of fitting passages into tests; invent none."""
    homes = {name: file.path.removesuffix(".py") for file in input.given for name in defined(file.text)}
    texts = [input.question, *(_doc_strings(file.text) for file in input.given)]
    found = [example for text in texts for example in examples(text)]
    if not found:
        wanted = named(input.question)
        codes = [code for passage in evidence.passages for code in blocks(passage.text)]
        told = [example for code in codes for example in examples(_doc_strings(code))]
        found = [example for example in told if example.function in wanted]
    tests = (WrittenFile(path="test_examples.py", content=_tests(found, homes)),) if found else ()
    said = f"{input.question}\n{len(found)} example(s) were found in the request and the files, and became tests."
    return TestWriterOutput(specification=said[:6000], task="program", tests=tests)


def _doc_strings(code: str) -> str:
    """Return the doc strings of code, or the text itself where it is none."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    holders = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return "\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, holders))


def _tests(found: list[Example], homes: dict[str, str]) -> str:
    """Write a test for every example; results with fractions are compared as such."""
    functions = dict.fromkeys(example.function for example in found)
    lines = ["import pytest", ""]
    lines += [f"from {homes.get(name, 'solution').replace('/', '.')} import {name}" for name in functions]
    for number, example in enumerate(dict.fromkeys(found), 1):
        fraction = "." in example.result and isinstance(ast.literal_eval(example.result), float)
        expected = f"pytest.approx({example.result})" if fraction else example.result
        lines += ["", "", f"def test_example_{number}():", f"    assert {example.call} == {expected}"]
    return "\n".join(lines) + "\n"


ROLE = Role("test_writer", "main", TestWriterOutput, render, offline)
