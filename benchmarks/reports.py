"""Check reports against their sources: `python -m benchmarks.reports PATH [--questions N] [--effort E] [--json]`.

Questions on a folder of Python enhancement proposals are asked without a model, in one home, so that the folder is read
and embedded once. Every report is then compared with the stored sources: its quotes with their texts, its references
with the table, its sentences with each other. The exit code is 1 if a report has a defect, which is printed; `--home`
keeps the home, and accepts one that has read the folder before.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.start import environment
from tenure.algorithms.text.printable import flatten
from tenure.contracts.base import SourceId
from tenure.contracts.result.result import Result, ResultClaim
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.catalogue import SourceRecord
from tenure.models.factory import create_embedding_model
from tenure.settings import Settings

_ROOT = Path(__file__).resolve().parents[1]

LEAST_CITED = 0.95
"""Share of the sentences of sections that have to cite something."""

QUESTIONS = (
    "Why did Python gain structural pattern matching, and what was criticised about it?",
    "What is the difference between a Protocol class and an abstract base class?",
    "How are conflicts between exceptions of several tasks handled with exception groups?",
    "Why was the division operator changed, and how was old code to be migrated?",
    "How do wheels name the platforms they run on?",
    "What does the stable ABI promise to authors of extension modules?",
    "Why were assignment expressions added, and which alternatives were rejected?",
    "How does the import system find a module in a namespace package?",
    "What made Python move from Subversion to a distributed version control system, and which one was chosen?",
    "How is a secure source of random numbers offered by the standard library?",
    "What happens to the global interpreter lock when there is an interpreter for each thread?",
    "How do decorators for functions and methods work, and which syntax was considered?",
    "Why are strings stored in a flexible representation, and how much memory does it save?",
    "What is the role of the steering council, and how is it elected?",
    "How does a generator delegate to another generator?",
    "What are type hints for, and what do they not do at run time?",
    "How can a project declare its dependencies and its build system in one file?",
    "Which proposals concern time zones, and how are ambiguous local times resolved?",
    "How does a with statement guarantee that resources are released?",
    "Why were old modules removed from the standard library?",
    "How are positional-only parameters written, and why were they wanted?",
    "What is a TypedDict, and how are required and optional keys marked?",
    "How does the just-in-time compiler of CPython work, and under which conditions should it stay?",
    "What is formatted by an f-string, and which restrictions were lifted later?",
    "How are context variables different from thread-local storage?",
    "Which rules does a style guide give for C code in the interpreter?",
    "How should packages on an index be signed so that a compromise can be survived?",
    "What does a pickle protocol need in order to move large buffers without copying them?",
    "How are enumerations defined, and how do they compare with plain constants?",
    "What changed for dictionaries and iterators between Python 2 and Python 3?",
)


@dataclass(frozen=True)
class Figures:
    """Contents of the checked reports."""

    reports: int
    """Reports that were looked at."""
    empty: int
    """Those among them without a section."""
    quotes: int
    """Quotes."""
    verbatim: float
    """Share of the quotes that equal the stored text at their offsets."""
    invented: int
    """References that are not in the table of sources."""
    sentences: int
    """Sentences, those of abstract and synthesis included."""
    repeated: int
    """Sentences that a report has said before."""
    in_sections: int
    """Sentences in sections."""
    cited: float
    """Share of them that cite something."""
    seconds: float
    """Median time of a run."""

    @property
    def shortcomings(self) -> list[str]:
        """Defects that no report may have."""
        goals = {
            "quotes that are not verbatim": self.verbatim == 1,
            "references that are no sources": not self.invented,
            "sentences that are repeated": not self.repeated,
            "too few sentences with a citation": self.cited >= LEAST_CITED,
            "a report without a section": not self.empty,
        }
        return [what for what, met in goals.items() if not met]


def figures(results: Sequence[Result], stored: Mapping[SourceId, SourceRecord]) -> Figures:
    """Compare reports with the stored sources.

    Args:
        results: the result documents.
        stored: the sources, by id.
    """
    quotes = [held for result in results for held in _quotes(result, stored)]
    sections = [claim for result in results for section in result.sections for claim in section.claims]
    return Figures(
        reports=len(results),
        empty=sum(not result.sections for result in results),
        quotes=len(quotes),
        verbatim=_share(sum(quotes), len(quotes)),
        invented=sum(
            source.id not in stored or stored[SourceId(source.id)].uri != source.uri
            for result in results
            for source in result.sources
        ),
        sentences=sum(len(_claims(result)) for result in results),
        repeated=sum(len(repeated(result)) for result in results),
        in_sections=len(sections),
        cited=_share(sum(bool(claim.citations) for claim in sections), len(sections)),
        seconds=round(median(result.usage.seconds for result in results), 1),
    )


def repeated(result: Result) -> list[str]:
    """Return the sentences that a report says more than once, however they are spaced and capitalised."""
    times = Counter(flatten(claim.text).casefold().rstrip(".!?…") for claim in _claims(result))
    return [text for text, number in times.items() if number > 1]


def _claims(result: Result) -> list[ResultClaim]:
    sections = (claim for section in result.sections for claim in section.claims)
    return [*result.abstract_claims, *sections, *(result.synthesis.claims if result.synthesis else ())]


def _quotes(result: Result, stored: Mapping[SourceId, SourceRecord]) -> list[bool]:
    """Return for every quote whether its source contains it at its offsets."""
    texts = {source.n: stored[SourceId(source.id)].text for source in result.sources if source.id in stored}
    contradictions = [side for found in result.contradictions for side in (found.a, found.b)]
    citations = [citation for claim in _claims(result) for citation in claim.citations]
    return [
        citation.source in texts and texts[citation.source][citation.start : citation.end] == citation.quote
        for citation in (*citations, *contradictions)
    ]


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 1.0


def measure(documents: Path, questions: Sequence[str], home: Path, effort: str, keep: Path | None) -> Figures:
    """Ask every question and return the figures of the reports.

    Args:
        documents: the folder to read.
        questions: the questions to ask.
        home: folder of the knowledge base.
        effort: amount of work for a question.
        keep: folder for the result documents, or None.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    around = environment(home)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    try:
        corpus = _client(around, "corpus", "add", str(documents))["corpus"]
        results = [
            Result.model_validate(_client(around, "start", question, "--corpus", corpus, "--effort", effort))
            for question in questions
        ]
    finally:
        subprocess.run([sys.executable, str(_ROOT / "client.py"), "down"], env=around, stdout=subprocess.DEVNULL)
    if keep is not None:
        for number, result in enumerate(results, 1):
            (keep / f"{number:02}.json").write_text(result.model_dump_json(indent=2), encoding="utf-8")
    settings = Settings(home=home, _env_file=None)
    knowledge = KnowledgeBase(settings.knowledge_uri, create_embedding_model(settings), settings)
    cited = {SourceId(source.id) for result in results for source in result.sources}
    return figures(results, knowledge.corpora.load_sources(sorted(cited)))


def _client(around: Mapping[str, str], *arguments: str) -> dict[str, str]:
    """Run a command of the client and return its document.

    Raises:
        RuntimeError: it failed.
    """
    command = [sys.executable, str(_ROOT / "client.py"), *arguments, "--json"]
    done = subprocess.run(command, env=dict(around), capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"`{' '.join(arguments)}` ended with {done.returncode}: {done.stderr[-2000:]}")
    document: dict[str, str] = json.loads(done.stdout)
    return document


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__)
    parser.add_argument("path", type=Path, metavar="PATH", help="folder with Python's enhancement proposals")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS), metavar="N", help="questions (default: all)")
    parser.add_argument("--effort", choices=["simple", "moderate", "complex"], default="moderate", help="of each run")
    parser.add_argument("--home", type=Path, metavar="DIR", help="home to use and keep (default: one thrown away)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder for the result documents (default: none)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-reports-") as folder:
        home = arguments.home or Path(folder) / "home"
        found = measure(
            arguments.path.resolve(), QUESTIONS[: arguments.questions], home, arguments.effort, arguments.keep
        )
    document = asdict(found) | {"shortcomings": found.shortcomings}
    print(
        json.dumps(document) if arguments.json else "\n".join(f"{name:14} {value}" for name, value in document.items())
    )
    return 1 if found.shortcomings else 0


if __name__ == "__main__":
    sys.exit(main())
