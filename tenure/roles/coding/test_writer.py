"""Write the specification and the tests of a program before the program exists."""

import ast

from pydantic import Field

from tenure.algorithms.text.code_blocks import (
    CodeExample,
    extract_examples,
    extract_function_names,
    extract_python_blocks,
    list_definitions,
)
from tenure.contracts.messages import Message
from tenure.contracts.result.programs import CodingTask
from tenure.roles.base import Evidence, Role, RoleOutput, mark_passages
from tenure.roles.code_prompting import DATA_RULE, CodingContext, WrittenFile, render_context
from tenure.roles.prompting import join_parts

SYSTEM = f"""You write the specification and the tests of a program before anybody writes the program.

You are given what a person asks for, files they gave, and passages from documents, which may be about something else:
use only what helps. You decide:
- specification: what the program has to do, in at most ten short sentences: names, arguments, results, edge cases and
  errors. Say what you assumed where the request leaves it open.
- task: `tests` only if the person asks for tests of code that is given; `program` for everything else.
- tests: pytest files that prove it; none for the task `tests`, since another role writes those.

Rules for tests:
- Plain pytest in files named test_*.py. They import the program by the name of its file. If the request names no
  file, functions live in solution.py and a script is solution.py, solution.js or solution.sh.
- Tests run in the program's folder, which contains the given files. A script is run with subprocess (sys.executable,
  node or sh) with its arguments and standard input; check its output. If the person gave its input, one test uses it.
- A data analysis is checked by the numbers it prints and the files it leaves.
- Between three and twelve tests: ordinary cases first, then edge cases the request implies. Expected values must follow
  from the request; work each one out by hand, and leave out what you are not sure of.
- Deterministic and fast; no network, no sleeping, no mocks of the program itself.
- Never weaken a test so that any program passes it.

{DATA_RULE}"""


class TestWriterInput(CodingContext):
    """The request and its context."""

    __test__ = False


class TestWriterOutput(RoleOutput):
    """Specification and tests."""

    __test__ = False

    specification: str = Field(max_length=6000)
    """Specification of the program."""
    task: CodingTask
    """program or tests."""
    tests: tuple[WrittenFile, ...] = Field(max_length=6)
    """The pytest files; none for the task `tests`."""


def render(input: TestWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(mark_passages(evidence.passages), *render_context(input))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: TestWriterInput, evidence: Evidence) -> TestWriterOutput:
    """Convert the examples of the request, of the given files and of matching passages to tests; invent none."""
    homes = {name: file.path.removesuffix(".py") for file in input.given_files for name in list_definitions(file.text)}
    texts = [input.question, *(_extract_docstrings(file.text) for file in input.given_files)]
    found = [example for text in texts for example in extract_examples(text)]
    if not found:
        wanted = extract_function_names(input.question)
        codes = [code for passage in evidence.passages for code in extract_python_blocks(passage.text)]
        documented = [example for code in codes for example in extract_examples(_extract_docstrings(code))]
        found = [example for example in documented if example.function in wanted]
    tests = (WrittenFile(path="test_examples.py", content=_write_tests(found, homes)),) if found else ()
    said = f"{input.question}\n{len(found)} example(s) were found in the request and the files, and became tests."
    return TestWriterOutput(specification=said[:6000], task="program", tests=tests)


def _extract_docstrings(code: str) -> str:
    """Return the docstrings of Python code; return any other text unchanged."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    holders = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return "\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, holders))


def _write_tests(found: list[CodeExample], homes: dict[str, str]) -> str:
    """Return a test for every example; floating-point results are compared approximately."""
    functions = dict.fromkeys(example.function for example in found)
    lines = ["import pytest", ""]
    lines += [f"from {homes.get(name, 'solution').replace('/', '.')} import {name}" for name in functions]
    for number, example in enumerate(dict.fromkeys(found), 1):
        fraction = "." in example.result and isinstance(ast.literal_eval(example.result), float)
        expected = f"pytest.approx({example.result})" if fraction else example.result
        lines += ["", "", f"def test_example_{number}():", f"    assert {example.call} == {expected}"]
    return "\n".join(lines) + "\n"


ROLE = Role("test_writer", "main", TestWriterInput, TestWriterOutput, render, fallback)
