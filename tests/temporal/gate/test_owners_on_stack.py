"""Two owners and the user of a home on one local stack, by every face and by the commands of Temporal."""

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from tenure.ownership import derive_gate_key
from tenure.runs.errors import TenureError
from tenure.runs.messages import RunFilter, SearchBody
from tenure.runs.service import open_service
from tenure.settings import Settings
from tenure.temporal.stack.server import find_binary
from tests.support.homes import Home, home
from tests.support.tiers import slow
from tests.system.test_durability import kitchen
from tests.temporal.test_owner_payloads import TOKENS

pytestmark = [slow, pytest.mark.timeout(480)]

QUESTION = "How is bread made?"
RESET = "workflow reset --namespace ann --workflow-id bread --type LastWorkflowTask --reason test"
SETTINGS = {"TENURE_OWNERS": json.dumps(TOKENS), "TENURE_MIN_RELEVANCE": "0", "TENURE_MAX_SECTIONS": "1"}


def sign_in(owner: str) -> dict[str, str]:
    """Return the variables of an owner who works in the home of the stack."""
    return {"TENURE_OWNER": owner, "TENURE_OWNER_TOKEN": TOKENS[owner]}


def sign_in_elsewhere(line: Home, owner: str, folder: Path) -> dict[str, str]:
    """Return the variables of an owner with another home, who reaches the port of the stack and knows one token."""
    address = f"127.0.0.1:{line.settings.temporal_port}"
    return {**sign_in(owner), "TEMPORAL_ADDRESS": address, "TENURE_OWNERS": "", "TENURE_HOME": str(folder)}


def run_temporal(line: Home, command: str, key: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the command `temporal` with a key of the gate."""
    options = ["--address", f"127.0.0.1:{line.settings.temporal_port}", "--grpc-meta", f"authorization=Bearer {key}"]
    command_line = [str(find_binary()), *shlex.split(command), *options]
    environment = line.environment()
    return subprocess.run(command_line, capture_output=True, text=True, timeout=110, env=environment, check=False)


def find_refusals(line: Home, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the errors of commands that name the run of another owner."""
    commands = (
        *(
            ("report", "bread"),
            ("trace", "bread"),
            ("watch", "bread"),
            ("archive", "export", "bread"),
            ("archive", "delete", "bread"),
        ),
        *(("ask", "bread", "Why?"), ("fork", "bread", "--cycle", "1"), ("cancel", "bread"), ("feedback", "bread", "x")),
    )
    done = {" ".join(command): line(*command, extra=variables) for command in commands}
    assert all(one.returncode for one in done.values()), done
    return {name: one.stderr for name, one in done.items()}


async def use_service() -> tuple[list[str], list[str]]:
    """Return the runs that page, API, Python and MCP server list, and their errors for a run and corpus of another."""
    service = await open_service(Settings(_env_file=None))
    with pytest.raises(TenureError) as searching:
        await service.search(SearchBody(words="bread flour", corpora=("kitchen",)))
    with pytest.raises(TenureError) as reading:
        await service.describe("bread")
    return [row.id for row in (await service.list_runs(RunFilter())).runs], [str(searching.value), str(reading.value)]


def test_owners_share_a_stack_and_nothing_else(tmp_path: Path) -> None:
    """Each has runs and corpora of the same names; no face shows or changes what belongs to another owner.

    The key of a namespace opens what Temporal offers: stacks, resets and the end of a run.
    """
    documents, elsewhere, other = str(kitchen(tmp_path)), tmp_path / "elsewhere", tmp_path / "other.md"
    other.write_text("# Bread\n\nBread of the bakery in the harbour is made by machines.\n")
    key = derive_gate_key(TOKENS["ann"])
    with home(tmp_path, **SETTINGS) as line:
        assert line.run("up").returncode == 0
        ann, bob = sign_in("ann"), sign_in_elsewhere(line, "bob", elsewhere)
        unnamed = line("start", QUESTION, "--docs", documents, "--id", "bread")
        read = line("corpus", "add", documents, "--corpus", "kitchen", extra=ann)
        anns = line("start", QUESTION, "--corpus", "kitchen", "--id", "bread", extra=ann)
        anns_report = json.loads(line("report", "bread", "--json", extra=ann).stdout)
        refusals = find_refusals(line, bob)
        lists = {
            name: line(*name.split(), extra=bob)
            for name in ("list", "corpus list", "memory list", "corpus search flour --corpus kitchen")
        }
        with patch.dict(os.environ, line.environment(bob), clear=True):
            rows, errors = asyncio.run(use_service())
        told = run_temporal(line, "workflow list --namespace ann", derive_gate_key(TOKENS["bob"]))
        # Now the same names belong to both of them.
        line("corpus", "add", str(other), "--corpus", "kitchen", extra=sign_in("bob"))
        bobs = line("start", QUESTION, "--corpus", "kitchen", "--id", "bread", extra=bob)
        bobs_report = json.loads(line("report", "bread", "--json", extra=bob).stdout)
        again = json.loads(line("report", "bread", "--json", extra=ann).stdout)
        stack = run_temporal(line, "workflow stack --namespace ann --workflow-id bread", key)
        repeated = run_temporal(line, RESET, key)
        foreign = run_temporal(line, RESET, derive_gate_key(TOKENS["bob"]))
        watched = line("watch", "bread", extra=ann)

    for done in (unnamed, read, anns, bobs, stack, repeated, watched):
        assert done.returncode == 0, done.stderr
    assert foreign.returncode != 0 and "belongs to this owner" in foreign.stderr
    assert again == anns_report
    assert {Path(source["uri"]).name for source in anns_report["sources"]} == {"bread.md"}
    assert {Path(source["uri"]).name for source in bobs_report["sources"]} == {"other.md"}
    assert "yeast" in json.dumps(anns_report) and "yeast" not in json.dumps(bobs_report)
    assert [name for name, words in refusals.items() if "there is no run bread" not in words] == [], refusals
    for name, done in lists.items():
        assert not any(word in done.stdout for word in ("bread", "yeast")), (name, done)
    assert "kitchen" not in lists["corpus list"].stdout
    assert "no corpus 'kitchen'" in lists.pop("corpus search flour --corpus kitchen").stderr
    assert [name for name, done in lists.items() if done.returncode] == [], lists
    assert rows == []
    assert "no corpus 'kitchen'" in errors[0] and "there is no run bread" in errors[1]
    assert told.returncode != 0 and "belongs to this owner" in told.stderr


def test_an_owner_is_added_to_a_running_stack(tmp_path: Path) -> None:
    """The server is restarted with the new namespace and keys, and the others keep their runs."""
    tokens = {"ann": TOKENS["ann"]}
    with home(tmp_path, TENURE_OWNERS=json.dumps(tokens)) as line:
        assert line.run("up").returncode == 0
        first = line("list", extra=sign_in("ann"))
        unknown = line("list", extra=sign_in_elsewhere(line, "bob", tmp_path / "elsewhere"))
        more = Home(line.settings, {"TENURE_OWNERS": json.dumps(TOKENS)})
        added = more.run("up")
        both = [more("list", extra=sign_in_elsewhere(more, name, tmp_path / "elsewhere")) for name in TOKENS]

    assert first.returncode == 0, first.stderr
    assert unknown.returncode != 0 and "this server has owners" in unknown.stderr
    assert added.returncode == 0 and "the owners changed" in added.stdout + added.stderr
    assert [done.returncode for done in both] == [0, 0], both
