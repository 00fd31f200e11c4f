"""Test how setup, tests and checks of a project are found in its files."""

import json

import pytest

from tenure.algorithms.coding.project_files import find_project, guess_version, list_manifests


def test_a_python_project_is_read_from_its_declarations() -> None:
    """Extras and groups for tests, plugins of pytest's options, and configured checks are found; tools are left out."""
    files = {
        "pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "Calc.Core"
version = "2.1"
dependencies = ["attrs>=22", "numpy; python_version > '3'"]
[project.optional-dependencies]
test = ["pytest>=7"]
docs = ["sphinx"]
[project.scripts]
calc = "calc.cli:main"
bad = "calc; import os"
[dependency-groups]
lint = ["ruff"]
dev = ["hypothesis", {include-group = "lint"}, {include-group = "dev"}]
[tool.pytest.ini_options]
addopts = "--cov=calc"
[tool.ruff]
[tool.mypy]
files = ["src"]
""",
    }

    found = find_project(files, ["pyproject.toml", "src/calc/__init__.py", "tests/test_a.py"])

    assert (found.ecosystem, found.name, found.version, found.is_linkable) == ("python", "Calc.Core", "2.1", True)
    assert found.steps == (
        '"$TENURE_PYTHON" -m venv /environment',
        "/environment/bin/python -m pip install -e '.[test]' hypothesis ruff pytest-cov",
    )
    assert found.requirements == ("attrs", "numpy", "pytest", "hypothesis", "pytest-cov")
    assert found.entry_points == {"console_scripts": {"calc": "calc.cli:main"}}
    assert found.test == "python -m pytest"
    assert [check.split()[2] for check in found.checks] == ["ruff", "mypy"]


def test_an_older_python_project_is_read_without_running_it() -> None:
    """Literal arguments of setup(), tox and files of requirements are read; code of the project is not run."""
    files = {
        "setup.py": "import os\nos._exit(9)\nsetup(name='old', install_requires=['six'], extras_require={'test': X})",
        "tox.ini": "[testenv]\ndeps =\n    pytest>=3\n    py38: mock\n    -r more.txt\n[flake8]\nmax-line-length = 9",
        "requirements-dev.txt": "responses  # comment\n-e .\n",
    }

    found = find_project(files, ["setup.py", "tests/test_a.py", "requirements-dev.txt"])

    assert found.steps[1] == (
        "/environment/bin/python -m pip install -e '.[test]' 'pytest>=3' mock -r requirements-dev.txt"
    )
    assert found.requirements == ("six", "pytest", "mock", "responses")
    assert found.checks == ("python -m flake8",)
    assert set(found.manifests) == {"setup.py", "requirements-dev.txt"}


def test_a_lock_file_gives_its_versions() -> None:
    """With uv.lock the locked versions are installed from any index, and the file is part of the environment's key."""
    files = {"pyproject.toml": "[project]\nname = 'a'\nversion = '1'", "uv.lock": "version = 1"}

    found = find_project(files, ["tests/test_a.py"])

    assert "uv export" in found.steps[2]
    assert "uv.lock" in found.manifests


@pytest.mark.parametrize("text", ["[project", "a = 1\na = 2", "[project]\nname = 3\ndependencies = 'x'", "\0"])
def test_broken_declarations_stop_nothing(text: str) -> None:
    """A declaration that cannot be read counts as empty."""
    found = find_project({"pyproject.toml": text, "setup.cfg": text, "setup.py": text}, ["test_a.py"])

    assert (found.ecosystem, found.test) == ("python", "python -m pytest")


def test_compiled_projects_cannot_be_linked() -> None:
    """Extension modules have to be built."""
    rust = {"pyproject.toml": "[build-system]\nbuild-backend = 'maturin'\n[project]\nname = 'a'"}
    c = {"setup.py": "setup(name='a', ext_modules=[Extension('a', ['a.c'])])"}

    assert not find_project(rust, ["test_a.py"]).is_linkable
    assert not find_project(c, ["test_a.py"]).is_linkable


def test_node_packages_are_installed_outside_of_the_files() -> None:
    """With a lock file its versions are installed; the default script of npm is no test."""
    package = {"devDependencies": {"jest": "1"}, "scripts": {"test": "jest", "lint": "eslint ."}}
    found = find_project({"package.json": json.dumps(package), "package-lock.json": "{}"}, [])

    assert found.steps == ("cp package.json package-lock.json /environment/ && cd /environment && npm ci",)
    assert (found.test, found.checks) == ("npm test --silent", ("npm run --silent lint",))
    empty = {"scripts": {"test": 'echo "Error: no test specified" && exit 1'}}
    assert find_project({"package.json": json.dumps(empty)}, []).test == ""
    assert find_project({"package.json": "[1]"}, []).test == ""


def test_other_kinds_have_their_own_commands() -> None:
    """Go, Rust and Make are found; of anything else nothing is known."""
    go = find_project({"go.mod": "module a\nrequire b v1"}, [])
    rust = find_project({"Cargo.toml": "[package]\nname = 'a'\n[dependencies]\nb = '1'"}, [])
    make = find_project({"Makefile": "all:\n\tcc a.c\ncheck: all\n\t./a\nlint:\n\tx\n"}, [])
    other = find_project({}, ["a.zig"])

    assert (go.test, go.steps) == ("go test ./...", ("go mod download",))
    assert (rust.test, rust.steps) == ("cargo test --offline", ("cargo fetch",))
    assert (make.test, make.checks) == ("make check", ("make lint",))
    assert (other.test, other.ecosystem) == ("", "other")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("# Changelog\n\n## [Unreleased]\n\n## [1.4.2] - 2024-05-01\n", "1.4.2"),
        ("Changes\n=======\n\nVersion 2.0\n-----------\n", "2.0"),
        ("v3.2.0\n\n- fix", "3.2.0"),
        ("attrs 22.1.0 (2022)\n", "22.1.0"),
        ("nothing", "1.0.0"),
    ],
)
def test_the_version_is_guessed_from_the_changes(text: str, version: str) -> None:
    """Builds that ask Git for a version get the latest one of the list of changes."""
    assert guess_version({"CHANGELOG.md": text}) == version


def test_only_declarations_are_read() -> None:
    """Of all paths, those of declarations and of requirements for tests are read."""
    paths = [
        "setup.py",
        "src/setup.py",
        "requirements/tests.txt",
        "requirements/docs.txt",
        "a.txt",
        "dev-requirements.txt",
    ]

    assert list_manifests(paths) == ["setup.py", "requirements/tests.txt", "dev-requirements.txt"]
