"""Test commands on archived runs: reading them without their histories or a server, and `archive`."""

import asyncio
import base64
import gzip
import json
import socket
import stat
from pathlib import Path

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.knowledge.archive import ArchiveRequest
from tenure.contracts.result.result import Result
from tenure.knowledge.runs import ArchivedRuns
from tenure.knowledge.store.store import Store
from tenure.temporal import connection
from tenure.temporal.archive.archiver import RunArchiver
from tenure.temporal.archive.container import encode_run
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.encryption import EncryptionCodec
from tests.cli.conftest import CommandLine, no_stack
from tests.cli.test_commands import error_line
from tests.support.histories import delete_histories
from tests.support.tiers import slow
from tests.temporal.archive.test_container import make_document


async def _archive(line: CommandLine, names: tuple[str, ...]) -> None:
    client = await connection.connect(line.settings)
    archiver = RunArchiver(client, ArchivedRuns(Store(line.settings.knowledge_uri)))
    for name in names:
        execution = (await client.get_workflow_handle(name).describe()).run_id
        await archiver.archive_run(ArchiveRequest(run=RunId(name), execution=execution))


async def _delete(line: CommandLine, names: tuple[str, ...]) -> None:
    client = await connection.connect(line.settings)
    for name in names:
        await delete_histories(client, name)


def archive(line: CommandLine, *names: str, deleted: bool = True) -> None:
    """Archive runs as a worker does, and delete their histories."""
    asyncio.run(_archive(line, names))
    if deleted:
        asyncio.run(_delete(line, names))


@slow
def test_archived_runs_are_shown_without_their_histories(running: CommandLine) -> None:
    """Report, trace, difference and list are the same after the server has deleted the runs; other ids stay unknown."""
    assert running("start", "go through cycles", "--id", "kept-1").returncode == 0
    assert running("start", "What is this?", "--id", "kept-2").returncode == 0
    assert running("start", "fail please", "--id", "kept-3").returncode == 1
    commands = (
        ("report", "kept-1", "--json"),
        ("trace", "kept-1", "--json"),
        ("trace", "kept-3"),
        ("diff", "kept-1", "kept-2", "--json"),
        ("watch", "kept-2"),
    )
    before = [running(*command) for command in commands]
    rows = {row["id"]: row for row in json.loads(running("list", "--json").stdout)}
    archive(running, "kept-1", "kept-2", "kept-3")
    after = [running(*command) for command in commands]
    listed = {row["id"]: row for row in json.loads(running("list", "--json").stdout)}
    failed, state, paused, used, table = (
        running("report", "kept-3"),
        running("state", "kept-1"),
        running("pause", "kept-1"),
        running("start", "What?", "--id", "kept-1"),
        running("list", "--status", "failed"),
    )

    assert [(one.returncode, one.stdout) for one in after] == [(one.returncode, one.stdout) for one in before]
    assert {one.returncode for one in after} == {0}
    for name in ("kept-1", "kept-2", "kept-3"):
        assert listed[name] == rows[name] | {"archived": True, "url": ""}
    assert error_line(failed.stderr).endswith("failed: the stub was told to fail")
    assert (state.returncode, "is archived" in error_line(state.stderr)) == (1, True)
    assert (paused.returncode, "is finished" in error_line(paused.stderr)) == (1, True)
    assert (used.returncode, "--id: kept-1 is in use" in error_line(used.stderr)) == (2, True)
    assert "archived" in table.stdout and "kept-3" in table.stdout and "kept-1" not in table.stdout
    assert "there is no run kept-4" in error_line(running("report", "kept-4").stderr)


@slow
def test_archived_runs_answer_and_fork(running: CommandLine) -> None:
    """A conversation continues, and a fork starts from a cycle, with the owner of the archived run."""
    assert running("start", "go through cycles", "--id", "kept-5", "--owner", "ann").returncode == 0
    assert running("ask", "kept-5", "And who made it?").returncode == 0
    archive(running, "kept-5/ask", "kept-5")
    second = running("ask", "kept-5", "When?", "--json")
    forked = running("fork", "kept-5", "--cycle", "2", "--id", "kept-6", "--json")
    missing = running("fork", "kept-5", "--cycle", "3")
    owned = running("list", "--owner", "ann", "--json")

    asked = [exchange["question"] for exchange in json.loads(second.stdout)["thread"]["exchanges"]]
    assert asked == ["And who made it?", "When?"]
    assert json.loads(forked.stdout)["decisions"] == ["from kept-5, cycle 2, told nothing"]
    assert error_line(missing.stderr).endswith("no cycle 3 to continue from: it has completed cycle 1 to 2")
    assert {row["id"] for row in json.loads(owned.stdout)} == {"kept-5", "kept-6"}


def test_an_exported_run_is_read_in_another_home_without_a_server(running: CommandLine, tmp_path: Path) -> None:
    """One private file has a run with its conversation; a home without a stack imports it, also twice."""
    assert running("start", "What is this?", "--id", "moved-1").returncode == 0
    assert running("ask", "moved-1", "And who made it?").returncode == 0
    archive(running, "moved-1", "moved-1/ask", deleted=False)
    file, target = tmp_path / "moved.tenure", no_stack(tmp_path / "other" / "home")
    target.settings.home.parent.mkdir()
    exported = running("archive", "export", "moved-1", str(file), "--json")
    imported, again = target("archive", "import", str(file), "--json"), target("archive", "import", str(file))
    reports = [line("report", "moved-1", "--json").stdout for line in (running, target)]
    traces = [line("trace", "moved-1").stdout for line in (running, target)]
    back = target("archive", "export", "moved-1", str(tmp_path / "back.tenure"))
    listed, difference, unknown = target("list"), target("diff", "moved-1", "moved-1"), target("report", "moved-2")

    assert json.loads(exported.stdout) == {"id": "moved-1", "file": str(file), "bytes": file.stat().st_size}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (imported.returncode, again.returncode, back.returncode) == (0, 0, 0)
    assert sorted(json.loads(imported.stdout)["runs"]) == ["moved-1", "moved-1/ask"]
    assert reports[0] == reports[1] != "" and traces[0] == traces[1] != ""
    assert (tmp_path / "back.tenure").read_bytes() == file.read_bytes()
    assert "moved-1" in listed.stdout and "only archived runs are listed" in listed.stderr
    assert difference.returncode == 0
    assert (unknown.returncode, "cannot reach the Temporal server" in error_line(unknown.stderr)) == (4, True)
    private = [path for path in target.settings.home.rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert private == []


def test_a_run_that_is_not_archived_yet_is_exported_from_the_server(running: CommandLine, tmp_path: Path) -> None:
    """The export of an ended run does not depend on the archive; a running and an unknown run are errors."""
    assert running("start", "What is this?", "--id", "moved-3").returncode == 0
    assert running("start", "wait a while", "--id", "moved-4", "--detach").returncode == 0
    file, target = tmp_path / "moved.tenure", no_stack(tmp_path / "home")
    done, open_run, unknown = (running("archive", "export", f"moved-{n}", str(file)) for n in (3, 4, 5))
    assert target("archive", "import", str(file)).returncode == 0
    running("cancel", "moved-4")

    assert target("report", "moved-3").stdout == running("report", "moved-3").stdout
    assert (done.returncode, open_run.returncode, unknown.returncode) == (0, 1, 2)
    assert "is still running" in error_line(open_run.stderr)
    assert "there is no run moved-5" in error_line(unknown.stderr)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"not an archive", "is damaged, or no archive of a run"),
        (gzip.compress(b"not an archive"), "is not that of a run"),
        (gzip.compress(b'{"format":"tenure-run","version":2}\n'), "was made by a newer version of Tenure"),
    ],
    ids=["empty", "not compressed", "not a run", "newer"],
)
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    """A malformed file is one line, and creates nothing."""
    line, file = no_stack(tmp_path / "home"), tmp_path / "x.tenure"
    file.write_bytes(content)
    done = line("archive", "import", str(file))

    assert (done.returncode, done.stdout) == (1, "")
    assert error_line(done.stderr) == f"error: {file} cannot be imported: the archive {reason}" + (
        ": update Tenure first" if "newer" in reason else ""
    )
    assert not line.settings.home.exists()


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    """A file that does not exist, a folder and a device are one line."""
    line = no_stack(tmp_path / "home")
    lines = [
        error_line(line("archive", "import", str(path)).stderr)
        for path in (tmp_path / "no", tmp_path, Path("/dev/zero"))
    ]

    assert lines == [
        f"error: {tmp_path / 'no'}: No such file or directory",
        f"error: {tmp_path} is not a file",
        "error: /dev/zero is not a file",
    ]


def test_another_run_is_not_overwritten(running: CommandLine, tmp_path: Path) -> None:
    """A run whose id another run of the home has is not imported."""
    first, second = (tmp_path / f"{n}.tenure" for n in (1, 2))
    target = no_stack(tmp_path / "home")
    for file in (first, second):
        assert running("start", "What is this?", "--id", "moved-6").returncode == 0
        assert running("archive", "export", "moved-6", str(file)).returncode == 0
        assert running("archive", "delete", "moved-6").returncode == 0
    assert target("archive", "import", str(first)).returncode == 0
    before = target("report", "moved-6", "--json").stdout
    refused = target("archive", "import", str(second))

    assert refused.returncode == 1
    assert error_line(refused.stderr).endswith("there is another run moved-6 in this home")
    assert target("report", "moved-6", "--json").stdout == before


def test_a_deleted_run_is_gone_everywhere(running: CommandLine) -> None:
    """`archive delete` removes an ended run from server and archive, but no running one and no unknown one."""
    assert running("start", "What is this?", "--id", "gone-1").returncode == 0
    assert running("ask", "gone-1", "And who made it?").returncode == 0
    assert running("start", "wait a while", "--id", "gone-2", "--detach").returncode == 0
    archive(running, "gone-1", "gone-1/ask", deleted=False)
    done, open_run, unknown = (running("archive", "delete", f"gone-{n}") for n in (1, 2, 3))
    running("cancel", "gone-2")
    runs = ArchivedRuns.open(running.settings.knowledge_uri)

    assert (done.returncode, open_run.returncode, unknown.returncode) == (0, 1, 2)
    assert runs is not None and runs.describe_related_runs("gone-1") == []
    assert "there is no run gone-1" in error_line(running("report", "gone-1").stderr)
    assert "is still running" in error_line(open_run.stderr)


def test_an_owner_has_an_archive_of_their_own(tmp_path: Path) -> None:
    """A run that one owner has imported is unknown to another owner and to the home, whatever its id is."""
    line, file = no_stack(tmp_path / "home"), tmp_path / "x.tenure"
    file.write_bytes(encode_run(make_document(id="run")))
    ann, bob = ({"TENURE_OWNER": name, "TENURE_OWNER_TOKEN": name[0] * 32} for name in ("ann", "bob"))
    imported = line("archive", "import", str(file), extra=ann)
    bases = {name: str(tmp_path / "home" / f"owner-{name}" / "knowledge") for name in ("ann", "bob")}
    known = {name: bool((runs := ArchivedRuns.open(uri)) and runs.find_run("run")) for name, uri in bases.items()}

    assert imported.returncode == 0, imported.stderr
    assert known == {"ann": True, "bob": False}
    assert [bool(line("archive", "export", "run", extra=owner).returncode) for owner in (ann, bob)] == [False, True]
    assert not (line.settings.home / "knowledge").exists()


def test_runs_with_invalid_ids_are_not_imported(tmp_path: Path) -> None:
    """A file whose run has an id that leads to another folder or hides characters stores nothing."""
    line, file = no_stack(tmp_path / "home"), tmp_path / "x.tenure"
    for id in ("../outside", "run\u202egpj"):
        file.write_bytes(encode_run(make_document(id="run")) + encode_run(make_document(id=id)))
        done = line("archive", "import", str(file))
        assert done.returncode == 2
        assert "is not a run id" in error_line(done.stderr)
    assert not (line.settings.home / "knowledge" / "runs.lance").exists()


def test_an_encrypted_run_needs_its_key(tmp_path: Path) -> None:
    """An imported run whose payloads are encrypted is shown with the key of the settings, and refused without it."""
    line, file = no_stack(tmp_path / "home"), tmp_path / "x.tenure"
    fields = {"id": "run", "mode": "RESEARCH", "question": "Why?", "title": "Sealed", "abstract": "Read.", "usage": {}}
    result = Result.model_validate(fields | {"sections": [], "status": "done"})
    [payload] = DATA_CONVERTER.payload_converter.to_payloads([result])
    sealed = EncryptionCodec({"k1": bytes(range(32))}).encrypt(payload)
    file.write_bytes(encode_run(make_document(result=sealed.SerializeToString())))
    keys = [base64.b64encode(key).decode() for key in (bytes(range(32)), bytes(32))]
    assert line("archive", "import", str(file)).returncode == 0
    with_key, with_other = (line("report", "run", extra={"TENURE_ENCRYPTION_KEYS": f"k1:{key}"}) for key in keys)
    without = line("report", "run")

    assert with_key.stdout.startswith("# Sealed\n")
    assert (with_other.returncode, without.returncode) == (1, 1)
    assert "a payload was modified after encryption" in error_line(with_other.stderr)
    assert "this is encrypted: set" in error_line(without.stderr)


def test_a_hostile_archive_is_one_line(tmp_path: Path) -> None:
    """A well-formed archive with values of other types is imported, and refused where it is read."""
    line, file = no_stack(tmp_path / "home"), tmp_path / "x.tenure"
    file.write_bytes(encode_run(make_document()))
    assert line("archive", "import", str(file)).returncode == 0
    done = [line(*command) for command in (("report", "run"), ("diff", "run", "run"), ("trace", "run"), ("list",))]

    assert [one.returncode for one in done] == [1, 1, 1, 0]
    for one in done[:3]:
        assert "run run cannot be read: it is damaged, or of another version" in error_line(one.stderr)


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    """A table that cannot be read is an error that names it, and `list` says that it lists no archived run."""
    line, file = no_stack(tmp_path / "home"), tmp_path / "x.tenure"
    file.write_bytes(encode_run(make_document()))
    assert line("archive", "import", str(file)).returncode == 0
    for data in (line.settings.home / "knowledge" / "runs.lance" / "data").iterdir():
        data.write_bytes(b"")
    report, listed = line("report", "run"), line("list")

    assert (report.returncode, listed.returncode) == (1, 4)
    assert "table 'runs' of the knowledge base" in error_line(report.stderr)
    assert "no archived runs are listed: table 'runs'" in listed.stderr


@slow
def test_an_object_store_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    """Without a stack a command ends with one line although the store accepts its connection and is silent."""
    line = no_stack(tmp_path / "home")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        extra = {
            "TENURE_LANCEDB_URI": "s3://bucket/knowledge",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        with line.popen("report", "run", extra=extra) as process:
            _, err = process.communicate()

    assert process.returncode == 4
    assert "the archive at s3://bucket/knowledge does not answer" in error_line(err)
