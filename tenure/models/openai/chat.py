"""Chat Completions on any OpenAI-compatible server: OpenAI, Azure, vLLM, Ollama, llama.cpp and their kin."""

from dataclasses import replace
from typing import Any, Final

import httpx
from pydantic import ValidationError

from tenure.models.chat import Completion, InFlight, RequestRejected, TransportError
from tenure.models.openai.backend import OpenAIBackend
from tenure.models.openai.capabilities import Capabilities
from tenure.models.openai.endpoint import USUAL_PATH
from tenure.models.openai.refusals import refusal
from tenure.models.openai.reply import Reply
from tenure.models.openai.request import Question
from tenure.models.openai.streaming import BrokenStream, Stream
from tenure.models.routes import Routes

IDLE_SECONDS: Final = 60.0
"""Silence in the middle of a streamed answer that means that nothing more will come."""


class OpenAIChat(OpenAIBackend):
    """The back-end for Chat Completions.

    Args:
        routes: which model answers which role.
        idle: seconds a streamed answer may fall silent.
        options: those of every back-end.
    """

    def __init__(self, routes: Routes, *, idle: float = IDLE_SECONDS, **options: Any) -> None:
        super().__init__(routes, **options)
        self._idle = idle

    async def _completion(self, question: Question, call: InFlight) -> Completion:
        reply, first_token = await (self._streamed(question, call) if question.is_streamed else self._whole(question))
        if failure := reply.failure:
            raise refusal(self._server, failure.status, failure.model_dump(), {}, question)
        await self._check_length(question, reply)
        asked = question.ask
        completion = reply.completion(question.route.model, asked.prompt_tokens, acting=bool(asked.functions))
        return replace(completion, first_token_seconds=first_token)

    async def _check_length(self, question: Question, reply: Reply) -> None:
        """Notice a server that does not know the newer name of the length limit and does not say so."""
        unheeded = question.limit is not None and reply.billed and reply.billed.tokens_out > question.limit
        if unheeded and question.able.output_limit == "max_completion_tokens":
            await self._learn(question, Capabilities(output_limit="max_tokens"))

    async def _whole(self, question: Question) -> tuple[Reply, None]:
        response = await self._client.chat.completions.with_raw_response.create(**question.parameters)
        return self._read(response.text), None

    async def _streamed(self, question: Question, call: InFlight) -> tuple[Reply, float | None]:
        """Read an answer as it comes in; in one piece from a server that does not heed the wish."""
        stream = Stream(call.arrived, self._idle)
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
        try:
            reply = Reply.model_validate_json(body)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and body.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{self._server.where} sent a broken response", status=200) from None
            reply = Reply()
        if not reply.is_completion:
            advice = f"{self._server.where} does not speak Chat Completions; check OPENAI_BASE_URL ({USUAL_PATH})"
            raise RequestRejected(advice, status=200)
        return reply
