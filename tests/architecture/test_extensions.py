"""Each extension is one new file: a role, a tool, a strategy, a search provider and a document format as plugins.

The files are the examples of the contributor guide. They work in other processes, so that no other test sees them.
"""

import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.result.result import Result
from tenure.extensions import PLUGINS_VARIABLE
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer
from tests.support.homes import Home, home
from tests.support.tiers import slow

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "contributing.md"

FOLDERS = {
    "keyword_extractor": "roles",
    "define_term": "tools",
    "twofold": "strategies",
    "acme": "search_providers",
    "lyrics": "document_formats",
}
"""Folder of plugins of each example."""

MAX_LINES = 40
"""Lines of an extension, apart from blank ones."""

SURVEY = '''
"""The strategy `survey`: as `twofold`, then the definition of the most frequent term."""

from tenure.roles.plugins.keyword_extractor import ROLE, KeywordExtractorInput
from workflows.research.search_session import SearchSession
from workflows.research.strategies.twofold import search_twice
from workflows.research.strategy import Strategy
from workflows.research.tool_context import ToolContext
from workflows.research.tool_registry import TOOLS, use_tool


async def survey(session: SearchSession):
    """Search, ask the role for terms, and look one up with the tool."""
    await search_twice(session)
    question = KeywordExtractorInput(question=session.task.question)
    passages = [retrieved.passage for retrieved in session.rank_passages()]
    (term, *_) = (await session.clients.models.ask(ROLE, question, passages, summary="terms")).terms
    context = ToolContext(session.clients, session.task, session.is_stopped)
    found = await use_tool(context, "define_term", TOOLS["define_term"].arguments.model_validate({"term": term}))
    session.add_results(found.passages, f"define {term}")


STRATEGY = Strategy("survey", "searches, then defines a term", survey)
'''
"""Strategy that uses the role and the tool, which without a model no other strategy selects."""

LISTING = """
import json
from types import SimpleNamespace

from tenure.algorithms.research.action_validation import ProposedAction, validate_action
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.roles.registry import list_role_names
from tenure.settings import Settings
from tenure.sources.parsers.registry import find_format
from worker import build_activities
from workflows.research.strategy_registry import STRATEGIES
from workflows.research.tool_registry import TOOLS, list_available_tools

settings = Settings(_env_file=None, roles={"keyword_extractor": {}}, search_providers="acme", strategy="twofold")
activities = [method for methods in build_activities(None, None).values() for method in methods]
offered = {name: tool.arguments for name, tool in list_available_tools(SimpleNamespace(resources=())).items()}
call, wrong = (
    validate_action(ProposedAction("define_term", json.dumps(arguments), "", 0.5), offered, {}, 0)
    for arguments in ({"term": "rye"}, {"word": "rye"})
)
print(json.dumps({
    "roles": list_role_names(),
    "role settings": [*settings.roles],
    "activities": [method.__temporal_activity_definition.name for method in activities],
    "tools": [*TOOLS],
    "offered": [*offered],
    "valid call": [call.tool, call.arguments.term],
    "invalid call": wrong.error,
    "strategies": [*STRATEGIES],
    "providers": list_extensions(SEARCH_PROVIDERS),
    "provider settings": settings.search_providers,
    "format": find_format(".lrc").module,
}))
"""

TALK = """\
[00:01.00]Rye sourdough is a dough of rye flour and water that wild yeast raises.

[00:05.00]A rye sourdough needs a warm place and rises for sixteen hours.
"""
QUESTION = "How long does rye sourdough rise?"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of plugins with the examples of the guide and the strategy that uses them."""
    folder = tmp_path_factory.mktemp("plugins")
    examples = dict(re.findall(r"```python\n# \S*?(\w+)\.py\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL))
    for name, kind in FOLDERS.items():
        (folder / kind).mkdir()
        (folder / kind / f"{name}.py").write_text(examples[name], encoding="utf-8")
    (folder / "strategies" / "survey.py").write_text(SURVEY, encoding="utf-8")
    return folder


def run_python(plugins: Path, *arguments: str) -> str:
    """Return the output of a new interpreter with the plugins."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=kept | {PLUGINS_VARIABLE: str(plugins), "PYTHONPATH": str(ROOT), "COLUMNS": "500"},
        cwd=plugins,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_extension_is_one_short_file(plugins: Path) -> None:
    """No example of the guide has more than forty lines with text."""
    files = {file: file.read_text(encoding="utf-8").splitlines() for file in plugins.rglob("*.py")}

    assert len(files) == len(FOLDERS) + 1
    assert max(sum(bool(line.strip()) for line in lines) for lines in files.values()) <= MAX_LINES


@slow
def test_registries_list_plugins(plugins: Path) -> None:
    """Registries, settings and the worker find each extension by its file."""
    found: dict[str, Any] = json.loads(run_python(plugins, "-c", LISTING))

    assert "keyword_extractor" in found["roles"] and "keyword_extractor" in found["activities"]
    assert found["role settings"] == ["keyword_extractor"]
    assert "define_term" in found["tools"] and "define_term" in found["offered"]
    assert found["valid call"] == ["define_term", "rye"]
    assert "term" in found["invalid call"]
    assert "twofold" in found["strategies"]
    assert "acme" in found["providers"] and found["provider settings"] == ["acme"]
    assert found["format"] == "lyrics"


def test_the_command_line_offers_plugins(plugins: Path) -> None:
    """The help of `start` names the strategy and the search provider."""
    shown = run_python(plugins, str(ROOT / "client.py"), "start", "--help")

    assert re.search(r"--strategy \{[^}]*\btwofold\b", shown)
    assert re.search(r"search with this provider[^)]*\bacme\b", shown)


def test_a_role_of_a_plugin_has_a_name_of_its_own(tmp_path: Path) -> None:
    """A plugin cannot replace a role, since the name is also the name of the activity."""
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles" / "claim_checker.py").touch()
    program = "import tenure.roles.registry as r\ntry: r.list_role_names()\nexcept ValueError as error: print(error)"

    assert "two roles are named 'claim_checker'" in run_python(tmp_path, "-c", program)


@pytest.fixture
def provider() -> Iterator[FakeSearchServer]:
    """Serve the search API of the provider, which finds nothing."""
    with FakeSearchServer(FakeResponse({"items": []})) as server:
        yield server


@pytest.fixture
def plugin_home(tmp_path: Path, plugins: Path, provider: FakeSearchServer) -> Iterator[Home]:
    """Return a home whose client and worker use the plugins."""
    keys = {"TENURE_ACME_KEY": "secret", "TENURE_ACME_URL": provider.url}
    with home(tmp_path, **{PLUGINS_VARIABLE: str(plugins)}, **keys) as created:
        yield created


def load_activity_inputs(home: Home) -> list[tuple[str, Any]]:
    """Return name and first argument, if it is not null, of every activity of all workflows of a home."""
    listed = json.loads(home.temporal("workflow list --limit 100 --output json"))
    histories = [
        json.loads(home.temporal(f"workflow show --workflow-id {workflow['execution']['workflowId']} --output json"))
        for workflow in listed
    ]
    events = [event for history in histories for event in history["events"]]
    scheduled = [event.get("activityTaskScheduledEventAttributes") for event in events]
    return [
        (activity["activityType"]["name"], json.loads(b64decode(activity["input"]["payloads"][0]["data"])))
        for activity in scheduled
        if activity and activity.get("input") and "data" in activity["input"]["payloads"][0]
    ]


@slow
def test_a_run_uses_plugins(plugin_home: Home, provider: FakeSearchServer, tmp_path: Path) -> None:
    """One run reads the format, follows the strategy, asks the role, uses the tool and queries the provider."""
    talk = tmp_path / "talk.lrc"
    talk.write_text(TALK, encoding="utf-8")
    short = ("--max-cycles", "1", "--max-sections", "1", "--report-revisions", "1")
    plugged = ("--docs", str(talk), "--web", "--provider", "acme", "--strategy", "survey")
    done = plugin_home.run_process("start", QUESTION, *plugged, *short, "--json")
    assert done.returncode == 0, done.stderr
    result = Result.model_validate_json(done.stdout)
    activities = load_activity_inputs(plugin_home)

    (source,) = result.sources
    assert source.uri.endswith("talk.lrc")
    quotes = [citation.quote for section in result.sections for claim in section.claims for citation in claim.citations]
    assert quotes and not any("[00:" in quote for quote in quotes)
    role = result.usage.by_role["keyword_extractor"]
    assert role.calls and role.models == ("offline",)
    batches = [searches for name, searches in activities if name == "search_passages"]
    queries = [search["query"] for batch in batches for search in batch]
    assert any(re.fullmatch(r"(.+) is, \1 means", query) for query in queries), queries
    assert provider.requests and provider.requests[0].headers["authorization"] == "Bearer secret"
