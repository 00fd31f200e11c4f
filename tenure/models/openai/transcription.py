"""Transcribe recordings with any OpenAI-compatible server: `POST audio/transcriptions`, answered with times.

`verbose_json` has the times of segments; whisper-1, vLLM, Speaches, LocalAI and whisper.cpp offer it. OpenAI's
gpt-4o-transcribe-diarize offers times and speakers as `diarized_json`, and gpt-4o-transcribe offers no times.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from pydantic import BaseModel

from tenure.models.errors import RequestRejected
from tenure.models.openai.api_errors import BAD_REQUEST_STATUSES
from tenure.models.openai.endpoint import OPENAI_SETTINGS, SettingNames
from tenure.models.openai.endpoint_client import EndpointClient, EndpointConfig, EndpointReply
from tenure.models.transcription import TimedTranscript, Utterance
from tenure.settings.models import TranscriptionSettings

_SETTINGS: Final = SettingNames("TENURE_TRANSCRIPTION_API_KEY", "TENURE_TRANSCRIPTION_BASE_URL")
_MODEL_SETTING: Final = "TENURE_TRANSCRIPTION_MODEL"
_FORMATS: Final[tuple[Mapping[str, object], ...]] = (
    {"response_format": "verbose_json", "timestamp_granularities": ["segment"]},
    # A strategy is required for recordings of more than 30 seconds.
    {"response_format": "diarized_json", "chunking_strategy": "auto"},
)
_MAX_SILENCE_PROBABILITY: Final = 0.6
_MIN_LOG_PROBABILITY: Final = -1.0
"""Thresholds of Whisper itself: above the one and below the other, a segment is silence for which words were invented,
such as "Thank you for watching."
"""


class _Segment(BaseModel):
    start: float
    end: float
    text: str
    speaker: str | None = None
    no_speech_prob: float | None = None
    avg_logprob: float | None = None

    @property
    def is_silent(self) -> bool:
        return (self.no_speech_prob or 0.0) > _MAX_SILENCE_PROBABILITY and (
            self.avg_logprob or 0.0
        ) < _MIN_LOG_PROBABILITY


class _TranscriptionReply(EndpointReply):
    duration: float | None = None
    segments: list[_Segment] | None = None


class OpenAITranscription:
    """A transcription model behind an OpenAI-compatible endpoint."""

    def __init__(self, config: EndpointConfig) -> None:
        self._model = config.model
        self._client = EndpointClient(config)
        self._format = 0

    @classmethod
    def from_settings(cls, settings: TranscriptionSettings) -> "OpenAITranscription":
        """Build the model from the settings; the key of OpenAI's settings is sent to their server only."""
        has_own_server = settings.transcription_base_url is not None
        key = settings.transcription_api_key or (None if has_own_server else settings.openai_api_key)
        return cls(
            EndpointConfig(
                settings.transcription_model,
                _MODEL_SETTING,
                key.get_secret_value() if key else None,
                settings.transcription_base_url if has_own_server else settings.openai_base_url,
                settings.transcription_timeout,
                _SETTINGS if has_own_server or settings.transcription_api_key else OPENAI_SETTINGS,
            )
        )

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model

    def transcribe(self, recording: bytes, suffix: str) -> TimedTranscript:
        """Return the words of a recording with their times."""
        reply = self._request((f"recording{suffix}", recording))
        if reply.segments is None:
            raise self._client.build_unsupported_error(f"transcription with times by {self._model}")
        last = max((segment.end for segment in reply.segments), default=0.0)
        return TimedTranscript(
            reply.duration or last,
            tuple(
                Utterance(segment.start, segment.end, segment.text, segment.speaker or "")
                for segment in reply.segments
                if not segment.is_silent
            ),
        )

    def _request(self, file: tuple[str, bytes]) -> _TranscriptionReply:
        """Request a format with times; the first one that the server supports is requested from then on."""
        while True:
            wanted = self._format
            try:
                return self._client.post("/audio/transcriptions", _FORMATS[wanted], _TranscriptionReply, file)
            except RequestRejected as error:
                is_format = error.status in BAD_REQUEST_STATUSES and "response_format" in error.advice
                if not is_format:
                    raise
                if wanted + 1 == len(_FORMATS):
                    advice = (
                        f"{error.advice}; {_MODEL_SETTING} needs a model that returns times, such as whisper-1 or "
                        "gpt-4o-transcribe-diarize"
                    )
                    raise RequestRejected(advice, status=HTTPStatus.NOT_IMPLEMENTED) from None
                self._format = wanted + 1
