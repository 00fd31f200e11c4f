"""Define the interface of a model that transcribes speech."""

from typing import NamedTuple, Protocol


class Utterance(NamedTuple):
    """Words of a recording with their time in seconds."""

    start: float
    end: float
    text: str
    speaker: str = ""
    """Name that the model gives to the speaker; empty if it names none."""


class TimedTranscript(NamedTuple):
    """Words of a recording."""

    seconds: float
    """Length of the recording."""
    utterances: tuple[Utterance, ...]


class TranscriptionModel(Protocol):
    """Model that transcribes recordings; may be called from several threads concurrently."""

    @property
    def name(self) -> str:
        """Name of the model."""

    def transcribe(self, recording: bytes, suffix: str) -> TimedTranscript:
        """Return the words of a recording with their times; the suffix, as in `.mp3`, names its format.

        Raises:
            TransportError: the same call may succeed later.
            RequestRejected: the same call will fail again.
        """
