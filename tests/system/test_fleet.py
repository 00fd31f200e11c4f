"""A fleet as plain processes: workers by queue with homes of their own, and one object store between them."""

import asyncio
import hashlib
import json
import os
import signal
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileSelector, S3FileSystem
from temporalio.testing import WorkflowEnvironment

from tests.model_server import ModelServer
from tests.support.repositories.git import CLOCK, make_repository, run_git
from tests.support.repositories.program_python import make_program_python
from tests.support.servers.object_store import object_store
from tests.support.tiers import RUN_ALL, slow
from tests.system.test_durability import finished, kitchen, of_roles, wait_for_activity
from tests.workflows.coding.test_real_repository import ANSWERS
from tests.workflows.coding.test_real_repository import answer as answer_engineer
from workflows.runtime.task_queues import ALL_QUEUES, MODEL_QUEUE, SANDBOX_QUEUE

ROOT = Path(__file__).parents[2]
DATA = os.urandom(150_000)
PROGRAM = """\
import hashlib
import pathlib
import time


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    data = pathlib.Path("data.bin").read_bytes()
    time.sleep(3)
    pathlib.Path("copy.bin").write_bytes(data)
    pathlib.Path("digest.txt").write_text(digest(data))
    print(digest(data))
"""
TEST = "from main import digest\n\n\ndef test_digest():\n    assert digest(b'')[:4] == 'e3b0'\n"
PLACES = {
    "knowledge": ",".join(queue for queue in ALL_QUEUES if queue not in (MODEL_QUEUE, SANDBOX_QUEUE)),
    "model": MODEL_QUEUE,
    "programs": SANDBOX_QUEUE,
}
"""Queues of each machine."""
KILLED = ("programs", "model", "knowledge") if RUN_ALL else ("programs",)


def base_environment(client_address: str, variables: dict[str, str]) -> dict[str, str]:
    """Return the variables that every machine of the fleet has."""
    dropped = ("TENURE_", "OPENAI_", "TEMPORAL_", "AWS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {
        **kept,
        **variables,
        "NO_COLOR": "1",
        "TEMPORAL_ADDRESS": client_address,
        "TENURE_FILES_URI": "s3://fleet/files",
        "TENURE_MIN_RELEVANCE": "0",
        "TENURE_MEMORY": "false",
        "TENURE_HEARTBEAT_SECONDS": "7",  # a lost machine is replaced sooner
    }


def of_machine(name: str, home: Path, shared: dict[str, str], model: ModelServer, documents: Path) -> dict[str, str]:
    """Return the environment of a worker: the one of programs has neither a model nor a knowledge base."""
    environment = {**shared, "TENURE_HOME": str(home), "TENURE_SANDBOX_PYTHON": str(make_program_python())}
    if name != "programs":
        environment |= {**model.environment, "TENURE_LANCEDB_URI": "s3://fleet/knowledge"}
    if name == "knowledge":
        environment |= {"TENURE_DOCUMENT_ROOTS": str(documents), "TENURE_MAINTENANCE_HOURS": "0"}
    return environment


@asynccontextmanager
async def worker_on(name: str, environment: dict[str, str], log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the worker of a machine and kill it at the end, if the test has not done so."""
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "worker.py", "--queues", PLACES[name], cwd=ROOT, env=environment, stdout=sink, stderr=sink
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def run_client(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    """Run a command of a machine to its end and return what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "client.py"), *arguments),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode()


def artifacts_in(home: Path) -> list[Path]:
    """Return the files and folders that a worker keeps of programs."""
    return list((home / "artifacts").rglob("*"))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Write the program."""
    files = [{"path": "main.py", "content": PROGRAM}]
    return {"approach": "Hash the file.", "files": files, "entry": "main.py", "args": [], "stdin": ""}


@slow
@pytest.mark.parametrize("killed", KILLED)
async def test_a_fleet_shares_everything_but_its_machines(
    server: WorkflowEnvironment, tmp_path: Path, killed: str
) -> None:
    """With ingestion, program and report on three machines, one of which is lost, a fourth one reads everything.

    The replacement of the lost machine starts with an empty home. No finished call is repeated, and the files of the
    program are in the object store once.
    """
    client, documents, office = server.client, kitchen(tmp_path), tmp_path / "office"
    office.mkdir()
    (office / "data.bin").write_bytes(DATA)
    (office / "test_main.py").write_text(TEST)
    run = f"fleet-{uuid.uuid4().hex[:8]}"
    with ModelServer() as model, object_store("fleet") as variables:
        model.on("coder", answer)
        shared = base_environment(client.service_client.config.target_host, variables)
        person = {**shared, "TENURE_HOME": str(office / "home")}
        async with AsyncExitStack() as machines:

            async def start(name: str, home: Path) -> asyncio.subprocess.Process:
                environment = of_machine(name, home, shared, model, documents)
                return await machines.enter_async_context(worker_on(name, environment, tmp_path / f"{name}.log"))

            processes = {name: await start(name, tmp_path / name) for name in PLACES}
            question = ("start", "Write a program that hashes data.bin", "--mode", "code", "--docs", str(documents))
            given = ("--files", str(office / "data.bin"), "--tests", str(office / "test_main.py"))
            await run_client(person, office, *question, *given, "--id", run, "--detach")
            await wait_for_activity(client, run, "run_program")
            processes[killed].send_signal(signal.SIGKILL)
            await processes[killed].wait()
            await start(killed, tmp_path / f"{killed}-again")
            report = json.loads(await run_client(person, office, "watch", run, "--json"))
            listed = json.loads(await run_client(person, office, "files", "list", run, "--json"))
            await run_client(person, office, "files", "save", run, str(office / "saved"))
            scheduled, completed = await finished(client, run)
        objects = S3FileSystem(
            access_key="key",
            secret_key="secret",
            scheme="http",
            endpoint_override=variables["AWS_ENDPOINT_URL"].removeprefix("http://"),
        )
        kept = [
            found.base_name for found in objects.get_file_info(FileSelector("fleet/files/_shared")) if found.is_file
        ]

    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    assert report["status"] == "done" and report["verification"]["passed"] == 1
    assert [(one["name"], one["path"].rpartition("/")[2]) for one in listed] == [
        ("copy.bin", hashlib.sha256(DATA).hexdigest()),
        ("digest.txt", listed[1]["sha256"]),
    ]
    assert (office / "saved" / "copy.bin").read_bytes() == DATA
    assert (office / "saved" / "digest.txt").read_text() == hashlib.sha256(DATA).hexdigest()
    # The input file and its copy have one content, and therefore one object.
    assert sorted(kept) == sorted({one["sha256"] for one in listed})
    assert scheduled == completed and asked == of_roles(completed)
    assert completed["ingest_corpus"] == 1
    assert not any((tmp_path / "programs").glob("knowledge/*")) and not (office / "home" / "knowledge").exists()
    # The killed worker leaves its copy of the input file; the one that finished the program keeps nothing.
    survivor = tmp_path / ("programs-again" if killed == "programs" else "programs")
    assert not any(path.is_file() for path in artifacts_in(survivor))


@slow
async def test_a_fleet_works_on_a_commit_of_the_clients_machine(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Workers with other homes read the packed commit and no path, also a new machine after the first one is lost.

    Meanwhile the repository of the person is away. Afterwards the patch is applied to its files.
    """
    client, office = server.client, tmp_path / "office"
    repository = make_repository(office / "clock", CLOCK)
    (repository / "README.md").write_text("not committed\n")
    run = f"fleet-{uuid.uuid4().hex[:8]}"
    with ModelServer() as model, object_store("fleet") as variables:
        model.on("repository_engineer", answer_engineer)
        shared = base_environment(client.service_client.config.target_host, variables)
        person = {**shared, **model.environment, "TENURE_HOME": str(office / "home")}
        async with AsyncExitStack() as machines:

            async def start(name: str, home: Path) -> asyncio.subprocess.Process:
                environment = of_machine(name, home, shared, model, tmp_path)
                return await machines.enter_async_context(worker_on(name, environment, tmp_path / f"{name}.log"))

            processes = {name: await start(name, tmp_path / name) for name in PLACES}
            task = ("start", "format_minutes(65) gives 1:5", "--repo", str(repository), "--id", run, "--detach")
            await run_client(person, office, *task)
            repository.rename(tmp_path / "away")
            await wait_for_activity(client, run, "run_command")
            processes["programs"].send_signal(signal.SIGKILL)
            await processes["programs"].wait()
            await start("programs", tmp_path / "programs-again")
            report = json.loads(await run_client(person, office, "watch", run, "--json"))
            (tmp_path / "away").rename(repository)
            await run_client(person, office, "apply", run)

    assert (report["status"], report["repository"]["proof"]["verdict"]) == ("done", "proved")
    assert any("not committed are not part of the work: README.md" in note for note in report["notes"]), report["notes"]
    assert [one.schema_name for one in model.requests] == ["repository_engineer"] * len(ANSWERS)
    changed = ["README.md", "clock/durations.py", "tests/test_durations.py"]
    assert run_git(repository, "diff", "--name-only").split() == changed
    assert not any("commits" in str(path) for path in (office / "home").rglob("*"))
