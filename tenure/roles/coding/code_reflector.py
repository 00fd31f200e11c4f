"""Code reflector: what failed, why, and what to change; later attempts remember it (document 003, Reflexion)."""

from pydantic import Field

from tenure.contracts.result.programs import Attempt
from tenure.roles.base import Evidence, Message, Role, RoleOutput, tagged
from tenure.roles.coding.prompting import DATA_RULE, Workshop, marked_attempt, marked_failures, surroundings
from tenure.roles.prompting import joined

SYSTEM = f"""You look at a program whose tests failed and say what is to be learned from it. You write no code.

You are given the task, the tests, the attempt with its failures, and what was learned before. You decide:
- failed: which behaviour is wrong, in one or two sentences, with one concrete input, the expected and the actual value.
- cause: why, down to the line or the assumption that is wrong. Follow the failing input through the program.
- change: what the next version has to do differently, precise enough to be done without seeing the failure.

Rules:
- Do not propose what an earlier attempt has tried without success; if a test keeps failing, question the approach.
- Never propose to change, skip or go around a test, or to answer its inputs one by one. If a test contradicts the
  request, say so in `cause`.
- If the program ran out of time or memory, say which loop or structure grows and how to bound it.

{DATA_RULE}"""


class CodeReflectorInput(Workshop):
    """The attempt, and those before it."""

    specification: str = ""
    """What the program has to do."""
    attempt: Attempt
    """The attempt."""
    earlier: tuple[Attempt, ...] = ()
    """Attempts before it."""


class CodeReflectorOutput(RoleOutput):
    """What is to be learned."""

    failed: str = Field(max_length=2000)
    """What failed."""
    cause: str = Field(max_length=2000)
    """Why."""
    change: str = Field(max_length=2000)
    """What to change."""


def render(input: CodeReflectorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        *surroundings(input),
        tagged("draft", input.specification) if input.specification else "",
        *(marked_attempt(attempt, whole=False) for attempt in input.earlier),
        marked_attempt(input.attempt, whole=True),
        *marked_failures(input.attempt.failures),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: CodeReflectorInput, evidence: Evidence) -> CodeReflectorOutput:
    """Sort the failures by what they say: a name that is missing, a wrong value, an error, too much time."""
    attempt = input.attempt
    error = attempt.failures[0].error if attempt.failures else ""
    kinds = {
        "ImportError": "A name that the tests import is not there.",
        "ModuleNotFoundError": "A file or package that is imported is not there.",
        "SyntaxError": "The program is not valid.",
        "NameError": "A variable is used that is not defined.",
        "AttributeError": "Something is used that its object does not have.",
        "IndexError": "A position outside of a sequence is used.",
        "KeyError": "A key is looked up that is not there.",
        "RecursionError": "A function calls itself without end: a base case is missing or is never reached.",
        "TypeError": "A value of the wrong type is used.",
        "time": "A loop does not end, or the work grows too fast.",
        "assert": "A value is computed that is not the expected one.",
    }
    cause = next((said for word, said in kinds.items() if word.lower() in error.lower()), "The cause is not known.")
    named = ", ".join(failure.test for failure in attempt.failures[:5] if failure.test) or "the run"
    return CodeReflectorOutput(
        failed=f"{attempt.total - attempt.passed} of {attempt.total} tests failed: {named}. {error}"[:2000],
        cause=cause,
        change="Look for a small edit near the lines that the failing tests run, and prove it with the tests.",
    )


ROLE = Role("code_reflector", "main", CodeReflectorOutput, render, offline)
