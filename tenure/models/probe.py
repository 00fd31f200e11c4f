"""Probe each configured model with a small request: `python -m tenure.models.probe KIND` prints the results as JSON.

`doctor` runs this as a separate process, so that the command line starts fast and a broken library does not break the
command.
"""

import asyncio
import base64
import io
import math
import secrets
import sys
import time
import wave
from collections.abc import Iterator, Sequence

import httpx
import openai
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from tenure.contracts.messages import Message
from tenure.contracts.model_probe import ChatProbe, EmbeddingProbe, ModelProbe
from tenure.models.chat import ChatRequest, ModelCall
from tenure.models.errors import CUT_OFF, NO_IMAGES, EmbeddingError, ModelError, TransportError, UnusableAnswer
from tenure.models.factory import (
    create_chat_model,
    create_embedding_model,
    create_rerank_model,
    create_transcription_model,
)
from tenure.models.openai.backend import OpenAIBackend
from tenure.models.openai.endpoint import NO_KEY, validate_base_url, validate_key
from tenure.models.routes import ModelRoute, ModelRoutes
from tenure.settings import Settings, get_environment_variable
from tenure.settings.models import (
    ChatModelSettings,
    ModelServerSettings,
    RetrievalModelSettings,
    TranscriptionSettings,
)

ROLE = "doctor"
"""Name of the asking role; no setting concerns it alone, so that its tier's model answers."""

MAX_OUTPUT_TOKENS = 1024
"""Limit of an answer in tokens; the answer needs twenty, hidden reasoning some hundreds."""

PROBE_TIMEOUT_SECONDS = 60.0
"""Maximum time of one probe; a large local model may have to be loaded first."""

EMBEDDED_MODEL = "all-MiniLM-L6-v2, embedded"


class Greeting(BaseModel):
    """The requested answer."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    word: str
    """The one word you were asked to say."""


class _ListedModel(BaseModel):
    """An entry of a server's model list, with the names that servers use for the size of the context."""

    id: str
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    meta: dict[str, object] | None = None

    @property
    def context_tokens(self) -> int | None:
        """Size of the context in tokens; None if the list does not contain it."""
        served, trained = ((self.meta or {}).get(name) for name in ("n_ctx", "n_ctx_train"))
        sizes = (self.max_model_len, self.context_length, self.context_window, self.max_context_length, served, trained)
        return next((size for size in sizes if isinstance(size, int)), None)


class _ModelList(BaseModel):
    """Response of the Models endpoint."""

    data: list[_ListedModel] = []


async def probe_chat_models(settings: ChatModelSettings) -> list[ChatProbe]:
    """Probe every configured chat model, one after the other: a local server may load only one at a time."""
    routes = list(_iterate_routes(settings))
    limited = settings.model_copy(update={"model_timeout": min(settings.model_timeout, PROBE_TIMEOUT_SECONDS)})
    try:
        chat = create_chat_model(limited)
    except ValueError as error:
        return [ChatProbe(model=route.model, setting=route.resolve_setting(), problem=str(error)) for route in routes]
    if chat is None:
        return []
    try:
        models = await _fetch_model_list(settings)
        return [await _probe_chat_model(chat, route, _find_context_size(route.model, models)) for route in routes]
    finally:
        await chat.aclose()


def probe_embedding_model(settings: RetrievalModelSettings) -> EmbeddingProbe:
    """Embed a sentence."""
    probe = EmbeddingProbe(
        model=settings.embedding_model or EMBEDDED_MODEL, setting=get_environment_variable("embedding_model")
    )
    started = time.perf_counter()
    try:
        vectors = create_embedding_model(settings).embed(["a sentence to try it with"])
    except (ModelError, EmbeddingError, ValueError) as error:
        return probe.model_copy(update={"problem": str(error)})
    seconds = time.perf_counter() - started
    return probe.model_copy(update={"answered": True, "seconds": seconds, "dimensions": vectors.shape[1]})


def probe_rerank_model(settings: RetrievalModelSettings) -> list[ModelProbe]:
    """Score a sentence with the rerank model, if one is configured."""
    probe = ModelProbe(model=settings.rerank_model, setting=get_environment_variable("rerank_model"))
    limited = settings.model_copy(update={"model_timeout": min(settings.model_timeout, PROBE_TIMEOUT_SECONDS)})
    started = time.perf_counter()
    try:
        model = create_rerank_model(limited)
        if model is None:
            return []
        model.score("a question to try it with", ["a sentence to try it with"])
    except (ModelError, ValueError) as error:
        return [probe.model_copy(update={"problem": str(error)})]
    return [probe.model_copy(update={"answered": True, "seconds": time.perf_counter() - started})]


def probe_transcription_model(settings: TranscriptionSettings) -> list[ModelProbe]:
    """Transcribe a second of a tone, if a model is configured."""
    probe = ModelProbe(model=settings.transcription_model, setting=get_environment_variable("transcription_model"))
    timeout = min(settings.transcription_timeout, PROBE_TIMEOUT_SECONDS)
    started = time.perf_counter()
    try:
        model = create_transcription_model(settings.model_copy(update={"transcription_timeout": timeout}))
        if model is None:
            return []
        model.transcribe(_record_tone(), ".wav")
    except (ModelError, ValueError) as error:
        return [probe.model_copy(update={"problem": str(error)})]
    return [probe.model_copy(update={"answered": True, "seconds": time.perf_counter() - started})]


def _record_tone() -> bytes:
    """Return a second of a tone of 440 Hz as a WAV file, in the sampling rate of speech models."""
    rate = 16_000
    samples = (round(8000 * math.sin(2 * math.pi * 440 * n / rate)) for n in range(rate))
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as recording:
        recording.setparams((1, 2, rate, rate, "NONE", ""))
        recording.writeframes(b"".join(sample.to_bytes(2, "little", signed=True) for sample in samples))
    return buffer.getvalue()


def _iterate_routes(settings: ChatModelSettings) -> Iterator[ModelRoute]:
    """Yield a route to each model: both tiers, then the roles that have a model of their own."""
    routes = ModelRoutes(settings)
    all_routes = [routes.route(ROLE, "main"), routes.route(ROLE, "fast")]
    asking = {name: role for name, role in settings.roles.items() if name not in settings.offline_roles}
    all_routes += [routes.route(name, "main") for name, role in asking.items() if role.model]
    models: set[str] = set()
    for route in all_routes:
        if route.model not in models:
            models.add(route.model)
            yield route


async def _probe_chat_model(chat: OpenAIBackend, route: ModelRoute, size: int | None) -> ChatProbe:
    probe = ChatProbe(model=route.model, setting=route.resolve_setting(), context_tokens=size)
    started = time.perf_counter()
    try:
        completion = await chat.complete(_build_request(route), ModelCall())
    except UnusableAnswer as unusable:
        seconds = time.perf_counter() - started
        # Long reasoning may reach the limit before the answer.
        setting = route.resolve_setting("reasoning_effort" if unusable.reason == CUT_OFF else "model")
        problem = f"answers, but without usable content ({unusable.reason}); check {setting}"
        return probe.model_copy(update={"answered": True, "seconds": seconds, "problem": problem})
    except ModelError as error:
        return probe.model_copy(update={"problem": _add_advice(error, route)})
    seconds = time.perf_counter() - started
    return probe.model_copy(
        update={
            "answered": True,
            "seconds": seconds,
            "sees_pictures": await _sees_pictures(chat, route),
            "structured_output": chat.get_capabilities(route.role, route.tier).output_mode,
            "streams": completion.first_token_seconds is not None,
            "first_token_seconds": completion.first_token_seconds,
        }
    )


async def _sees_pictures(chat: OpenAIBackend, route: ModelRoute) -> bool | None:
    """Return whether a model reads the number in a picture; None if that cannot be tried now."""
    number = str(1000 + secrets.randbelow(9000))
    try:
        completion = await chat.complete(_build_request(route, number), ModelCall())
    except UnusableAnswer as unusable:
        return False if unusable.reason == NO_IMAGES else None
    except ModelError:
        return None
    return number in completion.text


def _add_advice(error: ModelError, route: ModelRoute) -> str:
    """Return an error with the setting to check, unless it names one or the server is only busy."""
    busy = isinstance(error, TransportError) and error.status is not None
    if busy or any(prefix in str(error) for prefix in ("TENURE_", "OPENAI_")):
        return str(error)
    unreachable = isinstance(error, TransportError)
    return f"{error}; check {get_environment_variable('openai_base_url') if unreachable else route.resolve_setting()}"


def _build_request(route: ModelRoute, number: str = "") -> ChatRequest:
    """Return a request for a greeting, or for a number that only a picture shows."""
    word = "number in the picture" if number else "word hello"
    prompt = Message(
        role="user",
        content=f"Say the {word}, as a JSON object with the one field `word`.",
        images=(_draw_number(number),) if number else (),
    )
    return ChatRequest(
        route.role,
        route.tier,
        (prompt,),
        Greeting.model_json_schema(),
        streamed=True,
        max_output=MAX_OUTPUT_TOKENS,
    )


def _draw_number(number: str) -> str:
    """Return a picture of a number as a data address."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (320, 160), "white")
    ImageDraw.Draw(image).text((60, 40), number, fill="black", font_size=72)
    content = io.BytesIO()
    image.save(content, "JPEG", quality=90, comment=number)
    return f"data:image/jpeg;base64,{base64.b64encode(content.getvalue()).decode()}"


def _find_context_size(model: str, models: Sequence[_ListedModel]) -> int | None:
    """Return the size of a model's context; a server of one model may list it under another name."""
    matches = [entry for entry in models if entry.id == model] or (models if len(models) == 1 else [])
    return matches[0].context_tokens if matches else None


async def _fetch_model_list(settings: ModelServerSettings) -> list[_ListedModel]:
    """Return the models that the server lists; empty if it lists none."""
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    base_url = validate_base_url(settings.openai_base_url)
    async with openai.AsyncOpenAI(
        api_key=validate_key(key) or NO_KEY,
        base_url=base_url,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(timeout=PROBE_TIMEOUT_SECONDS / 4, follow_redirects=False),
    ) as client:
        try:
            reply = await client.get("/models", cast_to=httpx.Response)
            return _ModelList.model_validate_json(reply.content).data
        except (openai.OpenAIError, ValidationError):
            return []  # the list is only needed for the size of the context, which then stays unknown


def main(kind: str) -> None:
    """Print the results of all probes of a kind of model, or with `list` the names that the model server lists."""
    settings = Settings()
    match kind:
        case "list":
            output = TypeAdapter(list[str]).dump_json([one.id for one in asyncio.run(_fetch_model_list(settings))])
        case "chat":
            output = TypeAdapter(list[ChatProbe]).dump_json(asyncio.run(probe_chat_models(settings)))
        case "embedding":
            output = TypeAdapter(list[EmbeddingProbe]).dump_json([probe_embedding_model(settings)])
        case "rerank":
            output = TypeAdapter(list[ModelProbe]).dump_json(probe_rerank_model(settings))
        case _:
            output = TypeAdapter(list[ModelProbe]).dump_json(probe_transcription_model(settings))
    sys.stdout.buffer.write(output)


if __name__ == "__main__":
    main(sys.argv[1])
