"""Test the commands that run the tests of a project with a report."""

import pytest

from tenure.algorithms.coding.test_commands import MAX_SELECTION_CHARS, plan_tests, read_assignments


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", "pytest 'tests/test_a.py::test_x[a b]'"),
        ("python -m pytest -q tests", "python -m pytest -q 'tests/test_a.py::test_x[a b]'"),
        ("CI=1 py.test -p no:x -m 'not slow' t", "CI=1 py.test -p no:x -m 'not slow' 'tests/test_a.py::test_x[a b]'"),
    ],
)
def test_pytest_runs_chosen_tests_with_its_options(command: str, expected: str) -> None:
    """Tests take the place of the files in a command, and its options stay."""
    plan = plan_tests(command, ["tests/test_a.py::test_x[a b]"], {})

    assert (plan.command, plan.runner, plan.selects) == (expected, "pytest", True)
    assert plan_tests(command, [], {}).command == command
    assert "tenure_pytest_report" in plan.variables["PYTEST_ADDOPTS"]


def test_a_path_of_the_command_does_not_hide_the_report() -> None:
    """The plugin that reports the tests is added to a search path that the command sets itself."""
    plan = plan_tests("PYTHONPATH=src pytest", [], {})

    assert plan.command == f"PYTHONPATH=src:{plan.variables['PYTHONPATH']} pytest"


def test_variables_of_a_command_are_known() -> None:
    """Other commands of a project need them too. A command that needs a shell has none."""
    assert read_assignments("PYTHONPATH='a b' X=1 pytest Y=2") == {"PYTHONPATH": "a b", "X": "1"}
    assert read_assignments("X=$HOME pytest") == read_assignments("pytest") == {}


def test_too_many_tests_become_their_files() -> None:
    """A selection that no command can hold selects files, or else everything."""
    names = [f"tests/test_a.py::test_{n:0200}" for n in range(MAX_SELECTION_CHARS // 200)]
    files = [f"tests/test_{n:0200}.py::test_a" for n in range(MAX_SELECTION_CHARS // 200)]

    assert plan_tests("pytest", names, {}).command == "pytest tests/test_a.py"
    assert plan_tests("pytest", files, {}).command == "pytest"
    assert not plan_tests("pytest", files, {}).selects


def test_other_runners_write_reports() -> None:
    """unittest, Go, Cargo, Jest, Vitest, Mocha and Node's own runner report in their own ways."""
    unittest = plan_tests("python3 -m unittest discover -s tests", ["tests.test_a.A.test_x"], {})
    go = plan_tests("go test ./...", ["m/a::TestAdd/one", "m/b::TestX"], {})
    jest = plan_tests("npm test --silent", [], {"test": "jest --ci"})

    assert (unittest.runner, unittest.command.split()[-1]) == ("unittest", "tests.test_a.A.test_x")
    assert "go test -json -run '^(TestAdd|TestX)$' m/a m/b" in go.command
    assert "go test -json ./a/b ./" in plan_tests("go test ./...", ["a/b/c_test.go", "d_test.go"], {}).command
    assert (jest.runner, jest.command) == ("jest", "npm test --silent -- --json --outputFile=/box/out/jest.json")
    assert plan_tests("npm run unit", [], {"unit": "mocha"}).runner == "mocha"
    assert plan_tests("npx vitest run", [], {}).command.endswith("vitest.json")
    assert plan_tests("npm test", [], {"test": "node --test"}).runner == "tap"
    assert plan_tests("cargo test --offline", [], {}).runner == "cargo"


@pytest.mark.parametrize("command", ["make test", "a | b", "cd x && pytest", "'unclosed", "", "X=1"])
def test_any_other_command_runs_as_it_is(command: str) -> None:
    """A command that is no known runner runs unchanged with its output kept, and a pytest in it reports as well."""
    plan = plan_tests(command, ["a"], {})

    assert plan.command.startswith(f"( {command}\n) > /box/out/output.txt 2>&1;")
    assert (plan.runner, plan.selects) == ("other", False)
    assert "PYTEST_ADDOPTS" in plan.variables
