"""Runs without a model whose question only a calculation or a table answers: the report cites the figure."""

from pathlib import Path
from typing import Any

import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.report.render.markdown import render_markdown
from tests.conftest import Serving
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow

LETTER = "The bakery opens at seven. Bread is baked in the night, and cheese comes from the valley on Mondays.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with a letter that answers no question of these tests."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "letter.txt").write_text(LETTER)
    return folder


async def run_question(serving: Serving, folder: Path, question: str) -> Result:
    """Answer a question from a folder, without a model."""
    knowledge: Any = KnowledgeBase(str(folder.parent / "knowledge"), WordVectors())
    async with serving(None, knowledge) as stage:
        ingest = IngestRequest(corpus="c", paths=(str(folder),))
        request = RunRequest(question=question, corpora=("c",), ingest=(ingest,), limits=RunLimits(), memory=False)
        result: Result = await (await stage.start(request)).result()
        return result


def quote_derived(result: Result) -> str:
    """Return the quotes from results that the run computed."""
    derived = {number for number, source in enumerate(result.sources, 1) if source.derived}
    claims = [*result.abstract_claims, *(claim for section in result.sections for claim in section.claims)]
    quotes = [citation for claim in claims for citation in claim.citations]
    return " ".join(citation.quote for citation in quotes if citation.source in derived)


@pytest.mark.parametrize(
    ("question", "expression", "result"),
    [
        pytest.param("What is 15 % of 2,400?", "15% of 2400", "360", marks=slow),
        pytest.param(
            "How many days are between 2024-02-01 and 2024-03-15?", "2024-03-15 - 2024-02-01", "43 days", marks=slow
        ),
    ],
)
async def test_a_calculation_is_evidence(
    serving: Serving, folder: Path, question: str, expression: str, result: str
) -> None:
    """A question whose numbers it names itself is answered by the calculator, although no document has the answer."""
    report = await run_question(serving, folder, question)

    assert report.status == "done"
    assert f"with {result}, " in quote_derived(report)
    assert [source.uri for source in report.sources] == [f"calculation: {expression}"]


@slow
async def test_a_statement_of_the_question_is_run(serving: Serving, folder: Path) -> None:
    """A SELECT in the question is run and cited; the reason that one fails is a note."""
    (folder / "sales.csv").write_text("region,revenue\nNorth,120.5\nSouth,80\nNorth,30\n")
    result = await run_question(serving, folder, "SELECT sum(revenue) AS total FROM sales WHERE region = 'North'")
    failed = await run_question(serving, folder, "SELECT sum(profit) FROM sales")

    assert "150.5" in quote_derived(result)
    assert "SELECT sum(revenue)" in render_markdown(result)
    assert any("No query of the tables answers" in note and "profit" in note for note in failed.notes)
