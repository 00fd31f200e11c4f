"""Test the model server of the comparison."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.peers.documents import INVENTIONS, QUESTIONS, Corpus
from benchmarks.peers.model import Behaviour, PeerModel
from tenure.roles.report_edits import ReportReviewerOutput, parse_review
from tenure.roles.report_markdown import parse_report
from tenure.roles.writing.answerer import parse_answer
from tests.roles.cases import CASES, EVIDENCE

SENTENCE = "A worker that has crashed is replaced by another worker within some seconds"


@pytest.fixture
def model(tmp_path: Path) -> Iterator[PeerModel]:
    """A server without latency that knows one document."""
    (tmp_path / "page.md").write_text(f"# Page\n\n{SENTENCE}. What else?\n")
    with PeerModel(0.0, Corpus(tmp_path)) as server:
        server.begin_run(QUESTIONS[0], Behaviour())
        yield server


def post(model: PeerModel, prompt: str, **options: Any) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], **options}
    return httpx.post(f"{model.base_url}/chat/completions", json=body)


def ask(model: PeerModel, prompt: str, **options: Any) -> str:
    reply = post(model, prompt, **options).raise_for_status().json()
    return str(reply["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    ("passage", "cited"),
    [
        (f"[7] {SENTENCE}.", f"{SENTENCE} [7]."),
        (f"Source: page.md\n{SENTENCE}.", f"{SENTENCE} ([page.md](page.md))."),
        (f"[7] Before. {SENTENCE} [9].", f"{SENTENCE} [9]."),
        (f"{SENTENCE}.", f"{SENTENCE}."),
    ],
)
def test_an_answer_consists_of_sentences_of_the_prompt(model: PeerModel, passage: str, cited: str) -> None:
    """Prose repeats the sentences of the documents in the prompt, and cites them as the prompt does."""
    assert ask(model, f"Write a report.\n\n{passage}") == cited


def test_a_prompt_without_passages_gets_a_confident_answer(model: PeerModel) -> None:
    """The model never says that it does not know."""
    assert "well established" in ask(model, "Write a report.")


def test_demanded_forms_are_kept(model: PeerModel) -> None:
    """Lists and JSON are what the prompt asks for."""
    queries = json.loads(ask(model, 'Respond with a list of strings in the following format: ["query 1"].'))
    ranked = ask(
        model, "You rank search results from multiple engines.\nSearch Results:\n[0] bread\n[1] worker crash\n"
    )

    assert len(queries) == 3 and all(QUESTIONS[0].rstrip("?") in query for query in queries)
    assert json.loads(ranked) == [1]


def test_functions_are_called_until_the_research_is_complete(model: PeerModel) -> None:
    """A searching function is called twice, then the one that ends the research, then the model writes."""
    text = {"type": "object", "properties": {"query": {"type": "string"}}}
    tools = [
        {"type": "function", "function": {"name": "search", "parameters": text}},
        {"type": "function", "function": {"name": "ResearchComplete", "parameters": {"type": "object"}}},
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Research."}]
    names = []
    for _ in range(4):
        body = {"model": "m", "messages": messages, "tools": tools}
        reply = httpx.post(f"{model.base_url}/chat/completions", json=body).raise_for_status().json()
        messages.append(reply["choices"][0]["message"])
        names.append([call["function"]["name"] for call in messages[-1].get("tool_calls") or ()])

    assert names == [["search"], ["search"], ["ResearchComplete"], []]


def test_every_third_answer_is_broken(model: PeerModel) -> None:
    """Broken answers come at a fixed distance from the first one."""
    model.begin_run(QUESTIONS[0], Behaviour("500", first=2))

    assert [post(model, "Write.").status_code for _ in range(6)] == [200, 500, 200, 200, 500, 200]


def test_a_truncated_answer_is_remembered(model: PeerModel) -> None:
    """The end of a torn answer is known, so that a report can be searched for it."""
    model.begin_run(QUESTIONS[0], Behaviour("truncated", first=1))
    answer = ask(model, f"Write.\n\n[1] {SENTENCE}.")

    assert answer == f"{SENTENCE} [1]."[: len(answer)] and len(answer) < len(SENTENCE)
    ((end, continuation),) = model.fragments
    assert answer.endswith(end) and f"{SENTENCE} [1].".startswith(answer + continuation)


def test_an_empty_answer_has_no_content(model: PeerModel) -> None:
    """An empty answer is a regular reply without text."""
    model.begin_run(QUESTIONS[0], Behaviour("empty", first=1))

    assert ask(model, "Write.") == ""


def test_inventions_are_planted_in_prose(model: PeerModel) -> None:
    """All kinds of inventions carry the citation of a true passage."""
    model.begin_run(QUESTIONS[0], Behaviour(plants=True))
    answer = ask(model, f"Write.\n\n[4] {SENTENCE}.")

    assert all(f"{text.removesuffix('.')} [4]." in answer for text in INVENTIONS.values())


def test_planted_answers_fit_the_roles_of_tenure(model: PeerModel) -> None:
    """A planted answer is valid, so that no correction removes it."""
    model.begin_run(QUESTIONS[0], Behaviour(plants=True))
    answer = parse_answer(_ask_role(model, "answerer"))
    said = {sentence.text for block in answer.blocks for sentence in block.sentences}

    assert said >= set(INVENTIONS.values())


def test_inventions_are_planted_in_a_report(model: PeerModel) -> None:
    """They cite a true passage, apart from the invented source, and the review confirms them."""
    model.begin_run(QUESTIONS[0], Behaviour(plants=True))
    written, review = (_ask_role(model, name) for name in ("report_writer", "report_reviewer"))
    section = parse_report(written).parts[1]
    cited = {sentence.text: sentence.passages for block in section.blocks for sentence in block.sentences}

    assert cited.keys() >= set(INVENTIONS.values())
    assert cited[INVENTIONS["source"]] == (97,)
    assert all(0 < number <= 3 for kind, text in INVENTIONS.items() if kind != "source" for number in cited[text])
    parsed = parse_review(review)
    assert parsed.sections and parsed == ReportReviewerOutput(sections=parsed.sections)


def _ask_role(model: PeerModel, name: str) -> str:
    messages = [message.model_dump() for message in CASES[name].role.prompt(CASES[name].input, EVIDENCE)]
    reply = httpx.post(f"{model.base_url}/chat/completions", json={"model": "m", "messages": messages})
    answer: str = reply.raise_for_status().json()["choices"][0]["message"]["content"]
    return answer
