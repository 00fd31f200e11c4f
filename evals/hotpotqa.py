"""HotpotQA (Yang et al. 2018, CC BY-SA 4.0): questions that need two passages of Wikipedia."""

import sys
from pathlib import Path

from inspect_ai import Task, task

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from evals.downloads import DataFile
from evals.multihop import build_multihop

_FILE = DataFile(
    "https://raw.githubusercontent.com/OSU-NLP-Group/HippoRAG/c617143f01477243992a63b2e2151cc003dd3b21/"
    "reproduce/dataset/hotpotqa.json",
    "dcb199ffd41a96b5880c08c2948d07ecf4e09e44",
)


@task
def hotpotqa(file: str | None = None, answerable: bool = True) -> Task:
    """Answer questions over the passages of all of them."""
    return build_multihop(_FILE, file, answerable=answerable)
