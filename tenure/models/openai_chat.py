"""Chat Completions on any OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama, llama.cpp and their kin."""

import asyncio
from typing import Final

import httpx
import openai

from tenure.models.capabilities import Capabilities
from tenure.models.chat import Ask, InFlight, RequestRejected, TransportError
from tenure.models.endpoint import USUAL_PATH
from tenure.models.openai_model import OpenAIModel
from tenure.models.refusals import refusal
from tenure.models.reply import Reply
from tenure.models.request import ChatQuestion, Question
from tenure.models.routes import Route
from tenure.models.streaming import BrokenStream, Stream

IDLE_SECONDS: Final = 60.0
"""Silence in the middle of a streamed answer that means that nothing more will come."""


class OpenAIChat(OpenAIModel):
    """A `ChatModel` that speaks Chat Completions, streamed where an answer is long."""

    path = ""
    idle = IDLE_SECONDS
    """Seconds a streamed answer may fall silent."""

    def _question(self, ask: Ask, route: Route, able: Capabilities) -> ChatQuestion:
        return ChatQuestion(ask, route, able)

    async def _replied(self, question: Question, call: InFlight) -> tuple[Reply, float | None]:
        asked = self._streamed(question, call) if "stream" in question.parameters else self._whole(question)
        try:
            # The library's timeout restarts with every byte; this one is for the call as a whole.
            async with asyncio.timeout(self._timeout):
                reply, first_token = await asked
        except openai.APIStatusError as error:
            raise refusal(self._server, error.status_code, error.body, error.response.headers, question) from None
        except (openai.APIConnectionError, TimeoutError) as error:
            raise self._server.unreached(error, self._timeout) from None
        if failure := reply.failure:
            raise refusal(self._server, failure.status, failure.model_dump(), {}, question)
        await self._check_length(question, reply)
        return reply, first_token

    async def _check_length(self, question: Question, reply: Reply) -> None:
        """Notice a server that does not know the newer name of the length limit and does not say so."""
        unheeded = question.limit is not None and reply.billed and reply.billed.tokens_out > question.limit
        if unheeded and question.limit_name == "max_completion_tokens":
            await self._learn(question, Capabilities(output_limit="max_tokens"))

    async def _whole(self, question: Question) -> tuple[Reply, None]:
        response = await self._client.chat.completions.with_raw_response.create(**question.parameters)
        return self._read(response.text), None

    async def _streamed(self, question: Question, call: InFlight) -> tuple[Reply, float | None]:
        """Read an answer as it comes in; in one piece from a server that does not heed the wish."""
        stream = Stream(call.arrived, self.idle)
        create = self._client.chat.completions.with_streaming_response.create
        try:
            async with create(**question.parameters) as response:
                if "event-stream" not in response.headers.get("content-type", ""):
                    return self._read(await response.text()), None
                return await stream.read(response.iter_bytes()), stream.first_token_seconds
        except BrokenStream as broken:
            raise TransportError(f"{self._server.where} {broken}") from None
        except httpx.HTTPError as error:
            raise TransportError(f"{self._server.where} broke off: {self._server.shown(error)}") from None

    def _read(self, body: str) -> Reply:
        """Take the reply out of a response that came with status 200.

        Raises:
            ModelError: where there is none.
        """
        reply = self._parsed(body, Reply)
        if reply is None or not reply.is_completion:
            advice = f"{self._server.where} does not speak Chat Completions; check OPENAI_BASE_URL ({USUAL_PATH})"
            raise RequestRejected(advice, status=200)
        return reply
