"""Recognize text in pictures on the CPU with RapidOCR, whose wheel contains its models; the extra `ocr` installs it.

It runs in a reader process, which limits memory. Time is limited here, so that the pages recognized before are kept.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from statistics import mean
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.parsers.page_layout import split_columns
from tenure.sources.parsers.page_lines import PageLine, WordBox

MISSING: Final = "text recognition is not installed (extra `ocr`)"
"""Reason for a picture without the extra."""
NO_TIME: Final = "the time for the text recognition of one file is used up"
MAX_SIDE: Final = 2000
"""Pixels of the longer side at which text is recognized: an A4 page at 170 dots per inch."""
FILE_SECONDS: Final = 900.0
"""Computing time for the pages of one file: 100 to 280 at 3.2 to 8.6 s each, measured on a busy machine."""
WEB_SECONDS: Final = 15.0
"""Computing time for the pages of a document on the web, which waits for it."""
_MIN_LINE_CONFIDENCE: Final = 0.5
_MIN_PAGE_CONFIDENCE: Final = 0.75
"""Mean below which a page counts as illegible: a mirrored page has 0.73, one upside down 0.7, printed ones 0.97."""
_TURN_CONFIDENCE: Final = 0.85
"""Mean below which a page is read upside down as well, and mirrored: five printed pages have 0.98 to 0.99, and 0.63 to
0.70 if they were scanned from the back of a film."""
Image = NDArray[np.uint8]
"""Picture of shape (height, width, 3), in the order blue, green, red."""


class Unavailable(Exception):
    """No text can be recognized, now or for the rest of the file; the message is the reason."""


class _Box(NamedTuple):
    """Detected text in coordinates in which lines are level."""

    left: float
    top: float
    right: float
    bottom: float
    line: PageLine

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def text(self) -> str:
        return self.line.text


class _Clock:
    """Computing time of the file that is being read."""

    def __init__(self) -> None:
        self.deadline = math.inf
        self.on_page: Callable[[], None] = lambda: None


_CLOCK: Final = _Clock()


@lru_cache
def is_available() -> bool:
    """Return whether the extra is installed."""
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


def start_file(seconds: float) -> None:
    """Start to count the computing time for the recognition of one file, in seconds."""
    _CLOCK.deadline = time.process_time() + seconds


def set_page_listener(on_page: Callable[[], None]) -> None:
    """Call a function before each page, to whose time the limits of the process have to be extended."""
    _CLOCK.on_page = on_page


def recognize(image: Image) -> list[PageLine]:
    """Return the lines of a picture in reading order; empty if it has no legible text.

    Pages that lie on a side, upside down or mirrored are turned.

    Raises:
        Unavailable: the extra is not installed, or the file has used up its time.
    """
    if not is_available():
        raise Unavailable(MISSING)
    if time.process_time() > _CLOCK.deadline:
        raise Unavailable(NO_TIME)
    _CLOCK.on_page()
    best = max(_read_turned(image), key=lambda reading: reading.confidence)
    if best.confidence < _MIN_PAGE_CONFIDENCE:
        return []
    return [
        replace(line, words=tuple(_turn_back(word, best) for word in line.words))
        for block in split_columns(best.boxes)
        for line in _join_rows(block)
    ]


class _Reading(NamedTuple):
    """Text of a picture after a number of quarter turns to the left."""

    turns: int
    is_mirrored: bool
    """Whether the picture was mirrored as well."""
    confidence: float
    """Mean confidence of a character."""
    tall: float
    """Share of characters in boxes that are taller than wide."""
    boxes: list[_Box]


def _read_turned(image: Image) -> Iterator[_Reading]:
    """Yield the upright reading, and those of other orientations if it is doubtful."""
    upright = _read(image, 0)
    yield upright
    if not upright.boxes:
        return
    if upright.tall > 0.5:
        turned = _read(image, 1)
        yield turned._replace(confidence=turned.confidence + 1)  # the detector reads text on its side as well
        if turned.confidence < _TURN_CONFIDENCE:
            other = _read(image, 3)
            yield other._replace(confidence=other.confidence + 1)
    elif upright.confidence < _TURN_CONFIDENCE:
        turned = _read(image, 2)
        yield turned
        if turned.confidence < _TURN_CONFIDENCE:
            yield _read(image, 0, is_mirrored=True)


def _read(image: Image, turns: int, *, is_mirrored: bool = False) -> _Reading:
    turned = np.ascontiguousarray(np.rot90(image[:, ::-1] if is_mirrored else image, turns))
    height, width = turned.shape[:2]
    output = _load_engine()(turned)
    if not output.txts:
        return _Reading(turns, is_mirrored, 0.0, 0.0, [])
    quads = np.asarray(output.boxes, dtype=float)
    angle = _measure_skew(quads)
    level = quads @ np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    boxes: list[_Box] = []
    length = tall = weighted = 0.0
    for n, (raw, score) in enumerate(zip(output.txts, output.scores, strict=True)):
        text = collapse_whitespace(raw)
        sides = quads[n].max(0) - quads[n].min(0)
        length += len(text)
        tall += len(text) * float(sides[1] > 1.5 * sides[0])
        weighted += len(text) * float(score)
        if text and score >= _MIN_LINE_CONFIDENCE:
            words = output.word_results[n] if len(output.word_results) == len(output.txts) else ()
            line = PageLine(text, tuple(_place_words(text, float(score), words, quads[n], width, height)))
            (left, top), (right, bottom) = level[n].min(0).tolist(), level[n].max(0).tolist()
            boxes.append(_Box(left, top, right, bottom, line))
    return _Reading(turns, is_mirrored, weighted / max(length, 1), tall / max(length, 1), boxes)


def _place_words(
    text: str, score: float, words: Sequence[Any], quad: NDArray[np.float64], width: int, height: int
) -> Iterator[WordBox]:
    """Yield the words of a line; without boxes of words, all have the box and the confidence of the line."""
    parts = [(str(word[0]), float(word[1]), np.asarray(word[2], dtype=float)) for word in words if len(word) == 3]
    if "".join(part[0] for part in parts).replace(" ", "") != text.replace(" ", ""):
        parts = [(word, score, quad) for word in text.split()]
    offset = 0
    for word, confidence, corners in parts:
        offset = text.index(word.strip(), offset)
        left, top = np.clip(corners.min(0) / (width, height), 0, 1)
        right, bottom = np.clip(corners.max(0) / (width, height), 0, 1)
        yield WordBox(offset, word.strip(), float(left), float(top), float(right), float(bottom), confidence)
        offset += len(word.strip())


def _turn_back(word: WordBox, reading: _Reading) -> WordBox:
    """Return a word with its box on the picture before it was turned."""
    for _ in range(reading.turns):
        left, top, right, bottom = word[2:6]
        word = word._replace(left=1 - bottom, top=left, right=1 - top, bottom=right)
    return word._replace(left=1 - word.right, right=1 - word.left) if reading.is_mirrored else word


def _measure_skew(quads: NDArray[np.float64]) -> float:
    """Return the median angle of the lines in radians; long lines count alone, since short ones have no clear angle."""
    edges = quads[:, 1] - quads[:, 0]
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    long = edges[lengths >= np.median(lengths)]
    return float(np.median(np.arctan2(long[:, 1], long[:, 0])))


def _join_rows(boxes: Sequence[_Box]) -> Iterator[PageLine]:
    """Yield the lines of a column; boxes at the same height form one line."""
    row: list[_Box] = []
    for box in sorted(boxes, key=lambda box: box.middle):
        if row and not row[0].top < box.middle < row[0].bottom:
            yield _join(row)
            row = []
        row.append(box)
    if row:
        yield _join(row)


def _join(row: list[_Box]) -> PageLine:
    text, words = "", []
    for box in sorted(row, key=lambda box: box.left):
        start = len(text) + 1 if text else 0
        text = f"{text} {box.line.text}" if text else box.line.text
        words += [word._replace(offset=word.offset + start) for word in box.line.words]
    # Distances of lines show where paragraphs begin: on 35 pages of papers that were rendered and recognized,
    # the beginnings agree with those of the text layer with an F1 of 0.78, and of 0.73 without places.
    return PageLine(text, tuple(words), top=mean(box.middle for box in row))


@lru_cache(maxsize=1)
def _load_engine() -> Callable[[Image], Any]:
    # The official builds of ONNX Runtime report their use to Microsoft unless this is set before their import:
    # "Disabling Telemetry" in Privacy.md of its wheel.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    from rapidocr import RapidOCR

    engine: Callable[[Image], Any] = RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": 0.0,
            "Global.max_side_len": MAX_SIDE,
            "Global.use_cls": False,
            "Global.return_word_box": True,
            # Two threads need 1.5 times the computing time of one; readers of several files run concurrently.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        }
    )
    return engine
