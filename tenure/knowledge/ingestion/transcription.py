"""Transcribe the recordings of an ingestion with the model server of the settings.

The calls are made here, in the process of the worker, since readers have neither keys nor a network. Each part of a
recording is cached as soon as it has been paid, so a killed worker repeats at most the call in flight.
"""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pydantic import TypeAdapter

from tenure.contracts.run.role_calls import StoredAnswer
from tenure.knowledge.answers import AnswerCache
from tenure.knowledge.ingestion.readers import await_result
from tenure.knowledge.store.schema import hash_parts
from tenure.models.errors import RequestRejected, TransportError
from tenure.models.transcription import TimedTranscript, TranscriptionModel
from tenure.settings.models import TranscriptionSettings
from tenure.sources.document.document import Unreadable
from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.parsers.formats.transcript import Cue, write_cues
from tenure.sources.parsers.parse import add_path_metadata, open_document
from tenure.sources.parsers.reader_process import ParsedFile, ReadingOptions, Recording, split_document

_TRANSCRIPT: Final = TypeAdapter(TimedTranscript)
_MAX_TRIES: Final = 3
"""Requests for a part that end with an internal error of the server or without an answer in time. Servers answer 500 to
a file that they cannot decode, so more of them would not help; other errors are left to Temporal.
"""
_REFUSED_FILE: Final = frozenset((400, 413, 415, 422))
"""Statuses by which a server refuses one file; other refusals concern all of them."""


def get_answer_run(corpus: str) -> str:
    """Return the run under which the transcripts of a corpus are cached; no run has such a name."""
    return f"corpus:{corpus.replace('/', ':')}"


class Transcription:
    """Transcription of the recordings of one ingestion, one call after the other."""

    def __init__(
        self,
        model: TranscriptionModel,
        answers: AnswerCache,
        corpus: str,
        settings: TranscriptionSettings,
        recipe: ReadingOptions,
        max_usd: float | None = None,
        paid_seconds: float = 0.0,
    ) -> None:
        """Begin no call after `max_usd` is spent, with the `paid_seconds` of earlier attempts.

        The last call may exceed it, since the length of a recording is known only when it is transcribed.
        """
        self._max_usd, self._paid_seconds = max_usd, paid_seconds
        self._model, self._answers, self._run = model, answers, get_answer_run(corpus)
        self._settings, self._recipe = settings, recipe
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="transcription")
        self._refusal = ""
        self._is_stopped = False
        self.seconds = 0.0
        """Length of the recordings that the server has transcribed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop after the call in flight, whose answer is cached, without waiting for it."""
        self._is_stopped = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    @property
    def max_part_bytes(self) -> int:
        """Size of a part that the server accepts."""
        return int(self._settings.transcription_max_megabytes * 1_000_000)

    def read(self, recording: Recording, on_wait: Callable[[], None]) -> ParsedFile:
        """Return a recording as a file.

        Raises:
            Unreadable: it has no words, or the server refuses it.
            TransportError: the same call may succeed later.
        """
        return await_result(self._thread.submit(self._read, recording), on_wait)

    def _read(self, recording: Recording) -> ParsedFile:
        cues = [*self._transcribe(recording)]
        if not any(cue.lines for cue in cues):
            raise Unreadable("is a recording in which no words were recognized")
        document = add_path_metadata(write_cues(cues), Path(recording.path))
        return ParsedFile(
            *(recording.path, recording.content_hash, recording.size, recording.mtime_ns),
            *(document, split_document(document, self._recipe)),
        )

    def _transcribe(self, recording: Recording) -> Iterator[Cue]:
        with open_document(Path(recording.content)) as opened:
            for part in recording.parts:
                opened.file.seek(part.start_byte)
                data = part.header + opened.file.read(part.size)
                for said in self._load_or_request(data, Path(recording.path).suffix.lower()).utterances:
                    text = collapse_whitespace(said.text)
                    times = (part.start_seconds + said.start, part.start_seconds + said.end)
                    yield Cue(*times, (text,) if text else (), collapse_whitespace(said.speaker))

    def _load_or_request(self, data: bytes, suffix: str) -> TimedTranscript:
        request = hash_parts("transcription", self._model.name, hashlib.sha256(data).hexdigest())
        if (stored := self._answers.load_answer(request, self._run)) is not None:
            return _TRANSCRIPT.validate_json(stored.text)
        if self._refusal:
            raise Unreadable(self._refusal)
        if self.seconds >= 60 * self._settings.transcription_max_minutes:
            raise Unreadable(
                f"was not transcribed: {self._settings.transcription_max_minutes:g} minutes are used up, the most "
                "that one ingestion sends (TENURE_TRANSCRIPTION_MAX_MINUTES sets it; the next one continues)"
            )
        self._check_cost()
        if self._is_stopped:
            raise Unreadable("was not transcribed: the ingestion was stopped")
        transcript = self._request(data, suffix)
        answer = StoredAnswer(text=_TRANSCRIPT.dump_json(transcript).decode(), model=self._model.name)
        self._answers.save_answer(request, self._run, answer)
        self.seconds += transcript.seconds
        return transcript

    def _check_cost(self) -> None:
        """Raise `Unreadable` if another call could not be paid for."""
        if self._max_usd is None:
            return
        price = self._settings.transcription_price
        if price is None:
            raise Unreadable(
                "was not transcribed: the cost of the run is limited, and the price of a minute is not known "
                "(TENURE_TRANSCRIPTION_PRICE)"
            )
        if price and (self._paid_seconds + self.seconds) / 60 * price >= self._max_usd:
            raise Unreadable("was not transcribed: the maximum cost of the run is used up (--max-cost)")

    def _request(self, data: bytes, suffix: str) -> TimedTranscript:
        tries = 0
        while True:
            tries += 1
            try:
                return self._model.transcribe(data, suffix)
            except RequestRejected as error:
                reason = f"was not transcribed: {error.advice}"
                if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                    reason += "; set TENURE_TRANSCRIPTION_MAX_MEGABYTES to the limit of the server"
                if error.status not in _REFUSED_FILE:
                    self._refusal = reason
                raise Unreadable(reason) from error
            except TransportError as error:
                if error.status != HTTPStatus.INTERNAL_SERVER_ERROR and not error.is_timeout:
                    raise
                if tries == _MAX_TRIES or self._is_stopped:
                    hint = " (TENURE_TRANSCRIPTION_TIMEOUT)" if error.is_timeout else ""
                    raise Unreadable(f"was not transcribed: {error}{hint}") from error
