"""Test the judgement of reports."""

import json
from typing import Any

import pytest

from tenure.contracts.sandbox import SandboxLimits
from tenure.sandbox.output import BoundedOutput
from tenure.sandbox.supervisor import ArtifactStore, Observed, Supervision, UnitResult, make_safe_name
from tenure.sandbox.verdict import find_required_tests, is_equal, judge_setup_failure, judge_tests

NONCE = "secret"
REQUIRED = {"test_a.py::test_one": False}


def phases(name: str, outcome: str = "passed") -> list[dict[str, Any]]:
    """Return the report of one test."""
    when = [("setup", "passed"), ("call", outcome), ("teardown", "passed")]
    lines = [{"kind": "phase", "id": name, "when": part, "outcome": how} for part, how in when]
    return [{"kind": "start", "id": name}, *lines, {"kind": "done", "id": name, "seconds": 0.1}]


def unit(*lines: dict[str, Any], status: int | None = 0, nonce: str = NONCE) -> UnitResult:
    """Return the observations of a process that wrote a report."""
    report = bytearray(b"".join(json.dumps({"nonce": nonce, **line}).encode() + b"\n" for line in lines))
    return UnitResult(BoundedOutput(100), BoundedOutput(100), report, status=status)


GOOD = [*phases("test_a.py::test_one"), {"kind": "end", "code": 0}]


@pytest.mark.parametrize(
    ("found", "verdict", "reason"),
    [
        (unit(*GOOD), "passed", ""),
        (unit(*GOOD, nonce="guessed"), "forged", "the report has not the secret of this run"),
        (unit(*GOOD[:-1]), "forged", "the tests were ended from inside"),
        (unit({"kind": "end", "code": 0}), "forged", "the report does not have every test"),
        (unit(*GOOD, status=256), "forged", "the report does not have every test"),
        (unit(*phases("test_a.py::test_two"), GOOD[-1]), "forged", "the report does not have every test"),
        (unit({"kind": "tampered", "text": "the data was changed"}, *GOOD), "forged", "the data was changed"),
        (unit(*phases("test_a.py::test_one", "skipped"), GOOD[-1]), "failed", "it was skipped"),
        (unit(*phases("test_a.py::test_one", "failed"), {"kind": "end", "code": 1}), "failed", ""),
        (unit(*phases("test_a.py::test_one")[:1], {"kind": "end", "code": 1}), "failed", "it did not end"),
    ],
)
def test_a_report_must_agree_with_the_observations(found: UnitResult, verdict: str, reason: str) -> None:
    """Only a report with the secret, with every test and with the observed end is accepted."""
    outcome = judge_tests(Observed(units=[found], finished=True), found, REQUIRED, NONCE)

    assert outcome.verdict == verdict
    assert outcome.reason.startswith(reason)


def test_lines_that_are_no_json_are_no_report() -> None:
    """Whatever is not a line of a report makes it a forged one."""
    found = unit(*GOOD)
    found.report += b"[" * 100_000 + b"\n"

    assert judge_tests(Observed(units=[found]), found, REQUIRED, NONCE).verdict == "forged"


def test_a_limit_comes_before_everything() -> None:
    """A candidate that was ended by a limit did not pass, whatever was reported before."""
    found = unit(*GOOD)
    found.limits.append("wall")

    assert judge_tests(Observed(units=[found]), found, REQUIRED, NONCE).verdict == "timeout"
    assert judge_tests(Observed(units=[found], limits=["memory"]), found, REQUIRED, NONCE).verdict == "limit"
    assert judge_setup_failure(Observed()).verdict == "error"


def test_tests_are_counted_by_their_source() -> None:
    """Functions and methods that pytest runs are found, and whether their source speaks of leaving them out."""
    source = """
import pytest, unittest
def helper(): pass
def test_plain(): pass
async def test_async(): pass
@pytest.mark.skip
def test_left_out(): pass
class TestGroup:
    def test_in_group(self): pass
class TestMade:
    def __init__(self): pass
    def test_never(self): pass
class TestNot:
    __test__ = False
    def test_never(self): pass
class Cases(unittest.TestCase):
    def test_case(self): pass
"""

    found = find_required_tests({"test_a.py": source, "conftest.py": "def test_no(): pass", "sub/__init__.py": ""})

    assert found == {
        "test_a.py::test_plain": False,
        "test_a.py::test_async": False,
        "test_a.py::test_left_out": True,
        "test_a.py::TestGroup::test_in_group": False,
        "test_a.py::Cases::test_case": False,
    }


@pytest.mark.parametrize(
    ("found", "wanted", "tolerance", "same"),
    [
        (1, 1.0, 0, True),
        (True, 1, 0, False),
        (0.3000001, 0.3, 0.001, True),
        (0.31, 0.3, 0.001, False),
        (float("nan"), float("nan"), 0, True),
        ([1, [2]], (1, [2]), 0, True),
        ([1], [1, 2], 0, False),
        ({"a": 1}, {"a": 1}, 0, True),
        ({"a": 1}, {"b": 1}, 0, False),
        ("1", 1, 0, False),
        (None, None, 0, True),
    ],
)
def test_values_are_equal_as_data(found: Any, wanted: Any, tolerance: float, same: bool) -> None:
    """Numbers are equal as numbers, truths are no numbers, and containers are equal by their items."""
    assert is_equal(found, wanted, tolerance) is same


@pytest.mark.parametrize(
    ("shown", "plain"),
    [
        ("a/plot.png", "plot.png"),
        ("../..", "file"),
        ("-rf \\xff", "rf__xff"),
        (".hidden", "hidden"),
        ("x" * 200, "x" * 80),
    ],
)
def test_stored_names_are_harmless(shown: str, plain: str) -> None:
    """The name of a stored file begins with a letter and has nothing that leads anywhere."""
    assert make_safe_name(shown) == plain


def test_a_driver_that_lies_sends_only_bytes(tmp_path: Any) -> None:
    """Artifacts beyond the limits, data without a file and unknown frames are dropped, and no half file stays."""
    store = ArtifactStore(tmp_path, SandboxLimits(artifacts=1, artifact_mib=1))

    assert not store.write_frame("D", b"nowhere")
    assert store.write_frame("A", b"../../etc/passwd")
    assert store.write_frame("D", b"data")
    assert store.write_frame("Z", b"")
    assert not store.write_frame("A", b"second")
    store.discard_unfinished()

    assert [one.name for one in store.kept] == ["../../etc/passwd"]
    assert [path.name for path in tmp_path.iterdir()] == ["001-passwd"]
    supervision = Supervision(SandboxLimits(), b"", None, lambda unit: True, None)
    supervision._parse_frames(b"X\x00\x00\x00\x01?" + b"O\xff\xff\xff\xff" + b"?" * 10)
