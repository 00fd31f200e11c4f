"""A model server whose answers have the shape and the length of a careful model's, for `benchmarks.model_cost`.

Every string that an answer cites passages for is a sentence of such a passage, so that whole runs reach all their
phases. Decisions follow a plain pattern that does not depend on the run: one critique of each text, one doubtful claim
of each check, one more search of each task, one more cycle of research.
"""

import itertools
import json
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.model_server import ModelServer, Request
from tests.model_server.request import read_messages, read_schema
from tests.model_server.wire import ClientConnection, WireReply
from tests.support.report_answers import list_headings, render_outline
from tests.support.schema_instance import Json, instance

_PASSAGE = re.compile(r'<passage n="(\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)
_SENTENCE = re.compile(r"[A-Z][^.!?\n|`#]{40,220}\.")
_MARKED = re.compile(r"([A-Z][^.!?\n\[\]]{10,}\.) \[(\d+)\]")
_CLAIM = re.compile(r"^\d+\. ", re.MULTILINE)
_CYCLE = re.compile(r"Plan cycle (\d+) of")
_HEADING = re.compile(r"^\d+\. ([^:\[\n]+)", re.MULTILINE)
_TEXT = "It is written down step by step, so that a later reader finds each part where it belongs. " * 6
SENTENCES, BLOCKS = 4, 2
"""Sentences of a paragraph, and paragraphs of a text."""
ASPECTS = ("the parts that matter", "what happens when something fails", "what it costs", "how people use it", "limits")
"""Aspects that an outline asks of every question, as far as it has topics."""
TOPICS: Mapping[str, int] = {"simple": 1, "moderate": 5, "complex": 5}
"""Topics of the outline."""
ANSWER_CHARACTERS = 400
"""Length of a hypothetical answer: about sixty words."""
QUERY_WORDS = ("what it is called", "its default")
"""Subjects of the searches of a topic."""


class ScriptedModel(ModelServer):
    """A loopback server that answers every role after a fixed latency."""

    def __init__(self, latency: float) -> None:
        super().__init__()
        self.latency = latency
        self._question = ""
        self._effort = "simple"
        self._asked: Counter[str] = Counter()
        self._run_lock = threading.Lock()

    def begin(self, question: str, effort: str) -> None:
        """Answer the calls of the next run for a question."""
        with self._run_lock:
            self._question, self._effort = question, effort
            self._asked = Counter()

    def _answer(self, request: Request, caller: ClientConnection) -> WireReply | None:
        """Answer a request after the latency."""
        if request.schema_name:
            caller.pause(self.latency)
        return super()._answer(request, caller)

    def _build_instance(self, request: Request) -> str | Json:
        name, schema = read_schema(request.json)
        prompt = "\n".join(str(message["content"]) for message in read_messages(request.json))
        if name in ("answerer", "report_writer", "report_reviewer"):
            return self._write(name, prompt)
        if name == "reasoner":
            return _reason(prompt)
        if name == "planner":
            return self._plan(prompt)
        if name == "outliner":
            return render_outline({"topics": self._list_topics()})
        plain = instance(schema, name)
        if not isinstance(plain, dict):
            return json.dumps(plain)
        with self._run_lock:
            self._asked[name] += 1
            number = self._asked[name]
        answer = _fill(plain, _read_sentences(prompt))
        decided = self._decide(name, prompt, number)
        known = schema.get("properties", {})
        return json.dumps({**answer, **{field: value for field, value in decided.items() if field in known}})

    def _write(self, role: str, prompt: str) -> str:
        """Return an answer, a report with two paragraphs to a section and two gaps, or the review of one."""
        with self._run_lock:
            self._asked[role] += 1
            number = self._asked[role]
        sentences = itertools.cycle(self._choose_sentences(prompt) or [(1, "It is so.")])

        def write(count: int) -> str:
            taken = (next(sentences) for _ in range(count))
            return " ".join(f"The manual says: {text.rstrip('.')} [{n}]." for n, text in taken)

        if role == "answerer":
            return write(2)
        if role == "report_reviewer":
            headings = [f"SECTION {heading}: NONE – it holds." for heading in list_headings(prompt)]
            headings += [f"ANSWERED yes: {heading}" for heading in list_headings(prompt)]
            if number > 1:
                return "\n".join([*headings, "DONE"])
            edits = [f"REPLACE 3: {write(1)}", "WRONG 4 neutral 0.9", "DELETE 4", f"ADD 5: {write(1)}"]
            return "\n".join([*headings, *edits, f"SEARCH: {self._question} in detail"])
        sections = [f"## {heading}\n\n{write(SENTENCES)}\n\n{write(SENTENCES)}" for heading in list_headings(prompt)]
        gaps = "\n".join(f"- How it is {word} [?] (search: {word} of it)" for word in ("paid", "ended"))
        parts = ["# What the manual says", write(3), *sections, "## What follows", f"- {write(1)}"]
        return "\n\n".join([*parts, "## What is not known", gaps])

    def _choose_sentences(self, prompt: str) -> list[tuple[int, str]]:
        """Return the sentences of a text, each with the number of its passage."""
        return _read_sentences(prompt)

    def _decide(self, name: str, prompt: str, number: int) -> Json:
        """Return the fields of an answer that steer a run; fields that a role does not have are left out."""
        task = _read_tag(prompt, "task") or _read_tag(prompt, "topic")
        further = [
            line for line in _read_tag(prompt, "queries").splitlines() if line.startswith("- ") and task not in line
        ]
        decisions: dict[str, Json] = {
            "router": {"mode": "RESEARCH", "complexity": self._effort, "query_type": "analytical", "calculation": ""},
            "decomposer": {"sub_questions": [topic["question"] for topic in self._list_topics()], "dependencies": []},
            "topic_namer": {"topics": []},
            "hypothetical_document": {
                "texts": [f"{line} {_TEXT}" for line in _read_tag(prompt, "topics").splitlines()[1:]]
            },
            "query_refiner": {
                "complete": bool(further),
                "query": f"{self._question} in detail, part {number}",
            },
            "claim_checker": {"verdicts": _judge_claims(prompt)},
            "stance_judge": {"stances": []},
        }
        return decisions.get(name, {})

    def _list_topics(self) -> list[Json]:
        aspects = ASPECTS[: TOPICS[self._effort]]
        return [
            {
                "heading": aspect.capitalize(),
                "question": f"{self._question.rstrip('?')}: {aspect}?",
                "answer": f"{self._question.rstrip('?')}: {aspect}. {_TEXT}"[:ANSWER_CHARACTERS],
                "queries": [f"{self._question.rstrip('?')}, {aspect}, {word}" for word in QUERY_WORDS],
            }
            for aspect in aspects
        ]

    def _plan(self, prompt: str) -> str:
        """Return a critique, and a plan with a search for each topic; the third cycle finishes."""
        found = _CYCLE.findall(prompt)
        cycle = int(found[-1]) if found else 1
        known = itertools.islice(itertools.cycle(_read_sentences(prompt) or [(1, "It is so.")]), SENTENCES)
        situation = " ".join(f"The manual says: {text.rstrip('.')} [{n}]." for n, text in known)
        aspects = ASPECTS[: TOPICS[self._effort]]
        parts = [f"PART {aspect.capitalize()}: partly – what it costs in figures." for aspect in aspects]
        if cycle > 2:
            return "\n".join(
                [f"SITUATION: {situation}", *parts, "DECISION: FINISH – the last searches brought no figures."]
            )
        searches = [
            f"SEARCH s{n} [{aspect.capitalize()}]: {self._question.rstrip('?')}, {aspect}, in cycle {cycle}"
            for n, aspect in enumerate(aspects, 1)
        ]
        decision = "DECISION: CONTINUE – figures are missing, which a page on limits may state."
        return "\n".join([f"SITUATION: {situation}", *parts, decision, *searches])


def _reason(prompt: str) -> str:
    """Return a line of steps that each state what a passage says."""
    said = list(itertools.islice(itertools.cycle(_read_sentences(prompt) or [(1, "It is so.")]), SENTENCES))
    lines = [f"The manual says: {text.rstrip('.')} [{n}]." for n, text in said]
    steps = [f"STEP {number} premise: {line}" for number, line in enumerate(lines[:-1], 1)]
    return "\n".join([*steps, f"CONCLUSION after 1: {lines[-1]}", "CONFIDENCE: 0.8"])


def _read_tag(prompt: str, tag: str) -> str:
    """Return the content of the last element with a tag; empty if there is none."""
    return prompt.rpartition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0] if f"<{tag}>\n" in prompt else ""


def _judge_claims(prompt: str) -> list[Json]:
    """Return a verdict for every claim; the last of several is not supported."""
    count = len(_CLAIM.findall(prompt.rpartition("</passage>")[2]))
    verdicts = ["supported"] * (count - 1) + ["neutral" if count > 2 else "supported"]
    return [{"claim": n, "verdict": verdict, "confidence": 0.9} for n, verdict in enumerate(verdicts[:count], 1)]


def _read_sentences(prompt: str) -> list[tuple[int, str]]:
    """Return sentences of the passages in a prompt, each with the number of its passage; else marked ones of a text."""
    found: list[tuple[int, str]] = []
    for number, text in _PASSAGE.findall(prompt):
        found += [(int(number), " ".join(sentence.split())) for sentence in _SENTENCE.findall(text)[:2]]
    return found or [(int(number), text) for text, number in _MARKED.findall(prompt)]


def _fill(value: Any, sentences: Sequence[tuple[int, str]]) -> Any:
    """Return an answer whose texts with passages are sentences of these, and lists of them as long as usual."""
    taken = iter(sentences)

    def fill(part: Any) -> Any:
        if isinstance(part, list):
            items = part
            if part and isinstance(part[0], dict):
                wanted = BLOCKS if "sentences" in part[0] else SENTENCES if _cites(part[0]) else len(part)
                items = (part * wanted)[:wanted]
            return [filled for item in items if (filled := fill(item)) is not None]
        if not isinstance(part, dict):
            return part
        if _cites(part):
            number, text = next(taken, (0, ""))
            return {**part, "text": f"The manual says: {text}", "passages": [number]} if number else None
        filled = {name: fill(field) for name, field in part.items()}
        is_empty = [] in (filled.get("sentences"), filled.get("cells")) or ("block" in part and not filled["block"])
        return None if is_empty else filled

    return fill(value)


def _cites(item: Json) -> bool:
    return "text" in item and "passages" in item
