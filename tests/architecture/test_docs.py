"""Test that the manual is current: generated pages, commands, links, and the commands of the README."""

import argparse
import importlib.util
import io
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tenure.contracts.evidence.rerank import RerankOptions
from tenure.extensions import PLUGINS_VARIABLE, SEARCH_PROVIDERS, list_extensions
from tenure.roles.registry import list_role_names
from tenure.settings import Settings, get_environment_variable
from tenure.settings.models import RoleSettings
from tenure.sources.parsers.parse import parse_file
from tenure.sources.parsers.registry import read_declarations
from tenure.sources.search.api_provider import ApiProvider
from tests.architecture.linters import load_linter
from tests.runs.command_lines import PARSER
from tests.support.tiers import slow
from workflows.research.tool_registry import TOOLS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
LINKED = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")), *PAGES]
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE: dict[Path, str] = load_linter("reference").render_files()


GUIDE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
EXAMPLES = {
    path: source
    for block in re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for path, source in re.findall(r"\A# (\S+\.py)\n(.*)", block, re.DOTALL)
}
"""Modules that the contributor guide shows, by their paths."""


def commands(parser: argparse.ArgumentParser, prefix: str = "") -> dict[str, argparse.ArgumentParser]:
    """Return the real parser of each command, also of those in a group, by its words."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    found: dict[str, argparse.ArgumentParser] = {}
    for name, one in (pair for group in groups for pair in group.choices.items()):
        found |= commands(one, f"{prefix}{name} ") or {prefix + name: one}
    return found


COMMANDS = commands(PARSER)


def shell_lines(text: str) -> list[str]:
    """Return the lines of all shell examples."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("path", REFERENCE, ids=lambda path: path.name)
def test_a_generated_file_is_current(path: Path) -> None:
    """The generated parts of the manual and the schema of results are what `.ci/reference.py` writes."""
    assert path.read_text(encoding="utf-8") == REFERENCE[path]


def test_the_page_of_tools_has_each_tool_and_argument() -> None:
    """docs/tools.md has a row for each tool and for each of its arguments."""
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")

    assert all(f"| `{name}` |" in page for tool in TOOLS.values() for name in (tool.name, *tool.arguments.model_fields))


def test_every_setting_has_a_place_in_the_reference() -> None:
    """The groups of the reference hold each setting once, and no other."""
    reference = load_linter("reference")
    named = [name for group in reference.GROUPS for name in reference.list_own_settings(group)]

    assert sorted(named) == sorted(Settings.model_fields)


def test_the_reference_names_the_variable_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting is changed by the variable that the reference names for it."""
    monkeypatch.setenv(get_environment_variable("max_sections"), "3")
    monkeypatch.setenv(get_environment_variable("openai_base_url"), "http://127.0.0.1:9/v1")

    assert (Settings().max_sections, Settings().openai_base_url) == (3, "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_names_no_variable_that_nothing_reads(path: Path) -> None:
    """Every TENURE_ or OPENAI_ variable of the manual is a setting, or belongs to the example provider `acme`."""
    used = set(re.findall(r"\b(?:TENURE|OPENAI)_[A-Z_]+\b", path.read_text(encoding="utf-8")))

    single = {
        f"{get_environment_variable('roles')}__{role.upper()}__{name.upper()}"
        for role in list_role_names()
        for name in RoleSettings.model_fields
    }
    single |= {f"{get_environment_variable('rerank')}__{step.upper()}" for step in RerankOptions.model_fields}
    single |= {
        f"TENURE_{provider}_{suffix}".upper()
        for provider in (*list_extensions(SEARCH_PROVIDERS), "acme")
        for suffix in ("key", "token", "url")
    }
    assert used <= {get_environment_variable(name) for name in Settings.model_fields} | single | {PLUGINS_VARIABLE}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_reference_names_every_command_and_option(name: str) -> None:
    """docs/cli.md has a heading for each command, an example of it, and all its options."""
    headings = [line for line in CLI.splitlines() if line.startswith("## ")]
    options = {
        option
        for action in COMMANDS[name]._actions
        for option in action.option_strings
        if option not in ("-h", "--help")
    }

    assert any(re.search(rf"\b{name.split()[0]}\b", heading.split(":")[0]) for heading in headings)
    assert any(re.match(rf"python client\.py {name}\b", line) for line in shell_lines(CLI))
    assert {option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", CLI)} == set()


@slow
@pytest.mark.parametrize("path", LINKED, ids=lambda path: path.name)
def test_every_example_of_the_client_parses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real parser accepts each client command that a page shows."""
    monkeypatch.setattr("sys.stdin", io.StringIO("A question from standard input."))
    for line in shell_lines(path.read_text(encoding="utf-8")):
        found = re.search(r"(?:python|uv run) client\.py (?P<arguments>.*?)(?:\s+#.*)?$", line)
        if found:
            PARSER.parse_args(shlex.split(found["arguments"]))


@pytest.mark.parametrize("path", LINKED, ids=lambda path: path.name)
def test_links_inside_the_repository_resolve(path: Path) -> None:
    """Every relative link leads to a file, and every fragment to a heading of it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, fragment = target.partition("#")
        goal = (path.parent / file) if file else path

        assert goal.is_file(), target
        assert not fragment or fragment in _anchors(goal), target


@pytest.mark.parametrize("path", [path for path in LINKED if path.name != "CHANGELOG.md"], ids=lambda path: path.name)
def test_files_of_the_repository_exist(path: Path) -> None:
    """Every path of the product that a page names outside its examples leads to a file or folder."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"`((?:tenure|workflows|activities|tests|benchmarks|deploy)/[\w./-]*)`", text)

    assert {name for name in named if not (ROOT / name).exists()} == set()


def _anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as web front ends of repositories make them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_leads_to_every_page() -> None:
    """No page of the manual is missing from the README's table."""
    assert {path.name for path in PAGES if f"(docs/{path.name})" not in README} == set()


def test_the_site_of_the_manual_leads_to_every_page() -> None:
    """The navigation of the static site names each page of the manual once; .ci/run builds it and checks its links."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    named = [page for part in site["nav"] for pages in part.values() for page in pages]

    assert sorted(named) == sorted(path.name for path in PAGES)
    assert "zensical build --strict" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"{site['site_dir']}/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_readme_starts_with_the_two_commands() -> None:
    """The first shell lines of the README run a report over docs/ and the tests, set-up included."""
    install = "PIP_BREAK_SYSTEM_PACKAGES=1 pip install uv && uv run "
    report, tests, *_ = shell_lines(README)

    assert report.startswith(f'{install}client.py start "')
    assert tests == f"{install}pytest"


def test_the_readme_is_short() -> None:
    """The README is read in one go."""
    assert len(README.splitlines()) <= 120


def test_no_sentence_of_the_manual_stands_on_two_pages() -> None:
    """A fact has one place; a report over the manual would otherwise cite the same words twice."""
    places: dict[str, set[str]] = {}
    for path in PAGES:
        for sentence in re.split(r"(?<=[.:])\s+", parse_file(path).text):
            if len(sentence.split()) >= 6:
                places.setdefault(sentence.strip().lower(), set()).add(path.name)

    assert {sentence: pages for sentence, pages in places.items() if len(pages) > 1} == {}


def load_example(path: str, folder: Path) -> ModuleType:
    """Import a module that the contributor guide shows."""
    file = folder / Path(path).name
    file.write_text(EXAMPLES[path], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", [path for path in EXAMPLES if not path.startswith("tests/")])
def test_examples_of_extensions_are_valid(path: str, tmp_path: Path) -> None:
    """Each example can be imported, is named as its file, and is in a folder that exists."""
    module = load_example(path, tmp_path)
    names = {getattr(value, "name", None) for key, value in vars(module).items() if key in ("ROLE", "TOOL", "STRATEGY")}
    providers = {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, ApiProvider)}
    formats = tuple(read_declarations(tmp_path / Path(path).name))

    assert (ROOT / path).parent.is_dir() and not (ROOT / path).exists()
    assert Path(path).stem in names or providers - {ApiProvider} or formats


def test_every_extension_point_has_an_example_and_a_test() -> None:
    """The guide shows five modules, each with its test in the mirrored folder."""
    modules = {path for path in EXAMPLES if not path.startswith("tests/")}
    tested = {Path(path).stem.removeprefix("test_") for path in EXAMPLES if path.startswith("tests/")}

    assert len(modules) == 5
    assert {Path(path).stem for path in modules} == tested
