"""Parse the review of a report: verdicts and edits by the numbers of its sentences, one entry a line.

An entry begins with a keyword at the start of a line and ends before the next one, so that a sentence, a table or code
may take several lines. Lines that belong to no entry are ignored: models introduce and sum up what they write.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from pydantic import Field

from tenure.contracts.result.result import EvaluatedPart
from tenure.roles.base import RoleOutput
from tenure.roles.entries import Entry, extract_paragraph, list_texts, split_entries
from tenure.roles.prompting import WrittenBlock, WrittenSentence
from tenure.roles.report_markdown import (
    MAX_SHORT_ANSWER_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    WrittenPart,
    parse_blocks,
    parse_sentence,
    read_numbers,
)

MAX_EDITS: Final = 60
"""Maximum number of entries of each kind in one review."""
MAX_CONSIDERATIONS: Final = 2
"""Maximum number of considerations beyond the sources."""
MAX_CRITIQUE_CHARACTERS, MAX_QUERY_CHARACTERS = 1000, 300
"""Maximum lengths of a critique and of a query."""

# "REPLACE 12: text", "**WRONG** 3 refuted 0.9: why", "- ADD 4: text", "2. DONE"; keywords in capitals only and most
# with a number or a colon, since lines of an edit may begin with such words, as those of SQL do.
_ENTRY = re.compile(
    r"^[ \t]{0,8}(?:[-*+•#>`]{1,4}|\d{1,2}[.)])?[ \t]?[*`]{0,3}"
    r"(?P<keyword>(?:WRONG|REPLACE|DELETE|ADD|BLOCK|OPEN|CONFLICT)(?=[^\w\n]{1,4}\d|[ *`]{0,3}:)"
    r"|ANSWERED(?=[ *`:]{1,4}(?:yes|partly|no)\b)|(?:TITLE|ANSWER)(?=[ *`]{0,3}:)"
    r"|(?:SECTION|SEARCH|CONSIDER|ISSUE|DONE)\b)"
    r"(?P<rest>[^\n]{0,4000})",
    re.MULTILINE,
)
# The sentence of "[14]: text", "14. text" and "14 – text".
_NUMBER = re.compile(r"\A[^\w\n]{0,4}\d{1,4}[ \t]?[\]*`:.)–—-]{0,4}")
_NUMBERS = re.compile(r"\A[^\w\n]{0,4}\d{1,4}(?:(?:[-–]|[ \t]?[,;][ \t]?|[ \t]|[ \t]and[ \t])\d{1,4}(?![.\d])){0,60}")
"""Numbers of several sentences: "14, 17 and 18", "20-22"."""
# "refuted, 0.9", "Neutral".
_VERDICT = re.compile(r"\b(refuted|neutral)\b(?:\W{1,3}([01](?:\.\d+)?))?", re.IGNORECASE)
# "Clustering – REWRITE: it repeats …", "Brokers: SEARCH, because …"; the action is the first such word in capitals.
_ACTION = re.compile(r"[ :*`–—-]{0,6}\b(NONE|REWRITE|SEARCH)\b[ ,;:*`–—-]{0,6}")
# "[3, 8] high: the default – “two levels” / “32 levels”"; the words of both passages follow in quotes.
_CONFLICT = re.compile(
    r"\A[^\w\n]{0,4}(\d{1,4})[^\w\n]{1,6}(?:and[^\w\n]{1,4})?(\d{1,4})[\]*`:, –—-]{0,6}(?:(low|medium|high)\b)?"
)
# Words of a passage in “…”, "…" or «…».
_QUOTED = re.compile(r"[“”\"«]([^“”\"«»\n]{3,600})[“”\"»]")
# "**partly** – the price of salt".
_ANSWERED = re.compile(r"\A[ *`:]{0,4}(yes|partly|no)\b[ *`:–—-]{0,6}")


class SentenceVerdict(RoleOutput):
    """Verdict on a sentence that its passages do not support."""

    sentence: int
    """Number of the sentence."""
    verdict: Literal["refuted", "neutral"]
    """`refuted` if its passages say the contrary, `neutral` if they leave a part of it open."""
    confidence: float = Field(default=0.9, ge=0, le=1)
    """Confidence in the verdict."""


class PartVerdict(RoleOutput):
    """Verdict on a section."""

    heading: str
    """Its heading; empty for the whole report."""
    action: Literal["NONE", "REWRITE", "SEARCH"]
    """Need of the section."""
    critique: str = ""
    """Reason."""


class NumberedSentence(RoleOutput):
    """A sentence for a place in the text."""

    number: int
    """Number of the sentence that it replaces or follows; 0 for the start."""
    sentence: WrittenSentence
    """The sentence."""


class NumberedBlocks(RoleOutput):
    """Blocks for a place in the text."""

    number: int
    """Number of a sentence of the block before them; 0 for the start."""
    blocks: tuple[WrittenBlock, ...]
    """The blocks."""


class ConflictingPassages(RoleOutput):
    """Two passages that cannot both be true."""

    passages: tuple[int, int]
    """Their numbers."""
    severity: Literal["low", "medium", "high"] = "medium"
    """Importance for the question."""
    about: str = ""
    """Subject of the disagreement."""
    quotes: tuple[str, ...] = ()
    """Words of the first passage, and of the second; empty if they are not quoted."""


class ReportReviewerOutput(RoleOutput):
    """A review."""

    title: str = ""
    """Another title; empty to keep it."""
    short_answer: str | None = None
    """Another short answer, empty for none; None to keep it."""
    sections: tuple[PartVerdict, ...] = ()
    """Verdicts on sections."""
    wrong: tuple[SentenceVerdict, ...] = ()
    """Verdicts on sentences that are not supported."""
    replace: tuple[NumberedSentence, ...] = ()
    """Sentences that replace others."""
    delete: tuple[int, ...] = ()
    """Numbers of sentences to delete."""
    add: tuple[NumberedSentence, ...] = ()
    """Sentences to add."""
    blocks: tuple[NumberedBlocks, ...] = ()
    """Blocks to add."""
    still_open: tuple[int, ...] = ()
    """Numbers of the statements of absence that the passages found for them do not answer."""
    queries: tuple[str, ...] = ()
    """Searches for missing evidence."""
    considerations: tuple[str, ...] = ()
    """Considerations beyond the sources."""
    conflicts: tuple[ConflictingPassages, ...] = ()
    """Passages that contradict each other."""
    answered: tuple[EvaluatedPart, ...] = ()
    """Parts of the question, and whether the edited report answers them."""
    issues: tuple[str, ...] = ()
    """Errors that remain after the edits."""
    rewritten: tuple[WrittenPart, ...] = ()
    """The parts of another report; only without a model, for requests of people."""
    is_judged: bool = True
    """Whether a sentence without a verdict is supported; without a model it stays unchecked."""


def parse_review(text: str) -> ReportReviewerOutput:
    """Return a review by its entries.

    Raises:
        ValueError: the text has no entry; the message is addressed to the model.
    """
    entries = list(split_entries(_ENTRY, text))
    if not entries:
        raise ValueError("it contains no entry: write entries such as REPLACE, DELETE or SEARCH, or DONE alone.")
    sentences = {
        keyword: tuple(
            NumberedSentence(number=number, sentence=sentence)
            for number, content in _read_numbered(entries, keyword)
            if (sentence := parse_sentence(extract_paragraph(content)))
        )[:MAX_EDITS]
        for keyword in ("REPLACE", "ADD")
    }
    return ReportReviewerOutput(
        title=_read_last(entries, "TITLE", MAX_TITLE_CHARACTERS) or "",
        short_answer=_read_last(entries, "ANSWER", MAX_SHORT_ANSWER_CHARACTERS),
        sections=tuple(_read_section(entry.text) for entry in entries if entry.keyword == "SECTION")[:MAX_EDITS],
        wrong=tuple(_read_verdict(*entry) for entry in _read_numbered(entries, "WRONG", _NUMBERS))[:MAX_EDITS],
        replace=sentences["REPLACE"],
        delete=tuple(number for number, _ in _read_numbered(entries, "DELETE", _NUMBERS))[:MAX_EDITS],
        add=sentences["ADD"],
        blocks=tuple(
            NumberedBlocks(number=number, blocks=blocks)
            for number, content in _read_numbered(entries, "BLOCK")
            if (blocks := parse_blocks(content))
        )[:MAX_EDITS],
        still_open=tuple(number for number, _ in _read_numbered(entries, "OPEN", _NUMBERS))[:MAX_EDITS],
        queries=list_texts(entries, "SEARCH", MAX_QUERY_CHARACTERS)[:MAX_EDITS],
        considerations=list_texts(entries, "CONSIDER", MAX_CRITIQUE_CHARACTERS)[:MAX_CONSIDERATIONS],
        conflicts=tuple(_list_conflicts(entries))[:MAX_EDITS],
        answered=tuple(_list_answered(entries))[:MAX_EDITS],
        issues=list_texts(entries, "ISSUE", MAX_CRITIQUE_CHARACTERS)[:MAX_EDITS],
    )


def _read_last(entries: Sequence[Entry], keyword: str, max_characters: int) -> str | None:
    """Return the last text of a keyword without marks and full stop, empty for a dash; None for no or a longer one."""
    last = [entry for entry in entries if entry.keyword == keyword][-1:]
    texts = list_texts(last, keyword)
    sentence = parse_sentence(texts[0]) if texts else None
    text = sentence.text.rstrip(".") if sentence else ""
    return None if not last or len(text) > max_characters else text


def _read_numbered(
    entries: Sequence[Entry], keyword: str, pattern: re.Pattern[str] = _NUMBER
) -> Iterator[tuple[int, str]]:
    """Yield the numbers at the beginning of the entries of a keyword, each with the rest of its entry."""
    for entry in entries:
        if entry.keyword == keyword and (match := pattern.match(entry.text)):
            for number in read_numbers(match.group()):
                yield number, entry.text[match.end() :].strip()


def _read_verdict(number: int, text: str) -> SentenceVerdict:
    match = _VERDICT.search(text)
    if match is None:
        return SentenceVerdict(sentence=number, verdict="neutral")
    confidence = {"confidence": min(1.0, float(match[2]))} if match[2] else {}
    return SentenceVerdict.model_validate({"sentence": number, "verdict": match[1].casefold(), **confidence})


def _read_section(text: str) -> PartVerdict:
    line = " ".join(extract_paragraph(text).split())
    match = _ACTION.search(line)
    action = match[1] if match else "NONE"
    heading = (line[: match.start()] if match else line).strip(' :“”"*`')
    critique = line[match.end() :][:MAX_CRITIQUE_CHARACTERS] if match and action != "NONE" else ""
    return PartVerdict.model_validate({"heading": heading, "action": action, "critique": critique})


def _list_conflicts(entries: Sequence[Entry]) -> Iterator[ConflictingPassages]:
    for entry in entries:
        if entry.keyword == "CONFLICT" and (match := _CONFLICT.match(entry.text)):
            description = extract_paragraph(entry.text[match.end() :])
            quotes = _QUOTED.findall(description)
            about = " ".join(re.split(r"[“”\"«]", description, maxsplit=1)[0].split()).strip(" :*`–—-/")
            yield ConflictingPassages.model_validate(
                {
                    "passages": (int(match[1]), int(match[2])),
                    "severity": match[3] or "medium",
                    "about": about[:MAX_QUERY_CHARACTERS],
                    "quotes": quotes[:2] if len(quotes) > 1 else (),
                }
            )


def _list_answered(entries: Sequence[Entry]) -> Iterator[EvaluatedPart]:
    for entry in entries:
        if entry.keyword == "ANSWERED" and (match := _ANSWERED.match(entry.text)):
            part = " ".join(extract_paragraph(entry.text[match.end() :]).split())[:MAX_CRITIQUE_CHARACTERS]
            if part:
                yield EvaluatedPart.model_validate({"part": part, "answered": match[1]})
