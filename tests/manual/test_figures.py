"""Hand-written pages state figures, names and rules of the code: each is compared with it."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final, get_args

import pytest

from tenure.algorithms.control.search_batches import MAX_SEARCHES
from tenure.algorithms.control.steering import MAX_FEEDBACK_ITEMS, MAX_TOTAL_FEEDBACK_BYTES
from tenure.algorithms.research.research_state import MAX_PASSAGES
from tenure.cli.delivery import EXIT_CODES
from tenure.contracts.choices import MemoryKind, ReasoningStrategy, ReportFormat, ReportProofs, SearchMode
from tenure.contracts.evidence.computing import MAX_INPUT_BYTES
from tenure.contracts.evidence.passages import ClaimKind, ClaimStatus
from tenure.contracts.knowledge.memory import MAX_PREFERENCES
from tenure.contracts.run.role_calls import MAX_MODEL_TIMEOUT_SECONDS
from tenure.contracts.sandbox import ProofLevel, SandboxLimits, SandboxVerdict
from tenure.mcp_server.prompts import PROMPTS
from tenure.mcp_server.tools import TOOLS
from tenure.models.openai.capabilities import CACHE_TTL_SECONDS
from tenure.python_api import RunHandle
from tenure.role_executor import MAX_CORRECTIONS
from tenure.runs.automation.batches import MAX_BATCH_BYTES
from tenure.settings.home import StackSettings
from tenure.settings.models import ChatModelSettings
from tenure.temporal.gate.access import COOKIE_SECONDS
from tenure.temporal.gate.access_key import LINK_SECONDS
from tests.architecture.test_mechanisms import defines
from worker import choose_max_activities
from workflows.run.signal_queue import MAX_QUEUED_SIGNALS
from workflows.runtime.activity_options import ACTIVITY_OPTIONS, NO_RETRY, RETRY_BRIEFLY
from workflows.runtime.story_log import MAX_STORY_BYTES
from workflows.runtime.task_queues import ALL_QUEUES, MODEL_QUEUE, SANDBOX_QUEUE

ROOT: Final = Path(__file__).resolve().parents[2]
DAY_SECONDS: Final = 24 * 3600
NUMBERS: Final = dict(enumerate("no one two three four five six seven eight nine ten".split()))
TIMES: Final = {1: "once", 2: "twice", 3: "three times"}


def read_page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def read_section(page: str, heading: str) -> str:
    """Return the text of a page between a heading and the next one."""
    (text,) = re.findall(rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", read_page(page), re.MULTILINE | re.DOTALL)
    return str(text)


def list_rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of a table, without its head."""
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return [[cell.removeprefix("| ").removesuffix(" |").strip() for cell in row] for row in rows[2:]]


def list_names(text: str) -> list[str]:
    """Return the names in code type in the first column of the tables of a text."""
    first = (row[0] for row in list_rows(text))
    return [name for cell in first for name in re.findall(r"`([^`]+)`", cell)]


limits = SandboxLimits()
FIGURES: Final = {
    "architecture": (
        f"at most {MAX_PASSAGES} accepted passages",
        f"at most {MAX_SEARCHES} searches",
        f"at most {MAX_BATCH_BYTES:,} bytes, tables for a program {MAX_INPUT_BYTES:,}, feedback {MAX_FEEDBACK_ITEMS} "
        f"pieces and {MAX_TOTAL_FEEDBACK_BYTES:,} bytes, records of a run {MAX_STORY_BYTES:,} bytes",
        f"At most {MAX_QUEUED_SIGNALS} signals wait",
        f"{NUMBERS[RETRY_BRIEFLY.maximum_attempts]} attempts for the latter",
    ),
    "coding": (
        f"| processes and threads | {limits.processes} |",
        f"| working folder | {limits.scratch_mib} MiB |",
        f"| files copied out | {limits.artifacts} files, {limits.artifact_mib} MiB |",
    ),
    "interfaces": (f"on port {StackSettings.model_fields['ui_port'].default}",),
    "memory": (f"at most {MAX_PREFERENCES} preferences",),
    "models": (
        f"sent back with the errors, at most {TIMES[MAX_CORRECTIONS]}",
        f"remembers for {NUMBERS[int(CACHE_TTL_SECONDS / DAY_SECONDS)]} days",
    ),
}
"""Words of pages with figures of the code."""


@pytest.mark.parametrize(
    ("page", "words"), [(page, words) for page, all_words in FIGURES.items() for words in all_words]
)
def test_a_figure_is_that_of_the_code(page: str, words: str) -> None:
    """The page states the figure as the code has it."""
    assert words in read_page(page)


def test_durations_in_words_are_those_of_the_code() -> None:
    """A model call may be allowed half an hour, a link is valid for a day, and a cookie for thirty."""
    assert "`TENURE_MODEL_TIMEOUT` allows up to half an hour" in read_page("models")
    assert "valid for a day and becomes a cookie for thirty" in read_page("interfaces")
    assert (MAX_MODEL_TIMEOUT_SECONDS, LINK_SECONDS, COOKIE_SECONDS) == (1800, DAY_SECONDS, 30 * DAY_SECONDS)


NAMES: Final = {
    ("asking", "Search modes"): get_args(SearchMode),
    ("asking", "Reasoning"): get_args(ReasoningStrategy),
    ("reports", "Formats"): get_args(ReportFormat),
    ("reports", "Proofs"): get_args(ReportProofs),
    ("memory", "What is remembered"): get_args(MemoryKind),
    ("deployment", "Queues and workers"): ALL_QUEUES,
    ("coding", "What a verdict proves"): tuple(level for level in get_args(ProofLevel) if level != "none"),
    ("interfaces", "MCP"): (*TOOLS, *PROMPTS),
}
"""Names that the first column of a table has, whatever their order."""


@pytest.mark.parametrize(("page", "heading"), NAMES)
def test_a_table_has_the_names_of_the_code(page: str, heading: str) -> None:
    """No choice is missing from the table of the page, and none is invented."""
    assert sorted(list_names(read_section(page, heading))) == sorted(NAMES[page, heading])


def test_statuses_and_exit_codes_are_those_of_the_code() -> None:
    """The page on reports has each status of a run with its exit code, and each status and kind of a claim."""
    codes = {row[0].strip("`"): int(row[2]) for row in list_rows(read_section("reports", "Status and exit code"))}
    document, proofs = read_section("reports", "The result document"), read_section("coding", "What a verdict proves")

    assert codes == EXIT_CODES
    assert set(get_args(ClaimStatus)) <= set(list_names(document))
    assert all(f"`{kind}`" in document for kind in get_args(ClaimKind))
    assert all(f"`{verdict}`" in proofs for verdict in get_args(SandboxVerdict))


def test_slots_of_the_queues_are_those_of_a_worker() -> None:
    """The table of queues states the concurrency of each one."""
    slots = {row[0].strip("`"): row[2] for row in list_rows(read_section("deployment", "Queues and workers"))}
    others = {queue: slots[queue] for queue in ALL_QUEUES if queue not in (MODEL_QUEUE, SANDBOX_QUEUE)}

    assert others == {queue: str(choose_max_activities(ChatModelSettings(), queue)) for queue in others}


def test_the_table_of_python_has_every_method() -> None:
    """Each public method of a run is in the table of the Python interface."""
    named = re.findall(r"`run\.(\w+)\(", read_section("interfaces", "Python"))
    named += re.findall(r"`, `run\.(\w+)\(", read_section("interfaces", "Python"))
    methods = {name for name, value in vars(RunHandle).items() if callable(value) and not name.startswith("_")}

    assert set(named) == methods


def test_programs_override_the_table_of_activities_as_stated() -> None:
    """An attempt of a program has twice its time and five minutes, and no other module replaces a timeout."""
    replaced = {
        path.name
        for path in (ROOT / "workflows").rglob("*.py")
        if re.search(r"(?:start_to_close|schedule_to_start)_timeout=", path.read_text(encoding="utf-8"))
    }

    assert "twice the time of the program and five minutes" in read_section("architecture", "Timeouts and retries")
    source = (ROOT / "workflows" / "runtime" / "sandbox_client.py").read_text(encoding="utf-8")
    assert "timedelta(seconds=2 * wall_seconds, minutes=5)" in source
    assert replaced == {"activity_options.py", "sandbox_client.py"}


def test_only_calls_with_unknown_effects_are_never_repeated() -> None:
    """Steps may run twice, but for calls of MCP tools, which the page on operations excepts."""
    once = {name for name, options in ACTIVITY_OPTIONS.items() if options.get("retry_policy") is NO_RETRY}

    assert once == {"call_mcp_tool"}
    assert ACTIVITY_OPTIONS["run_notification_command"].get("retry_policy") is RETRY_BRIEFLY
    assert "calls of MCP tools are therefore never repeated" in read_page("operations")


def test_no_workflow_branches_on_versions() -> None:
    """The contributor guide says that no code is for earlier versions, and none is."""
    patched = [path for path in (ROOT / "workflows").rglob("*.py") if "workflow.patched" in path.read_text("utf-8")]

    assert "nothing in the code branches on versions" in read_page("contributing")
    assert patched == []


def test_summaries_have_the_stated_length() -> None:
    """Summaries are cut by characters, as the page says."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "workflows").rglob("*.py")]
    lengths = {int(length) for text in texts for length in re.findall(r"summary\[:(\d+)\]", text)}

    assert [f"cut to {length} characters" in read_page("architecture") for length in lengths] == [True]


def test_every_room_is_in_the_table() -> None:
    """The table of rooms has each package and module of the product, and nothing else."""
    named = set(re.findall(r"`([\w/.]+)`", "".join(row[0] for row in list_rows(read_section("architecture", "Rooms")))))
    product = [path for path in (ROOT / "tenure").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    rooms = {f"tenure/{path.name}{'/' * path.is_dir()}" for path in product if not path.name.startswith("__")}
    rooms |= {f"workflows/{path.parent.name}/" for path in (ROOT / "workflows").glob("*/__init__.py")}

    assert {name for name in named if name.startswith(("tenure/", "workflows/"))} == rooms
    assert all((ROOT / name).exists() for name in named)


def test_decisions_and_first_files_exist() -> None:
    """Each decision names code that exists, and there are twelve files to read first."""
    decisions = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", read_section("architecture", "Where it is decided"))
    files = list_names(read_section("architecture", "Twelve files to read first"))

    assert len(files) == 12 and all((ROOT / file).is_file() for file in files)
    assert len(decisions) > 30
    assert not [(path, name) for path, name in decisions if not defines((ROOT / path).read_text("utf-8"), name)]


def test_messages_of_the_troubleshooting_table_exist() -> None:
    """Each message of the table is printed by the product, apart from the words that an ellipsis or a port replaces."""
    files = [path for folder in ("tenure", "workflows", "activities") for path in (ROOT / folder).rglob("*.py")]
    # A message over several lines: `"the first half "\n    f"the second half"`.
    source = re.sub(r'"\s*\n\s*f?"', "", "".join(path.read_text(encoding="utf-8") for path in files)).replace("`", "")
    messages = [row[0].replace("`", "") for row in list_rows(read_section("operations", "Troubleshooting"))]
    # "port 7233 is taken by …", "retrying …, … cannot continue"
    parts = [part.strip() for message in messages for part in re.split(r"…|, (?=[a-z…])|\d{4}", message)]

    assert len(messages) > 15
    assert [part for part in parts if len(part) > len("retrying") and part not in source] == []


def test_a_script_imports_a_checkout_as_stated() -> None:
    """The command for scripts finds the package from any folder."""
    (line,) = re.findall(r"`(PYTHONPATH=[^`]+)`", read_section("interfaces", "Python"))
    line = line.replace("/path/to/tenure", str(ROOT)).replace("uv run", "uv run --no-sync")

    assert line.endswith("python script.py")
    if shutil.which("uv"):
        program = line.removesuffix("script.py") + "-c 'from tenure import research_sync'"
        done = subprocess.run(["sh", "-c", program], cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_entries_of_mcp_clients_start_a_server() -> None:
    """Every entry names a command of the program, and that for a checkout runs outside of its environment."""
    blocks = re.findall(r"^```json\n(.*?)^```", read_section("interfaces", "MCP"), re.MULTILINE | re.DOTALL)
    *installed, checkout = (entry["tenure"] for block in blocks for entry in json.loads(block).values())
    words = [word.replace("/path/to/tenure", str(ROOT)) for word in (checkout["command"], *checkout["args"])]

    assert [(entry["command"], entry["args"]) for entry in installed] == [("tenure", ["mcp"])] * 2
    assert words[:2] == ["uv", "run"]
    if uv := shutil.which("uv"):
        done = subprocess.run(
            [uv, "run", "--no-sync", *words[2:], "--help"], cwd="/", capture_output=True, text=True, check=False
        )
        assert (done.returncode, "Model Context Protocol" in " ".join(done.stdout.split())) == (0, True), done.stderr
