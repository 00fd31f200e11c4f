"""Follow-up questions: cited like a report, remembered from one to the next, and with a second search where allowed."""

from typing import Any

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.result.ask import REMEMBERED, Answer, AskRequest, Exchange, Thread
from tenure.contracts.run.run import Limits
from tests.conftest import Serving, Stage
from tests.workflows.runtime.test_web import BREAD, SCOPE, Outside
from tests.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, says, story, text

LIMITS = Limits(min_relevance=0.05)


def asked(question: str, **others: Any) -> AskRequest:
    fields: dict[str, Any] = {"corpora": ("kitchen",), "limits": LIMITS, **others}
    return AskRequest(run=RunId("run"), topic="How are bread and cheese made?", question=question, **fields)


async def answered(stage: Stage, request: AskRequest) -> Answer:
    """Have a question answered."""
    return await (await stage.ask(request)).result()


async def test_answers_are_cited_and_know_what_was_said_before(serving: Serving) -> None:
    """Quotes are verbatim, a source keeps the number it had, and the next question is told the exchange."""
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "How long does the dough of the bread rise?"}),
            answerer=says(text(("The dough rises for two hours.", 1))),
        )
    )
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        report = Thread(sources=(SourceId("cheese"), SourceId("bread")))
        first = await answered(stage, asked("And how long does it rise?", thread=report))
        second = await answered(stage, asked("Why?", thread=first.thread))

    (source,) = first.sources
    (claim,) = first.claims
    quote = claim.citations[0]
    assert (first.status, source.id, source.n, quote.source) == ("answered", "bread", 2, 2)
    assert KITCHEN["bread"].text[quote.start : quote.end] == quote.quote
    assert first.markdown == "The dough rises for two hours. [2]"
    assert first.usage.model_calls == 3
    told = [prompt for role, prompt in chat.asked if role == "answerer"]
    assert "conversation" not in told[0]
    assert "Asked: And how long does it rise?\nAnswered: The dough rises for two hours." in told[1]
    rewriting = [prompt for role, prompt in chat.asked if role == "question_rewriter"][1]
    assert "- How long does the dough of the bread rise?" in rewriting and "<passage n=" in rewriting
    assert [exchange.question for exchange in second.thread.exchanges] == ["And how long does it rise?", "Why?"]


async def test_without_a_model_an_answer_is_made_of_quotes(serving: Serving) -> None:
    """The twin answers in sentences of the sources, and says that nothing was found where they say nothing."""
    old = tuple(Exchange(question=f"What is {n}?", asked=f"What is {n}?") for n in range(REMEMBERED))
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        found = await answered(stage, asked("What is rye bread made with?", thread=Thread(exchanges=old)))
        nothing = await answered(
            stage, asked("Who rules Mars?", limits=LIMITS.model_copy(update={"min_relevance": 0.9}))
        )

    assert any("sourdough" in claim.text for claim in found.claims)
    assert all(claim.text in KITCHEN["bread"].text for claim in found.claims)
    assert len(found.thread.exchanges) == REMEMBERED and found.thread.exchanges[0].question == "What is 1?"
    assert (nothing.status, nothing.markdown, nothing.sources) == ("no_evidence", "", ())
    assert nothing.thread.exchanges[0].answer == ""


async def test_a_second_search_reads_the_web_where_it_may(serving: Serving) -> None:
    """With search allowed, what is missing is looked for once more, and pages are read into a corpus of their own."""
    outside = Outside()
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "How hot is the oven for bread?"}),
            query_refiner=says({"complete": False, "query": "bread oven minutes"}),
            answerer=says(text(("Bread is baked in a hot oven for forty minutes.", 1))),
        )
    )
    knowledge = MemoryKnowledge({}, pages={BREAD: "Bread is baked in a hot oven for forty minutes."} | _OTHERS)
    limits = LIMITS.model_copy(update={"web": SCOPE.model_copy(update={"run": RunId("run/ask")})})
    async with serving(chat, knowledge, web=[outside.search_web, outside.fetch_pages]) as stage:
        answer = await answered(stage, asked("How hot?", limits=limits, search=True))

    assert [request.query for request in knowledge.searches] == ["How hot is the oven for bread?", "bread oven minutes"]
    assert {request.corpus for request in knowledge.readings} == {"web/run/ask"}
    assert (answer.status, answer.thread.read_web) == ("answered", True)
    assert answer.usage.pages >= 1


async def test_an_answer_keeps_to_its_budget(serving: Serving) -> None:
    """With one answer of the model allowed, the twins give the rest, and the answer says so."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        answer = await answered(
            stage, asked("What is bread made of?", limits=LIMITS.model_copy(update={"max_calls": 1}))
        )

    assert len(chat.asked) == answer.usage.model_calls == 1
    assert "answerer" in {call.role for call in answer.degraded}
    assert answer.status == "answered"


_OTHERS = {"https://mill.example/flour": "Flour is milled from wheat."}
