"""SciFact (Wadden et al. 2020; claims CC BY 4.0, abstracts ODC-By 1.0): claims about results of medical research."""

import sys
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.retrieval import file_name
from benchmarks.support.datasets import Document, rows
from evals.multihop import write_passages
from evals.scorers import SUPPORTING, UNKNOWN, supporting_passages, usage, verdict
from evals.solvers import DOCS, tenure

_VERDICTS = {"SUPPORT": "yes", "CONTRADICT": "no", "NOT_ENOUGH_INFO": UNKNOWN}


@task
def scifact(claims: str, corpus: str) -> Task:
    """Judge claims over abstracts; a claim on which its abstract says too little should get no verdict.

    Args:
        claims: JSON lines with `claim_id`, `claim`, `label` and `cited_doc_ids`.
        corpus: abstracts in the format of BEIR.
    """
    abstracts = {row["_id"]: Document(row["title"], row["text"]) for row in rows(Path(corpus))}
    folder = write_passages(f"scifact-{Path(corpus).stem}", abstracts)
    samples = [
        Sample(
            id=row["claim_id"],
            input=f"Is this true? {row['claim']}",
            target=_VERDICTS[row["label"]],
            metadata={DOCS: [str(folder)], SUPPORTING: [file_name(str(cited)) for cited in row["cited_doc_ids"]]},
        )
        for row in rows(Path(claims))
    ]
    return Task(
        dataset=MemoryDataset(samples, name=Path(claims).stem),
        solver=tenure(),
        scorer=[verdict(), supporting_passages(), usage()],
    )
