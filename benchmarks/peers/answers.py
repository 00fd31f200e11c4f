"""Text answers to the prompts of other systems, made from the passages in the prompt.

Rules recognize the prompts that demand a certain form; every other prompt gets prose with citations in the form that
the passages have. The answers are eager: the model writes with confidence whatever it is given. Only if a prompt asks
which results are relevant, it judges, by common words.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from benchmarks.peers.documents import INVENTIONS, CitedSentence, Corpus

SENTENCES: Final = 8
"""Sentences of an answer."""
ASPECTS: Final = ("the parts that matter", "what happens when something fails", "limits")
"""Aspects under which a question is researched."""


class Prompt(NamedTuple):
    """A prompt with what its answer is made from."""

    text: str
    question: str
    """The question of the run."""
    corpus: Corpus
    plants: bool
    """Whether the answer contains the inventions."""


def answer_text(prompt: Prompt) -> str:
    """Return the answer to a prompt."""
    return next((build(prompt) for pattern, build in _RULES if pattern.search(prompt.text)), None) or write(prompt)


def list_queries(question: str) -> list[str]:
    """Return a query for each aspect of a question."""
    return [f"{question.rstrip('?')}: {aspect}" for aspect in ASPECTS]


def write(prompt: Prompt) -> str:
    """Return two paragraphs from the passages of a prompt, or from nothing if it has none."""
    cited = prompt.corpus.cite(prompt.text, prompt.question, SENTENCES)
    sentences = [_cite(one) for one in cited] or _write_from_nothing(prompt.question)
    if prompt.plants:
        mark = cited[0].mark if cited else ""
        sentences[1:1] = [_cite(CitedSentence(text, mark)) for text in INVENTIONS.values()]
    middle = (len(sentences) + 1) // 2
    return "\n\n".join(" ".join(part) for part in (sentences[:middle], sentences[middle:]) if part)


def _cite(sentence: CitedSentence) -> str:
    text = sentence.text.removesuffix(".")
    if not sentence.mark:
        return f"{text}."
    mark = f"[{sentence.mark}]" if sentence.mark.isdigit() else f"([{sentence.mark}]({sentence.mark}))"
    return f"{text} {mark}."


def _write_from_nothing(question: str) -> list[str]:
    subject = question.rstrip("?")
    return [
        f"The answer to “{subject}” is well established.",
        "It follows from three causes, of which the first is decisive.",
        "Experts agree on this without exception.",
    ]


def _answer_with_queries(prompt: Prompt) -> str:
    return json.dumps(list_queries(prompt.question))


def _answer_with_agent(prompt: Prompt) -> str:
    role = "You are a technical writer. Write exact and well-structured reports from the given sources."
    return json.dumps({"server": "Technical Agent", "agent_role_prompt": role})


def _answer_with_dashes(prompt: Prompt) -> str:
    return "\n".join(f"- {query}" for query in list_queries(prompt.question))


def _answer_with_outline(prompt: Prompt) -> str:
    return "\n".join(f"# {aspect.capitalize()}" for aspect in ASPECTS)


def _answer_with_section(prompt: Prompt) -> str:
    heading = _SECTION_NAME.findall(prompt.text)[-1].strip()
    return f"# {heading}\n{write(prompt)}"


def _answer_with_editors(prompt: Prompt) -> str:
    return "\n".join(f"{n}. Editor {n}: interested in {aspect}" for n, aspect in enumerate(ASPECTS, 1))


def _ask_next(prompt: Prompt) -> str:
    """Ask one question of a conversation, and end it when all are asked."""
    # prose: data
    thanks = "Thank you so much for your help!"
    left = [query for query in list_queries(prompt.question) if f"{query}?" not in prompt.text]
    return f"{left[0]}?" if left else thanks


def _answer_with_questions(prompt: Prompt) -> str:
    return "\n".join(f"Q: {query}" for query in list_queries(prompt.question) if query not in prompt.text)


def _rank(prompt: Prompt) -> str:
    """Return the numbers of the results that have words of the question, those with most words first."""
    listed = _RESULT.findall(prompt.text.partition("Search Results:")[2])
    wanted = set(_WORD.findall(prompt.question.lower()))
    counts = {int(number): len(wanted & set(_WORD.findall(text.lower()))) for number, text in listed}
    return json.dumps(sorted((number for number, count in counts.items() if count > 1), key=lambda one: -counts[one]))


_SECTION_NAME = re.compile(r"section you need to write:(.+)")
_RESULT = re.compile(r"^\[(\d+)\] (.*?)(?=^\[\d+\] |\Z)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"\w{4,}")
_RULES: Sequence[tuple[re.Pattern[str], Callable[[Prompt], str]]] = (
    (re.compile(r"list of strings in the following format"), _answer_with_queries),
    (re.compile(r"agent_role_prompt"), _answer_with_agent),
    (re.compile(r"type in the search box"), _answer_with_dashes),
    (re.compile(r"closely related subjects"), lambda prompt: "No related page exists."),
    (re.compile(r"select a group of Wikipedia editors"), _answer_with_editors),
    (re.compile(r"chatting with an expert"), _ask_next),
    (re.compile(r"outline for a Wikipedia page"), _answer_with_outline),
    (re.compile(r"Start your writing with # section title"), _answer_with_section),
    (re.compile(r"Q: question"), _answer_with_questions),
    (re.compile(r"rank search results from multiple engines"), _rank),
)
"""Prompts that demand a certain form."""
