"""OpenAI's Responses API in background mode: an answer that is made whether or not anybody waits for it.

The id of the response goes into the call at once, and so into the heartbeat. A worker that dies leaves
the response running; the next attempt picks it up, and nothing is paid twice.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, Final

import openai
import structlog

from tenure.models.chat import Completion, InFlight, ModelError, RequestRejected, TransportError
from tenure.models.openai.backend import OpenAIBackend
from tenure.models.openai.endpoint import USUAL_PATH, error_text
from tenure.models.openai.refusals import BAD_REQUEST, refusal
from tenure.models.openai.reply import Reply
from tenure.models.openai.request import Question
from tenure.settings import variable

IN_THE_MAKING: Final = frozenset({"queued", "in_progress"})
"""Statuses of a response that will change by themselves."""

PASSING: Final = {"server_error": 500, "rate_limit_exceeded": 429, "vector_store_timeout": 500}
"""Codes of failures after which the same question may be asked again, with the HTTP status they stand for."""

FIRST_LOOK, LONGEST_LOOK = 0.2, 2.0
"""Seconds between two looks at a response: at first, and after a while."""

PARTING: Final = 2.0
"""Seconds that a call which is cancelled may take to stop its response, or to leave it to the next attempt."""

CHAT: Final = f"{variable('model_api')}=chat"
"""What to set for a server that cannot do what is asked for here."""

ABSENT: Final = frozenset({404, 405, 501})
"""What servers answer where they have no Responses API; a model that they do not have is named."""

_OF_MODEL = re.compile(r"model|deployment", re.IGNORECASE)
_BACKGROUND = re.compile(r"\bbackground\b(?![\"']\s*:)", re.IGNORECASE)  # not where the request is repeated
_ENDINGS = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAIResponses(OpenAIBackend):
    """The back-end for the Responses API."""

    async def _completion(self, question: Question, call: InFlight) -> Completion:
        made = await self._picked_up(call) or await self._begun(question, call)
        try:
            made = await self._made(made, call)
        except asyncio.CancelledError:
            if call.abandoned():
                await self._stopped(call.response)
            raise
        if made.get("status") not in ("completed", "incomplete"):
            await call.begun("")
            raise self._failure(made, question)
        asked = question.ask
        return as_reply(made).completion(question.route.model, asked.prompt_tokens, acting=bool(asked.functions))

    async def _picked_up(self, call: InFlight) -> dict[str, Any] | None:
        """Return the response that an earlier attempt had begun; None where there is none, or none any more."""
        if not call.response:
            return None
        try:
            made = await self._look(call.response)
        except openai.NotFoundError:
            made = {"status": "cancelled"}
        if made.get("status") != "cancelled":
            return made
        await call.begun("")
        return None

    async def _begun(self, question: Question, call: InFlight) -> dict[str, Any]:
        """Begin a response and keep its id.

        The server makes and bills a response from the moment of the request. So a call that is cancelled
        before it knows the id does not hang up: it waits for the id first.
        """
        creating = asyncio.create_task(self._created(question))
        try:
            made = await asyncio.shield(creating)
            await self._kept(made["id"], call)
        except asyncio.CancelledError:
            await self._parted(creating, call)
            raise
        return made

    async def _created(self, question: Question) -> dict[str, Any]:
        try:
            response = await self._client.responses.with_raw_response.create(**question.background_parameters)
        except openai.APIStatusError as error:
            if said := _no_background(error):
                raise self._unsuitable(error.status_code, said) from None
            raise
        return self._read(response.text)

    async def _kept(self, name: str, call: InFlight) -> None:
        """Keep the id of a response; one that no later attempt would find is stopped, or it would be paid unseen."""
        try:
            await call.begun(name)
        except ModelError:
            await self._stopped(name)
            raise

    async def _parted(self, creating: asyncio.Task[dict[str, Any]], call: InFlight) -> None:
        """Learn the id of a response that has been asked for, and stop it or leave it to the next attempt."""
        try:
            async with asyncio.timeout(PARTING):
                name = (await creating)["id"]
                await (self._stopped(name) if call.abandoned() else self._kept(name, call))
        except (openai.APIError, ModelError, TimeoutError) as error:
            self._warn("the id of a response was not learnt before its call was cancelled", error)

    async def _made(self, made: dict[str, Any], call: InFlight) -> dict[str, Any]:
        """Look at a response until it is made.

        Raises:
            TransportError: the server has none of this id any more; there is nothing that could be picked up.
        """
        pause = FIRST_LOOK
        while made.get("status") in IN_THE_MAKING:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_LOOK)
            try:
                made = await self._look(call.response)
            except openai.NotFoundError:
                await call.begun("")
                raise TransportError(self._lost(), status=404) from None
        return made

    def _lost(self) -> str:
        advice = f"one that keeps none needs {CHAT}"
        return f"{self._server.where} lost the response it was making; it is asked for anew ({advice})"

    def _unsuitable(self, status: int, said: str) -> RequestRejected:
        advice = f"makes no responses in the background; set {CHAT} or check OPENAI_BASE_URL ({USUAL_PATH})"
        return RequestRejected(f"{self._server.where} {advice}: {self._server.shown(said)}", status=status)

    async def _look(self, name: str) -> dict[str, Any]:
        return self._read((await self._client.responses.with_raw_response.retrieve(name)).text)

    async def _stopped(self, name: str) -> None:
        """Stop a response that nobody wants any more; one that cannot be stopped is paid and not read."""
        try:
            async with asyncio.timeout(PARTING):
                await self._client.responses.cancel(name)
        except (openai.APIError, TimeoutError) as error:
            self._warn("a response could not be cancelled", error)

    def _warn(self, event: str, error: Exception) -> None:
        structlog.get_logger().warning(event, error=self._server.shown(error))

    def _read(self, body: str) -> dict[str, Any]:
        try:
            made = json.loads(body)
        except ValueError:
            raise TransportError(f"{self._server.where} sent a broken response", status=200) from None
        if not isinstance(made, dict) or not made.get("id"):
            raise self._unsuitable(200, "what it sent is no response")
        return made

    def _failure(self, made: dict[str, Any], question: Question) -> ModelError:
        """Return what a response that came to nothing means."""
        error = made.get("error") or {"code": "server_error", "message": f"the response is {made.get('status')}"}
        return refusal(self._server, PASSING.get(str(error.get("code")), 400), error, {}, question)


def _no_background(error: openai.APIStatusError) -> str:
    """Return what a server says that has no Responses API or makes nothing in the background; else nothing."""
    said = error_text(error.body) or f"status {error.status_code}"
    absent = error.status_code in ABSENT and not _OF_MODEL.search(said)
    refused = error.status_code in BAD_REQUEST and _BACKGROUND.search(said)
    return said if absent or refused else ""


def as_reply(made: dict[str, Any]) -> Reply:
    """Return a finished response in the words of Chat Completions, so that both are read alike."""
    items = made.get("output") or ()
    parts = _parts(items, "message", "content")
    thoughts = _parts(items, "reasoning", "summary") or _parts(items, "reasoning", "content")
    usage = made.get("usage") or {}
    reason = (made.get("incomplete_details") or {}).get("reason", "")
    message = {
        "content": _said(parts, "text") or None,
        "refusal": _said(parts, "refusal") or None,
        "reasoning_content": _said(thoughts, "text") or None,
        "tool_calls": [{"function": item} for item in items if item.get("type") == "function_call"],
    }
    bill = {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
    }
    return Reply.model_validate(
        {
            "model": made.get("model"),
            "choices": [{"finish_reason": _ENDINGS.get(reason, "stop"), "message": message}],
            "usage": bill if usage else None,
        }
    )


def _parts(items: Sequence[dict[str, Any]], kind: str, field: str) -> list[dict[str, Any]]:
    """Return the parts of all items of a kind: thoughts and what is said have parts of the same shape."""
    return [part for item in items if item.get("type") == kind for part in item.get(field) or ()]


def _said(parts: list[dict[str, Any]], field: str) -> str:
    return "".join(str(part[field]) for part in parts if part.get(field))
