"""Build the memories that a coding run leaves, and select the lessons that later coding runs recall.

A lesson is the reflection on a failed attempt. It counts as a success if the run then delivered a program that passes
all tests, and as a failure otherwise. A recalled lesson is a hint, and no instruction.

A lesson on a repository is a sentence of the model's report, with the commands of a person that have worked there. It
is recalled for every task in the same repository, which its path or URL names.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tenure.algorithms.memory.experience import is_proven
from tenure.algorithms.text.questions import shorten
from tenure.contracts.coding.repositories import RepositoryChange
from tenure.contracts.knowledge.memory import MAX_MEMORY_CHARS, MemoryOrigin, NewMemory, ProcedureDetails, ScoredMemory
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


def describe_repository(path: str) -> str:
    """Return the situation of a lesson on a repository, with which its text begins."""
    return f"In the repository {path}"


def select_repository_lessons(memories: Iterable[ScoredMemory], path: str) -> tuple[str, ...]:
    """Return the lessons on a repository, and those that its owner has written for programs."""
    lessons = (
        scored.memory.text
        for scored in memories
        if is_proven(scored.memory, "repository") and getattr(scored.memory.details, "repository", path) == path
    )
    return tuple(dict.fromkeys(lessons))[:MAX_LESSONS]


def build_repository_memories(
    result: Result, change: RepositoryChange, corpora: Sequence[str]
) -> tuple[NewMemory, ...]:
    """Return the lesson that a run leaves for later work in its repository; none if nothing was learned.

    A run whose models have read instructions of an unknown author saves no words of theirs.
    """
    lesson = "" if result.usage.exposed_calls else shorten(" ".join(change.lesson.split()), MAX_LESSON_CHARACTERS)
    environment, proof = change.environment, change.proof
    commands = [
        f"{title}: `{command}`."
        for title, command in (("Setup that works", environment.given_setup), ("Tests", environment.test))
        if command
    ]
    # Commands from its files are found again; those of a person may not be given the next time.
    tests_ran = bool(proof and (proof.fixed or proof.kept or proof.failing or proof.broken))
    advice = " ".join([lesson, *(commands if tests_ran and (lesson or environment.given_setup) else ())]).strip()
    if not advice:
        return ()
    situation = describe_repository(change.source.path)
    return (
        NewMemory(
            text=f"{situation}: {advice}"[:MAX_MEMORY_CHARS],
            origin=MemoryOrigin(run=result.id, corpora=tuple(corpora)),
            valence=1.0 if result.status == "done" else -0.5,
            details=ProcedureDetails(
                task="repository",
                situation=situation,
                advice=advice,
                repository=change.source.path,
                # A warning is worth as much after a change that failed.
                successes=1,
            ),
        ),
    )
