"""Transcripts that depend only on the bytes of a recording."""

import zlib

from tests.support.schema_instance import Json


def build_transcript(recording: bytes) -> Json:
    """Return a transcript of two segments; recordings with the same bytes have the same words."""
    number = zlib.crc32(recording) % 1000
    said = [f" The lamp of tower {number} is lit at dusk.", " Its keeper sleeps by day."]
    times = [(0.0, 3.5), (63.0, 66.0)]
    segments = [
        {"id": n, "start": start, "end": end, "text": text, "no_speech_prob": 0.01, "avg_logprob": -0.2}
        for n, (text, (start, end)) in enumerate(zip(said, times, strict=True))
    ]
    return {"task": "transcribe", "language": "english", "duration": 90.0, "text": "".join(said), "segments": segments}
