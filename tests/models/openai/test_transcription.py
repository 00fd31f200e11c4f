"""Tests of transcription over real HTTP, from a server on loopback."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from tenure.models.errors import ModelError, RequestRejected, TransportError
from tenure.models.factory import create_transcription_model
from tenure.models.transcription import TimedTranscript, Utterance
from tenure.settings import Settings
from tests.model_server import Fault, ModelServer
from tests.support.schema_instance import Json

KEY = "sk-verysecret123"
SEGMENT = {"start": 1, "end": 2, "text": "Good morning."}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server that requires a key."""
    with ModelServer(key=KEY) as running:
        yield running


def transcribe(server: ModelServer, key: str = KEY, recording: bytes = b"sound", **settings: Any) -> TimedTranscript:
    chosen: dict[str, Any] = {
        "transcription_base_url": server.base_url,
        "transcription_api_key": key,
        "transcription_timeout": 10,
    }
    model = create_transcription_model(Settings(transcription_model="whisper-1", **chosen | settings))
    assert model is not None
    return model.transcribe(recording, ".mp3")


def failure(server: ModelServer, key: str = KEY, **settings: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        transcribe(server, key, **settings)
    assert caught.value.__cause__ is None and KEY not in str(caught.value)
    return caught.value


def test_the_segments_of_a_transcript_have_times(server: ModelServer) -> None:
    """A transcript has the length of the recording, and words with times in seconds."""
    transcript = transcribe(server)

    assert transcript.seconds == 90
    assert [(said.start, said.end) for said in transcript.utterances] == [(0, 3.5), (63, 66)]
    assert transcript.utterances[1].text.strip() == "Its keeper sleeps by day."


def test_the_request_follows_the_protocol(server: ModelServer) -> None:
    """One form has the file, with no more of its name than the format, and asks for times of segments."""
    transcribe(server)

    (request,) = server.requests
    assert request.path == "/v1/audio/transcriptions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "model": "whisper-1",
        "response_format": "verbose_json",
        "timestamp_granularities[]": "segment",
        "file": ("recording.mp3", b"sound"),
    }


def test_a_model_with_speakers_is_asked_for_them(server: ModelServer) -> None:
    """A model that refuses `verbose_json` is asked for speakers with times, by later requests directly."""
    speakers: Json = {"task": "transcribe", "duration": 5, "text": "", "segments": [SEGMENT | {"speaker": "A"}]}
    server.transcripts = {"diarized_json": lambda recording: speakers}
    settings = Settings(
        transcription_model="m", transcription_base_url=server.base_url, transcription_api_key=SecretStr(KEY)
    )
    model = create_transcription_model(settings)
    assert model is not None

    assert model.transcribe(b"a", ".wav") == TimedTranscript(5, (Utterance(1, 2, "Good morning.", "A"),))
    model.transcribe(b"b", ".wav")
    asked = [(request.json["response_format"], request.json.get("chunking_strategy")) for request in server.requests]
    assert asked == [("verbose_json", None), ("diarized_json", "auto"), ("diarized_json", "auto")]


def test_a_model_without_times_is_named(server: ModelServer) -> None:
    """A model that offers neither format is refused with the setting, and not as a fault of the file."""
    server.transcripts = {}
    error = failure(server)

    assert isinstance(error, RequestRejected) and error.status == 501
    assert "TENURE_TRANSCRIPTION_MODEL needs a model that returns times, such as whisper-1" in str(error)


def test_invented_words_in_silence_are_left_out(server: ModelServer) -> None:
    """A segment that is silent by Whisper's own measure has no words."""

    def add_silence(reply: Json) -> None:
        reply["segments"].append(SEGMENT | {"no_speech_prob": 0.9, "avg_logprob": -1.4})
        reply["segments"].append(SEGMENT | {"no_speech_prob": 0.9, "avg_logprob": -0.4})

    server.fail(Fault(change=add_silence))

    assert [said.text for said in transcribe(server).utterances][2:] == ["Good morning."]


@pytest.mark.parametrize(
    ("fault", "kind", "status", "words"),
    [
        (Fault(429, {"retry-after": "7"}), TransportError, 429, "answered 429"),
        (Fault(503), TransportError, 503, "answered 503"),
        (
            Fault(413, body="Request Entity Too Large"),
            RequestRejected,
            413,
            "refused the request to whisper-1 with 413",
        ),
        (Fault(404), RequestRejected, 404, "check TENURE_TRANSCRIPTION_MODEL and TENURE_TRANSCRIPTION_BASE_URL"),
        (Fault(mangle=lambda text: text[:40]), TransportError, 200, "sent a broken response"),
        (Fault(mangle=lambda text: "<html>hello</html>"), RequestRejected, 200, "does not support transcription"),
        (Fault(change=lambda reply: reply.pop("segments")), RequestRejected, 200, "does not support transcription"),
        (Fault(change=lambda reply: reply.update(segments="no")), RequestRejected, 200, "does not support"),
        (Fault(drop=True), TransportError, None, "cannot be reached"),
    ],
)
def test_errors_are_classified(server: ModelServer, fault: Fault, kind: type, status: int | None, words: str) -> None:
    """Errors that may pass differ from those that need a person, which name the setting to check."""
    server.fail(fault)
    error = failure(server)

    assert isinstance(error, kind) and getattr(error, "status", None) == status
    assert words in str(error)


def test_a_wrong_key_is_named(server: ModelServer) -> None:
    """A wrong key is named by its setting."""
    assert "TENURE_TRANSCRIPTION_API_KEY is not accepted" in str(failure(server, "wrong"))


def test_an_answer_that_does_not_come_is_a_timeout(server: ModelServer) -> None:
    """A server that does not answer in time is distinguished from one that cannot be reached."""
    server.fail(Fault(hangs=True))
    error = failure(server, transcription_timeout=0.3)

    assert isinstance(error, TransportError) and error.is_timeout


def test_the_key_of_another_server_is_not_sent(server: ModelServer) -> None:
    """The key of OpenAI's settings is used with their URL, and never sent to the URL of the transcription."""
    openai: dict[str, Any] = {"openai_api_key": "sk-of-openai-1234", "transcription_api_key": None}
    assert "a key is needed: set TENURE_TRANSCRIPTION_API_KEY" in str(failure(server, **openai))

    shared: dict[str, Any] = {"openai_api_key": KEY, "openai_base_url": server.base_url, "transcription_base_url": None}
    assert transcribe(server, **shared, transcription_api_key=None).utterances
    assert [request.headers["authorization"] for request in server.requests][-1] == f"Bearer {KEY}"
    assert not any("sk-of-openai" in request.headers["authorization"] for request in server.requests)


def test_without_a_model_nothing_is_transcribed() -> None:
    """Without the setting there is no model."""
    assert create_transcription_model(Settings()) is None


def test_text_beside_the_protocol_does_not_matter(server: ModelServer) -> None:
    """A length as text, as OpenAI has sent it, missing probabilities and unknown fields are accepted."""
    change: Callable[[Json], None] = lambda reply: reply.update(duration="8.47", segments=[SEGMENT | {"words": []}])  # noqa: E731
    server.fail(Fault(change=change))

    assert transcribe(server) == TimedTranscript(8.47, (Utterance(1, 2, "Good morning."),))
