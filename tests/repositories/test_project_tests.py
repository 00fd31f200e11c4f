"""Test how the tests of projects are run and judged, also those of projects that want to deceive."""

import shutil
from pathlib import Path

import pytest

from tenure.contracts.coding.repositories import (
    CheckRequest,
    Environment,
    ProjectTestReport,
    ProjectTestRequest,
    Workspace,
)
from tenure.contracts.sandbox import SandboxLimits
from tenure.repositories import project_tests
from tests.repositories.projects import Project, open_project
from tests.support.tiers import slow

FILES = {
    "pytest.ini": "[pytest]\n",
    "clock.py": "def double(x):\n    return x + 2\n",
    "tests/test_clock.py": (
        "import pytest\nfrom clock import double\n"
        "def test_two():\n    assert double(2) == 4\n"
        "def test_three():\n    assert double(3) == 6, 'three'\n"
        "@pytest.mark.skip\ndef test_later():\n    pass\n"
    ),
}


async def run(project: Project, workspace: Workspace | None = None, **others: object) -> ProjectTestReport:
    """Run the tests of a project in an environment that is set up."""
    environment = others.pop("environment", None) or (await project.set_up()).environment
    request = ProjectTestRequest(workspace=workspace or project.workspace, environment=environment, **others)  # type: ignore[arg-type]
    return await project.tests.run(request)


def outcomes(report: ProjectTestReport) -> dict[str, str]:
    """Return the outcome of each test by its last name."""
    return {test.id.split("::")[-1]: test.outcome for test in report.tests}


async def test_tests_have_their_outcomes(tmp_path: Path) -> None:
    """Each test is reported with its message, and the level of proof is stated."""
    report = await run(await open_project(tmp_path, FILES))

    assert outcomes(report) == {"test_two": "passed", "test_three": "failed", "test_later": "skipped"}
    assert report.counts == {"passed": 1, "failed": 1, "skipped": 1}
    assert (report.exit_code, report.error, report.proof) == (1, "", "tests_in_same_process")
    assert "three" in report.tests[0].message
    assert report.observation is not None
    assert "1 passed, 1 failed" in report.observation.summary


async def test_fixed_tests_are_reported_before_others_that_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report without room for all tests has those that failed before, so that a change can be judged by them."""
    monkeypatch.setattr(project_tests, "MAX_OTHER", 1)
    report = await run(
        await open_project(tmp_path, {**FILES, "clock.py": "def double(x):\n    return 2 * x\n"}),
        reported=("tests/test_clock.py::test_three",),
    )

    assert outcomes(report) == {"test_three": "passed"}
    assert report.counts["passed"] == 2


async def test_a_file_that_cannot_be_imported_does_not_end_the_run(tmp_path: Path) -> None:
    """The file is an error, and all other tests have their outcomes."""
    files = {**FILES, "tests/test_broken.py": "import a_module_that_is_missing\n"}
    report = await run(await open_project(tmp_path, files))

    assert report.counts == {"passed": 1, "failed": 1, "skipped": 1, "error": 1}
    assert outcomes(report)["tests/test_broken.py"] == "error"


@slow
async def test_a_change_is_compared_with_the_commit(tmp_path: Path) -> None:
    """Tests that passed before are counted as kept, or named as lost; chosen ones are compared among themselves."""
    project = await open_project(tmp_path, FILES)
    before = await run(project)
    fixed = await project.change({"clock.py": "def double(x):\n    return 2 * x\n"})
    broken = await project.change({"clock.py": "def double(x):\n    return 6\n"})

    after = await run(project, fixed, baseline=before.passed_digest)
    worse = await run(project, broken, baseline=before.passed_digest)
    chosen = await run(project, broken, baseline=before.passed_digest, ids=("tests/test_clock.py::test_three",))

    assert (after.kept, after.lost_count, after.counts["passed"]) == (1, 0, 2)
    assert (worse.kept, [test.id for test in worse.lost]) == (0, ["tests/test_clock.py::test_two"])
    assert (outcomes(chosen), chosen.lost) == ({"test_three": "passed"}, ())


@slow
async def test_tests_of_the_commit_judge_a_patch_that_changes_them(tmp_path: Path) -> None:
    """The tests of the commit replace changed, new and removed ones; new tests run on the code of the commit."""
    project = await open_project(tmp_path, FILES)
    easier = await project.change(
        {
            "clock.py": "def double(x):\n    return 0\n",
            "tests/test_clock.py": "def test_two():\n    pass\n",
            "tests/test_new.py": "from clock import double\ndef test_new():\n    assert double(9) == 0\n",
        }
    )

    current = await run(project, easier)
    original = await run(project, easier, original_tests=True)
    reproduced = await run(project, easier, original_code=True)

    assert outcomes(current) == {"test_two": "passed", "test_new": "passed"}
    assert outcomes(original) == {"test_two": "failed", "test_three": "failed", "test_later": "skipped"}
    assert outcomes(reproduced) == {"test_two": "passed", "test_new": "failed"}


async def test_hidden_tests_are_added_for_one_run(tmp_path: Path) -> None:
    """A hidden test runs, replaces a file of the same name, and is in no folder afterwards."""
    project = await open_project(tmp_path, FILES)
    hidden = (("tests/test_clock.py", "from clock import double\ndef test_hidden():\n    assert double(5) == 7\n"),)

    report = await run(project, hidden=hidden)

    assert outcomes(report) == {"test_hidden": "passed"}
    assert not list((tmp_path / "home" / "workspaces").rglob("*hidden*"))
    async with project.workspaces.open(project.workspace, read_only=True) as folder:
        assert "test_hidden" not in (folder / "tests" / "test_clock.py").read_text()


async def test_tests_cannot_change_the_workspace(tmp_path: Path) -> None:
    """A test that edits the project edits a copy that is thrown away."""
    test = "from pathlib import Path\ndef test_edit():\n    Path('clock.py').write_text('bad')\n"
    project = await open_project(tmp_path, FILES | {"tests/test_clock.py": test})

    assert outcomes(await run(project)) == {"test_edit": "passed"}
    async with project.workspaces.open(project.workspace, read_only=True) as folder:
        assert (folder / "clock.py").read_text() == FILES["clock.py"]


FORGERIES = {
    "exits at import": ("conftest.py", "import os\nos._exit(0)\n"),
    "exits in a test": ("clock.py", "import os\ndef double(x):\n    os._exit(0)\n"),
    "exits at the end": ("conftest.py", "import os\ndef pytest_sessionfinish():\n    os._exit(0)\n"),
    "writes a report": (
        "conftest.py",
        "import json, os\nfor kind in ({'kind': 'test', 'id': 'a', 'outcome': 'passed'}, {'kind': 'end', 'code': 0}):\n"
        "    os.write(198, json.dumps({'nonce': '', **kind}).encode() + b'\\n')\nos._exit(0)\n",
    ),
    "writes JUnit XML": (
        "conftest.py",
        "import os\nopen('/box/out/r.xml', 'w').write('<testsuite><testcase name=\"a\"/></testsuite>')\nos._exit(0)\n",
    ),
    "closes the report": ("conftest.py", "import os\nos.close(198)\n"),
    "replaces the report": ("conftest.py", "import os\nos.dup2(os.open('/dev/null', os.O_WRONLY), 198)\n"),
    "kills everything": ("conftest.py", "import os\nos.kill(-1, 9)\n"),
    "ends with another code": ("conftest.py", "import atexit, os\natexit.register(os._exit, 0)\n"),
}


@slow
@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forgery_is_no_success(tmp_path: Path, name: str) -> None:
    """A project that ends early, or reports itself, has no tests that passed without an error or a note."""
    path, text = FORGERIES[name]

    report = await run(await open_project(tmp_path, FILES | {path: text}))

    is_honest = report.counts.get("failed") == 1
    assert report.error or is_honest, report
    assert report.proof == "none" or is_honest, report


@slow
async def test_a_replaced_function_of_pytest_is_named(tmp_path: Path) -> None:
    """A project that makes failures passes by replacing a function of pytest is found out by a note."""
    text = (
        "import _pytest.runner\nfrom _pytest.reports import TestReport\n"
        "real = TestReport.from_item_and_call\n"
        "def lie(item, call):\n    report = real(item, call)\n    report.outcome = 'passed'\n    return report\n"
        "TestReport.from_item_and_call = staticmethod(lie)\n"
    )
    report = await run(await open_project(tmp_path, FILES | {"conftest.py": text}))

    assert any("_pytest.reports.TestReport.from_item_and_call" in note for note in report.notes)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("", "no test command is known"),
        ("no-such-runner", "cannot be run"),
        ("python -m pytest nothing-there", "without a report (exit code 4)"),
        ("python -m pytest -k nothing", "no test was found"),
        ("sleep 99", "the time was over after 0 tests"),
    ],
)
async def test_tests_that_cannot_run_say_why(tmp_path: Path, command: str, error: str) -> None:
    """A missing command, a wrong one, an empty selection and a command that hangs have different errors."""
    project = await open_project(tmp_path, FILES)
    limits = SandboxLimits(wall_seconds=1 if "sleep" in command else 60, cpu_seconds=60)

    report = await run(project, environment=Environment(test=command), limits=limits)

    assert error in report.error
    assert (report.proof, report.passed_digest) == ("none", "")


async def test_tests_that_need_a_network_are_named(tmp_path: Path) -> None:
    """A suite that looks for a network gets a clear note."""
    test = "import urllib.request\ndef test_net():\n    urllib.request.urlopen('http://example.org')\n"

    report = await run(await open_project(tmp_path, FILES | {"tests/test_clock.py": test}))

    assert report.counts == {"failed": 1}
    assert any("look for a network" in note for note in report.notes)


@slow
async def test_options_of_missing_plugins_are_left_out(tmp_path: Path) -> None:
    """Options of a plugin that is not installed stop no test, and a note says so."""
    project = await open_project(tmp_path, FILES | {"pytest.ini": "[pytest]\naddopts = --no-such-plugin\n"})

    report = await run(project)

    assert report.counts == {"passed": 1, "failed": 1, "skipped": 1}
    assert "unrecognized arguments: --no-such-plugin" in report.notes[0]


async def test_unittest_reports_each_test(tmp_path: Path) -> None:
    """Tests of unittest are reported and selected by their names; a part that fails makes the test fail."""
    test = (
        "import unittest\nfrom clock import double\n"
        "class Clock(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(double(2), 4)\n"
        "    def test_more(self):\n        for n in (2, 3):\n            with self.subTest(n=n):\n"
        "                self.assertEqual(double(n), 2 * n)\n"
    )
    files = {"clock.py": FILES["clock.py"], "tests/test_clock.py": test, "tests/__init__.py": ""}
    project = await open_project(tmp_path, files)
    environment = Environment(test="python -m unittest discover -s tests -t .")

    everything = await run(project, environment=environment)
    chosen = await run(project, environment=environment, ids=("tests.test_clock.Clock.test_two",))

    found = {test.id: test.outcome for test in everything.tests}
    assert found == {"tests.test_clock.Clock.test_two": "passed", "tests.test_clock.Clock.test_more": "failed"}
    assert (chosen.counts, everything.proof) == ({"passed": 1}, "tests_in_same_process")


async def test_a_report_in_junit_xml_is_read_outside(tmp_path: Path) -> None:
    """Any command may leave JUnit XML; one with entities is refused, and without a report the exit code is all."""
    report = (
        '<testsuite><testcase classname="a" name="b"/><testcase name="c"><failure>no</failure></testcase></testsuite>'
    )
    bomb = '<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
    project = await open_project(tmp_path, {"good.xml": report, "bomb.xml": bomb})

    good = await run(project, environment=Environment(test="cp good.xml /box/out/; exit 1"))
    bad = await run(project, environment=Environment(test="cp bomb.xml /box/out/"))
    plain = await run(project, environment=Environment(test="true"))

    code = "exit code of cp good.xml /box/out/; exit 1"
    assert {test.id: test.outcome for test in good.tests} == {"a::b": "passed", "c": "failed", code: "failed"}
    assert (good.counts, good.proof) == ({"passed": 1, "failed": 1}, "exit_code")
    assert (bad.tests, bad.error) == ((), "the report has a document type, which is refused")
    assert (plain.counts, plain.error, plain.proof) == ({}, "", "exit_code")
    assert {test.id: test.outcome for test in plain.tests} == {"exit code of true": "passed"}
    assert plain.notes == ("exit code only: no test of `true` was counted",)


async def test_checks_have_complaints_without_line_numbers(tmp_path: Path) -> None:
    """A linter's complaints are compared by their texts; a linter that is not installed is named."""
    lint = "import sys\nprint('a.py:3:5: E501 too long')\nprint('b.py:9: error: bad')\nsys.exit(1)\n"
    project = await open_project(tmp_path, {"lint.py": lint})
    environment = Environment(checks=("python lint.py", "python -m no_such_linter", "no-such-linter ."))

    report = await project.tests.check(CheckRequest(workspace=project.workspace, environment=environment))

    first, second, third = report.checks
    assert first.complaints == ("a.py: E501 too long", "b.py: error: bad")
    assert "No module named" in second.error
    assert "exit code 127" in third.error


NODE = 'import test from "node:test";\nimport assert from "node:assert";\nimport { half } from "../half.js";\n'
GO_TEST = (
    'package half\n\nimport "testing"\n\n'
    "func Test{name}(t *testing.T) {{\n\tif Half({n}) != {half} {{\n\t\tt.Fatal()\n\t}}\n}}\n"
)
RUST_TEST = "#[test]\nfn {name}() {{\n    assert_eq!(half::half({n}), {half});\n}}\n"
SETUPS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "node": (
        {
            "package.json": '{"name": "half", "type": "module", "scripts": {"test": "node --test"}}\n',
            "half.js": "export const half = (n) => n - 2;\n",
            "test/old.test.js": NODE + 'test("old", () => assert.equal(half(4), 2));\n',
        },
        {
            "half.js": "export const half = (n) => n / 2;\n",
            "test/new.test.js": NODE + 'test("new", () => assert.equal(half(6), 3));\n',
        },
    ),
    "go": (
        {
            "go.mod": "module example.org/half\n\ngo 1.19\n",
            "half.go": "package half\n\nfunc Half(n int) int {\n\treturn n - 2\n}\n",
            "old_test.go": GO_TEST.format(name="Old", n=4, half=2),
        },
        {
            "half.go": "package half\n\nfunc Half(n int) int {\n\treturn n / 2\n}\n",
            "new_test.go": GO_TEST.format(name="New", n=6, half=3),
        },
    ),
    "cargo": (
        {
            "Cargo.toml": '[package]\nname = "half"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn half(n: i32) -> i32 {\n    n - 2\n}\n",
            "tests/old.rs": RUST_TEST.format(name="old", n=4, half=2),
        },
        {
            "src/lib.rs": "pub fn half(n: i32) -> i32 {\n    n / 2\n}\n",
            "tests/new.rs": RUST_TEST.format(name="new", n=6, half=3),
        },
    ),
}
"""Projects with a fault, and their changes with a new test, by the program that runs them."""


@slow
@pytest.mark.parametrize("program", SETUPS)
async def test_a_new_test_is_told_apart_in_each_language(tmp_path: Path, program: str) -> None:
    """A file of tests that a patch adds fails on the code of the commit, and passes with the change."""
    # A sandbox shows the programs of the system only, and none of a home.
    if shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip(f"this system has no {program}")
    files, change = SETUPS[program]
    project = await open_project(tmp_path, files)
    environment = (await project.set_up()).environment
    changed = await project.change(dict(change))
    (added,) = (name for name in change if name not in files)

    before = await run(project, environment=environment)
    after = await run(project, changed, environment=environment, baseline=before.passed_digest)
    reproduced = await run(project, changed, environment=environment, original_code=True, ids=(added,))

    assert (before.counts, after.counts, after.kept, after.error) == ({"passed": 1}, {"passed": 2}, 1, ""), after
    failed = [test.id for test in reproduced.tests if test.outcome == "failed"]
    assert len(failed) == 1 and failed[0].lower().endswith("new"), reproduced
    assert failed[0] in {test.id for test in after.tests}


MAKES = {
    "node": (SETUPS["node"][0], "node --test", "old"),
    "go": (SETUPS["go"][0], "go test ./...", "example.org/half::TestOld"),
    "cargo": (SETUPS["cargo"][0], "cargo test --offline", "tests/old.rs::old"),
    "python3": ({"clock.py": "", "test_clock.py": "def test_it():\n    pass\n"}, "pytest -q", "test_clock.py::test_it"),
    "sh": ({"run.sh": "exit 0\n"}, "sh run.sh", ""),
}
"""Projects with a test that passes, the command in their Makefile, and the name of the test."""


@slow
@pytest.mark.parametrize("program", MAKES)
async def test_the_tests_in_a_makefile_are_counted(tmp_path: Path, program: str) -> None:
    """Tests whose runner reports or prints them count with the exit code of `make`; of others, it is all."""
    if shutil.which("make", path="/usr/bin:/bin") is None or shutil.which(program, path="/usr/bin:/bin") is None:
        pytest.skip(f"this system has no make or no {program}")
    files, command, name = MAKES[program]
    project = await open_project(tmp_path, files | {"Makefile": f"test: lint\n\t{command}\nlint:\n\ttrue\n"})
    environment = (await project.set_up(test="make test")).environment
    broken = await project.change({"Makefile": f"test: lint\n\t{command}\n\tfalse\nlint:\n\ttrue\n"})

    before = await run(project, environment=environment)
    after = await run(project, broken, environment=environment, baseline=before.passed_digest)

    code, named = "exit code of make test", [name] if name else []
    assert {test.id: test.outcome for test in before.tests} == {one: "passed" for one in (code, *named)}, before
    assert (before.counts, before.proof) == ({"passed": 1} if name else {}, "exit_code")
    assert (before.notes == ()) is bool(name)
    assert (after.kept, [test.id for test in after.lost]) == (len(named), [code])


@slow
async def test_pnpm_runs_the_tests_without_a_network(tmp_path: Path) -> None:
    """It runs the script and installs nothing before, which would wait for the network."""
    if shutil.which("pnpm", path="/usr/local/bin:/usr/bin:/bin") is None:
        pytest.skip("this system has no pnpm")
    package = '{"name": "half", "type": "module", "scripts": {"test": "node --test"}, "devDependencies": {"a": "1"}}\n'
    project = await open_project(tmp_path, SETUPS["node"][0] | {"package.json": package, "pnpm-lock.yaml": ""})
    reply = await project.set_up(setup="true", test="pnpm test")

    report = await run(project, environment=reply.environment)

    assert (report.counts, report.exit_code) == ({"passed": 1}, 0), report.observation
