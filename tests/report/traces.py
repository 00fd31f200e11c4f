"""Read the trace of a run of a test, and give an example of a story."""

from temporalio.client import Client

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.react import ReactStep
from tenure.contracts.research.cycle import Finding, PlannedAction, Rejection, ResearchEffort
from tenure.contracts.research.trace import (
    ControlRecord,
    RunHead,
    Story,
    Trace,
    TracedCall,
    TracedCycle,
    TracedDecision,
    TracedOutline,
    TracedPlan,
    TracedQuery,
    TracedReflection,
    TracedSection,
    TracedTask,
    TracedThought,
)
from tenure.contracts.run.run import FeedbackRecord, StepProgress
from tenure.report.trace.story import build_trace
from tenure.runs.reading import trace_record
from tenure.runs.session.run_records import open_on_server


async def trace_run(client: Client, run_id: str) -> Trace:
    """Return the trace of a run that the server has."""
    return await trace_record(await open_on_server(client, run_id))


def at(seconds: int) -> str:
    """Return a time after the start of the example."""
    return f"2026-01-01T10:{seconds // 60:02}:{seconds % 60:02}.000+00:00"


def find(query: str, chunk: str, topic: str = "Bread") -> Finding:
    """Return an accepted passage of a query."""
    passage = PassageRef(chunk=ChunkId(chunk), source=SourceId("s"), score=1, relevance=0.5)
    return Finding(topic=topic, query=query, passage=passage, novelty=1)


STEPS = (
    StepProgress(id="a", query="How long does the dough rise?", status="completed"),
    StepProgress(id="b", query="Which milk curdles?", status="completed"),
)
FIRST = TracedPlan(
    number=1,
    cycle=1,
    at=at(10),
    critique="It is early.",
    actions=(PlannedAction(id="a", action="SEARCH", query="How long does the dough rise?"),),
    refused=("“old” was not searched: it was searched before",),
    added=("Wine",),
    steps=tuple(step.model_copy(update={"status": "pending"}) for step in STEPS),
)
HEAD = RunHead(id="r", question="Why?", started_at=at(0), ended_at=at(60), status="done")
STORY = Story(
    mode="RESEARCH",
    complexity="moderate",
    feedback=(FeedbackRecord(text="Mould!", at=at(12)),),
    notes=("It was noted.",),
    records=(
        ControlRecord(at=at(3), signal="pause"),
        TracedOutline(headings=("Bread", "Cheese"), effort=ResearchEffort(cycles=2, subagents=2, hops=1, sections=2)),
        TracedCall(name="searcher", kind="search", part="run", at=at(4), ended_at=at(5), count=2),
        TracedCall(
            name="router", kind="model", part="run", at=at(1), ended_at=at(3), model_calls=1, tokens=300, cost_usd=0.01
        ),
        TracedCycle(number=0, accepted=(find("Why?", "c0"),)),
        FIRST,
        # Tasks are recorded as they end, and steps are in the order of the plan.
        TracedTask(
            cycle=1,
            plan=1,
            step="b",
            topic="Cheese",
            strategy="direct",
            queries=(TracedQuery(query="Which milk curdles?", found=4),),
        ),
        TracedTask(
            cycle=1,
            plan=1,
            step="a",
            topic="Bread",
            strategy="react",
            queries=(TracedQuery(query="How long does the dough rise?", found=1),),
            steps=(ReactStep(n=1, thought="Look.", tool="lookup", observation="[1] Bread."),),
            answer="It rises [1].",
        ),
        FIRST.model_copy(update={"steps": STEPS}),
        TracedCycle(
            number=1,
            accepted=(find("Which milk curdles?", "c1", "Cheese"), find("How long does the dough rise?", "c2")),
            rejected=(Rejection(query="Which milk curdles?", irrelevant=1, known=1),),
            coverage={"Bread": 0.5, "Cheese": 0.25},
            gain=0.25,
            latent_topics=("Wine",),
        ),
        TracedDecision(cycle=1, continues=True, reasoning="Mould is missing.", missing=("Cheese: open – mould",)),
        TracedPlan(number=1, cycle=2, at=at(30), feedback=("Mould!",), dropped=("Wine",)),
        TracedDecision(cycle=1, continues=False, reasoning="It is enough."),
        TracedPlan(number=2, cycle=2, at=at(35)),
        TracedThought(summary="chain: 2 steps"),
        TracedSection(topic="Bread", generation=1, claims=2, sources=1),
        TracedReflection(generation=1, critiques=("Find more on mould.",), further_considerations=("Compare ovens.",)),
        TracedCall(name="report_writer", kind="model", part="report", at=at(40), ended_at=at(50), failure="no answer"),
    ),
)
"""Story of a run whose second cycle has been planned twice and not analyzed."""
EXAMPLE = build_trace(HEAD, STORY, None)
"""Its trace."""
