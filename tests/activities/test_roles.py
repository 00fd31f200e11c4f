"""Role activities: evidence by reference and verbatim citations."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.errors import KNOWLEDGE_REFUSED, MODEL_REJECTED
from activities.roles import RoleActivities
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import PassageRef, SearchRequest
from tenure.contracts.research.report import ReportText, Topic
from tenure.contracts.run.role_calls import RoleReply, RoleRequest
from tenure.knowledge.store.errors import CorruptTable, KnowledgeError, UnknownChunk
from tenure.models.errors import RequestRejected
from tenure.roles.registry import load_roles
from tenure.roles.research.router import RouterInput, RouterOutput
from tenure.roles.writing import report_writer
from tenure.roles.writing.report_writer import PartEvidence, ReportWriterInput
from tests.roles.cases import CASES
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, build_report, says, story

KNOWLEDGE = MemoryKnowledge(dict(KITCHEN))
FOUND = KNOWLEDGE.search(SearchRequest(query="How is bread made?", corpora=("kitchen",), k=6)).passages
BREAD = Topic(heading="Bread", question="How is bread made?")
WRITE = ReportWriterInput(
    question="How is bread made?", parts=(PartEvidence(topic=BREAD, passages=tuple(range(1, len(FOUND) + 1))),)
)


def write_request() -> RoleRequest[ReportWriterInput]:
    return report_writer.ROLE.request_type(input=WRITE, evidence=FOUND)


def make_roles(chat: Any, knowledge: Any) -> RoleActivities:
    """Return the activities over a scripted model and a knowledge base in memory."""
    return RoleActivities(chat, knowledge)


async def ask(
    name: str,
    input: Any,
    chat: ScriptedChat | None = None,
    evidence: tuple[Any, ...] = FOUND,
    knowledge: MemoryKnowledge = KNOWLEDGE,
    roles: RoleActivities | None = None,
) -> Any:
    """Execute a role's activity as a worker would."""
    heartbeat = "get_async_activity_handle.return_value.heartbeat"
    environment = ActivityEnvironment(client=Mock(**{heartbeat: AsyncMock()}))
    environment.info = replace(environment.info, heartbeat_timeout=timedelta(seconds=30))
    role = load_roles()[name]
    activity = (roles or make_roles(chat, knowledge)).build(role)
    return await environment.run(activity, role.request_type(input=input, evidence=evidence))


@pytest.mark.parametrize("name", CASES)
async def test_each_role_answers_by_its_fallback(name: str) -> None:
    """Without a model each role answers at no cost, in a reply that survives JSON."""
    reply = await ask(name, CASES[name].input)

    assert (reply.model, reply.tokens_in, reply.fallback_reason) == ("offline", 0, None)
    assert reply == type(reply).model_validate_json(reply.model_dump_json())


async def test_an_offline_role_asks_no_model() -> None:
    """A role that the settings name offline decides by its rule, and others ask the model."""
    chat = ScriptedChat(story())
    roles = RoleActivities(chat, KNOWLEDGE, offline={"report_reviewer"})  # type: ignore[arg-type]

    replies = [await ask(name, CASES[name].input, roles=roles) for name in ("report_reviewer", "router")]

    assert [reply.model == "offline" for reply in replies] == [True, False]
    assert [reply.fallback_reason for reply in replies] == [None, None]
    assert len(chat.asked) == 1


@pytest.mark.parametrize("name", CASES)
async def test_each_role_answers_by_the_model(name: str) -> None:
    """With a model each role makes one request, with the passages of its references."""
    chat = ScriptedChat(story())

    reply = await ask(name, CASES[name].input, chat)

    assert chat.count(name) == len(chat.asked) == 1
    assert (reply.model.startswith("scripted"), reply.tokens_in, reply.tokens_out) == (True, 100, 10)
    needless = {
        "router",
        "decomposer",
        "sql_writer",
        "hypothetical_document",
        "code_reflector",
        "tool_selector",
        "react",  # its observations are in its transcript
        "query_translator",
        "picture_reader",
    }
    assert ("<passage n=" in chat.asked[0][1]) is (name not in needless)


async def test_passage_numbers_become_verbatim_citations() -> None:
    """Quotes are cut from the stored text, and invented numbers cite nothing."""
    written = build_report({"Bread": "Bread is made from flour [1]. Bread is gold [99]."}, answer="")
    chat = ScriptedChat(story(report_writer=says(written)))

    reply: RoleReply[ReportText] = await ask("report_writer", WRITE, chat)

    real, invented = reply.output.sections["Bread"].claims
    assert [KITCHEN[c.source].text[c.start : c.end] for c in real.citations] == [c.quote for c in real.citations]
    assert real.citations
    assert (invented.status, invented.citations) == ("invalid_source", ())


async def test_unreadable_model_is_replaced_by_the_fallback() -> None:
    """After all corrections the fallback answers, and the reply has the reason and the cost."""
    chat = ScriptedChat(story(router=says("I would rather talk about bread.")))

    reply: RoleReply[RouterOutput] = await ask("router", RouterInput(question="What is bread?"), chat, ())

    assert (reply.output.mode, reply.model, reply.tokens_in) == ("RESEARCH", "offline", 100 * chat.count("router"))
    assert reply.fallback_reason


async def test_model_error_is_translated() -> None:
    """An error that needs a person fails the activity with one line."""

    async def refuse(prompt: str) -> dict[str, Any]:
        raise RequestRejected("no such model")

    with pytest.raises(ApplicationError, match="no such model") as caught:
        await ask("router", RouterInput(question="What is bread?"), ScriptedChat({"router": refuse}))

    assert (caught.value.type, caught.value.non_retryable) == (MODEL_REJECTED, True)


class Emptied(MemoryKnowledge):
    """A knowledge base that has lost its chunks during the run."""

    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        raise self.error


async def test_torn_table_is_retryable() -> None:
    """A transient error of the knowledge base is retried by Temporal."""
    error: KnowledgeError = CorruptTable("chunks", "here", "torn")
    roles = RoleActivities(None, Emptied(error))  # type: ignore[arg-type]

    with pytest.raises(ApplicationError) as caught:
        await ActivityEnvironment().run(roles.build(report_writer.ROLE), write_request())

    assert (caught.value.type, caught.value.message) == (KNOWLEDGE_REFUSED, str(error))
    assert not caught.value.non_retryable


class Replaced(MemoryKnowledge):
    """A knowledge base in which an ingestion has replaced one chunk."""

    def __init__(self, gone: str) -> None:
        super().__init__(KITCHEN)
        self.gone = gone

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        if any(ref.chunk == self.gone for ref in refs):
            raise UnknownChunk([self.gone])
        return super().load_passages(refs)


async def test_missing_passages_are_omitted() -> None:
    """A file that is read again during the run loses the replaced passages, and the other citations stay correct."""
    whole = await ActivityEnvironment().run(
        RoleActivities(None, MemoryKnowledge(KITCHEN)).build(report_writer.ROLE),  # type: ignore[arg-type]
        write_request(),
    )
    gone = whole.output.claims[0].citations[0].chunk
    left = await ActivityEnvironment().run(
        RoleActivities(None, Replaced(gone)).build(report_writer.ROLE),  # type: ignore[arg-type]
        write_request(),
    )

    assert gone not in {citation.chunk for claim in left.output.claims for citation in claim.citations}
    assert all(claim.status == "supported" for claim in left.output.claims)
