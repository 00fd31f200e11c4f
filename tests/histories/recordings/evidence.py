"""Record where evidence comes from: strategies, tools, web pages, tables, programs, memories and reasoning."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from activities.mcp import McpActivities
from tenure.contracts.base import ChunkId
from tenure.contracts.choices import ReasoningChoice
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TableInfo, TablesRequest
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest
from tenure.contracts.run.run import RunRequest
from tests.histories.recorder import REQUEST, SHORT, Handle, Recorder, limit, wait_for_signal
from tests.histories.recordings.reports import refuse
from tests.roles.invalid_actions import build_action
from tests.support.sandboxes import ScriptedSandbox
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    ROUTE,
    Held,
    Line,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    Source,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.research.test_reasoning import MADE, build_reasoning, build_step
from tests.workflows.research.test_strategies import build_corpus, build_queries, passage
from tests.workflows.research.test_table_questions import PLOT, SQL, Draftsman, Tabular, program
from tests.workflows.research.test_tools import Linked, Servers
from tests.workflows.run.test_run_memory import Forgetful, left, remembered
from tests.workflows.runtime.test_web_client import BREAD, LOST, PAGES, SCOPE, Outside, Screen
from workflows.research.strategies import list_strategy_names
from workflows.run.agent import AgentWorkflow

WEB = RunRequest(question="How is bread baked?", limits=SHORT.limits.model_copy(update={"web": SCOPE}))
WANTED = "A linear regression of sold on day."


async def strategies(recorder: Recorder) -> None:
    """Record a cycle of tasks, each with another retrieval strategy."""
    names = list_strategy_names()
    queries = [f"How long does the dough of rye bread {n} rise?" for n in range(len(names))]
    plan = plans(*(search(query, id=f"s{n}", strategy=names[n]) for n, query in enumerate(queries)))
    stances = says({"stances": [{"passage": 1, "side": "supporting"}, {"passage": 2, "side": "contradicting"}]})
    refiner = in_turn(*build_queries(*(f"Which sourdough is number{n} word{n} old?" for n in range(60))))
    chat = ScriptedChat(story(planner=in_turn(plan, FINISH), query_refiner=refiner, stance_judge=stances))
    knowledge = replace(
        MemoryKnowledge(build_corpus(30) | KITCHEN),
        ours=(ChunkId("bread:0"),),
        remembered=(passage("cheese:52"),),
        helpful=("What is rye sourdough?", "Which mould needs air?"),
    )
    request = limit(SHORT, effort="complex", subagents=len(names))
    await recorder.run(chat, request, knowledge=knowledge)


async def strategies_ended(recorder: Recorder) -> None:
    """Record tasks that end early: passages stay the same, nothing is found, or the refiner has no other query."""
    names = [name for name in list_strategy_names() if name != "react"]
    known = (
        search(f"How long does the dough of rye bread {n} rise?", id=f"k{n}", strategy=name)
        for n, name in enumerate(names)
    )
    unknown = (
        search(f"Who rules number{n} planet{n}?", "Cheese", id=f"u{n}", strategy=name) for n, name in enumerate(names)
    )
    again = in_turn(*build_queries("bread, flour and rye"), {"complete": True, "query": ""})
    chat = ScriptedChat(story(planner=in_turn(plans(*known), plans(*unknown), FINISH), query_refiner=again))
    await recorder.run(chat, limit(SHORT, min_relevance=0.2, effort="complex", max_cycles=2, subagents=8))


async def strategies_stopped(recorder: Recorder) -> None:
    """Record tasks that a budget of searches ends."""
    names = list_strategy_names()
    plan = plans(
        *(
            search(f"How long does the dough of rye bread {n} rise?", id=f"s{n}", strategy=name)
            for n, name in enumerate(names)
        )
    )
    refiner = in_turn(*build_queries(*(f"Which sourdough is number{n} word{n} old?" for n in range(60))))
    chat = ScriptedChat(story(planner=in_turn(plan, FINISH), query_refiner=refiner))
    request = limit(SHORT, effort="complex", subagents=8, max_searches=10)
    await recorder.run(chat, request, knowledge=MemoryKnowledge(build_corpus(30) | KITCHEN))


async def disputes(recorder: Recorder) -> None:
    """Record a question with a position, and a contradiction for which a newer source is searched."""
    hours = "The baker lets the dough of the bread rise for {} hours before the oven is hot."
    documents = {
        name: Source(uri=f"{name}.md", title=name.title(), text=hours.format(count), published=date)
        for name, count, date in (("old", 2, "2016"), ("new", 9, "2016"), ("late", 9, "2024"))
    }
    agreed = {"passages": [{"passage": 1, "agrees": "second", "primary": False}]}
    stances = says({"stances": [{"passage": 1, "side": "supporting"}, {"passage": 2, "side": "contradicting"}]})
    plan = plans(search("How long does dough rise?"))
    chat = ScriptedChat(
        story(
            planner=in_turn(plan, FINISH),
            stance_judge=stances,
            dispute_judge=says(agreed),
        )
    )
    request = limit(SHORT, effort="complex", has_model=True).model_copy(
        update={"question": "Does a long rise make bread better?"}
    )
    await recorder.run(chat, request, knowledge=MemoryKnowledge(KITCHEN | documents))


async def react_problems(recorder: Recorder) -> None:
    """Record uses of tools that lead to nothing."""
    tasks = {
        "What do searches not find?": [
            build_action("summarize_results", question="How long?"),
            build_action("vector_search", query="zzz qqq"),
            build_action("verify_claim", claim="Zzz qqq."),
            build_action("hybrid_search", query="bread", k=3),
            build_action("lookup", term="glacier", passage=1),
            build_action("compare_documents", first=1, second=1, criteria="time"),
            build_action("extract_facts", question="When?", kind="dates", passages=[1, 2]),
            build_action("analyze_document", passage=99, question="What?"),
        ],
        "What do tools refuse?": [
            build_action("calculate", expression="9**9**9"),
            build_action("graph_search", entity="Ryes"),
            build_action("sql", question="How much salt?", statement="SELECT salt FROM sales"),
            build_action("run_python", goal="The trend", inputs=[SQL], code="crash"),
            build_action("run_python", goal="The trend"),
            build_action("mcp", server="own", tool="other"),
            build_action("verify_claim", claim="Bread is made from flour, water, salt and yeast."),
        ],
    }
    nothing = says({"shows": "", "inputs": [], "code": ""})
    knowledge = _Answering(dict(KITCHEN))
    own = McpActivities(Servers(), knowledge)  # type: ignore[arg-type]
    chat = ScriptedChat(story(planner=_plan_react(*tasks), react=_act(tasks), analyst=nothing))
    await recorder.run(
        chat,
        limit(SHORT, min_relevance=0.2, effort="complex", mcp=("own",)),
        knowledge=knowledge,
        box=ScriptedSandbox(),
        web=[own.list_mcp_tools, own.call_mcp_tool, own.store_mcp_answer],
    )


async def react_pages(recorder: Recorder) -> None:
    """Record pages that a task may not read, that are gone, and that a document names."""
    tasks = {
        "How is bread baked in the bakery?": [
            build_action("read_page", url=BREAD, query="baked"),
            build_action("hybrid_search", query="bread in the bakery"),
            build_action("read_page", url=f"{BREAD}?told=secret", query="baked"),
            build_action("read_page", url=BREAD, query="baked"),
            build_action("read_page", url=LOST, query="baked"),
        ],
    }
    outside = Outside()
    links = Source(uri="links.md", title="Links", text=f"More on bread is at {BREAD} and {LOST} in the bakery.")
    chat = ScriptedChat(story(planner=_plan_react(*tasks), react=_act(tasks)))
    request = limit(WEB, web=WebScope(max_pages=1)).model_copy(update={"corpora": ("kitchen",)})
    knowledge = MemoryKnowledge({"links": links}, pages=dict(PAGES))
    await recorder.run(chat, request, knowledge=knowledge, web=[outside.search_web, outside.fetch_pages])


async def react_finished(recorder: Recorder) -> None:
    """Record a run that is asked to finish during a step of a ReAct task."""
    held = Held(build_action("hybrid_search", query="bread"))

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.finish)
        await wait_for_signal(recorder.client.get_workflow_handle(f"{handle.id}/spiral"), "update_control")
        await asyncio.sleep(0.5)  # the task receives it as well
        held.released.set()

    await recorder.run(ScriptedChat(story(planner=_plan_react("How is bread made?"), react=held)), SHORT, act)


async def react(recorder: Recorder) -> None:
    """Record ReAct tasks that use every tool for passages, correct their mistakes, and end in each possible way."""
    tasks = {
        "Which tools read passages?": [
            build_action("hybrid_search", query="bread and cheese", k=6),
            build_action("vector_search", query="rise"),
            build_action("graph_search", entity="Rye", about="bread"),
            build_action("lookup", term="made"),
            build_action("calculate", expression="2 h + 30 min to min", label="Time of rising"),
            build_action("finish", answer="It rises [1].", confidence=0.9),
        ],
        "Which tools judge passages?": [
            build_action("hybrid_search", query="bread and cheese", k=6),
            build_action("analyze_document", passage=1, question="How long does the dough rise?"),
            build_action("compare_documents", first=1, second=3, criteria="time"),
            build_action("summarize_results", question="How long does it take?"),
            build_action("extract_facts", question="How long does it take?", kind="figures"),
            build_action("verify_claim", claim="Bread rises for nine hours."),
            build_action("hybrid_search", query="refused"),
            build_action("bake", query="bread"),
        ],
        "What does a task do that is always wrong?": [build_action("bake", query="bread")] * 4,
    }
    chat = ScriptedChat(story(planner=_plan_react(*tasks), react=_act(tasks)))
    await recorder.run(chat, limit(SHORT, effort="complex", subagents=3), knowledge=_Related(dict(KITCHEN)))


async def react_web(recorder: Recorder) -> None:
    """Record a ReAct task that searches the web and reads a page."""
    tasks = {
        "How is bread baked in the bakery?": [
            build_action("web_search", query="bread oven"),
            build_action("read_page", url=BREAD, query="How long is bread baked?"),
            build_action("finish", answer="It is baked [1].", confidence=0.9),
        ]
    }
    outside = Outside()
    chat = ScriptedChat(story(planner=_plan_react(*tasks), react=_act(tasks)))
    knowledge = MemoryKnowledge({}, pages=dict(PAGES))
    await recorder.run(chat, WEB, knowledge=knowledge, web=[outside.search_web, outside.fetch_pages])


async def react_mcp(recorder: Recorder) -> None:
    """Record a ReAct task that calls the tool of an MCP server, with success and failure, and reads its resource."""
    tasks = {
        "Which recipes are there?": [
            build_action("mcp", server="own", tool="recipes", arguments={"dish": "bread"}),
            build_action("mcp", server="own", tool="recipes", arguments={"dish": "stone"}),
            build_action("read_resource", server="own", uri="docs://oven"),
            build_action("read_resource", server="own", uri="docs://key"),
            build_action("finish", answer="Of flour [1].", confidence=0.9),
        ]
    }
    knowledge = MemoryKnowledge(dict(KITCHEN))
    own = McpActivities(Servers(), knowledge)  # type: ignore[arg-type]
    chat = ScriptedChat(story(planner=_plan_react(*tasks), react=_act(tasks)))
    await recorder.run(
        chat,
        limit(SHORT, mcp=("own",), min_relevance=0.0),
        knowledge=knowledge,
        web=[own.list_mcp_tools, own.call_mcp_tool, own.store_mcp_answer, own.read_mcp_resource],
    )


async def react_tables(recorder: Recorder) -> None:
    """Record a ReAct task that queries tables and runs programs, after a program of the run itself."""
    tasks = {
        "How does the number of loaves grow?": [
            build_action("sql", question="How much was sold?", statement=SQL),
            build_action("sql", question="How much was sold in all?"),
            build_action("run_python", goal="Trend of bread sold", inputs=[SQL], code="print('more')"),
            build_action("run_python", goal="The trend"),
            build_action("finish", answer="It grows [1].", confidence=0.9),
        ]
    }
    chat = ScriptedChat(
        story(
            sql_writer=says({"queries": [{"sql": SQL, "shows": "Sold"}], "computation": WANTED}),
            analyst=in_turn(program("crash"), program("print('slope')")),
            planner=_plan_react(*tasks),
            react=_act(tasks),
        )
    )
    box = Draftsman(prints="slope of bread sold: 2.0 loaves a day\n", made=(PLOT,))
    await recorder.run(chat, SHORT, knowledge=_Answering(dict(KITCHEN)), box=box)


async def tables(recorder: Recorder) -> None:
    """Record a query that is corrected, and a computation that no worker can run."""
    wrong, right = {"sql": "SELECT salt FROM sales", "shows": "Salt"}, {"sql": SQL, "shows": "Sold"}
    writer = in_turn({"queries": [wrong], "computation": ""}, {"queries": [right], "computation": WANTED})
    await recorder.run(
        ScriptedChat(story(sql_writer=writer)),
        limit(SHORT, sandbox_wait_seconds=0.3),
        knowledge=_Answering(dict(KITCHEN)),
    )


async def tables_budget(recorder: Recorder) -> None:
    """Record a computation for whose inputs no search is left."""
    chat = ScriptedChat(
        story(sql_writer=says({"queries": [], "computation": WANTED}), analyst=says(program("print(1)")))
    )
    request = limit(SHORT, max_searches=1)
    await recorder.run(chat, request, knowledge=Tabular(dict(KITCHEN)), box=ScriptedSandbox())


async def tables_finished(recorder: Recorder) -> None:
    """Record a run that is asked to finish while a program over its tables is written."""
    held = Held(program("crash"))

    async def act(handle: Handle) -> None:
        await held.reached.wait()
        await handle.signal(AgentWorkflow.finish)
        await wait_for_signal(handle, "finish")
        held.released.set()

    chat = ScriptedChat(story(sql_writer=says({"queries": [], "computation": WANTED}), analyst=held))
    await recorder.run(chat, SHORT, act, knowledge=Tabular(dict(KITCHEN)), box=ScriptedSandbox())


async def programs(recorder: Recorder) -> None:
    """Record programs over tables that keep failing and are given up."""
    written = in_turn(
        program("print(1)", "SELECT salt FROM sales"), {**program("print(2)"), "inputs": []}, program("crash")
    )
    chat = ScriptedChat(story(sql_writer=says({"queries": [], "computation": WANTED}), analyst=written))
    await recorder.run(chat, SHORT, knowledge=Tabular(dict(KITCHEN)), box=ScriptedSandbox())


async def web(recorder: Recorder) -> None:
    """Record a run that searches the web and reads pages."""
    outside = Outside()
    knowledge = MemoryKnowledge({}, pages=dict(PAGES))
    await recorder.run(None, WEB, knowledge=knowledge, web=[outside.search_web, outside.fetch_pages])


async def web_rendered(recorder: Recorder) -> None:
    """Record pages that a browser renders."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=dict.fromkeys(PAGES, ""))
    screen = Screen(knowledge.pages)
    await recorder.run(
        None, WEB, knowledge=knowledge, web=[outside.search_web, outside.fetch_pages, screen.render_pages]
    )


async def web_unrendered(recorder: Recorder) -> None:
    """Record pages that need a browser, which no worker has."""
    outside, knowledge = Outside(), MemoryKnowledge({}, pages=dict.fromkeys(PAGES, ""))
    await recorder.run(None, WEB, knowledge=knowledge, web=[outside.search_web, outside.fetch_pages])


async def web_down(recorder: Recorder) -> None:
    """Record a run whose search providers do not answer and whose question names a page."""
    outside, knowledge = Outside(down=True), MemoryKnowledge(dict(KITCHEN), pages=dict(PAGES))
    request = SHORT.model_copy(
        update={"limits": SHORT.limits.model_copy(update={"web": WebScope(max_pages=1)}), "ingest": ()}
    )
    await recorder.run(None, request, knowledge=knowledge, web=[outside.search_web, outside.fetch_pages])


async def memory(recorder: Recorder) -> None:
    """Record a run whose recall fails, and a related one that starts with what the first has found."""
    knowledge = MemoryKnowledge(dict(KITCHEN), memories=Forgetful())
    request = SHORT.model_copy(update={"memory": True})
    related = request.model_copy(update={"question": "How long does it take until bread and cheese are made?"})
    planner = in_turn(plans(search("flour of bread"), search("rennet of cheese")), FINISH)
    async with recorder.serve(ScriptedChat(story(planner=planner)), knowledge):
        first = await recorder.start(AgentWorkflow.run, request)
        await first.result()
        knowledge.memories.recollection = remembered(knowledge)
        knowledge.inherited = left(first.id, knowledge)
        await recorder.start(AgentWorkflow.run, related, suffix="-related")
        await recorder.wait_for_end()


async def memory_empty(recorder: Recorder) -> None:
    """Record a run whose memory is empty."""
    await recorder.run(ScriptedChat(story()), SHORT.model_copy(update={"memory": True}))


async def latent_topics(recorder: Recorder) -> None:
    """Record passages that belong to no topic of the outline, which receive a name."""
    named = {"topics": [{"group": 1, "heading": "Ovens", "question": "How hot is an oven?"}]}
    planner = in_turn(plans(search("How long does the dough rise?")), FINISH)
    chat = ScriptedChat(story(planner=planner, topic_namer=says(named)))
    await recorder.run(chat, limit(SHORT, effort="complex"), knowledge=_Grouping(dict(KITCHEN)))


async def read_further(recorder: Recorder) -> None:
    """Record a plan that reads further in a source, and steps that wait for steps which found nothing."""
    first = plans(
        search("How long does the dough rise?", id="a"),
        search("Who rules Mars?", id="b", strategy="direct"),
        search("What follows from Mars?", "Cheese", id="c", depends_on=["b"]),
    )
    reading = {"action": "READ", "query": "sourdough", "target_outline_topic": "Bread", "passage": 1, "id": "r"}
    chat = ScriptedChat(story(planner=in_turn(first, plans(reading), FINISH)))
    await recorder.run(chat, limit(REQUEST, min_relevance=0.2, effort="complex", max_cycles=2))


async def dependent_steps(recorder: Recorder) -> None:
    """Record a step with the name that an earlier one found, and a calculation that its alternative replaces."""
    plan = plans(
        search("What is rye bread made with?", id="a"),
        search("How old is that dough?", id="b", depends_on=["a"]),
        {
            "action": "CALCULATE",
            "query": "How many times older is sourdough than dough?",
            "id": "c",
            "depends_on": ["a"],
            "alternative": "How long does the dough rise?",
        },
    )
    prepared = says({"query": "How old is sourdough?", "names": ["sourdough"], "answered_by": 0})
    chat = ScriptedChat(story(planner=in_turn(plan, FINISH), step_preparer=prepared))
    await recorder.run(chat, limit(SHORT, effort="complex"))


async def reasoning_tree(recorder: Recorder) -> None:
    """Record a tree of thoughts."""
    line = build_reasoning(build_step(MADE, 1, kind="for"), build_step("So bread takes its time.", follows=(1,)))
    await _reason(recorder, "tree", reasoner=says(f"{line}\nREJECTED 0.1: Bread is dear. – It rests on little."))


async def reasoning_vote(recorder: Recorder) -> None:
    """Record independent lines of thought that vote."""
    line = build_reasoning(build_step(MADE, 1), build_step("It takes hours.", 1, follows=(1,)), answer="hours")
    await _reason(recorder, "self_consistency", reasoner=says(line))


async def reasoning_hops(recorder: Recorder) -> None:
    """Record a chain of facts, whose second one is searched for by the name that the first has found."""
    first = build_step(MADE, 1, kind="hop")
    last = build_step("Bread needs sourdough.", 1, follows=(1,), link="sourdough")
    lines = (f"{build_reasoning(first)}\nSEARCH: What is sourdough?", build_reasoning(first, last))
    await _reason(recorder, "multi_hop", reasoner=in_turn(*lines))


async def reasoning_nothing(recorder: Recorder) -> None:
    """Record a chain of facts that ends immediately."""
    await _reason(recorder, "multi_hop")


async def reasoning_barren(recorder: Recorder) -> None:
    """Record a tree without thoughts."""
    await _reason(recorder, "tree")


async def reasoning_failed(recorder: Recorder) -> None:
    """Record reasoning that the model server refuses."""
    await _reason(recorder, "causal", reasoner=refuse)


async def reasoning_analogy(recorder: Recorder) -> None:
    """Record a comparison, for which the principles of both things are searched."""
    line = build_reasoning(build_step(MADE, 1), build_step("Both take time.", 1, follows=(1,)))
    request = limit(SHORT, reasoning="analogical").model_copy(
        update={"question": "What is the difference between bread and cheese?"}
    )
    await recorder.run(ScriptedChat(story(reasoner=says(line))), request)


async def reasoning_chain(recorder: Recorder) -> None:
    """Record reasoning that the kind of the question asks for, and that no evidence supports."""
    chat = ScriptedChat(story(router=says({**ROUTE, "query_type": "analytical"})))
    await recorder.run(chat, limit(SHORT, effort="complex", has_model=True))


async def reasoning_causal(recorder: Recorder) -> None:
    """Record a line of causes that a person asked for."""
    line = build_reasoning(build_step(MADE, 1, kind="cause"), build_step("So it rises.", 1, follows=(1,)))
    await _reason(recorder, "causal", reasoner=says(line))


async def reasoning_counterfactual(recorder: Recorder) -> None:
    """Record a counterfactual line of thought, which the evidence does not support."""
    await _reason(recorder, "counterfactual")


async def _reason(recorder: Recorder, strategy: ReasoningChoice, **lines: Line) -> None:
    await recorder.run(ScriptedChat(story(**lines)), limit(SHORT, reasoning=strategy))


def _plan_react(*queries: str) -> Line:
    """Return a planner that plans a ReAct task for each query, once."""
    tasks = (search(query, id=f"t{n}", strategy="react") for n, query in enumerate(queries))
    return in_turn(plans(*tasks), FINISH)


def _act(tasks: Mapping[str, Sequence[Reply]]) -> Line:
    """Return the steps of each task in their order."""
    left = {query: list(steps) for query, steps in tasks.items()}

    async def act(prompt: str) -> Reply:
        steps = left[prompt.partition("<task>\n")[2].partition("\n</task>")[0]]
        return steps.pop(0) if len(steps) > 1 else steps[0]

    return act


class _Related(Linked):
    """A knowledge base with one relation and without tables."""

    def list_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        return ()


@dataclass
class _Answering(Tabular):
    """A table that answers one query."""

    def query(self, request: QueryRequest) -> QueryReply:
        if request.sql != SQL:
            return QueryReply(problem="there is no column salt")
        return QueryReply(passages=(passage("bread:0"),), row_count=1)


@dataclass
class _Grouping(MemoryKnowledge):
    """A knowledge base in which every accepted passage belongs to no topic."""

    def analyze_candidates(self, request: AnalysisRequest) -> AnalysisReply:
        reply = super().analyze_candidates(request)
        return reply.model_copy(update={"latent": (tuple(found.passage for found in reply.accepted),)})
