"""Tests of the division of recordings."""

import io
import wave

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.document.recording import RecordingPart, divide_recording
from tests.sources.recordings import make_wav


def cut(data: bytes, part: RecordingPart) -> bytes:
    return part.header + data[part.start_byte :][: part.size]


def read_samples(data: bytes) -> bytes:
    with wave.open(io.BytesIO(data)) as opened:
        samples: bytes = opened.readframes(opened.getnframes())
    return samples


@pytest.mark.parametrize(("width", "channels"), [(1, 1), (2, 1), (2, 2), (3, 1), (4, 2)])
def test_a_large_wav_file_is_divided_at_pauses(width: int, channels: int) -> None:
    """Each part is a WAV file below the limit that ends in a pause, and together they have every sample."""
    data = make_wav([3, 4, 2.5, 4], width=width, channels=channels)
    limit = 5 * 8000 * width * channels
    parts = divide_recording(io.BytesIO(data), len(data), ".wav", limit)

    assert all(len(cut(data, part)) <= limit for part in parts) and len(parts) > 2
    assert b"".join(read_samples(cut(data, part)) for part in parts) == data[44:]
    # Tones last until 3, 7.6, 10.7 and 15.3 s, and a pause 0.6 s.
    ends = [part.start_seconds for part in parts[1:]]
    assert all(any(tone < end < tone + 0.6 for tone in (3, 7.6, 10.7, 15.3)) for end in ends)


def test_a_recording_below_the_limit_is_one_part() -> None:
    """A file that the server accepts is sent as it is, whatever its format."""
    assert divide_recording(io.BytesIO(b"ID3 sound"), 9, ".mp3", 9) == (RecordingPart(0, 9, 0.0),)


@pytest.mark.parametrize(
    ("data", "suffix", "reason"),
    [
        (b"", ".mp3", "is empty"),
        (b"ID3" + bytes(3000), ".mp3", "convert it to a smaller format, such as Opus, or split it"),
        (b"RIFF" + bytes(3000), ".wav", "it cannot be split: save it as WAV with PCM samples"),
        (make_wav([1])[:20] + b"\x03\x00" + make_wav([1])[22:], ".wav", "save it as WAV with PCM samples"),
        (make_wav([1], rate=96_000), ".wav", "a second of it is too large"),
    ],
)
def test_other_large_recordings_are_named(data: bytes, suffix: str, reason: str) -> None:
    """A recording that is too large and cannot be divided is named with what to do."""
    with pytest.raises(Unreadable, match=reason):
        divide_recording(io.BytesIO(data), len(data), suffix, 1000)
