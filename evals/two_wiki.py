"""2WikiMultihopQA (Ho et al. 2020, Apache-2.0): questions that need two to four passages of Wikipedia."""

import sys
from pathlib import Path

from inspect_ai import Task, task

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from evals.downloads import DataFile
from evals.multihop import build_multihop

_FILE = DataFile(
    "https://raw.githubusercontent.com/OSU-NLP-Group/HippoRAG/c617143f01477243992a63b2e2151cc003dd3b21/"
    "reproduce/dataset/2wikimultihopqa.json",
    "c87b01db53166b2b85b82d8773c6ed685bab2c16",
)


@task
def two_wiki(file: str | None = None, answerable: bool = True) -> Task:
    """Answer questions over the passages of all of them."""
    return build_multihop(_FILE, file, answerable=answerable)
