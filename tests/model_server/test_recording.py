"""Tests of recorded conversations: written from the folder of answers by hand, replayed by the model server."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from benchmarks.by_hand.__main__ import main
from benchmarks.by_hand.folder import RequestFolder, RequestInbox
from tests.model_server import ModelServer, Recording
from tests.support.schema_instance import MARKER

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


def build_body(question: str, role: str = "namer", **parameters: Any) -> dict[str, Any]:
    declared = {"type": "json_schema", "json_schema": {"name": role, "strict": True, "schema": SCHEMA}}
    messages = [{"role": "system", "content": "Name it."}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages, "response_format": declared, **parameters}


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


def test_answers_are_found_by_prompt_or_by_order(tmp_path: Path) -> None:
    """The same prompt gets its own answer, with any parameters; another one gets the next unused answer of its role."""
    recording = Recording.load(record(tmp_path, {"One?": "first", "Two?": "second", "Three?": "third"}))
    with ModelServer(recording=recording) as server:
        bodies = (build_body("Two?", temperature=0.5), build_body("New?"), build_body("Newer?"), build_body("Two?"))
        titles = [ask(server, body) for body in bodies]
        assert titles == ["second", "first", "third", "second"]
        assert [match.kind for match in recording.matches] == ["exact", "order", "order", "exact"]


def test_a_request_without_a_recorded_answer_gets_an_instance(tmp_path: Path) -> None:
    """Another role, or more requests than answers, are answered by the schema; a script takes precedence."""
    recording = Recording.load(record(tmp_path, {"One?": "first"}))
    with ModelServer(recording=recording) as server:
        assert ask(server, build_body("One?", "other")).startswith(MARKER)
        assert ask(server, build_body("New?")) == "first"
        assert ask(server, build_body("Newer?")).startswith(MARKER)
        server.on("other", {"title": "scripted"})
        assert ask(server, build_body("One?", "other")) == "scripted"
        assert [match.kind for match in recording.matches] == ["none", "order", "none"]
        assert Counter(match.role for match in recording.matches) == {"namer": 2, "other": 1}
