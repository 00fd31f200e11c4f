"""Check the model layer against a real server: each check returns one row of a table."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks.real_model.server import MODEL
from benchmarks.start import environment
from tenure.contracts.messages import Message
from tenure.contracts.run.budget import CallBudget
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.errors import ContextOverflow, UnusableAnswer
from tenure.models.openai.chat import OpenAIChat
from tenure.models.openai.embeddings import OpenAIEmbeddings
from tenure.models.probe import probe_chat_models
from tenure.models.routes import ModelRoutes
from tenure.models.usage import TokenUsage
from tenure.role_executor import execute_role
from tenure.roles.base import Evidence
from tenure.roles.reasoning import react
from tenure.roles.registry import load_roles
from tenure.settings import Settings
from workflows.research.tool_registry import TOOLS

_ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_SECONDS = 900.0
_RUN_SECONDS = 3600
_PROMPT = (Message(role="system", content="Answer briefly."), Message(role="user", content="What is bread?"))
_TEXT_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 4000}},
    "required": ["text"],
    "additionalProperties": False,
}
_PAGE = "# Lighthouses\n\nA lighthouse is a tower with a lamp. Its lamp guides ships at night, and a horn in fog.\n"


class CheckResult(NamedTuple):
    """One row of the table."""

    feature: str
    """The checked feature."""
    works: bool
    """Whether it works."""
    detail: str
    """Details of the observation."""


Check = Callable[[str], Awaitable[CheckResult]]


def build_settings(base_url: str, **others: object) -> Settings:
    """Return settings for a server, independent of the environment."""
    own = {"openai_base_url": base_url, "model": MODEL, "fast_model": "", "model_timeout": _TIMEOUT_SECONDS}
    return Settings.model_validate({**own, **others})


@asynccontextmanager
async def connect_chat(base_url: str) -> AsyncIterator[OpenAIChat]:
    """Yield a chat back-end on the server."""
    chat = OpenAIChat(ModelRoutes(build_settings(base_url)), base_url=base_url, timeout=_TIMEOUT_SECONDS)
    try:
        yield chat
    finally:
        await chat.aclose()


def build_request(limit: int, *, streamed: bool = False, prompt: Sequence[Message] = _PROMPT) -> ChatRequest:
    """Return a request for a text."""
    return ChatRequest("answerer", "main", tuple(prompt), _TEXT_SCHEMA, streamed, max_output=limit)


async def check_doctor(base_url: str) -> CheckResult:
    """Probe the model as `doctor` does, and compare the size of the context with that of the server."""
    (probe,) = await probe_chat_models(build_settings(base_url))
    async with httpx.AsyncClient() as http:
        listed = (await http.get(f"{base_url}/models", timeout=60)).json()["data"][0]["meta"]["n_ctx"]
    detail = probe.problem or f"{probe.structured_output}, context {probe.context_tokens:,}"
    return CheckResult("doctor", not probe.problem and probe.context_tokens == listed, detail)


async def check_schemas(base_url: str) -> CheckResult:
    """Request the beginning of an answer of every role, whose schema the server has to convert to a grammar."""
    refused = []
    async with connect_chat(base_url) as chat:
        with_schema = {name: role for name, role in load_roles().items() if role.schema is not None}
        for name, role in with_schema.items():
            request = ChatRequest(name, role.tier, _PROMPT, role.schema, max_output=8)
            await _complete(chat, request)
            if chat.get_capabilities(name, role.tier).output_mode != "json_schema":
                refused.append(name)
    detail = f"{len(with_schema) - len(refused)} of {len(with_schema)} roles with a strict grammar"
    return CheckResult("schemas of all roles", not refused, "; refused: ".join([detail, *refused]))


async def _complete(chat: OpenAIChat, request: ChatRequest, call: ModelCall | None = None) -> Completion | str:
    """Return the completion, or the reason why it cannot be used."""
    try:
        return await chat.complete(request, call or ModelCall())
    except UnusableAnswer as unusable:
        return unusable.reason


async def check_limit(base_url: str) -> CheckResult:
    """Request a text with a limit that cuts it off."""
    async with connect_chat(base_url) as chat:
        try:
            completion = await chat.complete(build_request(12), ModelCall())
            tokens, end = completion.usage.tokens_out, "stop"
        except UnusableAnswer as unusable:
            tokens, end = unusable.usage.tokens_out if unusable.usage else 0, unusable.reason
    return CheckResult("limit of an answer, stop reason", 0 < tokens <= 12, f"{tokens} of 12 tokens, {end}")


async def check_streaming(base_url: str) -> CheckResult:
    """Request a streamed answer, and its usage."""
    call = ModelCall()
    async with connect_chat(base_url) as chat:
        try:
            usage = (await chat.complete(build_request(40, streamed=True), call)).usage
        except UnusableAnswer as unusable:
            usage = unusable.usage or TokenUsage()
    works = call.read_partial().tokens > 0 and usage.tokens_in > 0 and usage.tokens_out > 1
    return CheckResult("streaming with usage", works, f"{usage.tokens_in} tokens in, {usage.tokens_out} out")


async def check_cancelling(base_url: str) -> CheckResult:
    """Cancel a streamed answer after its first token; the slot has to be free again."""
    async with connect_chat(base_url) as chat, httpx.AsyncClient(timeout=60) as http:
        call = ModelCall()
        asked = asyncio.create_task(chat.complete(build_request(2000, streamed=True), call))
        while True:
            if call.read_partial().tokens:
                break
            await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        slots = f"{base_url.removesuffix('/v1')}/slots"
        for _ in range(100):
            busy = [slot for slot in (await http.get(slots)).json() if slot["is_processing"]]
            if not busy:
                break
            await asyncio.sleep(0.1)
    return CheckResult("cancelled call", not busy, f"{len(busy)} busy slots afterwards")


async def check_overflow(base_url: str) -> CheckResult:
    """Send a prompt that is longer than the context."""
    async with connect_chat(base_url) as chat:
        long = (*_PROMPT[:1], Message(role="user", content="word " * 12_000))
        try:
            await chat.complete(build_request(8, prompt=long), ModelCall())
        except ContextOverflow as overflow:
            return CheckResult("context overflow", True, str(overflow))
    return CheckResult("context overflow", False, "the server answered")


async def check_tools(base_url: str) -> CheckResult:
    """Ask a role that chooses an action."""
    input = react.ReactInput(
        question="What is bread?",
        task="What is rye?",
        tools=tuple(TOOLS[name].describe() for name in ("hybrid_search", "lookup")),
        steps_left=3,
    )
    async with connect_chat(base_url) as chat:
        budget = CallBudget(calls=1, tokens_in=4000, tokens_out=256)
        answers = [await execute_role(react.ROLE, input, Evidence(), chat, budget=budget) for _ in range(2)]
    actions = ", ".join(answer.fallback_reason or answer.output.action or "none" for answer in answers)
    return CheckResult("choice of tools", all(answer.output.action for answer in answers), f"chosen: {actions}")


async def check_parallel_slots(base_url: str) -> CheckResult:
    """Request two answers concurrently."""
    async with connect_chat(base_url) as chat:
        both = await asyncio.gather(*(_complete(chat, build_request(24, streamed=True)) for _ in range(2)))
    return CheckResult("two parallel slots", len(both) == 2, f"concurrency {chat.concurrency} afterwards")


async def check_embeddings(base_url: str) -> CheckResult:
    """Request the vectors of two texts from a server of embeddings."""
    settings = build_settings(base_url, embedding_model=MODEL)
    vectors = await asyncio.to_thread(OpenAIEmbeddings.from_settings(settings).embed, ["bread", "rye bread"])
    return CheckResult("embeddings", vectors.shape[0] == 2, f"{vectors.shape[1]} dimensions")


def check_run(base_url: str, folder: Path, question: str, *options: str) -> CheckResult:
    """Run a question with the real client, worker and Temporal server; it has to end with a result."""
    docs = folder / "docs"
    docs.mkdir(parents=True)
    (docs / "lighthouses.md").write_text(_PAGE, encoding="utf-8")
    around = environment(folder / "home") | {
        "OPENAI_BASE_URL": base_url,
        "TENURE_MODEL": MODEL,
        "TENURE_MODEL_TIMEOUT": str(_TIMEOUT_SECONDS),
        "TENURE_MAX_OUTPUT": "256",
        "TENURE_MODEL_CONCURRENCY": "2",
        # The packages of this environment suffice: creating a separate one takes a minute.
        "TENURE_SANDBOX_PYTHON": sys.executable,
    }
    client = (sys.executable, str(_ROOT / "client.py"))
    command = [*client, "start", question, "--docs", str(docs), "--effort", "simple", "--json", *options]
    try:
        done = subprocess.run(
            command, env=around, capture_output=True, text=True, timeout=_RUN_SECONDS, cwd=folder, check=False
        )
    finally:
        subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
    if done.returncode:
        return CheckResult(" ".join(("run", *options)), False, done.stderr[-300:])
    result = json.loads(done.stdout)
    usage, fallbacks = result["usage"], sum(fallback["times"] for fallback in result["fallbacks"])
    detail = (
        f"{result['status']}: {usage['model_calls']} answers, {fallbacks} fallbacks, {usage['tokens_in']} tokens in"
    )
    return CheckResult(" ".join(("run", *options)), result["status"] == "done", detail)


CHAT_CHECKS: tuple[Check, ...] = (
    check_doctor,
    check_schemas,
    check_limit,
    check_streaming,
    check_cancelling,
    check_overflow,
    check_tools,
    check_parallel_slots,
)
"""Checks of a server of answers."""
