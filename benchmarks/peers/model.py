"""The model server of the comparison, which answers the roles of Tenure and the prompts of other systems.

It answers after a fixed latency, and can plant inventions, break answers, or block all calls after a number of them.
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.peers.answers import Prompt, answer_text, list_queries
from benchmarks.peers.documents import INVENTIONS, Corpus
from benchmarks.support.scripted_model import ScriptedModel
from tenure.roles.registry import list_role_names
from tests.model_server import Fault, Request
from tests.model_server.ledger import BilledRequest
from tests.model_server.request import read_functions, read_messages, read_schema
from tests.model_server.wire import ClientConnection, WireReply
from tests.support.schema_instance import MARKER, Json, instance

FAULT_KINDS: Final = ("truncated", "empty", "500", "429")
"""Kinds of broken answers."""
_CLOSING = ("complete", "finish")
_CITED_OPENING = re.compile(r"\n## [^\n]+\n\n[^\n]*?\[(\d+)\]\.")
"""Heading and first sentence of a section."""
_FRAGMENT = 30
"""Characters at the end of a truncated answer by which it is recognized in a report."""


@dataclass(frozen=True)
class Behaviour:
    """Deviations of the model from a regular one."""

    fault: str = ""
    """Kind of the broken answers; empty for none."""
    every: int = 3
    """Distance of two broken answers in calls."""
    first: int = 3
    """Number of the first broken answer, at most `every`."""
    plants: bool = False
    """Whether answers contain inventions, and every check confirms them."""


class PeerModel(ScriptedModel):
    """A loopback server for all systems of the comparison."""

    def __init__(self, latency: float, corpus: Corpus) -> None:
        super().__init__(latency)
        self.offered = {"scripted": None}
        self.behaviour = Behaviour()
        self.fragments: list[tuple[str, str]] = []
        """Ends of truncated answers, each with its continuation in the whole answer."""
        self.reached = threading.Event()
        """Set when a call waits at the limit."""
        self._corpus = corpus
        self._roles = frozenset(list_role_names())
        self._limit: int | None = None
        self._calls = 0
        self._waiting = 0
        self._call_lock = threading.Lock()

    def begin_run(self, question: str, behaviour: Behaviour, stop_after: int | None = None) -> None:
        """Answer the calls of the next run.

        Args:
            question: question of the run.
            behaviour: deviations of the model.
            stop_after: number of calls after which all others wait until `release_when_idle`; None for no limit.
        """
        self.begin(question, "moderate")
        with self._call_lock:
            self.behaviour, self._limit, self._calls = behaviour, stop_after, 0
        self.fragments.clear()
        self.reached.clear()

    @property
    def is_answering(self) -> bool:
        """Whether a call below the limit is not answered yet."""
        with self._call_lock:
            return len(self.in_flight) > self._waiting

    def release_when_idle(self) -> None:
        """Answer all calls again as soon as the server has noticed that the clients of the waiting ones are gone."""
        while self.in_flight:
            threading.Event().wait(0.02)
        with self._call_lock:
            self._limit = None

    def _answer(self, request: Request, caller: ClientConnection) -> WireReply | None:
        if not is_call(request):
            return super()._answer(request, caller)
        with self._call_lock:
            self._calls += 1
            waits = self._limit is not None and self._calls > self._limit
            self._waiting += waits
        if waits:
            self.reached.set()
            try:
                caller.wait(lambda: self._limit is None)
            finally:
                with self._call_lock:
                    self._waiting -= 1
        if not request.schema_name:
            caller.pause(self.latency)
        return super()._answer(request, caller)

    def _next_fault(self, request: Request) -> Fault:
        kind = self.behaviour.fault
        if not kind or not is_call(request) or (self._calls - self.behaviour.first) % self.behaviour.every:
            return super()._next_fault(request)
        if kind.isdigit():
            return Fault(int(kind))
        return Fault(change=self._truncate if kind == "truncated" else _empty)

    def _truncate(self, reply: Json) -> None:
        """Cut an answer in its middle, and remember its end."""

        def cut(text: str) -> str:
            half = len(text) // 2
            self.fragments.append((text[max(0, half - _FRAGMENT) : half], text[half : half + _FRAGMENT]))
            return text[:half]

        _change_answer(reply, cut)

    def _build_instance(self, request: Request) -> str | Json:
        name, schema = read_schema(request.json)
        prompt = "\n".join(read_text(message) for message in read_messages(request.json))
        if name in self._roles:
            answer = super()._build_instance(request)
            return _plant(name, answer) if self.behaviour.plants and isinstance(answer, str) else answer
        asked = Prompt(prompt, self._question, self._corpus, self.behaviour.plants)
        if functions := read_functions(request.json):
            return _call_function(functions, request.json, asked)
        if schema:
            return json.dumps(_fill(instance(schema, name), asked))
        return answer_text(asked)

    def _decide(self, name: str, prompt: str, number: int) -> Json:
        decided = super()._decide(name, prompt, number)
        if self.behaviour.plants and name == "claim_checker":
            return {"verdicts": [{**verdict, "verdict": "supported"} for verdict in decided["verdicts"]]}
        return decided


def is_call(request: Request) -> bool:
    """Return whether a request asks a chat model."""
    return request.method == "POST" and request.route.endswith(("/chat/completions", "/responses"))


def is_billed_call(entry: BilledRequest) -> bool:
    """Return whether a bill is that of a chat model."""
    return is_call(entry.request)


def read_text(message: Any) -> str:
    """Return the text of a message, also of one in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def _change_answer(reply: Json, change: Callable[[str], str]) -> None:
    """Change the text of an answer, or the arguments of its function call."""
    message = reply["choices"][0]["message"]
    if message.get("tool_calls"):
        function = message["tool_calls"][0]["function"]
        function["arguments"] = change(function["arguments"])
    else:
        message["content"] = change(message["content"] or "")


def _empty(reply: Json) -> None:
    message = reply["choices"][0]["message"]
    message["content"] = ""
    message.pop("tool_calls", None)


def _call_function(functions: dict[str, Json], request: Json, prompt: Prompt) -> str | Json:
    """Call a searching function twice, then the one that ends the research, then answer in prose."""
    calls = [call for message in read_messages(request) for call in message.get("tool_calls") or ()]
    ending = [name for name in functions if any(word in name.lower() for word in _CLOSING)]
    searching = [name for name in functions if name not in ending]
    if searching and len(calls) < 2:
        return {"action": searching[0], "arguments": _fill_query(functions[searching[0]], prompt, len(calls))}
    if ending and not any(call["function"]["name"] in ending for call in calls):
        return {"action": ending[0], "arguments": {}}
    return answer_text(prompt)


def _fill_query(schema: Json, prompt: Prompt, number: int) -> Json:
    queries = list_queries(prompt.question)
    arguments = instance(schema)
    return {
        name: queries if isinstance(value, list) else queries[number] if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def _fill(value: Any, prompt: Prompt) -> Any:
    """Return an answer to another system's schema: no questions back, and prose for every string."""
    queries = iter(list_queries(prompt.question) * 4)

    def fill(part: Any, name: str) -> Any:
        if isinstance(part, dict):
            return {key: fill(field, key) for key, field in part.items()}
        if isinstance(part, list):
            return [next(queries) for _ in range(3)] if part and isinstance(part[0], str) else part
        if isinstance(part, bool):
            return False
        if isinstance(part, str) and part.startswith(MARKER):
            return (
                prompt.question if any(word in name for word in ("brief", "question", "query")) else answer_text(prompt)
            )
        return part

    return fill(value, "")


def _plant(role: str, answer: str) -> str:
    """Add the inventions to an answer and to each report, and have a review confirm them."""
    if role == "answerer":
        return f"{answer} {_list_inventions('1')}"
    if role == "report_writer":
        return _CITED_OPENING.sub(lambda found: f"{found[0]} {_list_inventions(found[1])}", answer, count=1)
    if role == "report_reviewer":
        return "\n".join([*(line for line in answer.splitlines() if line.startswith("SECTION ")), "DONE"])
    return answer


def _list_inventions(mark: str) -> str:
    """Return the inventions with a mark; the invented source is one that no passage has."""
    marks = {kind: "97" if kind == "source" else mark for kind in INVENTIONS}
    return " ".join(f"{text.removesuffix('.')} [{marks[kind]}]." for kind, text in INVENTIONS.items())
