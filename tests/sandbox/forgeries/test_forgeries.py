"""Hold that no wrong program gets the verdict `passed`, whatever it does to the tests, the judge or their link."""

from collections.abc import Mapping, Sequence

import pytest

from tenure.contracts.sandbox import InputFile
from tenure.sandbox.base import Sandbox
from tests.sandbox.forgeries.corpus import (
    GROUPS,
    UNSAFE_KINDS,
    list_passed_kinds,
    read_forgeries,
    read_group,
    read_honest,
    read_kinds,
    run_candidates,
)
from tests.support.tiers import exhaustive, slow

REPRESENTATIVE = (
    "lengths that change",
    "equal to everything",
    "difference of zero",
    "ends an iteration early",
    "swallows the errors of a block",
    "replaces the assertions of a mock",
    "reads the globals of a callback",
    "runs source by an interpreter of the standard library",
)
"""One forgery of each class, for a fast test."""

UNASKED = ("answers before it is asked", "answers requests of others", "sends one right answer before its own")
"""Forgeries that send answers in addition to those of the program."""

FAST_KINDS = (
    "lengths and items",
    "lengths and indexes",
    "plain asserts",
    "mocks alone",
    "early ends",
    "mapped only",
    "one context",
    "one difference",
    "callbacks",
)
SECONDS_EACH = 30.0
"""Time of one program; a forgery that hangs costs it."""


async def find_deceived(
    box: Sandbox, forgeries: Mapping[str, str], kinds: Mapping[str, InputFile]
) -> list[tuple[str, str]]:
    """Return the pairs of a forgery and a kind of test with the verdict `passed`.

    All kinds are run together at first. A kind whose tests all passed there is run alone, since the verdict of a run
    counts for all of its tests.
    """
    found = []
    outcomes = await run_candidates(box, list(forgeries.values()), list(kinds.values()), SECONDS_EACH)
    for (name, text), outcome in zip(forgeries.items(), outcomes, strict=True):
        for kind in list_passed_kinds(outcome, kinds):
            (alone,) = await run_candidates(box, [text], [kinds[kind]], SECONDS_EACH)
            if alone.verdict == "passed":
                found.append((name, kind))
    return found


async def find_refused(box: Sandbox, kinds: Sequence[InputFile]) -> list[tuple[str, str]]:
    """Return name and error of the tests that the right program does not pass."""
    (outcome,) = await run_candidates(box, [read_honest()], kinds, 10 * SECONDS_EACH)
    return [(test.name, test.error) for test in outcome.tests if not test.passed] or (
        [] if outcome.verdict == "passed" else [("verdict", f"{outcome.verdict}: {outcome.reason}")]
    )


def test_the_corpus_is_complete() -> None:
    """Every forgery is a program of its own, and every kind of test has one."""
    forgeries, kinds = read_forgeries(), read_kinds()

    for name, text in forgeries.items():
        compile(text, name, "exec")
    assert len(set(forgeries.values())) == len(forgeries) >= 150
    assert len(kinds) >= 30
    assert set(REPRESENTATIVE) <= forgeries.keys() and {*FAST_KINDS, *UNSAFE_KINDS} <= kinds.keys()


async def test_no_forgery_of_a_class_passes(box: Sandbox) -> None:
    """One forgery of each class does not pass, while the right program does."""
    forgeries = {name: text for name, text in read_forgeries().items() if name in REPRESENTATIVE}
    kinds = {name: file for name, file in read_kinds().items() if name in FAST_KINDS}

    assert await find_deceived(box, forgeries, kinds) == []
    assert await find_refused(box, list(kinds.values())) == []


async def test_a_message_without_a_request_is_a_forgery(box: Sandbox) -> None:
    """A message besides the answer to a request is noticed, although the test makes no further request."""
    unasked = [text for name, text in read_group("requests").items() if name in UNASKED]

    outcomes = await run_candidates(box, unasked, [read_kinds()["path of the tests"]], SECONDS_EACH)

    assert len(outcomes) == len(UNASKED)
    assert all(one.verdict == "forged" and not any(test.passed for test in one.tests) for one in outcomes)


async def find_heirs(box: Sandbox, forgeries: Mapping[str, str], kind: str) -> list[str]:
    """Return the forgeries after which a wrong program without a trick passes in the same sandbox."""
    wrong, tests = read_forgeries()["no trick"], [read_kinds()[kind]]
    found = []
    for name, text in forgeries.items():
        outcomes = await run_candidates(box, [text, wrong], tests, SECONDS_EACH)
        if any(outcome.verdict == "passed" for outcome in outcomes):
            found.append(name)
    return found


async def test_a_forgery_leaves_nothing_for_the_next_program(box: Sandbox) -> None:
    """Files that a program plants around the tests do not decide about the next program of its batch."""
    planted = {name: text for name, text in read_group("processes").items() if name.startswith("plants packages")}

    assert len(planted) == 1
    assert await find_heirs(box, planted, "plain asserts") == []


async def test_test_files_are_never_read_from_disk(box: Sandbox) -> None:
    """A test file that extends the import path does not make the next one come from where the program can write."""
    kinds = read_kinds()
    tests = [kinds["path of the tests"], kinds["plain asserts"].model_copy(update={"name": "test_second.py"})]
    written = read_forgeries()["writes into the files of the tests"]

    wrong, right = await run_candidates(box, [written, read_honest()], tests, SECONDS_EACH)

    assert wrong.verdict != "passed" and not any(test.passed for test in wrong.tests)
    assert right.verdict == "passed", right.reason


@slow
@pytest.mark.timeout(7200)
async def test_no_forgery_leaves_anything_for_the_next_program(box: Sandbox) -> None:
    """No forgery that acts on files and processes decides about the next program of its batch."""
    assert await find_heirs(box, read_group("processes"), "plain asserts") == []


@slow
@pytest.mark.timeout(600)
async def test_the_right_program_passes_every_kind(box: Sandbox) -> None:
    """The right program passes every kind of test that a program can pass, so that these refuse not everything."""
    assert await find_refused(box, [file for name, file in read_kinds().items() if name not in UNSAFE_KINDS]) == []


@exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("group", GROUPS)
async def test_no_forgery_passes_any_kind(box: Sandbox, group: str) -> None:
    """No forgery of a group passes any kind of test."""
    assert await find_deceived(box, read_group(group), read_kinds()) == []


@exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", list(read_kinds()))
async def test_no_forgery_passes_a_kind_alone(box: Sandbox, kind: str) -> None:
    """No forgery passes a kind of test that is run alone, so that no other test can end the forgery before."""
    forgeries = read_forgeries()

    outcomes = await run_candidates(box, list(forgeries.values()), [read_kinds()[kind]], SECONDS_EACH)

    assert [name for name, one in zip(forgeries, outcomes, strict=True) if one.verdict == "passed"] == []
