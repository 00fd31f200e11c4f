"""Send requests for one model to an OpenAI-compatible server: embeddings, reranking and transcription share it.

The client retries nothing: Temporal retries. Server errors become the same exceptions as those of the chat back-end,
without the key that exceptions of the client library may quote.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import httpx
import openai
from pydantic import BaseModel, ValidationError

from tenure.models.errors import ModelError, RequestRejected, TransportError
from tenure.models.openai.endpoint import (
    BASE_URL_HINT,
    NO_KEY,
    OPENAI_SETTINGS,
    ModelEndpoint,
    SettingNames,
    format_error_body,
    format_host,
    validate_base_url,
    validate_key,
)
from tenure.models.openai.reply import ErrorDetail


class EndpointReply(BaseModel):
    """Response with status 200, which may contain an error nevertheless."""

    error: ErrorDetail | None = None


R = TypeVar("R", bound=EndpointReply)


@dataclass(frozen=True)
class EndpointConfig:
    """One model of a server; errors name the settings."""

    model: str
    model_setting: str
    api_key: str | None
    base_url: str | None
    timeout: float
    settings: SettingNames = OPENAI_SETTINGS


class EndpointClient:
    """Connection to one model, opened by the first request; its pickled form is the configuration."""

    def __init__(self, config: EndpointConfig) -> None:
        self._config = config
        self._api_key = validate_key(config.api_key, config.settings.key)
        self._base_url = validate_base_url(config.base_url, config.settings.base_url)
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None

    def __reduce__(self) -> tuple[type["EndpointClient"], tuple[EndpointConfig]]:
        """Return how to build this client again, without its connection."""
        return EndpointClient, (self._config,)

    def post(
        self, path: str, body: Mapping[str, object], reply_type: type[R], file: tuple[str, bytes] | None = None
    ) -> R:
        """Send a request for the model and return the parsed response; a file, with its name, is sent as a form.

        Raises:
            TransportError: the same call may succeed later.
            RequestRejected: the same call will fail again.
        """
        client = self._connect()
        server = ModelEndpoint(format_host(client), self._api_key, self._config.settings)
        try:
            response = client.post(
                path,
                cast_to=httpx.Response,
                body={"model": self._config.model, **body},
                files={"file": file} if file else None,
                options={"headers": {"Content-Type": "multipart/form-data"}} if file else {},
            )
        except openai.APIStatusError as error:
            raise self._classify_error(server, error.status_code, error.body, error.response.headers) from None
        except openai.APIConnectionError as error:
            raise server.build_connection_error(error, self._config.timeout) from None
        try:
            reply = reply_type.model_validate_json(response.text)
        except ValidationError as error:
            if error.errors()[0]["type"] == "json_invalid" and response.text.lstrip()[:1] in ("", "{"):
                raise TransportError(f"{server.host} sent a broken response", status=200) from None
            reply = reply_type()
        if reply.error:
            raise self._classify_error(server, reply.error.status, reply.error.model_dump(), {})
        return reply

    def build_unsupported_error(self, service: str) -> RequestRejected:
        """Return the exception for a response that does not hold what `service` returns."""
        host, setting = format_host(self._connect()), self._config.settings.base_url
        return RequestRejected(f"{host} does not support {service}; check {setting} ({BASE_URL_HINT})", status=200)

    def _classify_error(
        self, server: ModelEndpoint, status: int, body: object, headers: Mapping[str, str]
    ) -> ModelError:
        message = format_error_body(body)
        transport_error = server.build_transport_error(status, message, headers)
        return transport_error or server.build_rejection(
            status, message, self._config.model, self._config.model_setting, headers.get("location", "")
        )

    def _connect(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._api_key or NO_KEY,
                    base_url=self._base_url,
                    max_retries=0,
                    # A redirect would send documents to a server that the settings do not name.
                    http_client=openai.DefaultHttpxClient(timeout=self._config.timeout, follow_redirects=False),
                )
            return self._client
