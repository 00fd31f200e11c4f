"""A model server that reads the figures of known papers as a person has read them, and reports what it is shown."""

import json
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from benchmarks.support.scripted_model import ScriptedModel
from tests.model_server import Request
from tests.model_server.request import list_images, read_schema
from tests.sources.pictures import describe_picture
from tests.support.schema_instance import Json

# "<passage n="4" … read="from a picture by a model"…>" with its text.
_READING = re.compile(r'<passage n="(\d+)"[^>]* read="[^>]*>\n(.*?)\n</passage>', re.DOTALL)


class FigureQuestion(NamedTuple):
    """A question on a figure."""

    repository: str
    file: str
    figure: str
    """Label of the figure."""
    page: int
    question: str
    reading: str
    """Text that a person has read from the figure."""
    answer: str
    """Value that the report has to state."""


def load_questions() -> list[FigureQuestion]:
    """Return the questions."""
    text = Path(__file__).with_name("questions.toml").read_text(encoding="utf-8")
    return [FigureQuestion(**entry) for entry in tomllib.loads(text)["question"]]


class FigureModel(ScriptedModel):
    """A loopback server for one question at a time.

    Args:
        sees: whether it takes pictures; without it, it refuses prompts with a picture as servers of text models do.
    """

    def __init__(self, *, sees: bool) -> None:
        super().__init__(latency=0.0)
        self.images = sees
        self.shown: list[bytes] = []
        """Pictures that it was shown for the question."""
        self.captions: list[str] = []
        """Prompts of these pictures."""
        self._asked_for: FigureQuestion | None = None

    def begin_question(self, question: FigureQuestion) -> None:
        """Answer the calls of the next run for a question."""
        self.begin(question.question, "simple")
        self.shown.clear()
        self.captions.clear()
        self._asked_for = question

    def _build_instance(self, request: Request) -> str | Json:
        if read_schema(request.json)[0] != "picture_reader":
            return super()._build_instance(request)
        (image,) = list_images(request.json)
        caption = json.dumps(request.json["messages"], ensure_ascii=False)
        self.shown.append(image)
        self.captions.append(caption)
        reading = "The picture shows something else."
        if self._asked_for and self._asked_for.figure in caption.partition("<caption>")[2]:
            reading = self._asked_for.reading
        return json.dumps(describe_picture(request.json, reading))

    def _decide(self, name: str, prompt: str, number: int) -> Json:
        """Return the decisions of a run; no table of the papers answers a question."""
        return {"queries": [], "computation": ""} if name == "sql_writer" else super()._decide(name, prompt, number)

    def _choose_sentences(self, prompt: str) -> list[tuple[int, str]]:
        """Return the reading first if the prompt has it, as a careful model would write it."""
        reading = self._asked_for.reading if self._asked_for else ""
        passages = ((int(number), " ".join(text.split())) for number, text in _READING.findall(prompt))
        found = [(number, reading) for number, text in passages if reading and reading in text]
        return found[:1] + super()._choose_sentences(prompt)
