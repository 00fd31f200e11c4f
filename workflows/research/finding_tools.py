"""Tools that find and compute: searches, links, tables, the web, terms, calculations, programs, other servers."""

from temporalio import workflow

from workflows.research.toolbox import COMPUTED, FOREIGN, QUOTED, SUSPICIOUS, Toolbox, observed

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import SourceId
    from tenure.contracts.evidence.passages import SearchRequest, Strategy
    from tenure.contracts.evidence.tables import QueryRequest
    from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
    from tenure.contracts.research.tools import (
        LONGEST_OBSERVATION,
        MOST_DOCUMENTS,
        CalculateArguments,
        CalculateRequest,
        GraphSearchArguments,
        HybridSearchArguments,
        LookupArguments,
        LookupRequest,
        McpArguments,
        McpCallRequest,
        Observation,
        ReadPageArguments,
        RunPythonArguments,
        SqlArguments,
        VectorSearchArguments,
        WebSearchArguments,
    )
    from tenure.roles.coding.analyst import AnalystOutput

RELATIONS = 900
"""Characters that relations may take of an observation."""

PAGE_PASSAGES = 8
"""Passages of pages of the web."""


async def vector_search(toolbox: Toolbox, arguments: VectorSearchArguments) -> Observation:
    """Search by meaning."""
    return await _searched(toolbox, arguments.query, arguments.k, "dense")


async def hybrid_search(toolbox: Toolbox, arguments: HybridSearchArguments) -> Observation:
    """Search by words and meaning, weighed as every other search of a task."""
    return await _searched(toolbox, arguments.query, arguments.k, "adaptive")


async def graph_search(toolbox: Toolbox, arguments: GraphSearchArguments) -> Observation:
    """Say what an entity is related to, and follow its links."""
    wanted = RelatedRequest(entity=arguments.entity, corpora=toolbox.task.corpora, most=arguments.k)
    related = await toolbox.calls.related(wanted, summary=arguments.entity)
    query = f"{arguments.entity} {arguments.about}".strip()
    return await _searched(toolbox, query, arguments.k, "graph", _relations(related))


async def sql(toolbox: Toolbox, arguments: SqlArguments) -> Observation:
    """Ask the tables."""
    if not arguments.statement.strip():
        found = await toolbox.asking(arguments.question).queried()
        return await toolbox.told(found, arguments.question, 1.0)
    task = toolbox.task
    request = QueryRequest(
        sql=arguments.statement,
        corpora=task.corpora,
        databases=task.databases,
        title=arguments.question,
        question=task.question,
    )
    reply = await toolbox.calls.query(request, summary=arguments.question)
    if reply.problem:
        return Observation(problem=f"the query failed: {reply.problem}")
    return await toolbox.told(reply.passages, arguments.question, 1.0)


async def web_search(toolbox: Toolbox, arguments: WebSearchArguments) -> Observation:
    """Read what the web has on a query, and search that."""
    scope = toolbox.task.limits.web
    assert scope  # it is offered only then
    return await _searched(toolbox, arguments.query, PAGE_PASSAGES, "adaptive", corpora=(scope.corpus,), browse=True)


async def read_page(toolbox: Toolbox, arguments: ReadPageArguments) -> Observation:
    """Read a page, and search it."""
    task = toolbox.task
    assert task.limits.web  # it is offered only then
    if not await _known(toolbox, arguments.address):
        return Observation(
            problem=f"{arguments.address} stands neither in the question nor in a document that was seen, and its "
            "domain was not named by a person: search the web instead"
        )
    read = await toolbox.calls.read_page(arguments.address, arguments.query)
    if read.problem:
        return Observation(problem=read.problem)
    corpora = (task.limits.web.corpus,)
    # A page that was read before is found among those of the run.
    return await _searched(toolbox, arguments.query, PAGE_PASSAGES, "adaptive", corpora=corpora, sources=read.sources)


async def _known(toolbox: Toolbox, address: str) -> bool:
    """Tell whether a person has allowed an address by its domain, or it stands somewhere as it is written.

    A text that gives orders could else have a model carry what it knows to a server in an address that it makes up.
    """
    task = toolbox.task
    if (task.limits.web and task.limits.web.domains) or address in f"{task.question} {task.step.query}":
        return True
    sources = tuple(dict.fromkeys(one.source for one in toolbox.found.values()))[:MOST_DOCUMENTS]
    request = LookupRequest(term=address, sources=sources, most=1)
    return bool((await toolbox.calls.lookup(request, summary=address)).found)


async def calculate(toolbox: Toolbox, arguments: CalculateArguments) -> Observation:
    """Calculate exactly, and keep the result."""
    request = CalculateRequest(
        expression=arguments.expression,
        shows=arguments.shows,
        question=toolbox.task.step.query,
        corpus=toolbox.corpus,
    )
    reply = await toolbox.calls.calculate(request, summary=arguments.expression)
    if reply.problem:
        return Observation(problem=f"{arguments.expression[:200]!r} was not calculated: {reply.problem}")
    (result, *_) = toolbox.numbered(reply.passages)
    text = f"[{result.number}] {reply.text}"[:LONGEST_OBSERVATION]
    return Observation(text=text, passages=reply.passages, reliability=1.0)


async def run_python(toolbox: Toolbox, arguments: RunPythonArguments) -> Observation:
    """Run a program over results of queries, one that is given or one that is written for it."""
    tables = toolbox.asking(arguments.wanted)
    if arguments.code.strip():
        written = AnalystOutput(shows=arguments.wanted, inputs=arguments.inputs, code=arguments.code)
        computed = await tables.run(toolbox.program(), written)
    else:
        await tables.look()
        tables.wanted = arguments.wanted
        computed = await tables.computed(toolbox.program(), ())
    if computed.notes:
        return Observation(problem=" ".join(computed.notes))
    observation = await toolbox.told(computed.passages, arguments.wanted, COMPUTED)
    return observation.model_copy(update={"artifacts": computed.artifacts})


async def lookup(toolbox: Toolbox, arguments: LookupArguments) -> Observation:
    """Find a term to the letter."""
    named = (arguments.passage,) if arguments.passage else ()
    sources = dict.fromkeys(one.source for one in toolbox.chosen(named, len(toolbox.found)))
    request = LookupRequest(term=arguments.term, sources=tuple(sources)[:MOST_DOCUMENTS])
    reply = await toolbox.calls.lookup(request, summary=arguments.term)
    if not reply.found:
        return Observation(problem=f"{arguments.term!r} stands in none of these documents: search for it")
    # A search has measured documents, a lookup has not: its passages count as much as the document's best.
    best: dict[SourceId, float] = {}
    for one in toolbox.found.values():
        best[one.source] = max(best.get(one.source, 0.0), one.relevance)
    passages = tuple(
        dict.fromkeys(
            toolbox.found.get(one.passage.chunk)
            or one.passage.model_copy(update={"relevance": best.get(one.passage.source, 0.0)})
            for one in reply.found
        )
    )
    numbers = toolbox.numbers(passages)
    lines = [f"[{numbers[one.passage.chunk]}] {one.sentence}" for one in reply.found]
    count = f"{reply.count} sentence(s) have it; these come first." if reply.count > len(lines) else ""
    return observed([*filter(None, (count,)), *lines], passages, QUOTED)


async def mcp(toolbox: Toolbox, arguments: McpArguments) -> Observation:
    """Call a tool of a server."""
    offered = {(one.server, one.name) for one in toolbox.servers}
    if (arguments.server, arguments.tool) not in offered:
        there = ", ".join(f"{name} of {server}" for server, name in sorted(offered))
        return Observation(problem=f"there is no such tool; there are {there}")
    request = McpCallRequest(call=arguments, question=toolbox.task.step.query, corpus=toolbox.corpus)
    reply = await toolbox.calls.call_mcp(request)
    if reply.problem:
        return Observation(problem=reply.problem)
    reliability = SUSPICIOUS if reply.orders else FOREIGN
    return await toolbox.told(reply.passages, toolbox.task.step.query, reliability)


async def _searched(
    toolbox: Toolbox,
    query: str,
    k: int,
    strategy: Strategy,
    before: str = "",
    corpora: tuple[str, ...] = (),
    sources: tuple[SourceId, ...] = (),
    *,
    browse: bool = False,
) -> Observation:
    limits = toolbox.task.limits
    request = SearchRequest(
        query=query,
        corpora=corpora or toolbox.task.corpora,
        k=k,
        max_per_source=None if sources else limits.max_per_source,
        strategy=strategy,
        sources=sources,
    )
    found = await toolbox.calls.search(request, limits.min_relevance, summary=query, browse=browse)
    return await toolbox.told(found, query, before=before)


def _relations(reply: RelatedReply) -> str:
    """Return what an entity is related to, a line for each relation, as far as there is room."""
    if not reply.relations:
        return f"Known by a name like it: {', '.join(reply.alike)}."[:RELATIONS] if reply.alike else ""
    lines: list[str] = []
    for one in reply.relations:
        proof = one.proofs[0].sentence if one.proofs else ""
        lines.append(f"{one.subject} — {one.predicate} — {one.object}: {proof}")
        if sum(map(len, lines)) + len(lines) > RELATIONS:
            break
    return "\n".join(lines)[:RELATIONS]
