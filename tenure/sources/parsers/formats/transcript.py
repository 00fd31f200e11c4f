"""Parse transcripts and subtitles: WebVTT, SubRip and SubViewer, with the time and the speaker of each passage.

A cue is a few words with a time. Cues become paragraphs of one speaker; the time of a cue is the place of its words.
"""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.contracts.evidence.places import DocumentPlace
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.formats.plain_text import parse_plain_text
from tenure.sources.parsers.registry import Format

TRANSCRIPT: Final = Format(
    parser="parse_transcript",
    description="transcripts and subtitles: speakers and words, cited by their time",
    suffixes=(".vtt", ".srt", ".sbv"),
    media_types=("text/vtt", "application/x-subrip"),
)

# "00:12:31.480 --> 00:12:33.000 align:start", "12:31,480 --> 12:33,000", and "0:12:31.480,0:12:33.000" of YouTube.
_TIMING: Final = re.compile(
    r"[ \t]{0,8}(?P<start>(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3})(?:[ \t]{0,8}-->[ \t]{0,8}|,)"
    r"(?P<end>(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3})"
)
# "<v Ann Lee>", "<v.loud Ann Lee>".
_VOICE: Final = re.compile(r"<v(?:\.[^\s<>]{1,80})?[ \t]([^<>\n]{1,80})>")
# "<i>", "</c>", "<00:00:01.200>", '<font color="#fff">', "{\an8}".
_TAG: Final = re.compile(r"</?(?:[A-Za-z][^<>\n]{0,200}|\d[\d:.]{0,20})>|\{\\[^{}\n]{0,80}\}")
# "Ann Lee: " before what she says.
_SPEAKER: Final = re.compile(r"(?P<name>[^\s:][^:\n]{0,59}):[ \t]+(?=\S)")
_CHANGE: Final = re.compile(r"(?:>>|-)[ \t]*(?=\S)")  # ">> Good morning.", "- Good morning.": another person speaks.
_SENTENCE_END: Final = re.compile(r"[.!?…][\"'”’)\]]*$")  # 'He said "stop."'.
_UNSPOKEN: Final = ("WEBVTT", "NOTE", "STYLE", "REGION", "X-TIMESTAMP")
"""Beginnings of blocks that are not spoken."""
_MIN_LABELLED: Final = 0.5
"""Share of cues with "Name: " from which these are speakers; "Note: ", in other subtitles, is spoken."""
_MIN_ROLLING: Final = 0.3
"""Share of cues that repeat a line of the cue before from which captions roll; generated ones of YouTube have 0.9."""
_PAUSE_SECONDS: Final = 2.0
"""Pause after a sentence that ends a paragraph."""
_PARAGRAPH_LENGTH: Final = 300
_MAX_PARAGRAPH_LENGTH: Final = 500
"""Characters after which a paragraph ends with its sentence, and with its cue."""


class Cue(NamedTuple):
    """Words with the time in seconds at which they are shown or spoken."""

    start: float
    end: float
    lines: tuple[str, ...]
    """Lines without markup."""
    voice: str = ""
    """Speaker that the markup names."""


class _Utterance(NamedTuple):
    """Words of one speaker in one cue."""

    start: float
    end: float
    speaker: str
    text: str
    is_change: bool
    """Whether another person begins to speak."""


def parse_transcript(text: str) -> Document:
    """Parse a transcript; a text without times is plain text.

    Raises:
        Unreadable: no cue has words.
    """
    cues = list(_list_cues(text))
    if not cues:
        return parse_plain_text(text)
    if _measure_share(bool(set(cue.lines) & set(before.lines)) for before, cue in pairwise(cues)) >= _MIN_ROLLING:
        cues = list(_remove_repeated(cues))
    return write_cues(cues)


def write_cues(cues: Sequence[Cue]) -> Document:
    """Return a document without a title; the time and the speaker of a cue are the place of its words.

    Raises:
        Unreadable: no cue has words.
    """
    form, places = NormalFormWriter(), list[DocumentPlace]()
    for paragraph in _group(_list_utterances(cues)):
        places += _write_paragraph(form, paragraph)
    if not form.text:
        raise Unreadable(NO_TEXT)
    return Document(title="", text=form.text, kind="prose", places=tuple(places))


def _list_cues(text: str) -> Iterator[Cue]:
    """Yield the cues; a block without a time continues the cue before it, which has a blank line."""
    times: tuple[float, float] | None = None
    words: list[str] = []
    is_skipped = True
    for block in re.split(r"\n[ \t]*\n", text):
        lines = block.strip("\n").split("\n")
        for number, line in enumerate(lines):
            if match := _TIMING.match(line):
                if times is not None:
                    # The line above a time is the number of its cue.
                    yield _build_cue(times, words[:-1] if number and not is_skipped else words)
                times, words, is_skipped = (_parse_time(match["start"]), _parse_time(match["end"])), [], False
            elif number == 0:
                is_skipped = line.startswith(_UNSPOKEN) or (line.strip().isdigit() and len(lines) == 1)
                words += [] if is_skipped else [line]
            elif not is_skipped:
                words.append(line)
    if times is not None:
        yield _build_cue(times, words)


def _build_cue(times: tuple[float, float], lines: Sequence[str]) -> Cue:
    voice = next((match[1] for line in lines if (match := _VOICE.search(line))), "")
    cleaned = (collapse_whitespace(html.unescape(_TAG.sub("", line))) for line in lines)
    return Cue(*times, tuple(filter(None, cleaned)), collapse_whitespace(html.unescape(voice)))


def _parse_time(text: str) -> float:
    seconds = 0.0
    for part in text.replace(",", ".").split(":"):
        seconds = seconds * 60 + float(part)
    return seconds


def _measure_share(values: Iterator[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _remove_repeated(cues: Sequence[Cue]) -> Iterator[Cue]:
    """Yield rolling captions without the lines of the cue before, which stay on the screen for a while."""
    before: tuple[str, ...] = ()
    for cue in cues:
        last = before[-1] if before else ""
        # A line may also grow word by word: "we", "we ship", "we ship on Friday".
        lines = [
            line.removeprefix(last).strip() if last and line.startswith(f"{last} ") else line
            for line in cue.lines
            if line not in before
        ]
        before = cue.lines or before
        yield cue._replace(lines=tuple(filter(None, lines)))


def _list_utterances(cues: Sequence[Cue]) -> Iterator[_Utterance]:
    """Yield the utterances of the cues; a cue may contain words of two people."""
    spoken = [cue for cue in cues if cue.lines]
    is_labelled = _measure_share(bool(_SPEAKER.match(cue.lines[0])) for cue in spoken) >= _MIN_LABELLED
    for cue in spoken:
        parts: list[tuple[str, str, bool]] = []
        for line in cue.lines:
            words, is_change = line, False
            if match := _CHANGE.match(line):
                words, is_change = line[match.end() :], True
            name = _SPEAKER.match(words) if is_labelled else None
            if parts and not is_change and not name:
                parts[-1] = (parts[-1][0], f"{parts[-1][1]} {words}", parts[-1][2])
            else:
                parts.append((name["name"], words[name.end() :], is_change) if name else (cue.voice, words, is_change))
        yield from (_Utterance(cue.start, cue.end, *part) for part in parts)


def _group(utterances: Iterator[_Utterance]) -> Iterator[list[_Utterance]]:
    """Yield the utterances of each paragraph."""
    paragraph: list[_Utterance] = []
    length = 0
    for utterance in utterances:
        if paragraph and _ends_paragraph(paragraph, length, utterance):
            yield paragraph
            paragraph, length = [], 0
        paragraph.append(utterance)
        length += len(utterance.text) + 1
    if paragraph:
        yield paragraph


def _ends_paragraph(paragraph: Sequence[_Utterance], length: int, after: _Utterance) -> bool:
    last = paragraph[-1]
    if after.is_change or after.speaker != last.speaker or length >= _MAX_PARAGRAPH_LENGTH:
        return True
    is_long = length >= _PARAGRAPH_LENGTH or after.start - last.end >= _PAUSE_SECONDS
    return is_long and bool(_SENTENCE_END.search(last.text))


def _write_paragraph(form: NormalFormWriter, paragraph: Sequence[_Utterance]) -> Iterator[DocumentPlace]:
    """Write a paragraph after the name of its speaker, and yield the time at which each of its cues begins."""
    speaker = paragraph[0].speaker
    text = " ".join(utterance.text for utterance in paragraph)
    form.add_paragraph(f"{speaker}: {text}" if speaker else text)
    # Offsets are counted from the end, because leading hashes may have been removed.
    offset, before = form.length - len(text), ""
    for number, utterance in enumerate(paragraph):
        label = ", ".join(filter(None, (_format_time(utterance.start), speaker)))
        if label != before:
            yield DocumentPlace(max(0, offset - (len(speaker) + 2 if speaker and not number else 0)), label)
        before = label
        offset += len(utterance.text) + 1


def _format_time(seconds: float) -> str:
    return f"{int(seconds // 3600):02}:{int(seconds // 60 % 60):02}:{int(seconds % 60):02}"
