"""Questions that need a report: comparisons, procedures, positions for and against, the history of a decision."""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.support.datasets import rows
from evals.multihop import RECORDED
from evals.scorers import FACTS, SUPPORTING, known_facts, supporting_passages, usage
from evals.solvers import DOCS, tenure


@task
def reports(file: str = str(RECORDED / "reports.jsonl"), docs: str = str(RECORDED / "peps")) -> Task:
    """Write reports over a folder of documents.

    Args:
        file: JSON lines with `id`, `question`, `sources`, the names of files, and `facts`, of which each has the
            wordings of which the report needs `any`, and its `source`.
        docs: folder of the documents.
    """
    samples = [
        Sample(
            id=row["id"],
            input=row["question"],
            metadata={DOCS: [docs], SUPPORTING: row["sources"], FACTS: row["facts"]},
        )
        for row in rows(Path(file))
    ]
    return Task(
        dataset=MemoryDataset(samples, name=Path(file).stem),
        solver=tenure(),
        scorer=[known_facts(), supporting_passages(), usage()],
    )
