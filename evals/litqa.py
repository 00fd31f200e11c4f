"""Multiple choice in the format of LitQA (Lála et al. 2023): one answer is right, and there may be none."""

import random
import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.support.datasets import rows
from evals.multihop import RECORDED
from evals.scorers import CHOICES, INSUFFICIENT, SUPPORTING, choice, supporting_passages, usage
from evals.solvers import DOCS, tenure


@task
def litqa(file: str = str(RECORDED / "litqa.jsonl"), docs: str = str(RECORDED / "peps")) -> Task:
    """Choose an answer over documents, or that they do not give it.

    Args:
        file: JSON lines with `id`, `question`, `ideal`, `distractors` and `sources`, the names of files.
        docs: folder of the documents.
    """
    samples = []
    for row in rows(Path(file)):
        choices = sorted({row["ideal"], *row["distractors"], INSUFFICIENT})
        # The seed is the question, so that a repeated evaluation asks the same.
        random.Random(row["question"]).shuffle(choices)
        listed = "\n".join(f"- {text}" for text in choices)
        samples.append(
            Sample(
                id=row["id"],
                input=f"{row['question']}\n\nAnswer with one of these:\n{listed}",
                target=row["ideal"],
                metadata={DOCS: [docs], SUPPORTING: row["sources"], CHOICES: choices},
            )
        )
    return Task(
        dataset=MemoryDataset(samples, name=Path(file).stem),
        solver=tenure(),
        scorer=[choice(), supporting_passages(), usage()],
    )
