"""Test the layers of the code base: import directions, purity, the form of roles, and forbidden contents of files.

The rules apply to all files, so a new file needs no change here.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import grimp
import pytest

from tenure.roles.base import BaseRole, RoleOutput
from tenure.roles.registry import list_role_names, load_roles
from tests.support.tiers import slow

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tenure", "workflows", "activities")

MAX_FILES = 20
"""Python files that a folder may hold."""

PURE = {"tenure.contracts", "tenure.algorithms", "tenure.roles"}
"""Packages that a workflow may run: no I/O, no clock, no randomness."""

WORLD = {
    "tenure.models",
    "tenure.role_executor",
    "tenure.knowledge",
    "tenure.sources",
    "tenure.sandbox",
    "tenure.repositories",
    "tenure.report",
}
"""Packages that do I/O or render results."""

APPLICATION = {
    *(
        "tenure.runs",
        "tenure.cli",
        "tenure.site",
        "tenure.python_api",
        "tenure.mcp_server",
        "tenure.team",
        "tenure.temporal",
    ),
    "tenure.__main__",
}
"""Faces of the product and Temporal plumbing: parts that know the SDK or the workflows."""

MAY_IMPORT: dict[str, set[str]] = {
    "tenure.contracts": set(),
    "tenure.encryption_keys": set(),
    "tenure.extensions": set(),
    "tenure.installation": set(),
    "tenure.files": set(),
    "tenure.private_files": set(),
    "tenure.document_roots": {"tenure.installation", "tenure.ownership"},
    "tenure.ownership": set(),
    "tenure.settings": {
        *("tenure.contracts", "tenure.roles", "tenure.extensions", "tenure.ownership", "tenure.installation"),
        "tenure.encryption_keys",
    },
    "tenure.prices": {"tenure.contracts", "tenure.settings"},
    "tenure.notifications": {"tenure.contracts", "tenure.settings"},
    "tenure.logs": {"tenure.settings", "tenure.algorithms"},
    "tenure.metrics": {"tenure.contracts"},
    "tenure.local_models": {"tenure.contracts", "tenure.settings", "tenure.installation", "tenure.private_files"},
    "tenure.tracing": set(),
    "tenure.algorithms": {"tenure.contracts"},
    # Roles of plugins are found by the environment variable that `tenure.extensions` reads.
    "tenure.roles": {"tenure.contracts", "tenure.algorithms", "tenure.extensions"},
    "tenure.models": {"tenure.contracts", "tenure.algorithms", "tenure.settings", "tenure.prices", "tenure.tracing"},
    # Asks models on behalf of roles, which stay pure.
    "tenure.role_executor": {*PURE, "tenure.models"},
    "tenure.sources": {*PURE, "tenure.settings", "tenure.extensions", "tenure.files"},
    # The knowledge base reads sources and embeds them.
    "tenure.knowledge": {
        *(*PURE, "tenure.settings", "tenure.models", "tenure.sources", "tenure.files", "tenure.ownership"),
    },
    "tenure.sandbox": {*PURE, "tenure.settings", "tenure.files", "tenure.installation"},
    # Web addresses of repositories have the rules of pages.
    "tenure.repositories": {
        *("tenure.contracts", "tenure.algorithms", "tenure.sandbox", "tenure.sources", "tenure.settings"),
        *("tenure.files", "tenure.installation"),
    },
    "tenure.report": PURE,
    "tenure.temporal": {
        *("tenure.contracts", "tenure.settings", "tenure.prices", "tenure.extensions", "tenure.private_files"),
        # The archive of finished runs is in the knowledge base, whose identity a namespace is bound to.
        *("tenure.ownership", "workflows", "tenure.knowledge", "tenure.metrics", "tenure.roles"),
        *("tenure.installation", "tenure.encryption_keys", "tenure.local_models"),
    },
    "activities": {
        *(*PURE, *WORLD, "tenure.settings", "tenure.prices", "tenure.notifications"),
        *("tenure.document_roots", "tenure.ownership", "tenure.metrics", "tenure.tracing", "tenure.files"),
    },
    # Activity classes for their names only.
    "workflows": {*PURE, "activities", "tenure.extensions", "tenure.ownership", "tenure.metrics", "tenure.tracing"},
    # Operations on runs, corpora and memories; the faces below parse into their requests and show their results.
    "tenure.runs": {
        *("tenure.contracts", "tenure.report", "tenure.temporal", "tenure.settings", "tenure.prices", "workflows"),
        *("tenure.files", "tenure.algorithms", "tenure.document_roots", "tenure.ownership", "tenure.installation"),
        # A commit is packed for workers on other machines.
        *("tenure.local_models", "tenure.repositories"),
    },
    "tenure.cli": {
        *("tenure.runs", "tenure.site", "tenure.mcp_server", "tenure.team"),
        *("tenure.contracts", "tenure.report", "tenure.temporal", "tenure.settings", "tenure.prices", "workflows"),
        *("tenure.extensions", "tenure.files", "tenure.algorithms", "tenure.document_roots", "tenure.ownership"),
        *("tenure.installation", "tenure.local_models", "tenure.logs"),
    },
    "tenure.__main__": {"tenure.cli", "tenure.installation"},
    "tenure.site": {
        *("tenure.runs", "tenure.contracts", "tenure.report", "tenure.temporal", "tenure.settings"),
        # Search providers with their descriptions, and the client of MCP servers.
        *("tenure.installation", "tenure.algorithms", "tenure.sources", "tenure.prices"),
    },
    "tenure.python_api": {"tenure.runs", "tenure.contracts", "tenure.settings", "tenure.local_models"},
    # Over HTTP it has the access control and the server of the site.
    "tenure.mcp_server": {
        *("tenure.runs", "tenure.contracts", "tenure.settings", "tenure.temporal", "tenure.report", "tenure.site"),
        "tenure.installation",
    },
    # Page, API and MCP of several owners, behind a sign-in.
    "tenure.team": {
        *("tenure.runs", "tenure.settings", "tenure.temporal", "tenure.site", "tenure.mcp_server"),
        "tenure.private_files",
    },
}
"""Packages that each layer may import besides itself."""

TAKE_ALL_SETTINGS = (
    *("worker", "tenure.cli", "tenure.mcp_server.home", "tenure.runs.service", "tenure.runs.session.server_target"),
    *("tenure.runs.configuration", "tenure.site.settings_pages"),
    *("tenure.temporal.stack", "tenure.team.server"),
)
"""Modules that start a process or all rooms of one; the others take the group that they read."""

PURE_LIBRARIES = {
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "numpy",
    "sentencex",
    "Stemmer",
    "idna",
    "py3langid",
    "babel",
    "markdown_it",
    "tree_sitter",
}
"""Third-party packages that compute and nothing else."""

IMPURE_STANDARD = {
    *("asyncio", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil"),
    *("signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
}
"""Modules of the standard library that reach out, wait, or give another answer the next time."""

NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc"}
"""Names that say nothing about what is inside."""


@cache
def graph() -> grimp.ImportGraph:
    """Build the import graph of the code base, including external packages."""
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def part(module: str) -> str:
    """Return the layer of a module."""
    return ".".join(module.split(".")[: 2 if module.startswith("tenure.") else 1])


def modules_of(*parts: str) -> list[str]:
    """Return the modules of some layers."""
    return sorted(module for module in graph().modules if part(module) in parts)


def imports(module: str) -> set[str]:
    """Return the direct imports of a module."""
    return graph().find_modules_directly_imported_by(module)


@cache
def tracked() -> list[Path]:
    """Return the files of the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def parsed(path: Path) -> ast.Module:
    """Parse a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_part_of_the_house_has_its_rule() -> None:
    """A new package cannot appear without a decision about what it may import."""
    parts = {part(module) for module in graph().modules if module.split(".")[0] in PACKAGES}

    assert parts - {"tenure"} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_imports_go_in_one_direction(name: str) -> None:
    """A layer imports only lower layers."""
    allowed = MAY_IMPORT[name] | {name, "tenure"}
    wrong = {
        f"{module} imports {imported}"
        for module in modules_of(name)
        for imported in imports(module)
        if imported.split(".")[0] in PACKAGES and part(imported) not in allowed
    }

    assert wrong == set()


def children(package: str) -> dict[str, set[str]]:
    """Return the imports between the files and subpackages of a package."""
    inside = {module for module in graph().modules if module.startswith(f"{package}.")}

    def child(module: str) -> str:
        return module[len(package) + 1 :].split(".")[0]

    edges: dict[str, set[str]] = {child(module): set() for module in inside}
    for module in inside:
        edges[child(module)] |= {child(other) for other in imports(module) & inside} - {child(module)}
    return edges


def packages() -> list[str]:
    """Return the packages of the code base, including nested ones."""
    parents = {module.rpartition(".")[0] for module in graph().modules if module.split(".")[0] in PACKAGES}
    return sorted(parents - {""})


@pytest.mark.parametrize("package", packages())
def test_no_package_has_an_import_circle(package: str) -> None:
    """The files and subpackages of a package can be put in an order in which each imports only earlier ones."""
    tuple(TopologicalSorter(children(package)).static_order())


def test_no_folder_is_too_large_to_survey() -> None:
    """No folder holds more than twenty Python files, apart from `__init__.py`."""
    folders = Counter(path.parent for path in tracked() if path.suffix == ".py" and path.name != "__init__.py")
    large = {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > MAX_FILES}

    assert large == {}


def test_a_room_takes_its_own_settings() -> None:
    """No function takes all settings, apart from those that start a process or all rooms of one."""
    wrong = [
        f"{module}.{function.name}"
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in (*PACKAGES, "worker.py", "client.py")
        for module in [".".join(path.relative_to(ROOT).with_suffix("").parts)]
        if not module.startswith((*TAKE_ALL_SETTINGS, "tenure.settings"))
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        if re.search(r"\bSettings\b", ast.unparse(function.args))
    ]

    assert wrong == []


def test_the_library_knows_nothing_of_temporal() -> None:
    """No module of the library imports the SDK, a workflow or an activity."""
    # The package itself names the Python interface, which it imports at its first use.
    library = [module for module in graph().modules if module.startswith("tenure.") and part(module) not in APPLICATION]
    wrong = {
        f"{module} imports {imported}"
        for module in library
        for imported in imports(module)
        if imported.split(".")[0] in ("temporalio", "workflows", "activities") or part(imported) in APPLICATION
    }

    assert wrong == set()


def test_pure_parts_import_nothing_that_reaches_out() -> None:
    """Contracts, algorithms and roles use computing libraries and the harmless part of the standard library."""
    allowed = {*PACKAGES, *PURE_LIBRARIES, *sys.stdlib_module_names} - IMPURE_STANDARD
    wrong = {
        f"{module} imports {imported}"
        for module in modules_of(*PURE)
        for imported in imports(module)
        if imported.split(".")[0] not in allowed
    }

    assert wrong == set()


@pytest.mark.parametrize("module", modules_of(*PURE))
def test_pure_parts_open_no_file(module: str) -> None:
    """No pure module calls the built-ins that touch a file, a terminal or code as text."""
    called = {
        node.func.id
        for node in ast.walk(parsed(_locate(module)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert called & {"open", "print", "input", "exec", "eval", "compile"} == set()


def test_the_operations_neither_parse_words_nor_print() -> None:
    """Every face has the operations: they know no command line, and leave output to the face."""
    loud = {
        f"{module} calls {node.func.id}"
        for module in modules_of("tenure.runs")
        for node in ast.walk(parsed(_locate(module)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input")
    }
    reached = {imported for module in modules_of("tenure.runs") for imported in imports(module)}

    assert loud == set()
    assert not reached & {"argparse", "rich", "logging", "structlog"}


def _locate(module: str) -> Path:
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_the_client_knows_the_command_line_only() -> None:
    """client.py imports the command line and nothing else."""
    file = ROOT / "client.py"
    own = {name for name in _imported(file) if name.split(".")[0] in (*PACKAGES, "worker")}

    assert {part(name) for name in own} == {"tenure.cli"}


def _imported(file: Path) -> set[str]:
    """Return the dotted names that a file imports."""
    names: set[str] = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def test_no_module_has_a_name_that_says_nothing() -> None:
    """There is no drawer for what found no place."""
    names = {stem for path in tracked() if path.suffix == ".py" for stem in (path.stem, path.parent.name)}

    assert names & NAMELESS == set()


@pytest.mark.parametrize("name", list_role_names())
def test_a_role_has_a_prompt_and_a_schema(name: str) -> None:
    """Every role module exports ROLE, named for the module, built from its own prompt and its own rule, if any."""
    role = load_roles()[name]
    module = import_module(role.render.__module__)

    assert isinstance(role, BaseRole)
    assert role.name == name
    assert (role.render, role.fallback) == (module.render, getattr(module, "fallback", role.fallback))
    assert issubclass(role.output, RoleOutput)
    assert all(field.description for field in role.output.model_fields.values())
    assert module.SYSTEM.strip()
    assert len(module.SYSTEM.splitlines()) <= 60


@pytest.mark.parametrize("name", list_role_names())
def test_a_role_has_an_activity_of_its_name(name: str) -> None:
    """Each role runs as the activity of its name, which the web UI shows."""
    activities = import_module("activities.roles").RoleActivities(None, None)
    definition = activities.build(load_roles()[name]).__temporal_activity_definition

    assert definition.name == name
    assert (definition.arg_types, definition.ret_type) == (
        [load_roles()[name].request_type],
        load_roles()[name].reply_type,
    )


def test_the_worker_registers_every_activity_class() -> None:
    """Each class of activities in activities/ is built in worker.py."""
    classes = {
        node.name
        for path in (ROOT / "activities").glob("*.py")
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Activities")
    }
    built = {
        node.func.id
        for node in ast.walk(parsed(ROOT / "worker.py"))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert classes
    assert classes <= built


@slow
def test_every_test_says_what_it_holds() -> None:
    """Each test function has a docstring of one sentence on its first line."""
    wrong = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in tracked()
        if path.is_relative_to(ROOT / "tests") and path.name.startswith("test_") and path.suffix == ".py"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if not (ast.get_docstring(node) or "").split("\n")[0].rstrip().endswith(".")
    ]

    assert wrong == []


# Put together from pieces, so that this file does not say what it forbids.
FORBIDDEN = {
    "a package registry": "|".join(
        re.escape(host + "." + domain)
        for host, domain in [
            ("pypi", "org"),
            ("python" + "hosted", "org"),
            ("npmjs", "org"),
            ("crates", "io"),
            ("ghcr", "io"),
            ("docker", "io"),
            ("quay", "io"),
            ("deb.debian", "org"),
            ("proxy.golang", "org"),
        ]
    ),
    "a path of one machine": "|".join(
        [r"(?<![\w.])/wor" + r"k/\w", r"(?<![\w.])/roo" + r"t/\w", r"(?<![\w.])/tm" + r"p/\w"]
    ),
}


@slow
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names_what_belongs_to_one_machine(what: str) -> None:
    """No file of the repository names a package registry's host or a path of one machine."""
    pattern = re.compile(FORBIDDEN[what])
    wrong = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="replace")
        wrong += [f"{path.relative_to(ROOT)}: {match.group()}" for match in pattern.finditer(text)]

    assert wrong == []
