"""Find out from the files of a project how it is installed, tested and checked.

The rules read declarations only: no code of the project is run. Commands that a person gives take their place.
"""

import ast
import configparser
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Ecosystem = Literal["python", "node", "go", "rust", "make", "other"]

MANIFESTS: Final = (
    *("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", ".pytest.ini", "uv.lock"),
    *("poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "mypy.ini", "ruff.toml", ".ruff.toml", ".flake8"),
    *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", ".npmrc"),
    *("go.mod", "go.sum", "Cargo.toml", "Cargo.lock", "Makefile", "makefile", "GNUmakefile"),
    *("CHANGELOG.md", "CHANGELOG.rst", "CHANGELOG.txt", "CHANGELOG", "CHANGES.md", "CHANGES.rst", "CHANGES.txt"),
    *("CHANGES", "HISTORY.md", "HISTORY.rst", "NEWS.md", "NEWS.rst", "NEWS"),
)
"""Files that are read, of the top folder."""

# requirements-dev.txt, dev-requirements.txt, test_requirements.txt, requirements/tests.txt, requirements.test.txt
_REQUIREMENTS: Final = re.compile(
    r"(?:requirements[/._-])?(?:test|tests|testing|dev|develop|development|ci)(?:[._-]requirements)?\.(?:txt|in)"
    r"|(?:test|tests|testing|dev)[._-]requirements\.txt|requirements/requirements[._-](?:test|tests|dev)\.txt"
)
_TEST_EXTRAS: Final = ("test", "tests", "testing", "pytest", "unittest")
_DEV_EXTRAS: Final = ("dev", "develop", "development", "all")
# `name[extra]>=1.0; marker` or `name @ url`
_NAME: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
# `## 1.4.2 (2024-05-01)`, `Version 2.0`, `1.0.1`, `v3.2.0`
_VERSION: Final = re.compile(r"^(?:#+\s*)?(?:[Vv]ersion\s+|[\w.-]+\s+)?\[?v?(\d+\.\d+(?:\.\d+)?)\b", re.MULTILINE)
_VERSION_CHARS: Final = 20_000
"""Beginning of a list of changes in which its latest version is."""
_PYTEST_PLUGINS: Final = {
    "--cov": "pytest-cov",
    "asyncio_mode": "pytest-asyncio",
    "pytest.mark.asyncio": "pytest-asyncio",
    "--timeout": "pytest-timeout",
    "timeout =": "pytest-timeout",
    "-n auto": "pytest-xdist",
    "-n=auto": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "mocker": "pytest-mock",
    "--benchmark": "pytest-benchmark",
    "--randomly": "pytest-randomly",
}
"""Options and settings of pytest's configuration with the plugin that reads them."""
_TOOLS: Final = frozenset(
    "ruff mypy pyright black isort flake8 pylint tox nox pre-commit twine build wheel setuptools setuptools-scm sphinx "
    "furo mkdocs mkdocs-material coverage codespell bandit bump2version bumpversion towncrier check-manifest pip uv "
    "hatch hatchling flit poetry commitizen codecov coveralls interrogate pyupgrade autoflake docformatter".split()
)
"""Packages that projects declare for development and whose absence stops no test."""
# A target of a Makefile: `test: build`, `check:`
_MAKE_TARGET: Final = re.compile(r"^(test|tests|check|lint|typecheck|mypy)\s*:(?!=)", re.MULTILINE)
# A line of `deps` in tox.ini: `pytest>=7`, `py311: numpy`, `-rrequirements.txt`, `{[testenv]deps}`
_TOX_DEPENDENCY: Final = re.compile(r"(?:[\w!,-]+:\s*)?([A-Za-z0-9][^{}]*)")


@dataclass(frozen=True)
class ProjectFacts:
    """Setup, tests and checks of a project."""

    ecosystem: Ecosystem = "other"
    steps: tuple[str, ...] = ()
    """Commands that install it, in order."""
    requirements: tuple[str, ...] = ()
    """Names of the packages that it needs and tests with, besides itself and tools of development."""
    is_linkable: bool = False
    """Whether it is Python without a build step, so that its files can be imported where they are."""
    test: str = ""
    checks: tuple[str, ...] = ()
    reason: str = ""
    version: str = ""
    """Declared version, or one guessed from its list of changes for a build that asks Git."""
    name: str = ""
    """Name of the package."""
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Objects that it offers to other programs, by group and name."""
    manifests: tuple[str, ...] = ()
    """Files that decide what is installed."""


def find_project(files: Mapping[str, str], paths: Sequence[str]) -> ProjectFacts:
    """Return how a project is installed and tested.

    Args:
        files: contents of `MANIFESTS` and of files of requirements, as far as they exist.
        paths: all paths of the project.
    """
    finders = (_find_python, _find_node, _find_go, _find_rust)
    facts = next((found for finder in finders if (found := finder(files, paths))), None) or _find_make(files)
    return facts


def list_manifests(paths: Iterable[str]) -> list[str]:
    """Return the paths of the files that `find_project` reads."""
    return [path for path in paths if path in MANIFESTS or _REQUIREMENTS.fullmatch(path.lower())]


def normalize_name(requirement: str) -> str:
    """Return the name of a Python requirement in its normal form, or an empty text."""
    match = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def _is_tool(name: str) -> bool:
    """Return whether tests do without a package."""
    return name in _TOOLS or name.startswith(("types-", "sphinx-", "flake8-", "mkdocs-"))


def _find_python(files: Mapping[str, str], paths: Sequence[str]) -> ProjectFacts | None:
    requirement_files = [path for path in files if path.endswith((".txt", ".in")) and "hange" not in path]
    requirement_files = [path for path in requirement_files if path == "requirements.txt" or _is_requirements(path)]
    has_manifest = any(name in files for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    tests = [path for path in paths if _is_python_test(path)]
    if not has_manifest and not requirement_files and not tests:
        return None
    manifest = _PythonManifest(files)
    test, reason = _choose_python_tests(files, paths, tests)
    arguments = manifest.list_arguments()
    for name in sorted(requirement_files):
        arguments += ["-r", name]
    names = [*manifest.requirements, *_read_requirement_names(files, requirement_files)]
    if "pytest" in test:
        extra = _find_pytest_plugins(files)
        arguments += [name for name in ("pytest", *extra) if name not in map(normalize_name, names)]
        names += ["pytest", *extra]
    package = normalize_name(manifest.name)
    requirements = tuple(
        dict.fromkeys(name for name in map(normalize_name, names) if name and name != package and not _is_tool(name))
    )
    return ProjectFacts(
        ecosystem="python",
        steps=_list_python_steps(files, arguments),
        requirements=requirements,
        is_linkable=manifest.is_linkable,
        test=test,
        checks=_find_python_checks(files),
        reason=f"{reason}; packages from {', '.join(manifest.sources + sorted(requirement_files)) or 'no declaration'}",
        version=manifest.version or guess_version(files),
        name=manifest.name,
        entry_points=manifest.entry_points,
        manifests=tuple(sorted({*manifest.sources, *requirement_files, *(_LOCKS & files.keys())})),
    )


_LOCKS: Final = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"}


def _is_requirements(path: str) -> bool:
    return _REQUIREMENTS.fullmatch(path.lower()) is not None


def _is_python_test(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py") or name == "tests.py")


def _list_python_steps(files: Mapping[str, str], arguments: Sequence[str]) -> tuple[str, ...]:
    pip = "/environment/bin/python -m pip install"
    steps = ['"$TENURE_PYTHON" -m venv /environment']
    if "uv.lock" in files:
        # The exported list of versions serves any index; the lock itself names the addresses of one.
        export = "/environment/bin/python -m uv export --quiet --frozen --no-hashes --all-extras --all-groups"
        steps += [f"{pip} uv", f"{export} --no-emit-project --output-file /environment/.tmp/locked.txt"]
        steps += [f"{pip} -r /environment/.tmp/locked.txt"]
    if arguments:
        steps.append(f"{pip} {shlex.join(arguments)}")
    return tuple(steps)


class _PythonManifest:
    """Declarations of a Python project."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.project = _parse_toml(files.get("pyproject.toml", ""))
        self.sources = [name for name in ("pyproject.toml", "setup.py", "setup.cfg") if name in files]
        self._table: dict[str, Any] = _get_table(self.project, "project")
        self._poetry: dict[str, Any] = _get_table(_get_table(self.project, "tool"), "poetry")
        self._setup = _read_setup_call(files.get("setup.py", ""))
        self._config = _parse_ini(files.get("setup.cfg", ""))
        self._tox = _parse_ini(files.get("tox.ini", ""))
        self.name = str(self._table.get("name") or self._poetry.get("name") or self._setup.get("name") or "")
        self.name = self.name or self._config.get("metadata", {}).get("name", "")
        self._groups = _expand_groups(_get_table(self.project, "dependency-groups"))

    @property
    def version(self) -> str:
        """Declared version; empty if the build finds it out."""
        version = self._table.get("version") or self._poetry.get("version") or self._setup.get("version")
        version = version or self._config.get("metadata", {}).get("version", "")
        return version if isinstance(version, str) and re.fullmatch(r"[\w.!+-]+", version) else ""

    @property
    def entry_points(self) -> dict[str, dict[str, str]]:
        """Objects that it offers to other programs, by group and name."""
        groups = {name: dict(table) for name, table in _get_table(self._table, "entry-points").items()}
        for group, name in (("console_scripts", "scripts"), ("gui_scripts", "gui-scripts")):
            groups.setdefault(group, {}).update(_get_table(self._table, name) or _get_table(self._poetry, name))
        declared = {name: _get_texts(_get_table(self._setup, "entry_points"), name) for name in ("console_scripts",)}
        declared |= {name: text.split("\n") for name, text in self._config.get("options.entry_points", {}).items()}
        for group, lines in declared.items():
            pairs = (line.partition("=") for line in lines if "=" in line)
            groups.setdefault(group, {}).update({name.strip(): target.strip() for name, _, target in pairs})
        return {
            group: {
                name: target for name, target in entries.items() if isinstance(target, str) and _is_entry(name, target)
            }
            for group, entries in groups.items()
            if entries
        }

    @property
    def is_installable(self) -> bool:
        """Whether pip can install the project itself."""
        declared = self._table.get("name") or self._poetry.get("name") or "build-system" in self.project
        return bool(declared) or bool({"setup.py", "setup.cfg"} & set(self.sources) and self.name)

    @property
    def is_linkable(self) -> bool:
        """Whether nothing has to be built: no extension modules, and no backend that compiles."""
        backend = str(_get_table(self.project, "build-system").get("build-backend", ""))
        compiled = ("maturin", "scikit_build", "mesonpy", "meson", "cython", "enscons", "sipbuild")
        return "ext_modules" not in self._setup and not any(word in backend for word in compiled)

    @property
    def requirements(self) -> list[str]:
        """Packages that the project and its tests need."""
        requirements = [*_get_texts(self._table, "dependencies"), *_get_texts(self._setup, "install_requires")]
        requirements += self._config.get("options", {}).get("install_requires", "").split("\n")
        requirements += [name for name in _get_table(self._poetry, "dependencies") if name != "python"]
        extras = self._extras
        for name in self._choose(extras):
            requirements += extras[name]
        return [*requirements, *self._test_requirements]

    @property
    def _extras(self) -> dict[str, list[str]]:
        table = _get_table(self._table, "optional-dependencies") or _get_table(self._setup, "extras_require")
        extras = {name: _get_texts(table, name) for name in table}
        extras |= {name: text.split("\n") for name, text in self._config.get("options.extras_require", {}).items()}
        extras |= {
            name: _get_texts(_get_table(self._poetry, "extras"), name) for name in _get_table(self._poetry, "extras")
        }
        return extras

    @staticmethod
    def _choose(names: Iterable[str]) -> list[str]:
        """Return the extras or groups for tests, else those for development."""
        by_lower_name = {name.lower(): name for name in names}
        return [by_lower_name[name] for name in _TEST_EXTRAS if name in by_lower_name] or [
            by_lower_name[name] for name in _DEV_EXTRAS if name in by_lower_name
        ]

    @property
    def _test_requirements(self) -> list[str]:
        """Packages of groups and of the declarations for tests, which are no part of an installed project."""
        requirements = [*_get_texts(self._setup, "tests_require")]
        chosen = [name for name in ("test", "tests", "testing", "dev") if name in self._groups]
        for name in chosen:
            requirements += self._groups[name]
        for group_name, group in _get_table(self._poetry, "group").items():
            if group_name in ("test", "tests", "testing", "dev") and isinstance(group, dict):
                requirements += list(_get_table(group, "dependencies"))
        requirements += _get_table(self._poetry, "dev-dependencies")
        tox = self._tox.get("testenv", {}).get("deps", "").split("\n")
        return [*requirements, *(match[1] for line in tox if (match := _TOX_DEPENDENCY.fullmatch(line.strip())))]

    def list_arguments(self) -> list[str]:
        """Return pip's arguments for the project and what its tests need."""
        arguments = []
        if self.is_installable:
            extras = self._choose(self._extras)
            arguments = ["-e", f".[{','.join(extras)}]" if extras else "."]
        return [*arguments, *(text.strip() for text in self._test_requirements if text.strip())]


def _is_entry(name: str, target: Any) -> bool:
    """Return whether an entry point can be written in a line, such as `tool = package.module:main`."""
    return isinstance(target, str) and bool(
        re.fullmatch(r"[\w.+-]+", name) and re.fullmatch(r"[\w.]+(?::[\w.]+)?", target)
    )


def _expand_groups(table: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the requirements of each dependency group with those of the groups that it includes."""

    def expand(name: str, parents: frozenset[str]) -> list[str]:
        entries = table.get(name, [])
        requirements: list[str] = []
        for entry in entries if isinstance(entries, list) and name not in parents else []:
            if isinstance(entry, str):
                requirements.append(entry)
            elif isinstance(entry, dict):
                requirements += expand(str(entry.get("include-group", "")), parents | {name})
        return requirements

    return {name: expand(name, frozenset()) for name in table}


def _read_requirement_names(files: Mapping[str, str], names: Iterable[str]) -> list[str]:
    lines = [line.partition("#")[0].strip() for name in names for line in files[name].splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def _read_setup_call(source: str) -> dict[str, Any]:
    """Return the literal arguments of `setup(...)`; other arguments have the value None."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "setup":
            return {word.arg: _read_literal(word.value) for word in node.keywords if word.arg}
    return {}


def _read_literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            return {key: [] for key in keys if isinstance(key, str)}
        return None


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _parse_ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {section: dict(parser[section]) for section in parser.sections()}


def _get_table(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = table.get(name)
    return value if isinstance(value, dict) else {}


def _get_texts(table: Mapping[str, Any], name: str) -> list[str]:
    value = table.get(name)
    value = [value] if isinstance(value, str) else value
    return [text for text in value if isinstance(text, str)] if isinstance(value, list | tuple) else []


def _read_pytest_configuration(files: Mapping[str, str]) -> str:
    """Return the text of pytest's configuration; empty if there is none."""
    tables = _get_table(_parse_toml(files.get("pyproject.toml", "")), "tool")
    texts = [files.get(name, "") for name in ("pytest.ini", ".pytest.ini")]
    if "pytest" in tables:
        options = _get_table(_get_table(tables, "pytest"), "ini_options") or _get_table(tables, "pytest")
        texts.append("\n".join(f"{name} = {_show(value)}" for name, value in options.items()))
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        options = _parse_ini(files.get(name, "")).get(section, {})
        texts.append("\n".join(f"{key} = {value}" for key, value in options.items()))
    return "\n".join(text for text in texts if text)


def _show(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _find_pytest_plugins(files: Mapping[str, str]) -> list[str]:
    text = _read_pytest_configuration(files)
    return list(dict.fromkeys(plugin for sign, plugin in _PYTEST_PLUGINS.items() if sign in text))


def _choose_python_tests(files: Mapping[str, str], paths: Sequence[str], tests: Sequence[str]) -> tuple[str, str]:
    """Return the test command and where it was found."""
    if _read_pytest_configuration(files):
        return "python -m pytest", "configuration of pytest"
    if any(path.rsplit("/", 1)[-1] == "conftest.py" for path in paths):
        return "python -m pytest", "a conftest.py of pytest"
    if tests:
        return "python -m pytest", f"Python tests in {len(tests)} file(s)"
    return "", "no Python tests were found"


def _find_python_checks(files: Mapping[str, str]) -> tuple[str, ...]:
    tables = _get_table(_parse_toml(files.get("pyproject.toml", "")), "tool")
    checks = []
    if "ruff" in tables or files.keys() & {"ruff.toml", ".ruff.toml"}:
        checks.append("python -m ruff check --no-cache --output-format=concise .")
    sections = _parse_ini(files.get("setup.cfg", "")).keys() | _parse_ini(files.get("tox.ini", "")).keys()
    if ".flake8" in files or "flake8" in sections:
        checks.append("python -m flake8")
    if "mypy" in tables or "mypy.ini" in files or "mypy" in sections:
        files_of_mypy = _get_table(tables, "mypy").keys() & {"files", "packages", "modules"}
        checks.append(f"python -m mypy --cache-dir=/box/tmp/mypy{'' if files_of_mypy else ' .'}")
    return tuple(checks)


def guess_version(files: Mapping[str, str]) -> str:
    """Return the latest version in the list of changes, or 1.0.0."""
    for name in MANIFESTS:
        is_list = name.startswith(("CHANGE", "HISTORY", "NEWS")) and name in files
        if is_list and (match := _VERSION.search(files[name][:_VERSION_CHARS])):
            return match[1]
    return "1.0.0"


def _find_node(files: Mapping[str, str], paths: Sequence[str]) -> ProjectFacts | None:
    if "package.json" not in files:
        return None
    try:
        package = json.loads(files["package.json"])
    except (ValueError, RecursionError):
        return ProjectFacts(ecosystem="node", reason="package.json is no JSON")
    package = package if isinstance(package, dict) else {}
    scripts = _get_table(package, "scripts")
    needed = [name for kind in ("dependencies", "devDependencies") for name in _get_table(package, kind)]
    locks = [name for name in ("pnpm-lock.yaml", "package-lock.json", "npm-shrinkwrap.json") if name in files]
    copied = shlex.join(["package.json", *locks, *([".npmrc"] if ".npmrc" in files else [])])
    if "pnpm-lock.yaml" in files:
        install = "pnpm install --frozen-lockfile --ignore-scripts=false"
    else:
        install = "npm ci" if locks else "npm install"
    test = str(scripts.get("test", ""))
    is_missing = not test or "no test specified" in test
    return ProjectFacts(
        ecosystem="node",
        # Node finds packages in any folder above that of the project.
        steps=(f"cp {copied} /environment/ && cd /environment && {install}",) if needed else (),
        requirements=tuple(needed),
        test="" if is_missing else "npm test --silent",
        checks=tuple(f"npm run --silent {name}" for name in ("lint", "typecheck") if name in scripts),
        reason="script `test` of package.json" if not is_missing else "package.json has no script `test`",
        manifests=("package.json", *locks),
    )


def _find_go(files: Mapping[str, str], paths: Sequence[str]) -> ProjectFacts | None:
    if "go.mod" not in files:
        return None
    needs = "require" in files["go.mod"] and "vendor/modules.txt" not in paths
    return ProjectFacts(
        ecosystem="go",
        steps=("go mod download",) if needs else (),
        requirements=("modules of go.mod",) if needs else (),
        test="go test ./...",
        checks=("go vet ./...",),
        reason="go.mod",
        manifests=tuple(name for name in ("go.mod", "go.sum") if name in files),
    )


def _find_rust(files: Mapping[str, str], paths: Sequence[str]) -> ProjectFacts | None:
    if "Cargo.toml" not in files:
        return None
    tables = _parse_toml(files["Cargo.toml"])
    needs = bool(_get_table(tables, "dependencies") or _get_table(tables, "dev-dependencies") or "workspace" in tables)
    return ProjectFacts(
        ecosystem="rust",
        steps=("cargo fetch",) if needs else (),
        requirements=("crates of Cargo.toml",) if needs else (),
        test="cargo test --offline",
        reason="Cargo.toml",
        manifests=tuple(name for name in ("Cargo.toml", "Cargo.lock") if name in files),
    )


def _find_make(files: Mapping[str, str]) -> ProjectFacts:
    name = next((name for name in ("GNUmakefile", "makefile", "Makefile") if name in files), "")
    targets = _MAKE_TARGET.findall(files.get(name, ""))
    chosen = next((target for target in ("test", "check", "tests") if target in targets), "")
    if not chosen:
        return ProjectFacts(reason="no declaration of a known kind was found; give the test command")
    return ProjectFacts(
        ecosystem="make",
        test=f"make {chosen}",
        checks=tuple(f"make {target}" for target in ("lint", "typecheck", "mypy") if target in targets),
        reason=f"target `{chosen}` of {name}",
        manifests=(name,),
    )
