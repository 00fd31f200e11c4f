"""Divide recordings into parts that a transcription server accepts; only WAV files can be divided without a decoder.

The bytes stay in the file: a part names its place, and a WAV part the header that makes it a file of its own.
"""

import struct
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Final

import numpy as np

from tenure.sources.document.document import Unreadable

SUFFIXES: Final = frozenset(
    (".wav", ".mp3", ".m4a", ".flac", ".ogg", ".oga", ".opus", ".webm", ".mp4", ".mpeg", ".mpga")
)
"""Suffixes of sound and video that transcription servers read."""
NO_MODEL: Final = "is a recording, and no transcription is set up (TENURE_TRANSCRIPTION_MODEL)"
_MAX_BYTES: Final = 2_000_000_000
"""Size of a WAV file that is divided: three hours in the quality of a CD."""
_PAUSE_SECONDS: Final = 0.3
"""Length of the quietest moment at which a part ends: pauses between sentences are longer, those in words shorter."""
_SEARCHED_SECONDS: Final = 30.0
"""Time before the end of the largest part in which this moment is searched."""
_STEP_SECONDS: Final = 0.02
_HEADER: Final = "<4sI4s4sIHHIIHH4sI"
_HEADER_BYTES: Final = struct.calcsize(_HEADER)


@dataclass(frozen=True)
class RecordingPart:
    """Part of a recording."""

    start_byte: int
    size: int
    start_seconds: float
    header: bytes = b""
    """Bytes before those of the file."""


def is_recording(path: PurePath) -> bool:
    """Return whether a file is a recording, by its name."""
    return path.suffix.lower() in SUFFIXES


def divide_recording(file: IO[bytes], size: int, suffix: str, max_bytes: int) -> tuple[RecordingPart, ...]:
    """Return the parts of a recording, each of at most `max_bytes`.

    Raises:
        Unreadable: the file is larger, and is no WAV file of uncompressed samples.
    """
    if not size:
        raise Unreadable("is empty")
    if size <= max_bytes:
        return (RecordingPart(0, size, 0.0),)
    advice = f"is a recording of {size / 1e6:.0f} MB, and the transcription server accepts {max_bytes / 1e6:g} MB"
    if suffix != ".wav" or size > _MAX_BYTES:
        raise Unreadable(f"{advice}: convert it to a smaller format, such as Opus, or split it")
    file.seek(0)
    try:
        with wave.open(file) as opened:
            return tuple(_divide(file, opened, max_bytes))
    except (wave.Error, EOFError) as error:
        raise Unreadable(f"{advice}, and it cannot be split: save it as WAV with PCM samples ({error})") from error


def _divide(file: IO[bytes], opened: wave.Wave_read, max_bytes: int) -> Iterator[RecordingPart]:
    """Yield the parts; the file is at the first sample."""
    data = file.tell()
    channels, width, rate, frames = opened.getparams()[:4]
    frame = channels * width
    longest = (max_bytes - _HEADER_BYTES) // frame
    searched = min(int(_SEARCHED_SECONDS * rate), longest // 2)
    if searched < _PAUSE_SECONDS * rate:
        raise wave.Error("a second of it is too large")
    start = 0
    while start < frames:
        count = frames - start
        if count > longest:
            before = longest - searched
            file.seek(data + (start + before) * frame)
            count = before + _find_pause(file.read(searched * frame), channels, width, rate)
        header = struct.pack(
            _HEADER,
            *(b"RIFF", _HEADER_BYTES - 8 + count * frame, b"WAVE", b"fmt ", 16, 1),
            *(channels, rate, rate * frame, frame, 8 * width, b"data", count * frame),
        )
        yield RecordingPart(data + start * frame, count * frame, start / rate, header)
        start += count


def _find_pause(data: bytes, channels: int, width: int, rate: int) -> int:
    """Return the frame in the middle of the quietest moment."""
    samples = np.frombuffer(data[: len(data) // (channels * width) * channels * width], np.uint8).reshape(-1, width)
    # Samples of one byte have no sign; of others, the two most significant bytes are enough.
    values = samples[:, 0] - 128.0 if width == 1 else samples[:, -2:].copy().view("<i2")[:, 0].astype(float)
    step = max(1, int(_STEP_SECONDS * rate))
    steps = len(values) // channels // step
    loudness = np.square(values[: steps * step * channels]).reshape(steps, -1).mean(1)
    moment = max(1, round(_PAUSE_SECONDS / _STEP_SECONDS))
    quiet = np.convolve(loudness, np.ones(moment), "valid")
    return (int(quiet.argmin()) + moment // 2) * step
