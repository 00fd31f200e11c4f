"""Questions with short answers over given pages, as those of SimpleQA and FRAMES."""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.support.datasets import rows
from evals.multihop import RECORDED
from evals.scorers import SUPPORTING, known_answer, supporting_passages, usage
from evals.solvers import DOCS, tenure


@task
def short_answers(file: str = str(RECORDED / "short_answers.jsonl"), docs: str = str(RECORDED / "peps")) -> Task:
    """Answer questions over a folder of pages.

    Args:
        file: JSON lines with `id`, `question`, `answer`, perhaps `answer_aliases`, and `pages`, the names of files.
        docs: folder of the pages.
    """
    samples = [
        Sample(
            id=row["id"],
            input=row["question"],
            target=[row["answer"], *row.get("answer_aliases", ())],
            metadata={DOCS: [docs], SUPPORTING: row["pages"]},
        )
        for row in rows(Path(file))
    ]
    return Task(
        dataset=MemoryDataset(samples, name=Path(file).stem),
        solver=tenure(),
        scorer=[known_answer(), supporting_passages(), usage()],
    )
