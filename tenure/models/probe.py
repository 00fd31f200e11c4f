"""A tiny call to each configured model: `python -m tenure.models.probe KIND` prints what it showed, as JSON.

`doctor` runs this as a process of its own: the command line stays quick to start, and a library that breaks
does not take the doctor along.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence

import httpx
import openai
from pydantic import BaseModel, TypeAdapter, ValidationError

from tenure.contracts.model_probe import ChatTrial, EmbeddingTrial, ModelTrial
from tenure.models.chat import Ask, Completion, InFlight, ModelError, TransportError, UnusableAnswer
from tenure.models.embedding import EmbeddingError, embedding_model
from tenure.models.factory import chat_model
from tenure.models.openai.backend import OpenAIBackend
from tenure.models.openai.endpoint import NO_KEY, checked_address, checked_key
from tenure.models.openai.reply import CUT_OFF
from tenure.models.reranking import rerank_model
from tenure.models.routes import Route, Routes
from tenure.roles.base import Message, RoleOutput
from tenure.settings import Settings, variable

ROLE = "doctor"
"""The role that asks; no setting is about it alone, so that it is answered as its tier is."""

MAX_OUTPUT = 1024
"""Tokens of an answer at the most: one needs twenty, and a model that reasons some hundreds more."""

PATIENCE = 60.0
"""Seconds that a model has at the most; a large local one may have to be loaded first."""

EMBEDDED = "all-MiniLM-L6-v2, embedded"


class Greeting(RoleOutput):
    """The answer that is asked for."""

    word: str
    """The one word you were asked to say."""


class _Listed(BaseModel):
    """A model in a server's list, with the names that servers have for the size of its context."""

    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    meta: dict[str, object] | None = None

    @property
    def context_tokens(self) -> int | None:
        """The size of its context; None where the list does not tell."""
        trained = (self.meta or {}).get("n_ctx_train")
        told = (self.max_model_len, self.context_length, self.context_window, self.max_context_length, trained)
        return next((size for size in told if isinstance(size, int)), None)


class _Models(BaseModel):
    """The answer of the Models endpoint."""

    data: list[_Listed] = []


async def try_chat(settings: Settings) -> list[ChatTrial]:
    """Ask every configured chat model for a word, one after the other: a local server may hold one at a time."""
    routes = list(_routes(settings))
    hurried = settings.model_copy(update={"model_timeout": min(settings.model_timeout, PATIENCE)})
    try:
        chat = chat_model(hurried)
    except ValueError as error:
        return [ChatTrial(model=route.model, setting=route.setting(), problem=str(error)) for route in routes]
    if chat is None:
        return []
    try:
        listed = await _listed(settings)
        return [await _tried(chat, route, _size(route.model, listed)) for route in routes]
    finally:
        await chat.aclose()


def try_embedding(settings: Settings) -> EmbeddingTrial:
    """Embed a sentence."""
    found = EmbeddingTrial(model=settings.embedding_model or EMBEDDED, setting=variable("embedding_model"))
    began = time.perf_counter()
    try:
        vectors = embedding_model(settings).embed(["a sentence to try it with"])
    except (ModelError, EmbeddingError, ValueError) as error:
        return found.model_copy(update={"problem": str(error)})
    spent = time.perf_counter() - began
    return found.model_copy(update={"answered": True, "seconds": spent, "dimensions": vectors.shape[1]})


def try_rerank(settings: Settings) -> list[ModelTrial]:
    """Have the rerank model, where there is one, score a sentence."""
    found = ModelTrial(model=settings.rerank_model, setting=variable("rerank_model"))
    hurried = settings.model_copy(update={"model_timeout": min(settings.model_timeout, PATIENCE)})
    began = time.perf_counter()
    try:
        model = rerank_model(hurried)
        if model is None:
            return []
        model.scores("a question to try it with", ["a sentence to try it with"])
    except (ModelError, ValueError) as error:
        return [found.model_copy(update={"problem": str(error)})]
    return [found.model_copy(update={"answered": True, "seconds": time.perf_counter() - began})]


def _routes(settings: Settings) -> Iterator[Route]:
    """Yield a route to each model: both tiers, then the roles that have a model of their own."""
    routes = Routes.from_settings(settings)
    every = [routes.route(ROLE, "main"), routes.route(ROLE, "fast")]
    every += [routes.route(name, "main") for name, own in settings.roles.items() if own.model]
    seen: set[str] = set()
    for route in every:
        if route.model not in seen:
            seen.add(route.model)
            yield route


async def _tried(chat: OpenAIBackend, route: Route, size: int | None) -> ChatTrial:
    found = ChatTrial(model=route.model, setting=route.setting(), context_tokens=size)
    began = time.perf_counter()
    try:
        given = await chat.complete(_ask(route), InFlight())
    except UnusableAnswer as unusable:
        seconds = time.perf_counter() - began
        problem = f"answers, but gave nothing to read ({unusable.reason}); check {_suspect(unusable.reason, route)}"
        return found.model_copy(update={"answered": True, "seconds": seconds, "problem": problem})
    except ModelError as error:
        return found.model_copy(update={"problem": _advised(error, route)})
    return found.model_copy(update=_figures(chat, route, given, time.perf_counter() - began))


def _suspect(reason: str, route: Route) -> str:
    """Name the setting behind an answer without content: models that reason for long never come to speak."""
    return route.setting("reasoning_effort") if reason == CUT_OFF else route.setting()


def _advised(error: ModelError, route: Route) -> str:
    """Return an error with the setting to check, unless it names one or the server is only busy."""
    busy = isinstance(error, TransportError) and error.status is not None
    if busy or any(prefix in str(error) for prefix in ("TENURE_", "OPENAI_")):
        return str(error)
    return f"{error}; check {variable('openai_base_url') if isinstance(error, TransportError) else route.setting()}"


def _figures(chat: OpenAIBackend, route: Route, given: Completion, seconds: float) -> dict[str, object]:
    return {
        "answered": True,
        "seconds": seconds,
        "structured_output": chat.capabilities(route.role, route.tier).rung,
        "streams": given.first_token_seconds is not None,
        "first_token_seconds": given.first_token_seconds,
    }


def _ask(route: Route) -> Ask:
    said = Message(role="user", content="Say the word hello, as a JSON object with the one field `word`.")
    return Ask(
        route.role,
        route.tier,
        (said,),
        Greeting.model_json_schema(),
        streamed=True,
        max_output=MAX_OUTPUT,
    )


def _size(model: str, listed: Sequence[_Listed]) -> int | None:
    """Return the size of a model's context; a server of one model may list it under a name of its own."""
    named = [entry for entry in listed if entry.id == model] or (listed if len(listed) == 1 else [])
    return named[0].context_tokens if named else None


async def _listed(settings: Settings) -> list[_Listed]:
    """Return the models that the server lists; none where it lists none."""
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    address = checked_address(settings.openai_base_url)
    async with openai.AsyncOpenAI(
        api_key=checked_key(key) or NO_KEY, base_url=address, max_retries=0, timeout=PATIENCE / 4
    ) as client:
        try:
            reply = await client.get("/models", cast_to=httpx.Response)
            return _Models.model_validate_json(reply.content).data
        except (openai.OpenAIError, ValidationError):
            return []  # only the size of the context is wanted from it: "not told"


def main(kind: str) -> None:
    """Print what the trials of a kind of model, `chat`, `embedding` or `rerank`, have shown."""
    settings = Settings()
    match kind:
        case "chat":
            shown = TypeAdapter(list[ChatTrial]).dump_json(asyncio.run(try_chat(settings)))
        case "embedding":
            shown = TypeAdapter(list[EmbeddingTrial]).dump_json([try_embedding(settings)])
        case _:
            shown = TypeAdapter(list[ModelTrial]).dump_json(try_rerank(settings))
    sys.stdout.buffer.write(shown)


if __name__ == "__main__":
    main(sys.argv[1])
