"""Write recordings with the standard library."""

import io
import wave
from collections.abc import Sequence

import numpy as np


def make_wav(
    seconds: Sequence[float], *, pause: float = 0.6, rate: int = 8000, width: int = 2, channels: int = 1
) -> bytes:
    """Return a WAV file of tones of these lengths, with a pause of faint noise after each."""
    generator = np.random.default_rng(1)
    parts = []
    for length in seconds:
        parts.append(0.5 * np.sin(2 * np.pi * 220 * np.arange(int(length * rate)) / rate))
        parts.append(generator.normal(0, 0.002, int(pause * rate)))
    values = np.repeat(np.concatenate(parts), channels)
    samples = (values * (2 ** (8 * width - 1) - 1)).astype("<i4")
    if width == 1:
        data = (samples + 128).astype(np.uint8).tobytes()
    else:
        data = samples.view(np.uint8).reshape(-1, 4)[:, :width].tobytes()
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as opened:
        opened.setparams((channels, width, rate, 0, "NONE", ""))
        opened.writeframes(data)
    return buffer.getvalue()
