"""Chat Completions on any OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama, llama.cpp and their kin.

The client library retries nothing: a retry is Temporal's, so that it is seen and survives a crash.
Servers differ in how far they can be held to a schema. A call starts on the highest rung its model
is known to stand on, steps down when the server complains about `response_format`, and remembers.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, cast

import httpx
import openai
from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import ResponseFormat
from pydantic import ValidationError

from tenure.contracts.budget import Price
from tenure.models.chat import (
    Ask,
    Completion,
    ContextOverflow,
    InFlight,
    ModelError,
    RequestRejected,
    TransportError,
    UnusableAnswer,
)
from tenure.models.endpoint import (
    NO_KEY,
    USUAL_PATH,
    Endpoint,
    checked_address,
    checked_key,
    error_text,
    host_and_port,
)
from tenure.models.json_schema import strict_schema, with_schema
from tenure.models.reply import Reply
from tenure.roles.base import Message, Tier
from tenure.settings import Settings

Rung = Literal["json_schema", "json_object", "text"]

LADDER: tuple[Rung, ...] = ("json_schema", "json_object", "text")
"""Ways to ask for structure, strictest first."""

BAD_REQUEST = frozenset({400, 422})
"""What servers answer to a request whose content they cannot take, be it its form or its length."""

_MODEL_FAULT = "json_validate_failed"  # Groq's code where the model, not the request, missed the schema
_FORMAT_COMPLAINT = re.compile(
    r"response[ _]?format|json[ _]?(schema|object|mode)|structured[ _]output|guided|grammar", re.IGNORECASE
)
_BAD_SCHEMA = re.compile(r"invalid schema|schema (is )?(not supported|too)", re.IGNORECASE)
_OVERFLOW = re.compile(
    r"context[ _](length|window|size)|too many (input )?tokens|(prompt|input) is too long|reduce the length|"
    r"request too large",
    re.IGNORECASE,
)


class OpenAIChat:
    """A `ChatModel` over one OpenAI-compatible endpoint with two model tiers.

    Raises:
        ValueError: for an address without a scheme, or a key that no header can carry.
    """

    def __init__(
        self,
        *,
        model: str,
        fast_model: str = "",
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 180.0,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._models: dict[Tier, str] = {"main": model, "fast": fast_model or model}
        key = checked_key(api_key)
        self._timeout = timeout
        self._rungs: dict[tuple[str, str], int] = {}
        self._client = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=checked_address(base_url),
            timeout=timeout,
            max_retries=0,
            # The library takes clients of httpx as well as of its successor, but names only the latter.
            http_client=cast(Any, http_client),
        )
        self._server = Endpoint(host_and_port(self._client), key)

    @classmethod
    def from_settings(cls, settings: Settings, http_client: httpx.AsyncClient | None = None) -> Self:
        """Make the back-end that the settings describe."""
        key = settings.openai_api_key
        return cls(
            model=settings.model,
            fast_model=settings.fast_model,
            api_key=key.get_secret_value() if key else None,
            base_url=settings.openai_base_url,
            timeout=settings.model_timeout,
            http_client=http_client,
        )

    @property
    def name(self) -> str:
        """Name of the back-end, as reports show it."""
        return "openai"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def rung(self, tier: Tier, schema_name: str = "") -> Rung:
        """Return how the next call of this tier asks for structure."""
        model = self._models[tier]
        return LADDER[max(self._rungs.get((model, ""), 0), self._rungs.get((model, schema_name), 0))]

    def price(self, role: str, tier: Tier) -> Price | None:
        """Return the price of the model that answers a role; None where nobody has said it."""
        return None

    async def complete(self, ask: Ask, call: InFlight) -> Completion:
        """Ask for one answer that follows the schema as closely as the server can be made to."""
        while True:
            rung = self.rung(ask.tier, ask.role)
            try:
                return await self._call(ask.messages, ask.tier, rung, ask.role, ask.schema)
            except _FormatRefused as refused:
                self._step_down(ask.tier, rung, ask.role if refused.schema_only else "")

    def _step_down(self, tier: Tier, refused: Rung, schema_name: str) -> None:
        """Remember that a rung does not hold; an empty schema name means for every schema."""
        key = (self._models[tier], schema_name)
        self._rungs[key] = max(self._rungs.get(key, 0), LADDER.index(refused) + 1)

    async def _call(
        self, messages: Sequence[Message], tier: Tier, rung: Rung, schema_name: str, schema: dict[str, Any]
    ) -> Completion:
        said = messages if rung == "json_schema" else with_schema(messages, schema_name, schema)
        response_format = _response_format(rung, schema_name, schema)
        try:
            # The library's timeout restarts with every byte; this one is for the call as a whole.
            async with asyncio.timeout(self._timeout):
                response = await self._client.chat.completions.with_raw_response.create(
                    model=self._models[tier],
                    messages=[cast(ChatCompletionMessageParam, message.model_dump()) for message in said],
                    response_format=response_format,
                )
        except openai.APIStatusError as error:
            raise self._refusal(error.status_code, error.body, error.response.headers, rung, tier) from None
        except (openai.APIConnectionError, TimeoutError) as error:
            raise self._server.unreached(error, self._timeout) from None
        return self._read(response.text, rung, tier)

    def _read(self, body: str, rung: Rung, tier: Tier) -> Completion:
        """Take the completion out of a response that came with status 200.

        Raises:
            ModelError: where there is none.
        """
        try:
            reply = Reply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{self._server.where} sent a broken response", status=200) from None
            reply = Reply()
        if not reply.is_completion:
            advice = f"{self._server.where} does not speak Chat Completions; check OPENAI_BASE_URL ({USUAL_PATH})"
            raise RequestRejected(advice, status=200)
        if reply.error:
            raise self._refusal(reply.error.status, reply.error.model_dump(), {}, rung, tier)
        return reply.completion(self._models[tier])

    def _refusal(self, status: int, body: object, headers: Mapping[str, str], rung: Rung, tier: Tier) -> ModelError:
        """Translate an error response; the one place where statuses get their meaning."""
        said = error_text(body)
        if (busy := self._server.busy(status, said, headers)) is not None:
            return busy
        if status == 413 or (status in BAD_REQUEST and _OVERFLOW.search(said)):
            return ContextOverflow(f"the prompt is too long for {self._models[tier]}: {self._server.shown(said)}")
        if status in BAD_REQUEST and _MODEL_FAULT in said:
            return UnusableAnswer("answer did not fit the schema", model=self._models[tier])
        if status in BAD_REQUEST and rung != "text" and _FORMAT_COMPLAINT.search(said):
            return _FormatRefused(schema_only=bool(_BAD_SCHEMA.search(said)))
        setting = "TENURE_FAST_MODEL" if tier == "fast" else "TENURE_MODEL"
        return self._server.rejected(status, said, self._models[tier], setting)


class _FormatRefused(ModelError):
    """The server does not take this `response_format`; never leaves this module."""

    def __init__(self, *, schema_only: bool) -> None:
        super().__init__("response_format refused")
        self.schema_only = schema_only


def _response_format(rung: Rung, name: str, schema: dict[str, Any]) -> ResponseFormat | openai.Omit:
    if rung == "json_schema":
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
        strict: dict[str, object] = strict_schema(schema)
        return {"type": "json_schema", "json_schema": {"name": safe, "strict": True, "schema": strict}}
    return {"type": "json_object"} if rung == "json_object" else openai.omit
