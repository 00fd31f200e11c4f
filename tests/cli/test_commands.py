"""Test the command line as a process, against a real server and a stub worker."""

import asyncio
import json
import re
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest
from temporalio.client import Client

from tenure.cli.commands import doctor
from tenure.contracts.result.result import Result
from tenure.knowledge.store.identity import ensure_identity
from tenure.temporal.namespace_binding import BINDING, bind_namespace
from tenure.temporal.stack import local
from tests.cli.conftest import CommandLine, no_stack
from tests.local_models.test_servers import get_port, search_only
from tests.model_server import Fault, ModelServer
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer
from tests.support.tiers import exhaustive, slow


def error_line(text: str) -> str:
    """Return the error of a command, which is its last line on standard error."""
    assert "Traceback" not in text
    return text.splitlines()[-1]


def test_start_prints_the_report_and_nothing_else(running: CommandLine) -> None:
    """The report is on standard output; the command that prints it again is on standard error."""
    with running.popen("start", "What is this?", "--id", "plain-1") as process:
        out, err = process.communicate()

    assert process.returncode == 0
    assert out.startswith("# A stub report\n")
    assert f"http://127.0.0.1:{running.settings.ui_port}/namespaces/default/workflows/plain-1" in err
    assert "client.py report plain-1" in err


def test_start_names_a_model_server_of_this_machine(running: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model, standard error shows how to use a server that is found, unless the command is quiet."""
    with ModelServer(models={"qwen3:8b": None}) as model:
        search_only(monkeypatch, {"Ollama": get_port(model)})
        told = running("start", "What is this?", "--detach", "--id", "suggested-1")
        quiet = running("start", "What is this?", "--detach", "--id", "suggested-2", "--quiet")

    line = f"`export OPENAI_BASE_URL={model.base_url} TENURE_MODEL=qwen3:8b`, then `python client.py start` again"
    assert line in told.stderr
    assert "qwen3" not in quiet.stderr


def test_start_refuses_to_run_without_the_model_that_it_should_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `auto` and no server nothing is started; commands that need no model work."""
    search_only(monkeypatch, {"Ollama": 1})
    line = no_stack(tmp_path / "home")
    done = [line(*words, extra={"TENURE_MODEL": "auto"}) for words in (("start", "Why?"), ("up",), ("down",))]

    assert [one.returncode for one in done] == [4, 4, 0]
    assert error_line(done[0].stderr).startswith("error: TENURE_MODEL=auto finds no model server")
    assert not (tmp_path / "home" / "stack.json").exists()


def test_command_says_which_model_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`up` names server and model before it starts anything."""
    with ModelServer(models={"qwen3:8b": None}) as model:
        search_only(monkeypatch, {"Ollama": get_port(model)})
        extra = {"TENURE_MODEL": "auto", "TEMPORAL_ADDRESS": "127.0.0.1:1"}
        done = no_stack(tmp_path / "home")("up", extra=extra)

    assert done.stderr.splitlines()[0] == f"TENURE_MODEL=auto takes qwen3:8b of {model.base_url}"


def test_json_is_one_document(running: CommandLine, tmp_path: Path) -> None:
    """With --json standard output is the result document, even if a file in another format is written."""
    target = tmp_path / "report.md"
    done = running("start", "read this", "--json", "--max-sections", "3", "-o", str(target))

    result = Result.model_validate_json(done.stdout)
    assert done.returncode == 0
    assert result.notes == ("corpora: manual", "sections: 3")
    assert target.read_text().startswith("# A stub report")
    assert "reading: 1 of 2 files, 3 chunks, docs" in done.stderr


@pytest.mark.parametrize(("question", "code"), [("nothing there", 3), ("fail please", 1)])
def test_exit_code_says_how_it_went(running: CommandLine, question: str, code: int) -> None:
    """No evidence is 3 and a failure 1, each responses in words."""
    done = running("start", question)

    assert done.returncode == code
    if code == 1:
        assert error_line(done.stderr).endswith("failed: the stub was told to fail")


def test_run_is_steered_from_outside(running: CommandLine) -> None:
    """A detached run takes feedback, pauses, resumes and finishes, and its report stays."""
    started = running("start", "wait for signals", "--id", "steered", "--detach", "--json")
    again = running("start", "another", "--id", "steered")
    early = running("report", "steered")
    steps = [
        running("pause", "steered"),
        running("state", "steered", "--json"),
        running("resume", "steered"),
        running("feedback", "steered", "more of it", "--topic", "Only topic", "--json"),
        running("finish", "steered"),
    ]
    watched = running("watch", "steered", "--json")
    late = running("pause", "steered")

    assert json.loads(started.stdout)["id"] == "steered"
    assert (again.returncode, error_line(again.stderr)) == (
        2,
        "error: --id: steered is in use: see it with `python client.py report steered`, or choose another",
    )
    assert (early.returncode, "is still running" in early.stderr) == (1, True)
    assert [step.returncode for step in steps] == [0] * 5
    assert json.loads(steps[1].stdout)["paused"] is True
    result = Result.model_validate_json(watched.stdout)
    assert (watched.returncode, result.status) == (0, "finished_early")
    assert [(word.text, word.topic) for word in result.feedback] == [("more of it", "Only topic")]
    assert running("report", "steered", "--json").stdout == watched.stdout
    assert (late.returncode, "is finished" in late.stderr) == (1, True)


def test_cancelled_run_is_no_success(running: CommandLine) -> None:
    """A cancelled run delivers what there was, with exit code 1."""
    running("start", "wait to be cancelled", "--id", "cancelled", "--detach")
    assert running("cancel", "cancelled").returncode == 0

    watched = running("watch", "cancelled", "--json")

    assert (watched.returncode, json.loads(watched.stdout)["status"]) == (1, "cancelled")


def test_ctrl_c_detaches(running: CommandLine) -> None:
    """Ctrl-C ends the command with 130 and a hint; the run continues."""
    with running.popen("start", "wait a while", "--id", "interrupted") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "the stub waits" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert process.returncode == 130
    assert "client.py watch interrupted" in rest
    assert "Traceback" not in rest
    state = json.loads(running("state", "interrupted", "--json").stdout)
    assert state["progress"]["status"] == "running"
    running("cancel", "interrupted")


def test_a_run_that_failed_has_a_trace(running: CommandLine, tmp_path: Path) -> None:
    """The trace of a run without a result says why it has none; an ingestion has no trace."""
    running("start", "fail and tell", "--id", "traced")
    told = json.loads(running("trace", "traced", "--json").stdout)
    running("corpus", "add", ".", "--corpus", "traceless")
    other = running("trace", "ingest-traceless")
    page = running("trace", "traced", "--html").stdout
    running("trace", "traced", "-o", str(tmp_path / "trace.html"))

    assert (tmp_path / "trace.html").read_text(encoding="utf-8").strip() == page.strip()
    assert page.startswith("<!DOCTYPE html>")
    assert (told["question"], told["status"]) == ("fail and tell", "failed")
    assert told["failure"] == "the stub was told to fail"
    assert (other.returncode, "is not a run but a IngestWorkflow" in other.stderr) == (2, True)


def test_list_shows_runs_newest_first(running: CommandLine) -> None:
    """A run is listed with its status and its question, and a misspelt id is answered by the nearest one."""
    running("start", "list me", "--id", "listed")

    rows = json.loads(running("list", "--json", "--limit", "1").stdout)
    table = running("list").stdout
    misspelt = running("report", "lsited")

    assert (misspelt.returncode, error_line(misspelt.stderr)) == (
        2,
        "error: there is no run lsited: did you mean listed?",
    )
    assert [(row["id"], row["status"], row["question"]) for row in rows] == [("listed", "done", "list me")]
    assert "listed" in table


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["state", "nowhere"], 2, "there is no run nowhere"),
        (["watch", "nowhere"], 2, "there is no run nowhere"),
        (["trace", "nowhere"], 2, "there is no run nowhere"),
        (["start", "Why?", "--docs", "/does/not/exist"], 2, "/does/not/exist does not exist"),
        (["start", "Why?", "--corpus", "unknown"], 2, "there is no corpus 'unknown' (shelf)"),
        (["start", "Why?", "-o", "/does/not/exist/report.md"], 2, "is not a folder"),
        (["corpus", "search", "rye", "--filter", "colour=red"], 2, "no field 'colour'"),
        (["corpus", "search", "rye", "--corpus", "no/name"], 2, "is not a corpus name"),
        (["corpus", "stats", "unknown"], 2, "there is no corpus 'unknown'"),
        (["corpus", "unwatch", "shelf"], 2, "is not watched"),
        (["corpus", "add", ".", "--every", "5s"], 2, "--every: must be at least 1m"),
        (["report", "two words"], 2, "is not a run id"),
    ],
)
def test_mistakes_are_one_line(running: CommandLine, arguments: list[str], code: int, words: str) -> None:
    """A mistake ends with code 2 and one line that names it, nothing on standard output."""
    done = running(*arguments)

    assert done.returncode == code
    assert words in error_line(done.stderr)
    assert done.stdout == ""


def test_corpora_are_read_listed_and_dropped(running: CommandLine, tmp_path: Path) -> None:
    """`corpus add` reports what it read, `corpus list` and `corpus drop` do what they say."""
    read = running("corpus", "add", str(tmp_path), "--corpus", "mine", "--json")

    assert json.loads(read.stdout) | {"seconds": 0} == json.loads(read.stdout) | {"corpus": "mine", "seconds": 0}
    assert "shelf" in running("corpus", "list").stdout
    assert json.loads(running("corpus", "stats", "shelf", "--json").stdout)["corpora"][0]["chunks"] == 7
    table = running("corpus", "stats").stdout
    assert re.search(r"chunks_2 +1,007 +2.5 +3 +4", table)
    assert re.search(r"vector_idx \(IvfRq\) +1,000 +7 +1.5", table)
    assert "hybrid searches: 1,200, mean 6.2 ms, p95 9.5 ms" in table
    assert "embedding cache: 3 of 4 vectors were known (75%)" in table
    assert running("corpus", "drop", "shelf").returncode == 0
    unknown = running("corpus", "drop", "attic")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "there is no corpus 'attic'" in unknown.stderr


def test_passages_are_searched(running: CommandLine) -> None:
    """`corpus search` prints the best passages of named or of all corpora, and a search without a result is code 3."""
    shown = running("corpus", "search", "rye bread", "--limit", "3")
    named = running("corpus", "search", "rye", "--corpus", "shelf", "--search", "sparse", "--json")
    none = running("corpus", "search", "nothing")

    assert shown.stdout == "[1] Rye, /shelf/rye.md\nrye bread in shelf, adaptive, at most 3\n\n"
    assert json.loads(named.stdout)[0]["text"] == "rye in shelf, sparse, at most 8"
    assert (none.returncode, none.stdout) == (3, "")
    assert "no passage was found" in none.stderr


def test_a_folder_is_watched_and_unwatched(running: CommandLine, tmp_path: Path) -> None:
    """`corpus add --every` reads immediately, `corpus watched` lists, and `corpus unwatch` stops it."""
    begun = running("corpus", "add", str(tmp_path), "--corpus", "inbox", "--every", "90m")
    listed = running("corpus", "watched")
    while "inbox" not in listed.stdout:  # a list of schedules lags behind their making
        listed = running("corpus", "watched")
    ended = running("corpus", "unwatch", "inbox", "--json")

    assert begun.stdout.startswith("corpus inbox: 1 file ")
    assert "re-read every 90m; `python client.py corpus unwatch inbox` stops it" in begun.stderr
    assert re.search(rf"inbox +90m +not yet +{re.escape(str(tmp_path)[:20])}", listed.stdout)
    assert json.loads(ended.stdout) == {"unwatched": "inbox"}


def test_the_graph_of_a_corpus_is_asked_and_read(running: CommandLine) -> None:
    """`corpus graph` shows what an entity is related to, or what is like it."""
    known = running("corpus", "graph", "shelf", "Ghent")
    unknown = running("corpus", "graph", "shelf", "Gent")

    assert "beside Bruges  [3 sentences, 2 passages]" in known.stdout
    assert unknown.stdout == ""
    assert "the graph of shelf has no relation of 'Gent'; known are Ghent, Bruges" in unknown.stderr


def test_status_and_up_find_the_running_stack(running: CommandLine) -> None:
    """`status` names both processes, and `up` leaves them alone."""
    seen = json.loads(running("status", "--json").stdout)
    up = json.loads(running("up", "--json").stdout)

    assert seen["server_ready"]
    assert not up["started"]
    assert (seen["server_pid"], seen["worker_pid"]) == (up["server_pid"], up["worker_pid"])


def test_versions_are_known_only_of_versioned_workers(running: CommandLine) -> None:
    """A server on which no versioned worker has polled has no versions to show."""
    assert running("versions").stdout == "the server knows no versioned worker\n"
    assert json.loads(running("versions", "--json").stdout) == {"versions": []}


def test_server_of_another_home_is_used(running: CommandLine, tmp_path: Path) -> None:
    """A Temporal server already on the port is used, and no stack is started for it."""
    elsewhere = CommandLine(running.settings.model_copy(update={"home": tmp_path / "home"}))
    done = elsewhere("start", "Whose server?", "--json")

    assert done.returncode == 0
    assert Result.model_validate_json(done.stdout).status == "done"
    assert not (tmp_path / "home" / "stack.json").exists()


def test_configured_server_is_used(running: CommandLine, tmp_path: Path) -> None:
    """TEMPORAL_ADDRESS decides where the run goes, whatever the home and its ports are."""
    address = f"127.0.0.1:{running.settings.temporal_port}"
    done = no_stack(tmp_path / "home")("start", "Where to?", "--json", extra={"TEMPORAL_ADDRESS": address})

    assert done.returncode == 0
    assert not (tmp_path / "home").exists()


def test_unreachable_server_is_code_4(tmp_path: Path) -> None:
    """A configured server that does not answer is named with the variable to check; nothing is started."""
    done = no_stack(tmp_path / "home")("start", "Why?", extra={"TEMPORAL_ADDRESS": "127.0.0.1:1"})

    assert done.returncode == 4
    assert "cannot reach the Temporal server at 127.0.0.1:1" in error_line(done.stderr)
    assert "check TEMPORAL_ADDRESS" in done.stderr
    assert not (tmp_path / "home").exists()


def test_looking_starts_nothing(tmp_path: Path) -> None:
    """`list` without a server says how to start one and leaves no home behind."""
    done = no_stack(tmp_path / "home")("list")

    assert (done.returncode, "run `python client.py up`" in done.stderr) == (4, True)
    assert not (tmp_path / "home").exists()


@slow
def test_a_port_used_by_another_program_is_code_4(tmp_path: Path) -> None:
    """A program on the port that is not a Temporal server is reported."""
    line = no_stack(tmp_path / "home")
    with socket.create_server(("127.0.0.1", line.settings.temporal_port)):
        done = line("start", "Why?")

    assert done.returncode == 4
    assert f"port {line.settings.temporal_port} is taken by" in error_line(done.stderr)


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [
        ({"TENURE_MAX_SECTIONS": "99"}, 2, "TENURE_MAX_SECTIONS is not valid"),
        ({"TENURE_TEMPORAL_PORT": "abc"}, 2, "TENURE_TEMPORAL_PORT is not valid"),
        (
            {"TENURE_ROLES__POET__MODEL": "m"},
            2,
            "TENURE_ROLES__POET is not valid: value error, no role is named 'poet'",
        ),
        ({"TENURE_PRICES": "none.toml"}, 2, "check TENURE_PRICES"),
        ({"TENURE_HOME": "/proc/tenure"}, 4, "set TENURE_HOME"),
    ],
)
def test_bad_settings_are_named(tmp_path: Path, extra: dict[str, str], code: int, words: str) -> None:
    """A setting out of its range, or a home that cannot be, is named in one line."""
    done = no_stack(tmp_path / "home")("start", "Why?", extra=extra)

    assert done.returncode == code
    assert words in error_line(done.stderr)


def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    """A traceback appears only when it is asked for."""
    done = no_stack(tmp_path / "home")("list", extra={"TENURE_LOG_LEVEL": "DEBUG"})

    assert "Traceback" in done.stderr


def test_doctor_checks_everything(running: CommandLine) -> None:
    """`doctor` has a line for each check and finds a running stack well."""
    done = running("doctor", "--json")
    levels = {check["name"]: check["level"] for check in json.loads(done.stdout)}

    assert list(levels) == [
        "Python",
        "temporal binary",
        "home",
        "disk",
        "ports",
        "Temporal server",
        "worker",
        "embedding model",
        "scans",
        "sandbox",
        "transcription model",
        "chat model",
        "prices",
        "web search",
    ]
    assert {levels[name] for name in ("temporal binary", "home", "ports", "Temporal server", "worker")} == {"ok"}


@exhaustive
def test_doctor_names_what_is_missing(tmp_path: Path) -> None:
    """An unreachable server and a chat server that is away are failures with advice, and the code is 4."""
    extra = {"TEMPORAL_ADDRESS": "127.0.0.1:1", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    done = no_stack(tmp_path / "home")("doctor", "--json", extra=extra)
    found = {check["name"]: check for check in json.loads(done.stdout)}

    assert done.returncode == 4
    assert found["Temporal server"]["level"] == "fail"
    assert found["chat model"]["level"] == "fail"
    assert "check OPENAI_BASE_URL" in found["chat model"]["message"]


@exhaustive
def test_doctor_asks_the_search_providers_that_are_set_up(tmp_path: Path) -> None:
    """Each has a line with what to change; a run from documents needs none of them, so that the code stays 0."""
    with FakeSearchServer(FakeResponse({"results": [{"url": "https://a.org/"}]})) as server:
        extra = {"TENURE_SEARCH_PROVIDERS": "searxng,brave", "TENURE_SEARXNG_URL": server.url}
        done = no_stack(tmp_path / "home")("doctor", "--json", extra=extra)

    good, missing = (check for check in json.loads(done.stdout) if check["name"] == "web search")
    assert (good["level"], good["provider"], good["hits"]) == ("ok", "searxng", 1)
    assert (missing["level"], missing["message"]) == ("warn", "brave: not set up: set TENURE_BRAVE_KEY")


@exhaustive
def test_doctor_tries_every_model(tmp_path: Path) -> None:
    """Each chat model and each other model is probed; the results are a line and JSON fields."""
    with ModelServer(models={"large": 32_000, "small": None}, dimensions=48, json_schema=False) as model:
        extra = model.environment | {
            "TENURE_MODEL": "large",
            "TENURE_FAST_MODEL": "small",
            "TENURE_EMBEDDING_MODEL": "e",
            "TENURE_RERANK_MODEL": "r",
            "TENURE_RERANK_BASE_URL": model.base_url,
            "TENURE_TRANSCRIPTION_MODEL": "w",
            "TENURE_TRANSCRIPTION_BASE_URL": model.base_url,
        }
        found = json.loads(no_stack(tmp_path / "home")("doctor", "--json", extra=extra).stdout)
        model.fail(*[Fault(401)] * 5)
        refused = no_stack(tmp_path / "home")("doctor", extra=extra)

    large, small = (check for check in found if check["name"] == "chat model")
    (embedding,) = (check for check in found if check["name"] == "embedding model")
    assert re.fullmatch(
        r"large: answered in [\d.]+ s, JSON mode, streams \(first token after [\d.]+ s\), context 32,000 tokens",
        large["message"],
    )
    assert (large["level"], large["structured_output"], large["context_tokens"]) == ("ok", "json_object", 32_000)
    assert (small["model"], small["setting"], small["context_tokens"]) == ("small", "TENURE_FAST_MODEL", None)
    assert small["seconds"] > 0
    assert (embedding["model"], embedding["dimensions"]) == ("e", 48)
    (rerank,) = (check for check in found if check["name"] == "rerank model")
    assert (rerank["model"], rerank["level"], rerank["setting"]) == ("r", "ok", "TENURE_RERANK_MODEL")
    (transcription,) = (check for check in found if check["name"] == "transcription model")
    assert (transcription["model"], transcription["level"]) == ("w", "ok")
    assert refused.returncode == 4
    assert refused.stdout.count("a key is needed: set OPENAI_API_KEY") == 3
    assert "a key is needed: set TENURE_RERANK_API_KEY" in " ".join(refused.stdout.split())


@pytest.fixture
def lame(running: CommandLine, tmp_path: Path) -> Iterator[CommandLine]:
    """A home whose stack has a server and whose worker was killed."""
    line = no_stack(tmp_path / "home")
    status = local.start_stack(line.settings, worker_command=["sleep", "600"])
    assert status.worker_pid is not None
    worker = psutil.Process(status.worker_pid)
    worker.kill()
    worker.wait(5)
    yield line
    local.stop_stack(line.settings)


@slow
def test_dead_worker_is_said_by_the_doctor_and_by_state(lame: CommandLine) -> None:
    """With the worker dead, `status` and `doctor` say so, and looking at a run says that it is not there."""
    status = lame("status")
    with patch.object(doctor, "_CHECKS", (doctor.check_worker,)):  # the others start a model and a sandbox
        checks = {check["name"]: check for check in json.loads(lame("doctor", "--json").stdout)}

    assert status.returncode == 4
    assert "the worker has stopped" in status.stderr
    assert "python client.py up" in checks["worker"]["message"]
    assert lame("state", "nowhere").returncode == 2


def test_reader_that_leaves_is_no_error(running: CommandLine) -> None:
    """Standard output closed by its reader ends the command quietly."""
    with running.popen("corpus", "list", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        responses = process.stderr.read()

    assert (process.returncode, responses) == (0, "")


@pytest.fixture
def taken(running: CommandLine, tmp_path: Path) -> Iterator[CommandLine]:
    """Command line of a home with a knowledge base, whose port belongs to a server with another one."""

    async def connect() -> Client:
        return await Client.connect(f"127.0.0.1:{running.settings.temporal_port}")

    async def bind() -> None:
        await bind_namespace(await connect(), running.settings)

    async def release() -> None:
        await (await connect()).get_schedule_handle(BINDING).delete()

    asyncio.run(bind())
    ensure_identity(str(tmp_path / "home" / "knowledge"))
    try:
        yield CommandLine(running.settings.model_copy(update={"home": tmp_path / "home"}))
    finally:
        asyncio.run(release())


def test_a_client_hears_that_the_workers_have_another_base(running: CommandLine, taken: CommandLine) -> None:
    """`start`, `doctor` and `status` of another home name both bases; the run is served nevertheless."""
    started, seen = taken("start", "Whose base?", "--json"), json.loads(taken("status", "--json").stdout)
    checked = doctor.check_server(taken.settings)

    assert started.returncode == 0
    assert Result.model_validate_json(started.stdout).status == "done"
    for line in (started.stderr, checked.message, seen["notes"][-1]):
        assert "is served with another knowledge base" in line
        assert running.settings.knowledge_uri in line and taken.settings.knowledge_uri in line
    assert (checked.name, checked.level) == ("Temporal server", "warn")


def test_the_home_of_the_server_and_a_client_without_a_base_hear_nothing(
    running: CommandLine, taken: CommandLine
) -> None:
    """Only a home with a base of its own is informed about another one."""
    shutil.rmtree(taken.settings.knowledge_uri)
    lines = [line("start", "Whose base?", "--json").stderr for line in (running, taken)]
    checks = [doctor.check_server(line.settings).level for line in (running, taken)]

    assert [line for line in lines if "knowledge base" in line] == []
    assert checks == ["ok", "ok"]


def test_up_starts_no_worker_for_the_base_of_another_home(taken: CommandLine) -> None:
    """The refusal is one line with exit code 4, also for a home without a base, and nothing is recorded."""
    refused = [taken("up")]
    shutil.rmtree(taken.settings.knowledge_uri)
    refused.append(taken("up"))

    assert [done.returncode for done in refused] == [4, 4]
    assert all("is served with another knowledge base" in error_line(done.stderr) for done in refused)
    assert not (taken.settings.home / "stack.json").exists()
