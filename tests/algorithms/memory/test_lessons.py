"""Tests of lessons: the memories that a coding run leaves and recalls."""

from datetime import UTC, datetime

from tenure.algorithms.memory.experience import find_related_runs, select_advice
from tenure.algorithms.memory.lessons import MAX_LESSONS, build_program_memories, select_lessons
from tenure.algorithms.memory.scoring import classify_memory
from tenure.contracts.base import RunId
from tenure.contracts.knowledge.memory import Memory, MemoryOrigin, NewMemory, ProcedureDetails, ScoredMemory
from tenure.contracts.result.programs import Attempt, AttemptFailure, Lesson, ProgramVerification
from tenure.contracts.result.result import Result, ResultStatus
from tenure.contracts.run.run import Usage

REFLECTION = Lesson(failed="f(0) gives 1.", cause="Zero is not handled.", change="Return 0 for 0.")


def attempted(n: int, error: str | None, reflection: Lesson | None = None, approach: str = "") -> Attempt:
    """Return an attempt with one test."""
    return Attempt(
        n=n,
        generation=n,
        maker="coder",
        approach=approach,
        passed=int(error is None),
        total=1,
        failures=(AttemptFailure(test="", error=error),) if error else (),
        seconds=0.1,
        reflection=reflection,
    )


FAILED = attempted(1, "assert 1 == 0", REFLECTION)
PASSED = attempted(2, None, approach="It returns early.")


def ended(*attempts: Attempt, status: ResultStatus = "done", exposed: int = 0) -> Result:
    """Return the result of a coding run."""
    passed = max((attempt.passed for attempt in attempts), default=0)
    return Result(
        id=RunId("r"),
        mode="CODE",
        status=status,
        question="Write f",
        title="f",
        abstract="",
        attempts=attempts,
        verification=ProgramVerification(test_author="person", passed=passed, total=1) if attempts else None,
        usage=Usage(exposed_calls=exposed),
    )


def recalled(new_memory: NewMemory) -> ScoredMemory:
    """Return a new memory as a search finds it."""
    memory = Memory(
        id=new_memory.text,
        kind=classify_memory(new_memory),
        text=new_memory.text,
        created_at=datetime(2030, 1, 1, tzinfo=UTC),
        origin=new_memory.origin,
        details=new_memory.details,
    )
    return ScoredMemory(memory=memory, score=1, relevance=0.9)


def test_a_repaired_program_leaves_an_episode_and_a_lesson() -> None:
    """The lesson says what failed, why, what to change and what passed then; it comes from the corpora of the run."""
    episode, lesson = build_program_memories(ended(FAILED, PASSED), ("kitchen",))

    assert episode.kind == "episodic" and episode.details is None
    assert episode.text == "“Write f”: a program was written in 2 attempts; 1 of 1 tests passed; outcome: done."
    assert lesson.text == (
        "A program for “Write f”: f(0) gives 1. Zero is not handled. Return 0 for 0. Then passed: It returns early."
    )
    assert isinstance(lesson.details, ProcedureDetails)
    assert (lesson.details.task, lesson.details.successes, lesson.details.failures) == ("program", 1, 0)
    assert {one.origin.run for one in (episode, lesson)} == {"r"}
    assert {one.origin.corpora for one in (episode, lesson)} == {("kitchen",)}


def test_a_lesson_that_did_not_help_counts_as_a_failure() -> None:
    """It is stored once however often it was drawn, and is not recalled."""
    again = attempted(2, "assert 1 == 0", REFLECTION)
    episode, lesson = build_program_memories(ended(FAILED, again, status="failing_tests"), ())

    assert "0 of 1 tests passed; outcome: failing tests" in episode.text
    assert isinstance(lesson.details, ProcedureDetails)
    assert (lesson.details.successes, lesson.details.failures) == (0, 1)
    assert "Then passed" not in lesson.text
    assert select_lessons([recalled(lesson)]) == ()


def test_only_what_a_run_has_tried_is_stored() -> None:
    """No attempt leaves nothing, a first success no lesson, and a model that read instructions no lesson."""
    assert build_program_memories(ended(status="unsupported"), ()) == ()
    assert len(build_program_memories(ended(attempted(1, None)), ())) == 1
    assert len(build_program_memories(ended(FAILED, PASSED, exposed=1), ())) == 1


def test_lessons_go_to_programs_and_advice_goes_to_research() -> None:
    """A procedure has one kind of run; advice of the owner is for both, and an episode of a program relates no run."""
    memories = build_program_memories(ended(FAILED, PASSED), ())
    proven = ProcedureDetails(situation="A factual question", advice="search twice", successes=3)
    research = NewMemory(text="t", details=proven, origin=MemoryOrigin(run=RunId("s")))
    person = NewMemory(text="Prefer the standard library.", kind="procedural")
    run = NewMemory(text="Without details.", kind="procedural", origin=MemoryOrigin(run=RunId("s")))
    found = [recalled(one) for one in (*memories, research, person, run)]

    assert select_lessons(found) == (memories[1].text, person.text)
    assert select_advice(found) == ("A factual question: search twice", person.text)
    assert find_related_runs(found, RunId("other")) == ()


def test_the_number_of_lessons_is_bounded() -> None:
    """The most relevant ones are taken."""
    found = [recalled(NewMemory(text=f"Advice {n}.", kind="procedural")) for n in range(MAX_LESSONS + 1)]

    assert select_lessons(found) == tuple(f"Advice {n}." for n in range(MAX_LESSONS))
