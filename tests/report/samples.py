"""A small report draft over two stored sources, as a run would hand it to `assemble`."""

from dataclasses import dataclass

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.corpus import SkippedFile
from tenure.contracts.evidence import Block, Citation, Claim, Draft
from tenure.contracts.research import ReportDraft, SectionDraft
from tenure.contracts.result import CritiqueRecord
from tenure.contracts.run import Degraded, Handled, RoleUsage, Usage


@dataclass(frozen=True)
class StoredSource:
    """A stored source with what the report needs of it."""

    uri: str
    title: str
    text: str
    author: str = ""
    published: str = ""
    accessed: str = "2026-11-20T09:30:00+00:00"


TIDES, MOON = SourceId("tides"), SourceId("moon")

SOURCES = {
    TIDES: StoredSource(
        uri="/library/notes/tides.md",
        title="On tides",
        text="# Tides\n\nThe sea rises twice a day. The sea also falls twice a day.\nNeap tides are weak.\n",
        author="Ann Author",
        published="2024-05-01",
    ),
    MOON: StoredSource(
        uri="https://moon.example/pull?a=1", title="The Moon's pull", text="The Moon pulls the water towards it."
    ),
}


def cite(source: SourceId, quote: str) -> Citation:
    """Cite words of a sample source where they stand."""
    start = SOURCES[source].text.index(quote)
    return Citation(source=source, chunk=ChunkId(f"{source}:{start}"), start=start, end=start + len(quote), quote=quote)


def claim(source: SourceId, quote: str) -> Claim:
    """Claim a quote's own words."""
    return Claim(text=quote, status="supported", citations=(cite(source, quote),))


RISES = claim(TIDES, "The sea rises twice a day.")
FALLS = claim(TIDES, "The sea also falls twice a day.")
NEAP = claim(TIDES, "Neap tides are weak.")
PULLS = claim(MOON, "The Moon pulls the water towards it.")


def paragraph(*claims: Claim) -> Draft:
    """Set claims as one paragraph."""
    return Draft(blocks=(Block(claims=claims),))


def report(**changes: object) -> ReportDraft:
    """Return a realistic draft with some fields changed."""
    draft = ReportDraft(
        id=RunId("research/why-tides-1a2b"),
        mode="RESEARCH",
        question="Why are there tides?",
        title="Why the sea moves",
        abstract=paragraph(PULLS),
        sections=(
            SectionDraft(topic="The rhythm", draft=paragraph(RISES, FALLS, PULLS), coverage=0.8),
            SectionDraft(
                topic="Weak tides", draft=Draft(blocks=(Block(kind="bullets", claims=(NEAP, PULLS)),)), coverage=0.5
            ),
        ),
        further_considerations=("A world with two moons would have a stranger rhythm.",),
        critiques=(CritiqueRecord(topic="Weak tides", critique="Too short.", outcome="Two passages added."),),
        decisions=("Stopped: nothing left to improve.",),
        feedback=(Handled(text="Say more on neap tides", topic="Weak tides", at="2026-11-20T09:31:00+00:00"),),
        information_gain=(0.41, 0.12),
        coverage_by_cycle={"The rhythm": (0.2, 0.6, 0.8), "Weak tides": (0.0, 0.5, 0.5)},
        limits={"searches": 10},
        usage=Usage(
            calls=9,
            searches=3,
            seconds=4.25,
            by_role={
                "router": RoleUsage(calls=1, models=("offline",)),
                "section_writer": RoleUsage(calls=8, models=("gpt-5", "offline")),
            },
        ),
        degraded=(Degraded(role="section_writer", reason="the answer was no JSON"),),
        skipped=(SkippedFile(path="/library/notes/locked.pdf", reason="encrypted"),),
        notes=("Corpus notes: 2 documents.",),
    )
    return draft.model_copy(update=changes)
