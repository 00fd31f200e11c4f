"""Run each role as a Temporal activity of the same name, so that the web UI shows which role is at work."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from temporalio import activity

from activities.errors import translate_errors
from activities.model_call_tracking import track_model_call
from activities.passages import load_existing_passages
from tenure.algorithms.injection.taint import (
    find_suspicious_sources,
    has_tainted_claim,
    is_exposed,
    mark_claims,
)
from tenure.contracts.base import SourceId
from tenure.contracts.messages import Tier
from tenure.contracts.research.pictures import ShownPicture
from tenure.contracts.run.budget import BUDGET_USED_UP
from tenure.contracts.run.role_calls import RoleReply, RoleRequest
from tenure.models.chat import ChatModel, ModelCall
from tenure.models.errors import NO_IMAGES
from tenure.models.routes import run_model
from tenure.role_executor import RoleAnswer, execute_role
from tenure.roles.base import BaseRole, Evidence, I, O, R, RoleInput

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class RoleActivities:
    """The roles, on one chat model and one knowledge base."""

    def __init__(
        self,
        chat: ChatModel | None,
        knowledge: "KnowledgeBase",
        identify: Callable[[str, Tier], str] | None = None,
        offline: Collection[str] = (),
    ) -> None:
        """Use `chat`, or the fallbacks if it is None and for the roles that are `offline`.

        With `identify`, which names what answers a role, no identical question is asked twice.
        """
        self._chat = chat
        self._identify = identify
        self._offline = offline
        self._knowledge = knowledge

    def build(self, role: BaseRole[I, O, R]) -> "Callable[[RoleRequest[I]], Awaitable[RoleReply[R]]]":
        """Return the activity of one role."""

        async def run(request: RoleRequest[I]) -> RoleReply[R]:
            return await self.run(role, request)

        # The payload converter reads the concrete types from the annotations.
        run.__annotations__ = {"request": role.request_type, "return": role.reply_type}
        return activity.defn(name=role.name)(run)

    async def run(self, role: BaseRole[I, O, R], request: RoleRequest[I]) -> RoleReply[R]:
        """Execute a role and return its reply."""
        run_model.set(request.chat_model)
        # Fallbacks encode sentences, so errors of the embedding model occur here as well.
        with translate_errors():
            async with track_model_call(role.preview) as in_flight:
                passages = await asyncio.to_thread(load_existing_passages, self._knowledge, request.evidence)
                pictures = await asyncio.to_thread(self._load_pictures, role, request)
                encode = self._knowledge.encoder.encode
                retrieved = Evidence(passages, encode, language=request.language, pictures=pictures)
                evidence = await asyncio.to_thread(role.prepare, retrieved) if role.prepare else retrieved
                is_offline = request.by_rule or role.name in self._offline
                asks = not is_offline and (role.needs_model is None or role.needs_model(request.input, evidence))
                exposure = _UNEXPOSED
                if not asks:
                    answered = await execute_role(role, request.input, evidence, None)
                elif self._chat is None or request.budget_exhausted:
                    answered = await self._answer(role, request, evidence, in_flight)
                else:
                    # The prompt is searched while the model answers it.
                    answered, exposure = await asyncio.gather(
                        self._answer(role, request, evidence, in_flight),
                        asyncio.to_thread(_find_exposure, request.input, evidence),
                    )
                output = await asyncio.to_thread(role.build_reply, request.input, answered.output, evidence)
        if role.list_pictures and answered.fallback_reason == NO_IMAGES:
            answered = replace(answered, fallback_reason=None)  # the run names the pictures that were not read
        if not answered.prompt:
            exposure = _UNEXPOSED
        if exposure.exposed or has_tainted_claim(request.input):
            output = mark_claims(output)
        return _build_reply(role, output, answered, exposure)

    def _load_pictures(self, role: BaseRole[I, O, R], request: RoleRequest[I]) -> tuple[ShownPicture, ...]:
        """Return the pictures that a model is shown, as far as their files are unchanged."""
        if role.list_pictures is None or self._chat is None or request.by_rule or request.budget_exhausted:
            return ()
        pictures = map(self._knowledge.pictures.load_picture, role.list_pictures(request.input))
        return tuple(picture for picture in pictures if picture)

    async def _answer(
        self, role: BaseRole[I, O, R], request: RoleRequest[I], evidence: Evidence, in_flight: ModelCall
    ) -> RoleAnswer[O]:
        if self._chat is None or not request.budget_exhausted:
            asking = activity.info().workflow_id or ""
            answers = None
            if self._identify:
                answers = self._knowledge.answers.select_run(asking, self._identify, fresh=request.fresh)
            return await execute_role(role, request.input, evidence, self._chat, in_flight, request.budget, answers)
        decided = await execute_role(role, request.input, evidence, None)
        return replace(decided, fallback_reason=BUDGET_USED_UP)


class _Exposure(NamedTuple):
    """Instructions of unknown authors that a prompt contained."""

    exposed: bool
    sources: tuple[SourceId, ...]


_UNEXPOSED: Final = _Exposure(exposed=False, sources=())


def _find_exposure(input: RoleInput, evidence: Evidence) -> _Exposure:
    """Find instructions of unknown authors in everything from which a prompt is made; a fallback follows none."""
    sources = find_suspicious_sources(evidence.passages)
    return _Exposure(bool(sources) or is_exposed(input), sources)


def _build_reply(role: BaseRole[I, O, R], output: R, answer: RoleAnswer[O], exposure: _Exposure) -> RoleReply[R]:
    return role.reply_type(
        output=output,
        model=answer.model,
        model_calls=answer.model_calls,
        tokens_in=answer.usage.tokens_in,
        tokens_out=answer.usage.tokens_out,
        tokens_cached=answer.usage.tokens_cached,
        cost_usd=answer.cost_usd,
        first_token_seconds=answer.first_token_seconds,
        saved=answer.saved,
        fallback_reason=answer.fallback_reason,
        exposed=exposure.exposed,
        suspicious_sources=exposure.sources,
    )
