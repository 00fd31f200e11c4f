"""Parse a line of reasoning: one step an entry, each with a keyword at the start of its line."""

import re
from typing import Final, get_args

from tenure.contracts.evidence.reasoning import (
    MAX_REASONING_QUERIES,
    MAX_REASONING_STEPS,
    RejectedThought,
    StepKind,
)
from tenure.roles.base import RoleOutput
from tenure.roles.entries import Entry, join_lines, list_texts, split_entries
from tenure.roles.prompting import WrittenSentence
from tenure.roles.report_markdown import parse_sentence

MAX_REJECTED: Final = 40
"""Maximum number of rejected thoughts: six at each of four levels, and some that a model adds."""
MAX_TEXT_CHARACTERS, MAX_LINK_CHARACTERS, MAX_ANSWER_CHARACTERS, MAX_QUERY_CHARACTERS = 1200, 200, 200, 300
"""Maximum lengths of a step, of its link, of the answer and of a query."""

# "STEP 2 hop after 1 via George Eliot: text", "- **CONCLUSION** after 1, 2: text", "REJECTED 0.2: text – why"; in
# capitals only, since a sentence may begin with such a word.
_ENTRY = re.compile(
    r"^[ \t]{0,8}(?:[-*+•#>`]{1,4}|\d{1,2}[.)])?[ \t]?[*`]{0,3}"
    r"(?P<keyword>STEP|REJECTED|CONCLUSION|ANSWER|CONFIDENCE|SEARCH|NONE)(?=[ \t*`:.–—-]|$)(?P<rest>[^\n]{0,4000})",
    re.MULTILINE,
)
# "2 premise: text", "2 premise – text"; a colon in a link ("via Dune: Part Two") ends it.
_HEAD_END = re.compile(r":|(?<=\s)[–—-](?=\s)")
# The step in "2 inference after 1: text".
_NUMBER = re.compile(r"\d{1,3}")
# The kind in "2 inference after 1": a name of `StepKind`, or no word that counts.
_KIND = re.compile(r"[a-z]{3,20}")
# "after 1, 2 and 4".
_AFTER = re.compile(r"\bafter\b((?:[ \t,&]{1,3}(?:and[ \t])?\d{1,3}){1,12})")
# The link of "2 hop after 1 via Dune: Part Two".
_LINK = re.compile(r"\bvia[ \t]+([^\n]{1,400})")
# "0.7 text", "**80 %** text".
_SCORE = re.compile(r"\A[^\w\n]{0,4}(\d{1,3}(?:\.\d{1,4})?)[ \t]?(%?)")
_KINDS: Final = frozenset(get_args(StepKind))


class WrittenStep(RoleOutput):
    """A step."""

    number: int
    """Number that the model gives it; 0 for the conclusion."""
    kind: StepKind
    """Kind of the step."""
    sentence: WrittenSentence
    """The step with its passages."""
    follows: tuple[int, ...] = ()
    """Numbers of the steps that it follows from."""
    link: str = ""
    """Name that connects it to the step before it; empty for none."""


class ReasonerOutput(RoleOutput):
    """A line of reasoning."""

    steps: tuple[WrittenStep, ...] = ()
    """The steps in order; none if nothing sound can be said."""
    conclusion: WrittenStep | None = None
    """The conclusion; None for none."""
    answer: str = ""
    """The answer in a few words; empty for none."""
    confidence: float = 0.0
    """Probability that the conclusion is right."""
    rejected: tuple[RejectedThought, ...] = ()
    """Thoughts that are not followed."""
    queries: tuple[str, ...] = ()
    """Searches for facts that the line needs."""


def parse_reasoning(text: str) -> ReasonerOutput:
    """Return a line of reasoning by its entries.

    Raises:
        ValueError: the text has no entry; the message is addressed to the model.
    """
    entries = list(split_entries(_ENTRY, text))
    if not entries:
        raise ValueError("it contains no entry: write entries such as STEP, CONCLUSION and ANSWER, or NONE alone.")
    steps = [(entry.keyword, step) for entry in entries if (step := _read_step(entry))]
    return ReasonerOutput(
        steps=tuple(step for keyword, step in steps if keyword == "STEP")[:MAX_REASONING_STEPS],
        conclusion=next((step for keyword, step in steps if keyword == "CONCLUSION"), None),
        answer=next(iter(list_texts(entries, "ANSWER")), "")[:MAX_ANSWER_CHARACTERS],
        confidence=next((_read_score(entry.text)[0] for entry in entries if entry.keyword == "CONFIDENCE"), 0.5),
        rejected=tuple(_read_rejected(entry.text) for entry in entries if entry.keyword == "REJECTED")[:MAX_REJECTED],
        queries=list_texts(entries, "SEARCH", MAX_QUERY_CHARACTERS)[:MAX_REASONING_QUERIES],
    )


def _read_step(entry: Entry) -> WrittenStep | None:
    """Return a step or a conclusion; None for other entries and for one without a sentence."""
    if entry.keyword not in ("STEP", "CONCLUSION"):
        return None
    # A text after a blank line is a remark of the model.
    text = entry.text.split("\n\n", 1)[0]
    end = _HEAD_END.search(text)
    head = text[: end.start()] if end else ""
    sentence = parse_sentence(text[end.end() if end else 0 :].strip(" \t\n*`")[:MAX_TEXT_CHARACTERS])
    if sentence is None:
        return None
    before, _, _ = head.partition("after")
    number = _NUMBER.search(before)
    after, link = _AFTER.search(head), _LINK.search(head)
    follows = tuple(map(int, _NUMBER.findall(after[1]))) if after else ()
    kind = next((word for word in _KIND.findall(before) if word in _KINDS), "inference" if follows else "premise")
    return WrittenStep.model_validate(
        {
            "number": int(number[0]) if number and entry.keyword == "STEP" else 0,
            "kind": "inference" if entry.keyword == "CONCLUSION" else kind,
            "sentence": sentence,
            "follows": follows,
            "link": link[1].strip(" *`“”\"'")[:MAX_LINK_CHARACTERS] if link else "",
        }
    )


def _read_rejected(text: str) -> RejectedThought:
    """Return a rejected thought: its score, its text, and the reason after a dash."""
    score, remainder = _read_score(text)
    thought, _, reason = join_lines(remainder).rpartition(" – ")
    return RejectedThought(text=thought or reason, score=score, reason=reason if thought else "")


def _read_score(text: str) -> tuple[float, str]:
    """Return the score from 0 to 1 at the beginning of a text, 0.5 without one, and the rest of the text."""
    match = _SCORE.match(text)
    if match is None:
        return 0.5, text
    score = float(match[1])
    return min(1.0, score / 100 if match[2] or score > 1 else score), text[match.end() :]
