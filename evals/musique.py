"""MuSiQue (Trivedi et al. 2022, CC BY 4.0): questions that need two to four passages of Wikipedia."""

import sys
from pathlib import Path

from inspect_ai import Task, task

# `inspect` puts the folder of a task on the path, but not the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from evals.downloads import DataFile
from evals.multihop import build_multihop

_FILE = DataFile(
    "https://raw.githubusercontent.com/OSU-NLP-Group/HippoRAG/c617143f01477243992a63b2e2151cc003dd3b21/"
    "reproduce/dataset/musique.json",
    "fc0fcba05225d0975f0437deb3814418bf570942",
)


@task
def musique(file: str | None = None, answerable: bool = True) -> Task:
    """Answer questions over the passages of all of them."""
    return build_multihop(_FILE, file, answerable=answerable)
