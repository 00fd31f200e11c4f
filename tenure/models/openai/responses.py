"""OpenAI's Responses API in background mode: the server finishes an answer even if no client waits for it.

The id of the response is stored in the call immediately, and so in the heartbeat. If a worker dies, the response
continues; the next attempt resumes it, and nothing is paid twice.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, Final

import openai
import structlog

from tenure.models.chat import Completion, ModelCall
from tenure.models.errors import ModelError, RequestRejected, TransportError
from tenure.models.openai.api_errors import BAD_REQUEST_STATUSES, classify_error
from tenure.models.openai.backend import OpenAIBackend
from tenure.models.openai.endpoint import BASE_URL_HINT, format_error_body
from tenure.models.openai.reply import ChatReply
from tenure.models.openai.request import OpenAIRequest
from tenure.settings import get_environment_variable

PENDING_STATUSES: Final = frozenset({"queued", "in_progress"})

TRANSIENT_CODES: Final = {"server_error": 500, "rate_limit_exceeded": 429, "vector_store_timeout": 500}
"""Error codes after which the same request may succeed, with the HTTP status they correspond to."""

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.2, 2.0
"""Shortest and longest interval between two polls of a response."""

CANCEL_TIMEOUT_SECONDS: Final = 2.0
"""Time that a cancelled call may take to cancel its response or to leave it to the next attempt."""

CHAT_API_SETTING: Final = f"{get_environment_variable('model_api')}=chat"
"""Setting for a server that does not support background responses."""

MISSING_API_STATUSES: Final = frozenset({404, 405, 501})
"""Statuses of a server without a Responses API; an error about a missing model names the model."""

# "The model `x` does not exist": only the model is missing.
_MODEL_MENTION = re.compile(r"model|deployment", re.IGNORECASE)
_BACKGROUND = re.compile(r"\bbackground\b(?![\"']\s*:)", re.IGNORECASE)  # not within a repeated request
_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAIResponses(OpenAIBackend):
    """Back-end for the Responses API."""

    async def _request_completion(self, request: OpenAIRequest, call: ModelCall) -> Completion:
        response = await self._resume_response(call) or await self._start_response(request, call)
        try:
            response = await self._poll_response(response, call)
        except asyncio.CancelledError:
            if call.is_abandoned():
                await self._cancel_response(call.response_id)
            raise
        if response.get("status") not in ("completed", "incomplete"):
            await call.save_response_id("")
            raise self._classify_failure(response, request)
        return await self._build_completion(request, to_chat_reply(response))

    async def _resume_response(self, call: ModelCall) -> dict[str, Any] | None:
        """Return the response that an earlier attempt started, or None if it does not exist any more."""
        if not call.response_id:
            return None
        try:
            response = await self._retrieve_response(call.response_id)
        except openai.NotFoundError:
            response = {"status": "cancelled"}
        if response.get("status") != "cancelled":
            return response
        await call.save_response_id("")
        return None

    async def _start_response(self, request: OpenAIRequest, call: ModelCall) -> dict[str, Any]:
        """Start a response and store its id.

        The server generates and bills a response from the moment of the request. So a call that is cancelled before
        it knows the id does not disconnect: it waits for the id first.
        """
        creation = asyncio.create_task(self._create_response(request))
        try:
            response = await asyncio.shield(creation)
            await self._save_id(response["id"], call)
        except asyncio.CancelledError:
            await self._finish_cancelled_start(creation, call)
            raise
        return response

    async def _create_response(self, request: OpenAIRequest) -> dict[str, Any]:
        try:
            created = await self._client.responses.with_raw_response.create(**request.background_parameters)
        except openai.APIStatusError as error:
            if message := _find_missing_support(error):
                raise self._build_unsuitable_error(error.status_code, message) from None
            raise
        return self._parse_response(created.text)

    async def _save_id(self, response_id: str, call: ModelCall) -> None:
        """Store the id of a response; cancel the response if that fails, since no later attempt would find it."""
        try:
            await call.save_response_id(response_id)
        except ModelError:
            await self._cancel_response(response_id)
            raise

    async def _finish_cancelled_start(self, creation: asyncio.Task[dict[str, Any]], call: ModelCall) -> None:
        """Wait for the id of a started response, then cancel the response or leave it to the next attempt."""
        try:
            async with asyncio.timeout(CANCEL_TIMEOUT_SECONDS):
                response_id = (await creation)["id"]
                await (self._cancel_response(response_id) if call.is_abandoned() else self._save_id(response_id, call))
        except (openai.APIError, ModelError, TimeoutError) as error:
            self._log_warning("the id of a response did not arrive before its call was cancelled", error)

    async def _poll_response(self, response: dict[str, Any], call: ModelCall) -> dict[str, Any]:
        """Poll a response until it is finished."""
        pause = MIN_POLL_SECONDS
        while response.get("status") in PENDING_STATUSES:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, MAX_POLL_SECONDS)
            try:
                response = await self._retrieve_response(call.response_id)
            except openai.NotFoundError:
                await call.save_response_id("")
                advice = f"a server that stores no responses needs {CHAT_API_SETTING}"
                loss = f"{self._server.host} lost a response in progress; it is requested again ({advice})"
                raise TransportError(loss, status=404) from None
        return response

    def _build_unsuitable_error(self, status: int, message: str) -> RequestRejected:
        advice = (
            f"does not support background responses; set {CHAT_API_SETTING} or check OPENAI_BASE_URL ({BASE_URL_HINT})"
        )
        return RequestRejected(f"{self._server.host} {advice}: {self._server.redact(message)}", status=status)

    async def _retrieve_response(self, response_id: str) -> dict[str, Any]:
        return self._parse_response((await self._client.responses.with_raw_response.retrieve(response_id)).text)

    async def _cancel_response(self, response_id: str) -> None:
        """Cancel a response; if that fails, it is paid without being read."""
        try:
            async with asyncio.timeout(CANCEL_TIMEOUT_SECONDS):
                await self._client.responses.cancel(response_id)
        except (openai.APIError, TimeoutError) as error:
            self._log_warning("a response could not be cancelled", error)

    def _log_warning(self, event: str, error: Exception) -> None:
        structlog.get_logger().warning(event, error=self._server.redact(error))

    def _parse_response(self, body: str) -> dict[str, Any]:
        try:
            response = json.loads(body)
        except ValueError:
            raise TransportError(f"{self._server.host} sent a broken response", status=200) from None
        if not isinstance(response, dict) or not response.get("id"):
            raise self._build_unsuitable_error(200, "its reply is not a response")
        return response

    def _classify_failure(self, response: dict[str, Any], request: OpenAIRequest) -> ModelError:
        error = response.get("error") or {
            "code": "server_error",
            "message": f"the response is {response.get('status')}",
        }
        return classify_error(self._server, TRANSIENT_CODES.get(str(error.get("code")), 400), error, {}, request)


def _find_missing_support(error: openai.APIStatusError) -> str:
    """Return the message of a server without a Responses API or without background mode; empty for any other error."""
    message = format_error_body(error.body) or f"status {error.status_code}"
    is_missing = error.status_code in MISSING_API_STATUSES and not _MODEL_MENTION.search(message)
    is_rejected = error.status_code in BAD_REQUEST_STATUSES and _BACKGROUND.search(message)
    return message if is_missing or is_rejected else ""


def to_chat_reply(response: dict[str, Any]) -> ChatReply:
    """Convert a finished response to a Chat Completions reply, so that both are parsed by the same code."""
    items = response.get("output") or ()
    parts = _collect_parts(items, "message", "content")
    reasoning = _collect_parts(items, "reasoning", "summary") or _collect_parts(items, "reasoning", "content")
    usage = response.get("usage") or {}
    reason = (response.get("incomplete_details") or {}).get("reason", "")
    message = {
        "content": _join_text(parts, "text") or None,
        "refusal": _join_text(parts, "refusal") or None,
        "reasoning_content": _join_text(reasoning, "text") or None,
        "tool_calls": [{"function": item} for item in items if item.get("type") == "function_call"],
    }
    token_usage = {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }
    return ChatReply.model_validate(
        {
            "model": response.get("model"),
            "choices": [{"finish_reason": _FINISH_REASONS.get(reason, "stop"), "message": message}],
            "usage": token_usage if usage else None,
        }
    )


def _collect_parts(items: Sequence[dict[str, Any]], kind: str, field: str) -> list[dict[str, Any]]:
    """Return the parts of all items of a kind: reasoning and messages have parts of the same shape."""
    return [part for item in items if item.get("type") == kind for part in item.get(field) or ()]


def _join_text(parts: list[dict[str, Any]], field: str) -> str:
    return "".join(str(part[field]) for part in parts if part.get(field))
