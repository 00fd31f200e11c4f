"""Role activities: one per role, named for it, so that the web UI reads like the story (DESIGN §3).

Each loads the passages its call refers to, lets the role answer on the configured model or by its
twin, and turns what writers name into verbatim citations.
"""

import asyncio
from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import heartbeating
from tenure.contracts.calls import RoleCall, RoleReply, role_reply
from tenure.contracts.evidence import Draft
from tenure.models.chat import Answer, ChatModel
from tenure.models.structured import answer
from tenure.roles import (
    abstract_writer,
    decomposer,
    hypothetical_document,
    outliner,
    report_reflector,
    router,
    section_reviewer,
    section_rewriter,
    section_writer,
    title_writer,
)
from tenure.roles.base import Evidence, I, O, Role
from tenure.roles.writing import WrittenText, drafted

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class RoleActivities:
    """The roles, on one chat model and one knowledge base."""

    def __init__(self, chat: ChatModel | None, knowledge: "KnowledgeBase") -> None:
        """Use `chat`, or the twins where it is None."""
        self._chat = chat
        self._knowledge = knowledge

    @activity.defn
    async def router(self, call: RoleCall[router.RouterInput]) -> RoleReply[router.RouterOutput]:
        """Decide which path the question takes."""
        return _reply(await self._ask(router.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def decomposer(self, call: RoleCall[decomposer.DecomposerInput]) -> RoleReply[decomposer.DecomposerOutput]:
        """Find the questions inside the question."""
        return _reply(await self._ask(decomposer.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def outliner(self, call: RoleCall[outliner.OutlinerInput]) -> RoleReply[outliner.OutlinerOutput]:
        """Plan the report's topics."""
        return _reply(await self._ask(outliner.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def hypothetical_document(
        self, call: RoleCall[hypothetical_document.HypotheticalDocumentInput]
    ) -> RoleReply[hypothetical_document.HypotheticalDocumentOutput]:
        """Imagine the passage that would answer a topic."""
        return _reply(await self._ask(hypothetical_document.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def section_writer(self, call: RoleCall[section_writer.SectionWriterInput]) -> RoleReply[Draft]:
        """Write the first draft of a section."""
        return await self._write(section_writer.ROLE, call)

    @activity.defn
    async def section_reviewer(
        self, call: RoleCall[section_reviewer.SectionReviewerInput]
    ) -> RoleReply[section_reviewer.SectionReviewerOutput]:
        """Review a draft."""
        return _reply(await self._ask(section_reviewer.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def section_rewriter(self, call: RoleCall[section_rewriter.SectionRewriterInput]) -> RoleReply[Draft]:
        """Write the next draft of a section."""
        return await self._write(section_rewriter.ROLE, call)

    @activity.defn
    async def report_reflector(
        self, call: RoleCall[report_reflector.ReportReflectorInput]
    ) -> RoleReply[report_reflector.ReportReflectorOutput]:
        """Reflect on the report as a whole."""
        return _reply(await self._ask(report_reflector.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def title_writer(
        self, call: RoleCall[title_writer.TitleWriterInput]
    ) -> RoleReply[title_writer.TitleWriterOutput]:
        """Name the report."""
        return _reply(await self._ask(title_writer.ROLE, call, await self._evidence(call)))

    @activity.defn
    async def abstract_writer(self, call: RoleCall[abstract_writer.AbstractWriterInput]) -> RoleReply[Draft]:
        """Sum the report up."""
        return await self._write(abstract_writer.ROLE, call)

    async def _evidence(self, call: RoleCall[I]) -> Evidence:
        with translated():
            passages = await asyncio.to_thread(self._knowledge.passages, call.evidence) if call.evidence else ()
        return Evidence(passages, self._knowledge.encode)

    async def _ask(self, role: Role[I, O], call: RoleCall[I], evidence: Evidence) -> Answer[O]:
        # Twins encode sentences, so that errors of the embedding model come up here as well.
        with translated():
            async with heartbeating():
                return await answer(role, call.input, evidence, self._chat)

    async def _write(self, role: Role[I, WrittenText], call: RoleCall[I]) -> RoleReply[Draft]:
        evidence = await self._evidence(call)
        given = await self._ask(role, call, evidence)
        draft = await asyncio.to_thread(drafted, given.output, evidence.passages)
        return role_reply(draft, given.model, given.tokens_in, given.tokens_out, given.degraded)


def _reply(given: Answer[O]) -> RoleReply[O]:
    return role_reply(given.output, given.model, given.tokens_in, given.tokens_out, given.degraded)
