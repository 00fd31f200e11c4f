"""Follow-up questions: citations, the thread of a conversation, and the second search."""

from typing import Any

import pytest

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.evidence.tables import ColumnInfo, QueryReply, QueryRequest, TableInfo, TablesRequest
from tenure.contracts.result.ask import MAX_THREAD_EXCHANGES, AskReply, AskRequest, Exchange, ResultText, Thread
from tenure.contracts.run.run import RunLimits
from tenure.sources.document.document import Document
from tests.conftest import Serving, Stage
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, Source, says, story
from tests.workflows.runtime.test_web_client import BREAD, SCOPE, Outside

LIMITS = RunLimits(min_relevance=0.05)


def asked(question: str, **others: Any) -> AskRequest:
    fields: dict[str, Any] = {"corpora": ("kitchen",), "limits": LIMITS, **others}
    return AskRequest(run=RunId("run"), topic="How are bread and cheese made?", question=question, **fields)


async def answered(stage: Stage, request: AskRequest) -> AskReply:
    """Return the answer to a question."""
    return await (await stage.ask(request)).result()


async def test_answers_are_cited_and_extend_the_thread(serving: Serving) -> None:
    """Quotes are verbatim, sources keep their numbers, and the next question receives the exchange."""
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "How long does the dough of the bread rise?"}),
            answerer=says("The dough rises for two hours [1]."),
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


async def test_fallback_answers_in_quotes(serving: Serving) -> None:
    """The fallback answers in sentences of the sources, or replies that there is no evidence."""
    old = tuple(
        Exchange(question=f"What is {n}?", standalone_question=f"What is {n}?") for n in range(MAX_THREAD_EXCHANGES)
    )
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        found = await answered(stage, asked("What is rye bread made with?", thread=Thread(exchanges=old)))
        nothing = await answered(
            stage, asked("Who rules Mars?", limits=LIMITS.model_copy(update={"min_relevance": 0.9}))
        )

    assert any("sourdough" in claim.text for claim in found.claims)
    assert all(claim.text in KITCHEN["bread"].text for claim in found.claims)
    assert len(found.thread.exchanges) == MAX_THREAD_EXCHANGES and found.thread.exchanges[0].question == "What is 1?"
    assert (nothing.status, nothing.markdown, nothing.sources) == ("no_evidence", "", ())
    assert nothing.thread.exchanges[0].answer == ""


async def test_second_search_reads_the_web(serving: Serving) -> None:
    """If allowed, a second search looks for missing information, and pages are read into a separate corpus."""
    outside = Outside()
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "How hot is the oven for bread?"}),
            query_refiner=says({"complete": False, "query": "bread oven minutes"}),
            answerer=says("Bread is baked in a hot oven for forty minutes [1]."),
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


class GermanKnowledge(MemoryKnowledge):
    """A knowledge base of German documents."""

    def search(self, request: SearchRequest) -> SearchReply:
        """Return the passages, and German as a language of which an English query has no word."""
        languages = () if "Teig" in request.query else ("de",)
        return super().search(request).model_copy(update={"foreign_languages": languages})


GERMAN = {"brot": Source("brot.md", "Brot", "Der Teig ruht zwei Stunden.\n\nDer Ofen ist heiß.")}


async def test_a_question_in_another_language_is_translated(serving: Serving) -> None:
    """The model translates the query once; the answer cites the words of the document, and nothing is left over."""
    said = {"translations": [{"query": 1, "language": "de", "text": "Wie lange ruht der Teig?"}]}
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "How long does it rest?"}),
            query_translator=says(said),
            answerer=says("The dough rests for two hours [1]."),
        )
    )
    knowledge = GermanKnowledge(GERMAN)
    limits = LIMITS.model_copy(update={"has_model": True})
    async with serving(chat, knowledge) as stage:
        answer = await answered(stage, asked("How long does it rest?", limits=limits))

    assert [request.query for request in knowledge.searches] == ["How long does it rest?", "Wie lange ruht der Teig?"]
    assert [citation.quote for claim in answer.claims for citation in claim.citations] == [
        "Der Teig ruht zwei Stunden."
    ]
    assert (answer.usage.searches, answer.usage.untranslated) == (1, ())
    assert answer.usage.by_role["query_translator"].model_calls == 1


@pytest.mark.parametrize("has_model", [False, True])
async def test_a_language_without_a_translation_is_named(serving: Serving, has_model: bool) -> None:
    """Without a model, or if it gives no translation, documents are searched with the words of the question."""
    knowledge = GermanKnowledge(GERMAN)
    limits = RunLimits(min_relevance=0.0, has_model=has_model)
    async with serving(ScriptedChat(story()) if has_model else None, knowledge) as stage:
        answer = await answered(stage, asked("How long does it rest?", limits=limits))

    assert (len(knowledge.searches), answer.usage.untranslated) == (1, ("de",))


async def test_answer_respects_its_budget(serving: Serving) -> None:
    """With a budget of one model call the fallbacks decide the rest, and the answer says so."""
    chat = ScriptedChat(story())
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        answer = await answered(
            stage, asked("What is bread made of?", limits=LIMITS.model_copy(update={"max_calls": 1}))
        )

    assert len(chat.asked) == answer.usage.model_calls == 1
    assert "answerer" in {call.role for call in answer.fallbacks}
    assert answer.status == "answered"


_OTHERS = {"https://mill.example/flour": "Flour is milled from wheat."}


async def test_a_calculation_answers_a_follow_up_question(serving: Serving) -> None:
    """A question that is only a calculation is answered by the calculator, which the answer cites."""
    async with serving(None, MemoryKnowledge(dict(KITCHEN))) as stage:
        answer = await answered(stage, asked("What is 15 % of 2,400?"))

    assert (answer.status, len(answer.claims)) == ("answered", 1)
    assert [source.uri for source in answer.sources] == ["calculation: 15% of 2400"]
    assert "360" in answer.markdown and "answerer" not in answer.usage.by_role


async def test_a_follow_up_question_computes_with_the_answer_of_the_report(serving: Serving) -> None:
    """The number of the report's answer is computed with, also by an expression of the model that adds no figure."""
    answers = {"Two of them?": "12000 * 2", "Ninety of them?": "12000 * 90"}

    async def rewrite(prompt: str) -> dict[str, Any]:
        question = prompt.partition("<sub_question>\n")[2].partition("\n")[0]
        return {"question": question, "calculation": answers[question]}

    chat = ScriptedChat(story(question_rewriter=rewrite, answerer=says("It is 24,000 [1].")))
    thread = Thread(report="12,000 loaves. The bakery bakes them in 20 hours.")
    async with serving(chat, MemoryKnowledge(dict(KITCHEN))) as stage:
        continued = await answered(stage, asked("And divided by 480?", thread=thread))
        named, invented = [await answered(stage, asked(question, thread=thread)) for question in answers]

    assert continued.standalone_question == "What is 12,000 divided by 480?"
    assert continued.usage.model_calls == 0 and "= 25. [1]" in continued.markdown and len(continued.claims) == 1
    assert continued.thread.report == thread.report
    assert [source.uri for source in named.sources] == ["calculation: 12000 * 2"]
    assert not any(source.uri.startswith("calculation") for source in invented.sources)
    prompts = dict(reversed(chat.asked))
    assert "Answer: 12,000 loaves." in prompts["question_rewriter"]
    assert "Its report answered: 12,000 loaves." in prompts["answerer"]


async def test_a_question_about_a_change_is_answered_from_its_texts(serving: Serving) -> None:
    """The texts become sources that are cited and keep their numbers; nothing is searched, not even a second time."""
    texts = (
        ResultText(title="The task", text="The loaf is *flat*."),
        ResultText(title="The change of loaf.py", text="### `loaf.py`, lines 1 to 2\n\n```diff\n+YEAST = 7\n```"),
    )
    chat = ScriptedChat(
        story(
            question_rewriter=says({"question": "Why was YEAST added?"}),
            answerer=says("The loaf was flat [1]."),
        )
    )
    knowledge = MemoryKnowledge(dict(KITCHEN))
    async with serving(chat, knowledge) as stage:
        first = await answered(stage, asked("Why was it added?", corpora=(), texts=texts, search=True))
        second = await answered(stage, asked("How many times?", corpora=(), texts=texts, thread=first.thread))

    assert (first.status, second.status, knowledge.searches) == ("answered", "answered", [])
    assert not first.has_documents
    assert [(source.n, source.title, source.uri) for source in first.sources] == [(1, "The task", "run:run/The task")]
    assert first.claims[0].citations[0].quote == "The loaf is flat." and second.sources == first.sources
    prompt = next(prompt for role, prompt in chat.asked if role == "answerer")
    assert 'source="The change of loaf.py"' in prompt and "Why was YEAST added?" in prompt


async def test_documents_and_a_change_answer_together(serving: Serving) -> None:
    """A coding run that has read documents answers from both."""
    chat = ScriptedChat(story(answerer=says("It is flat [1], and it rises for two hours [2].")))
    texts = (ResultText(title="The task", text="The loaf is flat."),)
    async with serving(chat, MemoryKnowledge(dict(KITCHEN))) as stage:
        await answered(stage, asked("How long does the dough of the bread rise?", texts=texts))

    prompt = next(prompt for role, prompt in chat.asked if role == "answerer")
    assert 'source="The task"' in prompt and 'source="Bread"' in prompt


class Sold(MemoryKnowledge):
    """A knowledge base with one table, of which a query is the answer."""

    def list_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        column = ColumnInfo(name="loaves", kind="number", examples=("3", "5"))
        return (TableInfo(name="sales", columns=(column,), rows=2),)

    def query(self, request: QueryRequest) -> QueryReply:
        document = Document(title=request.title, text="The sum of loaves of the sales is 8.", kind="prose")
        return QueryReply(passages=self.store_result("kitchen", "query", document, request.question), row_count=1)


async def test_tables_answer_a_follow_up_question(serving: Serving) -> None:
    """A SELECT in the question is run, and its result answers."""
    async with serving(None, Sold(dict(KITCHEN))) as stage:
        answer = await answered(stage, asked("SELECT sum(loaves) FROM sales"))

    assert "The sum of loaves of the sales is 8." in [claim.text for claim in answer.claims]
