"""Tests of recorded conversations: written from the folder of answers by hand, replayed by the model server."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from evals.by_hand.__main__ import main
from evals.by_hand.folder import RequestFolder, RequestInbox
from tenure.roles.base import mark_documents, mark_passages
from tests.model_server import ModelServer, Recording
from tests.model_server.recording import RecordedAnswer, save_recording
from tests.support.passages import passage
from tests.support.schema_instance import MARKER

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


def build_body(question: str, role: str = "namer", **parameters: Any) -> dict[str, Any]:
    declared = {"type": "json_schema", "json_schema": {"name": role, "strict": True, "schema": SCHEMA}}
    messages = [{"role": "system", "content": "Name it."}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages, "response_format": declared, **parameters}


def build_text_body(question: str) -> dict[str, Any]:
    return {name: value for name, value in build_body(question).items() if name != "response_format"}


def record(path: Path, answers: dict[str, str]) -> Path:
    """Answer requests in a folder by hand, and export the folder."""
    folder = RequestFolder(path / "answers")
    inbox = RequestInbox(folder)
    for question, title in answers.items():
        with inbox.receive(build_body(question)) as request:
            request.save_answer(json.dumps({"title": title}))
    with inbox.receive(build_body("never answered")):
        pass
    assert main(["export", "--folder", str(folder.path), str(path / "recording.jsonl")]) == 0
    return path / "recording.jsonl"


def ask(server: ModelServer, body: dict[str, Any]) -> str:
    reply = httpx.post(f"{server.base_url}/chat/completions", json=body, timeout=30)
    title: str = json.loads(reply.json()["choices"][0]["message"]["content"])["title"]
    return title


def test_answers_are_found_by_prompt_or_by_nearness(tmp_path: Path) -> None:
    """The same prompt gets its own answer, with any parameters and again; a changed one gets that of the nearest."""
    rye, oat = "<question>\nRye?\n</question>\n", "<question>\nOat?\n</question>\n"
    prompts = {f"{rye}flour water": "first", f"{rye}salt yeast": "second", f"{oat}flour water": "third"}
    recording = Recording.load(record(tmp_path, prompts))
    with ModelServer(recording=recording) as server:
        bodies = (build_body(f"{rye}flour water", temperature=0.5), build_body(f"{rye}salt yeast sugar"))
        assert [ask(server, body) for body in (*bodies, bodies[0])] == ["first", "second", "first"]
        assert ask(server, build_body(f"{oat}salt yeast")) == "third"
        assert [match.kind for match in recording.matches] == ["exact", "nearest", "exact", "nearest"]


def test_a_request_without_a_question_needs_a_prompt_that_is_alike(tmp_path: Path) -> None:
    """Shared words of every prompt of a role do not count; half of the rare ones are enough."""
    recording = Recording.load(record(tmp_path, {"Write on rye bread": "rye", "Write on oat milk": "oat"}))

    assert recording.find_answer(build_body("Write on oat drinks")) == {"title": "oat"}
    assert recording.find_answer(build_body("Write on wheat and barley")) is None
    assert [match.kind for match in recording.matches] == ["nearest", "none"]


def test_a_recording_can_be_compressed(tmp_path: Path) -> None:
    """The ending of the name decides."""
    kept = [RecordedAnswer("namer", "Rye?", {"title": "rye"})]
    save_recording(tmp_path / "r.jsonl.xz", kept)

    assert (tmp_path / "r.jsonl.xz").read_bytes().startswith(b"\xfd7zXZ")
    assert Recording.load(tmp_path / "r.jsonl.xz").find_answer(build_body("Rye?")) == {"title": "rye"}


def test_citations_follow_their_passages(tmp_path: Path) -> None:
    """In a prompt with other passages, the numbers of an answer are those of the same texts; missing ones are gone."""
    folder = RequestFolder(tmp_path / "answers")
    before = build_body(mark_passages([passage("Rye."), passage("Oat."), passage("Wheat.")]))
    answer = {"title": "x", "rows": [{"passages": [1, 2]}, {"passages": [3]}]}
    before["response_format"]["json_schema"]["schema"] = {"type": "object"}
    with RequestInbox(folder).receive(before) as request:
        request.save_answer(json.dumps(answer))
    assert main(["export", "--folder", str(folder.path), str(tmp_path / "r.jsonl")]) == 0
    after = build_body(mark_passages([passage("Wheat."), passage("Barley."), passage("Oat.")]))
    recording = Recording.load(tmp_path / "r.jsonl")

    assert recording.find_answer(after) == {"title": "x", "rows": [{"passages": [3]}, {"passages": [1]}]}
    assert recording.find_answer(before) == answer


def test_marks_of_a_text_follow_their_passages(tmp_path: Path) -> None:
    """The marks of a report are those of the same texts, and marks of passages that are missing are gone."""
    folder, passages = RequestFolder(tmp_path / "answers"), [passage("Rye.", "a"), passage("Oat.", "b")]
    task = '\n<task name="report_writer">\nWrite.\n</task>'
    answer = "# Corn [1]\n\nRye is old [1, 2, i]. Oat is not [2], in `items[3]` and [2024]."
    with RequestInbox(folder).receive(build_text_body(mark_documents(passages) + task)) as request:
        request.save_answer(answer)
    assert main(["export", "--folder", str(folder.path), str(tmp_path / "r.jsonl")]) == 0
    recording = Recording.load(tmp_path / "r.jsonl")

    after = build_text_body(mark_documents([passage("Wheat.", "c"), *passages[1:]]) + task)
    assert recording.find_answer(after) == "# Corn \n\nRye is old [2, i]. Oat is not [2], in `items[3]` and [2024]."
    assert recording.matches[0].role == "report_writer"


def test_a_request_without_a_recorded_answer_gets_an_instance(tmp_path: Path) -> None:
    """Another role is answered by the schema; a script takes precedence."""
    recording = Recording.load(record(tmp_path, {"One?": "first"}))
    with ModelServer(recording=recording) as server:
        assert ask(server, build_body("One?", "other")).startswith(MARKER)
        assert ask(server, build_body("One?")) == "first"
        server.on("other", {"title": "scripted"})
        assert ask(server, build_body("One?", "other")) == "scripted"
        assert [match.kind for match in recording.matches] == ["none", "exact"]
        assert Counter(match.role for match in recording.matches) == {"namer": 1, "other": 1}
