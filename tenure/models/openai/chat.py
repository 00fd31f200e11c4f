"""Chat Completions on any OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama, llama.cpp and others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import httpx
from pydantic import ValidationError

from tenure.models.chat import Completion, ModelCall
from tenure.models.errors import RequestRejected, TransportError
from tenure.models.openai.api_errors import classify_error
from tenure.models.openai.backend import OpenAIBackend
from tenure.models.openai.capabilities import Capabilities
from tenure.models.openai.endpoint import BASE_URL_HINT
from tenure.models.openai.reply import ChatReply
from tenure.models.openai.request import OpenAIRequest
from tenure.models.openai.streaming import BrokenStream, StreamedReply
from tenure.models.routes import ModelRoutes

IDLE_TIMEOUT_SECONDS: Final = 60.0
"""Silence in the middle of a streamed answer after which the call fails."""

_CLOSING_SECONDS: Final = 0.1
"""Time that the end of a body may take after that of its answer."""


class OpenAIChat(OpenAIBackend):
    """Back-end for Chat Completions."""

    def __init__(self, routes: ModelRoutes, *, idle_timeout: float = IDLE_TIMEOUT_SECONDS, **options: Any) -> None:
        super().__init__(routes, **options)
        self._idle_timeout = idle_timeout

    async def _request_completion(self, request: OpenAIRequest, call: ModelCall) -> Completion:
        reply, first_token = await (
            self._request_streamed(request, call) if request.is_streamed else self._request_whole(request)
        )
        if failure := reply.failure:
            raise classify_error(self._server, failure.status, failure.model_dump(), {}, request)
        await self._check_length(request, reply)
        completion = await self._build_completion(request, reply)
        return replace(completion, first_token_seconds=first_token)

    async def _check_length(self, request: OpenAIRequest, reply: ChatReply) -> None:
        """Detect a server that ignores the newer name of the length limit without an error."""
        usage = reply.reported_usage
        is_exceeded = request.limit is not None and usage and usage.tokens_out > request.limit
        if is_exceeded and request.capabilities.output_limit == "max_completion_tokens":
            await self._record_limits(request, Capabilities(output_limit="max_tokens"))

    async def _request_whole(self, request: OpenAIRequest) -> tuple[ChatReply, None]:
        response = await self._client.chat.completions.with_raw_response.create(**request.parameters)
        return self._parse_reply(response.text), None

    async def _request_streamed(self, request: OpenAIRequest, call: ModelCall) -> tuple[ChatReply, float | None]:
        """Read an answer as it arrives, or in one piece if the server does not stream."""
        stream = StreamedReply(self._idle_timeout)
        call.read_partial = stream.read_partial
        create = self._client.chat.completions.with_streaming_response.create
        try:
            async with create(**request.parameters) as response:
                if "event-stream" not in response.headers.get("content-type", ""):
                    return self._parse_reply(await response.text()), None
                body = response.iter_bytes()
                reply = await stream.read(body)
                if stream.is_complete:
                    await _read_rest(body)
                return reply, stream.first_token_seconds
        except BrokenStream as error:
            raise TransportError(f"{self._server.host} {error}") from None
        except httpx.HTTPError as error:
            raise TransportError(
                f"{self._server.host} closed the connection during its answer: {self._server.redact(error)}"
            ) from None

    def _parse_reply(self, body: str) -> ChatReply:
        """Parse the reply of a response with status 200.

        Raises:
            ModelError: the response contains no reply.
        """
        try:
            reply = ChatReply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{self._server.host} sent a broken response", status=200) from None
            reply = ChatReply()
        if not reply.is_completion:
            advice = f"{self._server.host} does not support Chat Completions; check OPENAI_BASE_URL ({BASE_URL_HINT})"
            raise RequestRejected(advice, status=200)
        return reply


async def _read_rest(body: AsyncIterator[bytes]) -> None:
    """Read a body to its end: a connection whose response was not read completely serves no other request."""
    # The answer is known already. A server that fails now, or that leaves the body open, only loses the connection.
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_CLOSING_SECONDS):
            async for _ in body:
                pass
