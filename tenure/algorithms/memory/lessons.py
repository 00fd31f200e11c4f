"""Build the memories that a coding run leaves, and select the lessons that later coding runs recall.

A lesson is the reflection on a failed attempt. It counts as a success if the run then delivered a program that passes
all tests, and as a failure otherwise. A recalled lesson is a hint, and no instruction.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tenure.algorithms.memory.experience import is_proven
from tenure.algorithms.text.questions import shorten
from tenure.contracts.knowledge.memory import MemoryOrigin, NewMemory, ProcedureDetails, ScoredMemory
from tenure.contracts.result.programs import Attempt
from tenure.contracts.result.result import Result

MAX_LESSONS: Final = 5
MAX_LESSON_CHARACTERS: Final = 1_200


def select_lessons(memories: Iterable[ScoredMemory]) -> tuple[str, ...]:
    """Return the lessons on programs with more successes than failures, and advice of the owner, in order."""
    lessons = (scored.memory for scored in memories if is_proven(scored.memory, "program"))
    return tuple(dict.fromkeys(memory.text for memory in lessons))[:MAX_LESSONS]


def build_program_memories(result: Result, corpora: Sequence[str]) -> tuple[NewMemory, ...]:
    """Return the memories that a coding run saves: one episode, and a lesson for each reflection.

    A run without an attempt saves nothing. A run whose models have read instructions of an unknown author saves no
    lesson, since models wrote it.
    """
    if not result.attempts:
        return ()
    origin = MemoryOrigin(run=result.id, corpora=tuple(corpora))
    lessons = () if result.usage.exposed_calls else _build_lessons(result, origin)
    best = result.verification
    tests = f"{best.passed} of {best.total} tests passed" if best and best.total else "it had no tests"
    count = len(result.attempts)
    episode = NewMemory(
        text=(
            f"“{shorten(result.question, 1000)}”: a program was written in {count} attempt{'' if count == 1 else 's'}; "
            f"{tests}; outcome: {result.status.replace('_', ' ')}."
        ),
        kind="episodic",
        origin=origin,
        valence=1.0 if result.status == "done" else -0.5,
    )
    return (episode, *lessons)


def _build_lessons(result: Result, origin: MemoryOrigin) -> Iterator[NewMemory]:
    """Yield a lesson for each reflection; several attempts with the same reflection give one."""
    situation = f"A program for “{shorten(result.question, 300)}”"
    accepted = next((attempt for attempt in result.attempts if attempt.error is None), None)
    helped = result.status == "done" and accepted is not None
    for advice in dict.fromkeys(_describe_lesson(attempt, accepted) for attempt in result.attempts):
        if advice:
            yield NewMemory(
                text=f"{situation}: {advice}",
                origin=origin,
                valence=1.0 if helped else -0.5,
                details=ProcedureDetails(
                    task="program",
                    situation=situation,
                    advice=advice,
                    successes=int(helped),
                    failures=int(not helped),
                ),
            )


def _describe_lesson(attempt: Attempt, accepted: Attempt | None) -> str:
    """Return the lesson of a failed attempt with the approach that passed later; empty without a reflection."""
    if attempt.reflection is None:
        return ""
    lesson = attempt.reflection
    passed = f" Then passed: {accepted.approach}" if accepted and accepted.n > attempt.n and accepted.approach else ""
    parts = (shorten(text, MAX_LESSON_CHARACTERS // 4) for text in (lesson.failed, lesson.cause, lesson.change, passed))
    return " ".join(" ".join(part.split()) for part in parts if part)
