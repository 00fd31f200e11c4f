"""Analyse the failure and the cause in a failed program and name a change (Reflexion, Shinn et al., 2023).

Later attempts receive the reflections of all earlier ones.
"""

from pydantic import Field

from tenure.contracts.messages import Message
from tenure.contracts.result.programs import Attempt
from tenure.roles.base import Evidence, Role, RoleOutput, skip, wrap_in_tag
from tenure.roles.code_prompting import DATA_RULE, CodingContext, render_attempt, render_context, render_failures
from tenure.roles.prompting import join_parts

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


class CodeReflectorInput(CodingContext):
    """The attempt and the earlier ones."""

    specification: str = ""
    """Specification of the program."""
    attempt: Attempt
    """The attempt."""
    earlier: tuple[Attempt, ...] = ()
    """Earlier attempts."""


class CodeReflectorOutput(RoleOutput):
    """Lesson of the attempt."""

    failed: str = Field(max_length=2000)
    """Behaviour that is wrong."""
    cause: str = Field(max_length=2000)
    """Cause of the failure."""
    change: str = Field(max_length=2000)
    """Change for the next version."""


def render(input: CodeReflectorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        *render_context(input),
        wrap_in_tag("specification", input.specification) if input.specification else "",
        *(render_attempt(attempt, include_files=False) for attempt in input.earlier),
        render_attempt(input.attempt, include_files=True),
        *render_failures(input.attempt.failures),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


ROLE = Role(
    "code_reflector",
    "main",
    CodeReflectorInput,
    CodeReflectorOutput,
    render,
    skip(CodeReflectorOutput(failed="", cause="", change="")),
)
