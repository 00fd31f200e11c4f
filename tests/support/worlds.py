"""Small worlds for workflow tests: a knowledge base in memory and a scripted chat model.

They replace the two dependencies of the activities, so that the workflows and activities under test are the real ones.
A
script can block an answer until the test releases it, which is how a test acts "while the section is being written"
without sleeping.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from tenure.algorithms.text.known_urls import extract_urls, normalize_url
from tenure.algorithms.text.passage import Passage, Vectors
from tenure.algorithms.text.sentences import stem_words
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.computing import ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.corpora import (
    CorpusStats,
    EmbedReport,
    IngestProgress,
    IngestReport,
    IngestRequest,
    QuestionEmbedRequest,
    StoreStats,
)
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.contracts.evidence.retrieval import GroupRequest, RecallReply, RecallRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TableInfo, TablesRequest
from tenure.contracts.evidence.web import ProviderUsage, ReadPagesReply, ReadPagesRequest, WebReport, WebSource
from tenure.contracts.knowledge.maintenance import MaintenanceStep, UpkeepProgress, UpkeepReport
from tenure.contracts.knowledge.memory import MemorySearchReply, MemorySearchRequest, RememberReply, RememberRequest
from tenure.contracts.messages import Tier
from tenure.contracts.research.cycle import Finding
from tenure.contracts.research.dossier import Dossier, DossierRequest
from tenure.contracts.research.fork import ForkReply, ForkRequest
from tenure.contracts.research.learning import InheritReply, InheritRequest
from tenure.contracts.research.pictures import PictureRef, ShownPicture, StorePicturesRequest, make_picture_uri
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest, CandidatePassage
from tenure.contracts.research.tools import LookupReply, LookupRequest, TermMatch
from tenure.contracts.result.ask import ResultText
from tenure.contracts.run.budget import Price
from tenure.knowledge.store.errors import InvalidSearch
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tenure.models.usage import TokenUsage
from tenure.sources.document.document import Document
from tenure.sources.parsers.formats.markdown import parse_markdown
from tests.support.report_answers import list_headings, render_fields

DIMENSIONS = 512


def encode(texts: Sequence[str]) -> Vectors:
    """Embed texts as hashed bags of stems: equal words, equal direction."""
    rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for stem in stem_words(text) or ["nothing"]:
            row[int.from_bytes(hashlib.sha256(stem.encode()).digest()[:4], "big") % DIMENSIONS] += 1.0
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@dataclass(frozen=True)
class Source:
    """A stored document."""

    uri: str
    title: str
    text: str
    author: str = ""
    published: str = ""
    accessed: str = "2026-01-01T00:00:00+00:00"
    derived: bool = False
    is_retired: bool = False
    kind: str = "prose"

    def find_page(self, offset: int) -> int | None:
        """Have no pages."""
        return None

    def find_place(self, offset: int) -> str:
        """Have no other parts."""
        return ""

    def find_words(self, start: int, end: int) -> Sequence[RecognizedWord]:
        """Have no recognized words."""
        return ()


@dataclass
class KnownMemories:
    """Memories of a test; new memories are recorded and never recalled."""

    recollection: MemorySearchReply = field(default_factory=MemorySearchReply)
    """Memories to recall, whatever is asked, as far as their kind is requested."""
    asked: list[MemorySearchRequest] = field(default_factory=list)
    kept: list[RememberRequest] = field(default_factory=list)

    def recall(self, request: MemorySearchRequest) -> MemorySearchReply:
        self.asked.append(request)
        found = tuple(
            one
            for one in self.recollection.memories
            if one.memory.kind in request.kinds and one.memory.origin.run not in request.without_runs
        )
        return self.recollection.model_copy(update={"memories": found})

    def count_uses(self, replies: Sequence[MemorySearchReply], request: MemorySearchRequest) -> None:
        """Count nothing."""

    def remember(self, request: RememberRequest) -> RememberReply:
        self.kept.append(request)
        return RememberReply()


@dataclass
class MemoryKnowledge:
    """A knowledge base of a few documents, a chunk per paragraph; every search is remembered."""

    documents: dict[str, Source]
    searches: list[SearchRequest] = field(default_factory=list)
    accepted: dict[tuple[str, str], int] = field(default_factory=dict)
    """The cycle in which a run accepted a chunk."""
    ours: tuple[ChunkId, ...] = ()
    """Passages that the run itself is said to have accepted."""
    remembered: tuple[PassageRef, ...] = ()
    """Passages that earlier runs have accepted."""
    helpful: tuple[str, ...] = ()
    """Queries that found them."""
    pages: dict[str, str] = field(default_factory=dict)
    """Texts of web pages by URL."""
    ingested: list[IngestRequest] = field(default_factory=list)
    """Requests to read documents."""
    readings: list[ReadPagesRequest] = field(default_factory=list)
    """Outcomes of reading web pages."""
    memories: KnownMemories = field(default_factory=KnownMemories)
    """Memories of earlier runs."""
    inherited: InheritReply = field(default_factory=InheritReply)
    """Passages of related runs."""

    known_pictures: tuple[PictureRef, ...] = ()
    damaged_pictures: frozenset[int] = frozenset()
    """Numbers of pictures that cannot be drawn."""
    """Pictures that every passage contains."""

    @property
    def _part(self) -> Self:
        """Every part of the knowledge base: this one object plays them all."""
        return self

    corpora = retrieval = graph = tables = results = encoder = maintenance = pictures = _part

    def _passages(self) -> list[Passage]:
        found: list[Passage] = []
        for name, source in self.documents.items():
            start = 0
            for paragraph in source.text.split("\n\n"):
                end = start + len(paragraph)
                found.append(
                    Passage(
                        chunk=ChunkId(f"{name}:{start}"),
                        source=SourceId(name),
                        title=source.title,
                        uri=source.uri,
                        heading_path=(source.title,),
                        text=paragraph,
                        start=start,
                        end=end,
                    )
                )
                start = end + 2
        return found

    def search(self, request: SearchRequest) -> SearchReply:
        self.searches.append(request)
        if not request.query.strip():
            raise InvalidSearch("the query is empty")
        everything = self._passages()
        if not everything:
            return SearchReply(passages=())
        near = encode([p.text for p in everything]) @ encode([f"{request.query} {request.hypothetical_answer}"])[0]
        order = sorted(range(len(everything)), key=lambda i: (-near[i], everything[i].chunk))[: request.k]
        return SearchReply(
            passages=tuple(
                PassageRef(
                    chunk=everything[i].chunk,
                    source=everything[i].source,
                    score=1 / (60 + rank),
                    relevance=float(near[i]),
                    dense_rank=rank,
                )
                for rank, i in enumerate(order, 1)
            )
        )

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        known = {passage.chunk: passage for passage in self._passages()}
        return tuple(known[ref.chunk] for ref in refs)

    def analyze_candidates(self, request: AnalysisRequest) -> AnalysisReply:
        """Accept what is relevant and was not accepted in an earlier cycle."""
        new: dict[str, CandidatePassage] = {}
        for candidate in request.candidates:
            earlier = self.accepted.get((request.run, candidate.passage.chunk), request.cycle)
            if earlier >= request.cycle and candidate.passage.relevance >= request.min_relevance:
                new.setdefault(candidate.passage.chunk, candidate)
        self.accepted.update({(request.run, chunk): request.cycle for chunk in new})
        return AnalysisReply(
            accepted=tuple(Finding(topic=c.topic, query=c.query, passage=c.passage, novelty=1.0) for c in new.values())
        )

    def extend_dossier(self, request: DossierRequest) -> Dossier:
        """Append what is new, whatever its length."""
        found = {ref.chunk: ref for part in request.found for ref in part.passages}
        passages = tuple(({ref.chunk: ref for ref in request.dossier.passages} | found).values())
        numbers = {ref.chunk: number for number, ref in enumerate(passages, 1)}
        parts = {part.heading: tuple(numbers[ref.chunk] for ref in part.passages) for part in request.found}
        known = request.dossier.parts
        merged = {name: tuple(dict.fromkeys((*known.get(name, ()), *own))) for name, own in parts.items()}
        gaps = {part.gap.query: parts[part.heading] for part in request.found if part.gap}
        searches = {**request.dossier.searches, **gaps}
        update = {"passages": passages, "parts": {**known, **merged}, "searches": searches}
        return request.dossier.model_copy(update=update)

    def group_passages(self, request: GroupRequest) -> tuple[tuple[PassageRef, ...], ...]:
        """Group passages by their documents."""
        sources = dict.fromkeys(passage.source for passage in request.passages)
        groups = [tuple(p for p in request.passages if p.source == source) for source in sources]
        return tuple(groups[: request.max_groups])

    def recall_findings(self, request: RecallRequest) -> RecallReply:
        """Remember what the test says."""
        return RecallReply(known=self.ours, passages=self.remembered, queries=self.helpful)

    def inherit_findings(self, request: InheritRequest) -> InheritReply:
        """Leave what the test says."""
        return self.inherited

    def list_unchanged_runs(self, request: InheritRequest) -> tuple[RunId, ...]:
        """Say the same of the runs as their findings do."""
        return self.inherited.unchanged

    def load_sources(self, ids: Sequence[SourceId]) -> dict[SourceId, Source]:
        return {source: self.documents[source] for source in ids if source in self.documents}

    def encode(self, texts: Sequence[str]) -> Vectors:
        return encode(texts)

    def ingest(
        self, request: IngestRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> IngestReport:
        self.ingested.append(request)
        report(IngestProgress(stage="done", files_total=len(self.documents)))
        return IngestReport(corpus=request.corpus, files=len(self.documents), unchanged=len(self.documents))

    def embed(
        self, corpus: str, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> EmbedReport:
        report(IngestProgress(stage="embedding", embedded=2, to_embed=2))
        return EmbedReport(corpus=corpus, chunks=2, embedded=2)

    def embed_for_question(
        self, request: QuestionEmbedRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> EmbedReport:
        report(IngestProgress(stage="embedding", embedded=1, to_embed=2))
        return EmbedReport(corpus=request.corpus, chunks=1, embedded=1, pending=1)

    def read_pages(
        self, request: ReadPagesRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> ReadPagesReply:
        """Take pages that were fetched among the documents, under their addresses."""
        self.readings.append(request)
        report(IngestProgress(stage="reading"))
        there = [
            page.canonical_url
            for page in request.fetched
            if page.canonical_url and page.canonical_url not in self.documents
        ]
        new = [address for address in there if self.pages[address]]
        self.documents |= {address: Source(address, address, self.pages[address]) for address in new}
        return ReadPagesReply(
            sources=tuple(WebSource(source=SourceId(address), url=address, title=address) for address in new),
            unrendered=tuple(address for address in there if address not in new),
        )

    def read_page_text(self, url: str) -> Document:
        """Return the text of a page as it is."""
        return Document(title=url, text=self.pages[url], kind="prose")

    def fork(
        self, request: ForkRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> ForkReply:
        """Copy what was accepted by then; pages stay what they are."""
        report(IngestProgress(stage="reading"))
        cycle = request.state.cycle
        old = [(chunk, when) for (run, chunk), when in self.accepted.items() if run == request.origin]
        self.accepted.update({(request.run, chunk): when for chunk, when in old if when <= cycle})
        return ForkReply(state=request.state, evidence=request.evidence)

    def load_web_account(self, corpus: str) -> WebReport:
        answers = [answer for request in self.readings if request.corpus == corpus for answer in request.outcomes]
        return WebReport(
            providers=tuple(
                ProviderUsage(provider=a.provider, searches=1, answered=a.status == "answered", note=a.note)
                for a in answers
            )
        )

    def load_stats(self) -> tuple[CorpusStats, ...]:
        return ()

    def run_step(
        self, step: MaintenanceStep, report: Callable[[UpkeepProgress], None], cancelled: Callable[[], bool]
    ) -> UpkeepReport:
        report(UpkeepProgress(step=step, table="chunks", total=1))
        return UpkeepReport(
            step=step, processed=1, changed=2, failed_tables=("table 'x' cannot be read",) if step == "index" else ()
        )

    def load_store_stats(self) -> StoreStats:
        return StoreStats()

    def list_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        return ()

    def query(self, request: QueryRequest) -> QueryReply:
        return QueryReply(problem="there are no tables here")

    def export_result(self, request: TableFileRequest) -> TableFileReply:
        return TableFileReply(problem="there are no tables here")

    def store_computation(self, request: ComputationRequest) -> tuple[PassageRef, ...]:
        return ()

    def store_result(
        self, corpus: str, uri: str, document: Document, about: str, *, most_relevant: bool = False
    ) -> tuple[PassageRef, ...]:
        """Take a result among the documents, under its address."""
        self.documents = self.documents | {uri: Source(uri, document.title, document.text, derived=True)}
        chunk = f"{uri}:0"
        return (PassageRef(chunk=ChunkId(chunk), source=SourceId(uri), score=1.0, relevance=0.5),)

    def find_pictures(self, passages: Sequence[Passage], question: str, limit: int) -> tuple[PictureRef, ...]:
        return self.known_pictures[:limit]

    def load_picture(self, picture: PictureRef) -> ShownPicture | None:
        """Show the same picture for all, with a number of its own."""
        if picture.number in self.damaged_pictures:
            return None
        return ShownPicture("data:image/jpeg;base64,/9j/", f"{1000 + picture.number}")

    def store_readings(self, request: StorePicturesRequest) -> tuple[PassageRef, ...]:
        """Take the descriptions among the documents."""
        return tuple(
            ref
            for entry in request.read
            for ref in self.store_result(
                request.corpora[0],
                make_picture_uri(entry.picture.source, entry.picture.number),
                Document(title=entry.picture.name, text=entry.reading.description, kind="prose"),
                request.question,
            )
        )

    def draw_readings(self, sources: Iterable[Source]) -> dict[SourceId, str]:
        return {}

    def store_texts(self, corpus: str, texts: Mapping[str, ResultText], about: str) -> tuple[PassageRef, ...]:
        """Take texts among the documents."""
        parsed = {uri: replace(parse_markdown(text.text), title=text.title) for uri, text in texts.items()}
        return tuple(ref for uri, document in parsed.items() for ref in self.store_result(corpus, uri, document, about))

    def find_term(self, request: LookupRequest) -> LookupReply:
        """Find paragraphs that hold a term, or count the documents with a URL."""
        if request.kind == "url":
            texts = [page.text for page in self._passages() if page.source in request.sources]
            return LookupReply(count=sum(normalize_url(request.term) in extract_urls(text) for text in texts))
        there = [p for p in self._passages() if p.source in request.sources and request.term in p.text]
        refs = [PassageRef(chunk=p.chunk, source=p.source, score=1.0, relevance=0.0) for p in there]
        found = [TermMatch(passage=ref, sentence=p.text) for ref, p in zip(refs, there, strict=True)]
        return LookupReply(matches=tuple(found[: request.limit]), count=len(found))

    def drop(self, corpus: str) -> bool:
        return False


@dataclass
class Reticent(MemoryKnowledge):
    """A knowledge base that answers a run's whole question with a single passage."""

    whole: str = ""

    def search(self, request: SearchRequest) -> SearchReply:
        return super().search(request.model_copy(update={"k": 1}) if request.query == self.whole else request)


Reply = dict[str, Any] | str
Line = Callable[[str], Awaitable[Reply]]


@dataclass
class ScriptedChat:
    """A chat model that answers each role from a script; a role without lines is an error of the test."""

    lines: dict[str, Line]
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Role and last user message of every call."""
    told: dict[str, str] = field(default_factory=dict)
    """Last system message of each role."""
    name: str = "scripted"

    prices: dict[str, Price] = field(default_factory=dict)
    """Prices by role."""
    bill: TokenUsage = field(default_factory=lambda: TokenUsage(tokens_in=100, tokens_out=10))
    """Usage of every answer."""

    def get_price(self, role: str, tier: Tier) -> Price | None:
        return self.prices.get(role)

    async def complete(self, request: ChatRequest, call: ModelCall) -> Completion:
        prompt = request.messages[-1].content
        self.asked.append((request.role, prompt))
        self.told[request.role] = request.messages[0].content
        reply = await self.lines[request.role](prompt)
        text = reply if isinstance(reply, str) else render_fields(request.role, reply)
        return Completion(text, f"scripted-{request.tier}", self.bill)

    def count(self, role: str) -> int:
        """Return the number of calls of a role."""
        return sum(name == role for name, _ in self.asked)


def says(reply: Reply) -> Line:
    """A line that is always the same."""

    async def line(prompt: str) -> Reply:
        return reply

    return line


def in_turn(*replies: Reply) -> Line:
    """Lines one after the other; the last one stays."""
    left = list(replies)

    async def line(prompt: str) -> Reply:
        return left.pop(0) if len(left) > 1 else left[0]

    return line


@dataclass
class Held:
    """A line that waits until the test lets go."""

    reply: Reply
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, prompt: str) -> Reply:
        self.reached.set()
        await self.released.wait()
        return self.reply


def plans(*actions: dict[str, Any]) -> dict[str, Any]:
    """A planner's answer."""
    blank = {"id": "", "query": "", "target_outline_topic": "", "passage": 0, "depends_on": [], "expected_output": ""}
    return {"critique": "It is early.", "plan": [{**blank, **a} for a in actions]}


def search(query: str, topic: str = "Bread", **others: Any) -> dict[str, Any]:
    """A search in a plan."""
    return {"action": "SEARCH", "query": query, "target_outline_topic": topic, **others}


FINISH: dict[str, Any] = plans({"action": "FINISH"})
GOOD_REPORT = "ANSWERED yes: How is bread made?\nDONE"
ROUTE = {"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"}
EDITED = "The edited report says it better."


async def _keep_query(prompt: str) -> Reply:
    """Leave the query of a dependent step as planned."""
    query = prompt.partition("Planned query: ")[2].partition("\n</topic>")[0]
    return {"query": query or "bread", "names": [], "answered_by": 0}


async def _looking(prompt: str) -> Reply:
    """Look for the task once, then finish with the first passage."""
    task = prompt.partition("<task>\n")[2].partition("\n</task>")[0]
    if "<observation>" in prompt:
        return {"thought": "That is it.", "action": "finish", "answer": "It is so [1].", "confidence": 0.8}
    return {"thought": "Look.", "action": "hybrid_search", "arguments": json.dumps({"query": task})}


def story(**lines: Line) -> dict[str, Line]:
    """A complete script of a run with two sections and no criticism; `lines` replace its parts."""
    outline = {
        "topics": [
            {"heading": "Bread", "question": "How is bread made?"},
            {"heading": "Cheese", "question": "How is cheese made?"},
        ]
    }
    return {
        "router": says(ROUTE),
        "decomposer": says({"sub_questions": ["How is bread made?", "How is cheese made?"]}),
        "clarifier": says({"question": "", "assumption": ""}),
        "question_rewriter": says({"question": "What is made of rye?"}),
        "step_preparer": _keep_query,
        "calculation_writer": says({"expression": "", "operands": []}),
        "sql_writer": says({"queries": [], "computation": ""}),
        "analyst": says({"shows": "", "inputs": [], "code": ""}),
        "outliner": says(outline),
        "planner": says(FINISH),
        "query_translator": says({"translations": []}),
        "picture_reader": says({"check": "", "kind": "unseen"}),
        "query_refiner": says({"complete": True, "query": ""}),
        "tool_selector": says({"calls": [], "resources": []}),
        "react": _looking,
        "stance_judge": says({"stances": []}),
        "topic_namer": says({"topics": []}),
        "hypothetical_document": says({"texts": ["Dough rises and milk curdles."] * 2}),
        "reasoner": says("NONE"),
        "report_writer": _by_topic,
        "report_reviewer": review_if_asked,
        "claim_checker": all_hold,
        "dispute_judge": says({"passages": []}),
        "fact_extractor": says({"facts": []}),
        "document_comparer": says({"points": []}),
        "answerer": says("It takes two hours [1]."),
        "test_writer": says({"specification": "It bakes.", "task": "program", "tests": []}),
        "coder": says({"approach": "Bake.", "files": [], "entry": "", "args": [], "stdin": ""}),
        "code_reflector": says({"failed": "The test.", "cause": "It is raw.", "change": "Bake it."}),
        "repository_engineer": says("It is right as it is.\n\nDONE\nCAUSE: none\nCHANGE: none\nMESSAGE: none"),
        **lines,
    }


def writes(*said: tuple[str, int], answer: str = "Both take time [1].", after: str = "") -> Line:
    """A writer's line: a report whose every section has these sentences, each resting on one passage.

    Args:
        said: the sentences.
        answer: the answer with which it opens, in Markdown.
        after: Markdown after the sections.
    """

    async def line(prompt: str) -> Reply:
        paragraph = " ".join(f"{sentence.rstrip('.')} [{passage}]." for sentence, passage in said)
        return build_report({heading: paragraph for heading in list_headings(prompt)}, answer, after)

    return line


def build_report(sections: Mapping[str, str], answer: str = "Both take time [1].", after: str = "") -> str:
    """Return a writer's answer with these sections in Markdown."""
    parts = [f"## {heading}\n\n{paragraph}" for heading, paragraph in sections.items()]
    return "\n\n".join(filter(None, ("# Bread and cheese", answer, *parts, after)))


async def review_if_asked(prompt: str) -> Reply:
    """A reviewer's answer: the second sentence is replaced if a person, a critique or a search gives a reason."""
    asked = "Requests, to be met" in prompt or "Searches made since" in prompt
    return f"REPLACE 2: {EDITED.rstrip('.')} [1].\n{GOOD_REPORT}" if asked else GOOD_REPORT


async def all_hold(prompt: str) -> Reply:
    """A checker's answer: every claim it is shown is supported."""
    count = len(re.findall(r"^\d+\. .* \(cites [^()]*\)$", prompt, re.MULTILINE))
    return {"verdicts": [{"claim": n, "verdict": "supported", "confidence": 0.9} for n in range(1, count + 1)]}


async def _by_topic(prompt: str) -> Reply:
    paragraphs = {
        heading: f"{heading} is what this section tells of [1]. {heading} deserves a second thought [2]."
        for heading in list_headings(prompt)
    }
    return build_report(paragraphs)


KITCHEN = {
    "bread": Source(
        uri="kitchen/bread.md",
        title="Bread",
        text="Bread is made from flour, water, salt and yeast.\n\n"
        "The baker lets the dough of the bread rise for two hours before the oven is hot.\n\n"
        "Rye bread is made with a sourdough that is days old.",
    ),
    "cheese": Source(
        uri="kitchen/cheese.md",
        title="Cheese",
        text="Cheese is made from milk that rennet has curdled.\n\n"
        "The cheese ripens in a cool cellar for weeks or for years.\n\n"
        "Blue cheese is made with a mould that needs air.",
    ),
}
"""Two documents about food."""
