"""Test from question to report with real processes: client, Temporal server and worker.

Answers of a model come from a loopback server; nothing else is replaced.
"""

import io
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import psutil
import pytest
from jsonschema import Draft202012Validator

from tenure.contracts.base import SourceId
from tenure.contracts.result.result import Result, ResultClaim
from tenure.knowledge.store.catalogue import load_sources
from tenure.knowledge.store.store import Store
from tenure.roles.registry import list_role_names
from tests.cli.conftest import no_stack
from tests.model_server import ModelServer
from tests.sources.pdfs import make_pdf
from tests.support.homes import Home, home, modelled_home
from tests.support.repositories.git import make_repository
from tests.support.schema_instance import MARKER
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import WAIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
ROLES = set(list_role_names())
ELSEWHERE = {
    "react",
    "reasoner",
    "clarifier",
    "sql_writer",
    "analyst",
    "answerer",
    "query_refiner",
    "tool_selector",
    "picture_reader",
    "query_translator",
    "test_writer",
    "coder",
    "code_reflector",
    "repository_engineer",
    "stance_judge",
    "claim_checker",
    "fact_extractor",
    "document_comparer",
    "topic_namer",
    "decomposer",
    "question_rewriter",
    "step_preparer",
    "calculation_writer",
    "dispute_judge",
}
"""Roles that this question has no work for: questions back, tables, programs, orders and relations, later cycles, parts
of the question, steps that depend on each other, claims that no review has judged, and disputes that none has named."""
QUESTION = "How do lighthouses guide ships?"

MARKDOWN = """\
# Lighthouse lamps

A lighthouse guides ships with a beam of light that sailors see from twenty miles away.
The oldest lighthouse lamps burned wood and coal. Oil lamps replaced them in the eighteenth century.
"""
RST = """\
Fresnel lenses
==============

The Fresnel lens of a lighthouse gathers the light of the lamp into a narrow horizontal beam.
A lighthouse with a Fresnel lens is visible to ships four times as far as one with a mirror.
"""
TEXT = """\
Every lighthouse shows a rhythm of flashes of its own. Sailors compare the rhythm with a list of lights
and know which lighthouse they see. The rhythm of a lighthouse is called its characteristic.
"""
HTML = """\
<!doctype html><html><head><title>Fog signals</title></head><body><article><h1>Fog signals</h1>
<p>In fog no ship can see a lighthouse, so the lighthouse sounds a horn that guides ships by ear.</p>
<p>The horn of a lighthouse sounds in a rhythm that is printed on the charts of the coast.</p>
</article></body></html>
"""
PAGE = (
    "A lighthouse keeper trimmed the wicks of the lamp every four hours.",
    "The keeper also wound the clockwork that turned the lens of the lighthouse.",
)
WORD = (
    "Ships keep the white sector of a lighthouse in sight and stay in safe water.",
    "The red sector of a lighthouse warns ships of rocks and shallow water.",
    "A lighthouse guides ships with a beam of light that sailors see from nine miles away.",
)
CODE = '''\
def visible_range(height: float) -> float:
    """Return from how many nautical miles a ship sees a lighthouse of a height in metres."""
    return 2.08 * height**0.5
'''
UNREADABLE = {"empty.md": "is empty", "secret.pdf": "is encrypted", "samples.dat": "is a binary file"}

OUR_LINES = re.compile(
    r"local stack is up, web UI: http://\S+|run \S+, web UI: http://\S+|again: `[^`]*client\.py report \S+`, or http://\S+"
    r"|report written to \S+|\[\d+:\d\d\] \S.*"
)
"""Everything that `start` may write on standard error when all goes well."""


def word_file() -> bytes:
    document = docx.Document()
    document.add_heading("Sectors of light", 1)
    for paragraph in WORD:
        document.add_paragraph(paragraph)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a document of every family, and three files that cannot be read."""
    folder = tmp_path_factory.mktemp("shelf")
    for name, text in {"lamps.md": MARKDOWN, "lens.rst": RST, "rhythm.txt": TEXT, "fog.html": HTML}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "range.py").write_text(CODE, encoding="utf-8")
    (folder / "keeper.pdf").write_bytes(make_pdf([PAGE], info="/Title (Keepers)"))
    (folder / "sectors.docx").write_bytes(word_file())
    (folder / "empty.md").write_bytes(b"")
    (folder / "secret.pdf").write_bytes(make_pdf([PAGE], encrypted=True))
    (folder / "samples.dat").write_bytes(bytes(range(256)) * 4)
    return folder


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home without a chat model."""
    with home(tmp_path_factory.mktemp("offline")) as made:
        yield made


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """The server of the models; its outliner plans two topics, its reviewer asks for more of one."""
    with ModelServer() as server:
        topics = [{"heading": name, "question": f"How do {name.lower()} work?"} for name in ("Lamps", "Lenses")]
        server.on("outliner", {"topics": topics})
        server.on("report_reviewer", "SECTION Lamps: SEARCH – Say more.\nSEARCH: more about light")
        yield server


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Home]:
    """A home whose models are on a loopback server."""
    with modelled_home(tmp_path_factory.mktemp("modelled"), model, TENURE_EFFORT="complex") as made:
        yield made


def claims(result: Result) -> list[ResultClaim]:
    return [*result.abstract_claims, *(claim for section in result.sections for claim in section.claims)]


def misquoted(result: Result, in_home: Home) -> list[str]:
    """Return the quotes of a result that are not at their place in the home's knowledge base."""
    uris = {source.n: SourceId(source.id) for source in result.sources}
    stored = load_sources(Store(str(in_home.settings.home / "knowledge")), list(uris.values()))
    return [
        cited.quote
        for claim in claims(result)
        for cited in claim.citations
        if stored[uris[cited.source]].text[cited.start : cited.end] != cited.quote
    ]


@slow
def test_a_folder_of_every_family_becomes_a_cited_report(offline: Home, shelf: Path, tmp_path: Path) -> None:
    """In a fresh home: one valid JSON document, verbatim quotes, unreadable files named, no foreign word."""
    report = tmp_path / "report.md"
    done = offline.run("start", QUESTION, "--docs", str(shelf), "--json", "-o", str(report))

    assert done.returncode == 0, done.stderr
    Draft202012Validator(json.loads((ROOT / "docs" / "result.schema.json").read_text())).validate(
        json.loads(done.stdout)
    )
    result = Result.model_validate_json(done.stdout)
    assert (result.status, result.mode, result.fallbacks) == ("done", "RESEARCH", ())
    assert len(result.sources) >= 3
    assert claims(result)
    assert all(claim.citations for claim in claims(result))
    assert misquoted(result, offline) == []
    assert {Path(file.path).name: file.reason for file in result.skipped} == UNREADABLE
    assert all(f"{name}` ({reason})" in report.read_text(encoding="utf-8") for name, reason in UNREADABLE.items())
    assert [line for line in done.stderr.splitlines() if not OUR_LINES.fullmatch(line)] == []
    (corpus,) = offline.json("corpus", "stats")["corpora"]
    assert corpus["sources"] == 7


@slow
def test_documents_without_an_answer_give_a_report_without_evidence(offline: Home, tmp_path: Path) -> None:
    """Exit code 3, and a report that says that nothing was found and claims nothing."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "bread.md").write_text("# Bread\n\nRye and salt.\n")
    done = offline.run("start", QUESTION, "--docs", str(folder))

    assert done.returncode == 3
    assert "**No evidence was found.**" in done.stdout
    assert "## References" not in done.stdout


def test_an_empty_folder_is_refused(offline: Home, tmp_path: Path) -> None:
    """Exit code 2 and one line that says what to do."""
    folder = tmp_path / "nothing"
    folder.mkdir()
    done = offline.run("start", QUESTION, "--docs", str(folder))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: --docs: {folder}: nothing is in it: put documents there, or name others\n"


def test_a_missing_path_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """Exit code 2 and one line; neither a stack nor a home has come into being."""
    fresh = Home(no_stack(tmp_path / "home").settings)
    done = fresh.run("start", QUESTION, "--docs", str(tmp_path / "nowhere"))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: --docs: {tmp_path / 'nowhere'} does not exist\n"
    assert not (tmp_path / "home").exists()


@slow
def test_without_a_model_a_program_is_not_made_up(offline: Home, shelf: Path) -> None:
    """Exit code 3, and a report that says why there is no program."""
    done = offline.run("start", "Write a function", "--mode", "code", "--docs", str(shelf))

    assert done.returncode == 3
    assert "Ended because there was no program left to try." in done.stdout


@slow
def test_every_role_is_answered_by_the_model(modelled: Home, model: ModelServer, shelf: Path) -> None:
    """Roles ask with their schema, the text is the server's, and the tokens are the ones it billed."""
    before = len(model.billed)
    result = Result.model_validate(modelled.json("start", QUESTION, "--docs", str(shelf)))
    billed = [bill for bill in model.billed[before:] if bill.schema_name]

    asked = {bill.schema_name for bill in billed}
    answered = {role for role, used in result.usage.by_role.items() if used.model_calls}
    assert asked == ROLES - ELSEWHERE == answered
    assert result.fallbacks == ()
    assert (result.usage.model_calls, result.usage.tokens_in, result.usage.tokens_out) == (
        len(billed),
        sum(bill.tokens_in for bill in billed),
        sum(bill.tokens_out for bill in billed),
    )
    assert result.title.startswith(MARKER)
    assert [section.topic for section in result.sections] == ["Lamps", "Lenses"]
    assert all(claim.text.startswith(MARKER) for claim in claims(result))
    assert any(claim.citations for claim in claims(result))
    assert misquoted(result, modelled) == []


@slow
def test_ctrl_c_detaches_and_the_run_goes_on(modelled: Home, model: ModelServer, shelf: Path, tmp_path: Path) -> None:
    """Ctrl-C gives 130 and the next command; later `watch`, `report`, `list` and `state` have all of it."""
    with (
        model.hold("outliner") as gate,
        modelled.popen("start", QUESTION, "--docs", str(shelf), "--id", "left") as left,
    ):
        assert gate.arrived.wait(WAIT_SECONDS)
        left.send_signal(signal.SIGINT)
        out, err = left.communicate()
        assert modelled.json("state", "left")["progress"]["status"] == "running"

    assert (left.returncode, out) == (130, "")
    assert re.match(r"the run continues: `[^`]*client\.py watch left` follows it", err.splitlines()[-1])
    watched = modelled.run("watch", "left")
    file = tmp_path / "left.json"
    assert watched.returncode == 0
    assert "## Lamps" in watched.stdout
    assert modelled.run("report", "left", "-o", str(file), "--format", "json").returncode == 0
    assert Result.model_validate_json(file.read_text(encoding="utf-8")).status == "done"
    row = next(row for row in modelled.json("list") if row["id"] == "left")
    assert (row["status"], row["phase"], row["question"]) == ("done", "done", QUESTION)
    assert modelled.json("state", "left")["progress"]["status"] == "done"


@exhaustive
def test_a_killed_worker_is_replaced_and_the_run_finishes(modelled: Home, model: ModelServer, shelf: Path) -> None:
    """After kill -9 and `up` the run ends; without a worker its report stays, and its state asks for one."""
    with model.hold("report_writer") as gate:
        modelled.json("start", QUESTION, "--docs", str(shelf), "--id", "killed", "--detach")
        assert gate.arrived.wait(WAIT_SECONDS)
        kill_worker(modelled)
        up = modelled.run("up")
    watched = modelled.run("watch", "killed", "--json")
    kill_worker(modelled)
    state = modelled.run("state", "killed")

    assert up.returncode == 0
    assert "the worker" in up.stderr
    assert (watched.returncode, json.loads(watched.stdout)["status"]) == (0, "done")
    assert modelled.run("report", "killed", "--json").stdout == watched.stdout
    assert state.returncode == 4
    assert re.fullmatch(r"error: no worker answers for killed: start one with `[^`]*client\.py up`\n", state.stderr)


def kill_worker(in_home: Home) -> None:
    """Kill the worker of a home as an out-of-memory killer does."""
    worker = psutil.Process(json.loads(in_home.run("status", "--json").stdout)["worker_pid"])
    worker.kill()
    worker.wait(10)


@slow
def test_a_batch_resolves_the_issues_of_one_repository(modelled: Home, model: ModelServer, tmp_path: Path) -> None:
    """Runs of a batch read the repository of their command, and each change is proved and applied."""
    files: dict[str, str | bytes] = {"pyproject.toml": "[project]\nname='modules'\n"}
    for n in (1, 2):
        files[f"mod{n}.py"] = f"def f():\n    return {n} - 1\n"
        files[f"test_mod{n}.py"] = f"from mod{n} import f\n\n\ndef test_it():\n    assert f() == {n}\n"
    repository = make_repository(tmp_path / "modules", files)
    issues = tmp_path / "issues.txt"
    issues.write_text("mod1 is wrong\nmod2 is wrong\n")

    def answer(request: dict[str, Any]) -> str:
        n = 1 if "mod1 is wrong" in str(request["messages"]) else 2
        edit = f"EDIT mod{n}.py\n<<<<<<< SEARCH\n    return {n} - 1\n=======\n    return {n}\n>>>>>>> REPLACE"
        return f"{edit}\nDONE\nCAUSE: one less\nCHANGE: the number itself\nMESSAGE: return the number"

    model.on("repository_engineer", answer)
    summary = modelled.json("batch", "start", str(issues), "--repo", str(repository), "--test", "python -m pytest")
    applied = [modelled.run("apply", row["run"]) for row in summary["outcomes"]]

    assert [row["note"] for row in summary["outcomes"]] == ["proved: mod1.py +1 -1", "proved: mod2.py +1 -1"]
    assert [done.returncode for done in applied] == [0, 0]
    assert [(repository / f"mod{n}.py").read_text() for n in (1, 2)] == [f"def f():\n    return {n}\n" for n in (1, 2)]
