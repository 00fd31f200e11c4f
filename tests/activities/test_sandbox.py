"""Sandbox activities: storage of artifacts, translation of errors, and continued searches."""

import dataclasses
import hashlib
import io
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.errors import PATH_REFUSED
from activities.sandbox import SANDBOX_FAILED, SANDBOX_MISSING, STORE_UNREACHABLE, SandboxActivities
from tenure.contracts.base import RunId
from tenure.contracts.result.programs import ProgramRequest, RepairProgress, RepairRequest, TestRunRequest
from tenure.contracts.sandbox import Artifact, InputFile, Program, SandboxOutcome, TestRun
from tenure.document_roots import DocumentRoots, add_document_roots
from tenure.files.file_store import FileStore
from tenure.sandbox.base import NoSandbox
from tests.support.sandboxes import USABLE, ScriptedSandbox
from tests.support.servers.object_store import object_store
from tests.support.tiers import slow

FILE = InputFile(name="solution.py", text="def f():\n    return 1\n")
TRIAL = TestRunRequest(run=RunId("a run/with: odd words"), attempt=2, test_run=TestRun(files=(FILE,)))


class Noting(ScriptedSandbox):
    """Sandbox that records its folders."""

    kept: Path = Path()

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        self.kept = keep
        return await super().test(trial, keep)


async def test_artifacts_are_stored_by_run_and_attempt(tmp_path: Path) -> None:
    """The folder's name has only safe characters of the run's id and is the same for every retry."""
    box = Noting()
    activities = SandboxActivities(box, tmp_path)
    await ActivityEnvironment().run(activities.run_tests, TRIAL)
    first = box.kept
    await ActivityEnvironment().run(activities.run_tests, TRIAL)

    assert first == box.kept
    assert first.parts[-2:] == ("attempt-2", "tests")
    assert first.parent.parent.parent == tmp_path
    assert first.parent.parent.name.startswith("a-run-with-odd-words-")


async def test_failing_program_is_a_result(tmp_path: Path) -> None:
    """Neither a failed test nor a crash is an error of the activity."""
    activities = SandboxActivities(ScriptedSandbox(), tmp_path)
    program = Program(files=(InputFile(name="main.py", text="crash"),), entry="main.py")
    request = ProgramRequest(run=RunId("r"), attempt=1, program=program)

    assert (await ActivityEnvironment().run(activities.run_tests, TRIAL)).verdict == "failed"
    assert (await ActivityEnvironment().run(activities.run_program, request)).exit_code == 3
    assert await ActivityEnvironment().run(activities.check_sandbox) == USABLE


async def test_sandbox_setup_error_is_retryable(tmp_path: Path) -> None:
    """A transient fault is retried, a missing sandbox is not."""

    class Missing(ScriptedSandbox):
        async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
            raise NoSandbox("install bubblewrap")

    for box, kind, final in ((ScriptedSandbox(breaks=1), SANDBOX_FAILED, False), (Missing(), SANDBOX_MISSING, True)):
        with pytest.raises(ApplicationError) as raised:
            await ActivityEnvironment().run(SandboxActivities(box, tmp_path).run_tests, TRIAL)
        assert (raised.value.type, raised.value.non_retryable) == (kind, final)


async def test_search_continues_from_an_earlier_attempt(tmp_path: Path) -> None:
    """Edits that an earlier attempt has tried, according to its heartbeats, are skipped."""
    activities = SandboxActivities(ScriptedSandbox(needed=("return 2",)), tmp_path)
    tests = (InputFile(name="test_f.py", text="from solution import f\n\n\ndef test_f():\n    assert f() == 2\n"),)
    request = RepairRequest(files=(FILE,), editable=("solution.py",), tests=tests)
    anew = await ActivityEnvironment().run(activities.repair_program, request)
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, heartbeat_details=[RepairProgress(tried=anew.tried, seconds=1)]
    )
    later = await environment.run(activities.repair_program, request)

    assert anew.changes == ("line 2: `1` became `2`",)
    assert later.changes != anew.changes and later.tried > anew.tried


class Writing(ScriptedSandbox):
    """Sandbox whose programs write what they read, twice, into files of the folder."""

    seen: tuple[bytes, ...] = ()

    async def run(self, program: Program, keep: Path) -> SandboxOutcome:
        self.seen = tuple(Path(file.path).read_bytes() for file in program.files if file.path)
        keep.mkdir(parents=True, exist_ok=True)
        made = []
        for number, content in enumerate([*self.seen, b"plot"], 1):
            path = keep / f"{number:03}-made"
            path.write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            made.append(Artifact(name="made.bin", bytes=len(content), sha256=digest, path=str(path)))
        return SandboxOutcome(verdict="passed", exit_code=0, artifacts=tuple(made))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileStore]:
    """Object store with one bucket."""
    with object_store("bucket") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield FileStore("s3://bucket/files", "ann")


def asked_by(workflow: str) -> ActivityEnvironment:
    """Return the environment of an activity that a workflow asks for."""
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, workflow_id=workflow)
    return environment


def with_input(path: str) -> ProgramRequest:
    """Return a program that reads a file."""
    files = (InputFile(name="main.py", text="pass"), InputFile(name="data.bin", path=path))
    return ProgramRequest(run=RunId("r"), attempt=1, program=Program(files=files, entry="main.py"))


@slow
async def test_files_of_programs_reach_every_machine(
    store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an object store, inputs come from it, artifacts go into the folder of the owner, and none stays here."""
    data = os.urandom(100_000)
    box = Writing()
    activities = SandboxActivities(box, tmp_path / "home", store)
    for name in ("input-left", "input-used"):
        (tmp_path / "home" / name).mkdir(parents=True)
        (tmp_path / "home" / name / "0").touch()
    os.utime(tmp_path / "home" / "input-left", (0, 0))
    given = store.upload(io.BytesIO(data))
    outcome = await asked_by("r/code").run(activities.run_program, with_input(given))
    again = await asked_by("r/code").run(activities.run_program, with_input(given))

    assert box.seen == (data,)
    assert outcome.artifacts == again.artifacts
    assert [artifact.path.rpartition("/")[0] for artifact in outcome.artifacts] == ["s3://bucket/files/ann"] * 2
    for number, artifact in enumerate(outcome.artifacts):
        copy = tmp_path / f"copy{number}"
        store.download(artifact.path, copy, artifact.bytes)
        assert hashlib.sha256(copy.read_bytes()).hexdigest() == artifact.sha256
    # A killed worker has left copies of inputs; those of a running program stay.
    assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()] == [
        tmp_path / "home" / "input-used" / "0"
    ]

    monkeypatch.setattr("activities.sandbox.MAX_INPUT_BYTES", 150_000)
    two = with_input(given)
    twice = two.program.model_copy(update={"files": (*two.program.files, InputFile(name="again.bin", path=given))})
    with pytest.raises(ApplicationError, match="is larger than 50,000 bytes"):
        await asked_by("r/code").run(activities.run_program, two.model_copy(update={"program": twice}))

    of_bob = FileStore("s3://bucket/files", "bob").upload(io.BytesIO(b"of bob"))
    for refused in (of_bob, "/etc/hostname", given[:-64] + "0" * 64):
        with pytest.raises(ApplicationError) as raised:
            await asked_by("r/code").run(activities.run_program, with_input(refused))
        assert (raised.value.type, raised.value.non_retryable) == (PATH_REFUSED, True)
        assert refused in raised.value.message


async def test_a_worker_with_a_store_reads_no_file_of_its_own(tmp_path: Path) -> None:
    """A path in any list of files of any request is refused, for the clients are on other machines."""
    activities = SandboxActivities(Writing(), tmp_path, FileStore("s3://bucket/files"))
    local = (InputFile(name="data.bin", path="/etc/hostname"),)
    cases: tuple[tuple[Callable[..., Awaitable[object]], object], ...] = (
        (activities.run_tests, TestRunRequest(run=RunId("r"), attempt=1, test_run=TestRun(files=local))),
        (activities.run_tests, TestRunRequest(run=RunId("r"), attempt=1, test_run=TestRun(files=(FILE,), tests=local))),
        (activities.repair_program, RepairRequest(files=(FILE, *local), editable=("solution.py",))),
        (activities.repair_program, RepairRequest(files=(FILE,), editable=("solution.py",), tests=local)),
        (activities.run_program, with_input("/etc/hostname")),
    )
    for ask, request in cases:
        with pytest.raises(ApplicationError, match="/etc/hostname is not a file in s3://bucket/files/") as raised:
            await asked_by("r").run(ask, request)
        assert (raised.value.type, raised.value.non_retryable) == (PATH_REFUSED, True)


async def test_an_unreachable_store_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose files cannot be stored now is run again later, and its files stay until then."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    activities = SandboxActivities(Writing(), tmp_path, FileStore("s3://bucket/files"))
    program = Program(files=(InputFile(name="main.py", text="pass"),), entry="main.py")
    with pytest.raises(ApplicationError) as raised:
        await asked_by("r").run(activities.run_program, ProgramRequest(run=RunId("r"), attempt=1, program=program))

    assert (raised.value.type, raised.value.non_retryable) == (STORE_UNREACHABLE, False)
    assert [path.read_bytes() for path in tmp_path.rglob("*-made")] == [b"plot"]


async def test_a_worker_without_a_store_says_what_it_lacks(tmp_path: Path) -> None:
    """A location in an object store is no path of this machine."""
    with pytest.raises(ApplicationError, match="set TENURE_FILES_URI") as raised:
        await asked_by("r").run(
            SandboxActivities(Writing(), tmp_path).run_program, with_input("s3://bucket/files/_shared/" + "0" * 64)
        )
    assert raised.value.non_retryable


async def test_a_worker_of_one_machine_keeps_its_paths(tmp_path: Path) -> None:
    """Without an object store, programs read files of this machine, and artifacts stay below the home."""
    (tmp_path / "data.bin").write_bytes(b"data")
    activities = SandboxActivities(Writing(), tmp_path / "home", None, DocumentRoots([tmp_path / "data.bin"]))
    outcome = await asked_by("r").run(activities.run_program, with_input(str(tmp_path / "data.bin")))
    assert [Path(artifact.path).read_bytes() for artifact in outcome.artifacts] == [b"data", b"plot"]


async def test_a_program_reads_only_files_that_a_person_has_named(tmp_path: Path) -> None:
    """A path in a request proves nothing: keys of the home, and files outside the document roots, are refused."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "access.key").write_text("secret")
    for name in ("ann", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.bin").write_bytes(name.encode())
    add_document_roots(home, ["run r"], [tmp_path])
    closed = DocumentRoots([tmp_path / "{owner}"], owner="ann")
    for roots, path in (
        (DocumentRoots((), home), home / "access.key"),
        (DocumentRoots((), home), Path("/etc/hostname")),
        (closed, tmp_path / "bob" / "data.bin"),
        (closed, tmp_path / "ann" / ".." / "bob" / "data.bin"),
        (None, tmp_path / "ann" / "data.bin"),
    ):
        box = Writing()
        with pytest.raises(ApplicationError) as raised:
            await asked_by("r").run(
                SandboxActivities(box, tmp_path / "kept", None, roots).run_program, with_input(str(path))
            )
        assert (raised.value.type, raised.value.non_retryable, box.seen) == (PATH_REFUSED, True, ())
    box = Writing()
    request = with_input(str(tmp_path / "ann" / "data.bin"))
    await asked_by("r").run(SandboxActivities(box, tmp_path / "kept", None, closed).run_program, request)
    assert box.seen == (b"ann",)
