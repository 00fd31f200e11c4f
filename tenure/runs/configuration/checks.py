"""Check models, prices and search providers with small requests, for `doctor` and the page.

Each kind is probed in a separate process, so that a broken library does not end the caller.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter

from tenure.contracts.evidence.web import ProviderOutcome, WebSearchReply
from tenure.contracts.model_probe import ChatProbe, EmbeddingProbe, ModelProbe
from tenure.installation import PROGRAM
from tenure.local_models.choice import check_model_choice
from tenure.local_models.errors import LocalModelError
from tenure.local_models.servers import LocalServer, find_servers, is_chat_model
from tenure.prices import PricesError, load_prices
from tenure.runs.errors import TenureError
from tenure.runs.formatting import truncate_line
from tenure.settings import Settings
from tenure.settings.models import ChatModelSettings
from tenure.temporal.stack.fingerprint import build_full_environment
from tenure.temporal.stack.workers import get_worker_command

Level = Literal["ok", "warn", "fail"]

PROBE_TIMEOUT_SECONDS = 300
"""Time for probing all models of a kind: local servers load them one after the other."""

_STRUCTURED = {"json_schema": "strict JSON schema", "json_object": "JSON mode", "text": "schema by prompt only"}

T = TypeVar("T", bound=ModelProbe)


@dataclass(frozen=True)
class Check:
    """Result of a check."""

    name: str
    level: Level
    message: str
    """Finding and, if it is a problem, what to do."""
    figures: Mapping[str, object] = field(default_factory=dict)
    """Values of the finding, for programs."""

    @property
    def json(self) -> dict[str, object]:
        """The finding as a JSON object."""
        return {"name": self.name, "level": self.level, "message": self.message, **self.figures}


def check_embedding(settings: Settings) -> Check:
    """Check the embedding model with a sentence."""
    try:
        (tried,) = _probe("embedding", EmbeddingProbe, settings)
    except _ProbeFailed as error:
        name = settings.embedding_model or "the embedded model"
        return Check("embedding model", "fail", f"{name}: {error}")
    if tried.problem:
        return Check("embedding model", "fail", f"{tried.model}: {tried.problem}", _list_figures(tried))
    result = f"{tried.model}: {tried.dimensions} dimensions, in {tried.seconds:.1f} s"
    return Check("embedding model", "ok", result, _list_figures(tried))


def check_rerank(settings: Settings) -> list[Check]:
    """Check the rerank model, if one is configured, with a sentence."""
    return [_check_endpoint("rerank", settings.rerank_model, settings)] if settings.rerank_model else []


def check_transcription(settings: Settings) -> list[Check]:
    """Check the transcription model with a second of sound."""
    if settings.transcription_model:
        return [_check_endpoint("transcription", settings.transcription_model, settings)]
    advice = "none configured: sound and video are not read (TENURE_TRANSCRIPTION_MODEL)"
    return [Check("transcription model", "ok", advice)]


def _check_endpoint(kind: str, model: str, settings: Settings) -> Check:
    """Return the finding for a model with an endpoint of its own."""
    try:
        (tried,) = _probe(kind, ModelProbe, settings)
    except _ProbeFailed as error:
        return Check(f"{kind} model", "fail", f"{model}: {error}")
    result = tried.problem or f"answered in {tried.seconds:.1f} s"
    level: Level = "fail" if tried.problem else "ok"
    return Check(f"{kind} model", level, f"{tried.model}: {result}", _list_figures(tried))


def check_search(settings: Settings) -> list[Check]:
    """Check every configured search provider."""
    try:
        tried = WebSearchReply.model_validate_json(_run_module(settings, "tenure.sources.search.probe"))
    except _ProbeFailed as error:
        return [Check("web search", "warn", str(error))]
    if not tried.outcomes:
        return [Check("web search", "ok", "no provider is set up: Wikipedia is asked (TENURE_SEARCH_PROVIDERS)")]
    return [_check_provider(answer) for answer in tried.outcomes]


def _check_provider(answer: ProviderOutcome) -> Check:
    """Return the finding for a search provider; without one, runs over documents still work."""
    figures = answer.model_dump(mode="json", exclude={"note"})
    if answer.status == "answered":
        return Check("web search", "ok", f"{answer.provider}: answered in {answer.seconds:.1f} s", figures)
    return Check("web search", "warn", f"{answer.provider}: {answer.note}", figures)


def check_models(settings: Settings) -> list[Check]:
    """Check every configured chat model with a tiny call."""
    try:
        check_model_choice(settings)
    except LocalModelError as error:
        return [Check("chat model", "fail", str(error))]
    if not settings.has_model:
        advice = "none configured: roles use their fallbacks (OPENAI_API_KEY, OPENAI_BASE_URL)"
        return [Check("chat model", "ok", advice), *map(_check_local_server, find_servers())]
    try:
        return [_check_chat_model(trial) for trial in _probe("chat", ChatProbe, settings)]
    except _ProbeFailed as error:
        return [Check("chat model", "fail", str(error))]


def list_models(settings: Settings) -> list[str]:
    """Return the names of the chat models that the configured server lists; none if it lists none.

    Raises:
        TenureError: the server does not answer.
    """
    try:
        names = TypeAdapter(list[str]).validate_json(_run_module(settings, "tenure.models.probe", "list"))
    except _ProbeFailed as error:
        raise TenureError(str(error)) from error
    return list(filter(is_chat_model, names))


def _check_local_server(server: LocalServer) -> Check:
    """Return the finding for a model server that is not used."""
    figures = {"url": server.base_url, "models": server.chat_models}
    return Check("model server", "ok", server.describe(f"{PROGRAM} doctor"), figures)


def _check_chat_model(tried: ChatProbe) -> Check:
    if tried.problem:
        level: Level = "warn" if tried.answered else "fail"
        return Check("chat model", level, f"{tried.model}: {tried.problem}", _list_figures(tried))
    streams = "streams" if tried.streams else "does not stream"
    if tried.first_token_seconds is not None:
        streams += f" (first token after {tried.first_token_seconds:.1f} s)"
    size = "not told" if tried.context_tokens is None else f"{tried.context_tokens:,} tokens"
    structure = _STRUCTURED[tried.structured_output or "text"]
    sight = "" if tried.sees_pictures is None else ", sees pictures" if tried.sees_pictures else ", sees no pictures"
    result = f"{tried.model}: answered in {tried.seconds:.1f} s, {structure}, {streams}, context {size}{sight}"
    return Check("chat model", "ok", result, _list_figures(tried))


def _list_figures(tried: ModelProbe) -> dict[str, object]:
    """Return the values of a probe for JSON."""
    return tried.model_dump(exclude={"problem", "answered"}, round_trip=True)


def _probe(kind: str, kind_of_reply: type[T], settings: Settings) -> list[T]:
    """Probe the models of a kind.

    Raises:
        _ProbeFailed: the probe ended without a result.
    """
    replies = json.loads(_run_module(settings, "tenure.models.probe", kind))
    return [kind_of_reply.model_validate(reply) for reply in replies]


def _run_module(settings: Settings, *module: str) -> bytes:
    """Return the output of a module in a separate process, so that a broken library does not end `doctor`."""
    root = Path(get_worker_command()[1]).parent
    command = [sys.executable, "-m", *module]
    # The probes use the settings of this command, also a model that it has chosen.
    variables = {name: value for name, value in build_full_environment(settings).items() if value is not None}
    environment = os.environ | variables | {"TENURE_HOME": str(settings.home.absolute()), "PYTHONPATH": str(root)}
    try:
        tried = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        raise _ProbeFailed(f"no answer within {PROBE_TIMEOUT_SECONDS} s") from None
    if tried.returncode:
        lines = tried.stderr.decode(errors="replace").strip().splitlines() or [f"ended with code {tried.returncode}"]
        raise _ProbeFailed(truncate_line(lines[-1], 200))
    return tried.stdout


class _ProbeFailed(Exception):
    """The process of a probe failed; the message says how."""


def check_prices(settings: ChatModelSettings) -> Check:
    """Check the price file."""
    try:
        prices = load_prices(settings)
    except PricesError as error:
        return Check("prices", "fail", str(error))
    missing = [name for name in settings.chat_models if name not in prices]
    if settings.has_model and missing:
        advice = f"none for {', '.join(missing)}: runs with --max-cost are refused; see {settings.prices_file}"
        return Check("prices", "ok", advice)
    return Check("prices", "ok", f"{len(prices)} known")
