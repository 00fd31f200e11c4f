"""Tests of the probes of configured models, over real HTTP."""

import io
import json
import os
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import SecretStr

from tenure.models.probe import (
    MAX_OUTPUT_TOKENS,
    ROLE,
    probe_chat_models,
    probe_embedding_model,
    probe_rerank_model,
    probe_transcription_model,
)
from tenure.settings import Settings
from tests.model_server import Fault, ModelServer
from tests.model_server.request import list_images
from tests.support.schema_instance import Json
from tests.support.tiers import slow

KEY = "sk-verysecret123"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Store the server's capabilities in a temporary folder."""
    monkeypatch.setenv("TENURE_HOME", str(tmp_path))


def configured(server: ModelServer, **chosen: Any) -> Settings:
    """Return settings that point at a server."""
    return Settings(_env_file=None, openai_base_url=server.base_url, openai_api_key=SecretStr(KEY), **chosen)


async def test_every_model_is_probed_once() -> None:
    """Both tiers and the models of roles are probed, with setting, latency and context size, but no offline role."""
    with ModelServer(models={"large": 32_000, "small": None, "own": 8_000}) as server:
        roles = {"router": {"model": "own"}, "outliner": {"model": "small"}, "stance_judge": {"model": "offline"}}
        found = await probe_chat_models(configured(server, model="large", fast_model="small", roles=roles))

    assert [(trial.model, trial.setting, trial.context_tokens) for trial in found] == [
        ("large", "TENURE_MODEL", 32_000),
        ("small", "TENURE_FAST_MODEL", None),
        ("own", "TENURE_ROLES__ROUTER__MODEL", 8_000),
    ]
    assert [billed.model for billed in server.billed] == [name for name in ("large", "small", "own") for _ in range(2)]
    assert all(trial.answered and not trial.problem and trial.seconds for trial in found)
    assert max(server.tokens) < 1000  # 765 of them for the picture


async def test_the_answer_of_a_probe_is_limited() -> None:
    """The limit of the answer has room for reasoning."""
    with ModelServer() as server:
        await probe_chat_models(configured(server))

    for asked in server.requests_of(ROLE):
        assert MAX_OUTPUT_TOKENS in (asked.json.get("max_completion_tokens"), asked.json.get("max_tokens"))


def _read_number(request: Json) -> str | Json:
    """Answer a probe as a model that sees: by the comment of the picture."""
    images = list_images(request)
    return {"word": Image.open(io.BytesIO(images[0])).info["comment"].decode() if images else "hello"}


@pytest.mark.parametrize(
    ("images", "script", "sees"),
    [(True, _read_number, True), (True, {"word": "1"}, False), (False, _read_number, False)],
)
async def test_sight_is_proved_by_a_number(images: bool, script: Any, sees: bool) -> None:
    """A model that names the number in a picture sees; a guess and a refusal show that it does not."""
    with ModelServer(images=images) as server:
        server.on(ROLE, script)
        (found,) = await probe_chat_models(configured(server))

    assert found.sees_pictures is sees
    assert found.answered and not found.problem


@pytest.mark.parametrize(
    ("options", "rung", "streams"),
    [
        ({}, "json_schema", True),
        ({"json_schema": False, "streaming": False}, "json_object", False),
        ({"json_schema": False, "json_object": False}, "text", True),
    ],
)
async def test_capabilities_are_reported(options: dict[str, Any], rung: str, streams: bool) -> None:
    """The probe contains the output mode and whether the answer was streamed."""
    with ModelServer(**options) as server:
        (found,) = await probe_chat_models(configured(server))

    assert (found.structured_output, found.streams, found.problem) == (rung, streams, "")
    assert (found.first_token_seconds is not None) is streams


@pytest.mark.parametrize(
    ("fault", "answered", "words"),
    [
        (Fault(401), False, "OPENAI_API_KEY is not accepted"),
        (Fault(404), False, "check TENURE_MODEL"),
        (Fault(400), False, "check TENURE_MODEL"),
        (Fault(503), False, "answered 503"),
        (Fault(drop=True), False, "check OPENAI_BASE_URL"),
        (Fault.finish("length"), True, "answers, but without usable content (answer cut off at the length limit)"),
        (Fault.finish("length"), True, "check TENURE_REASONING_EFFORT"),
        (Fault.refusal(), True, "check TENURE_MODEL"),
    ],
)
async def test_a_failure_names_the_setting_to_fix(fault: Fault, answered: bool, words: str) -> None:
    """The message is one line with the setting, if one can be changed, and without the key."""
    with ModelServer() as server:
        server.fail(fault)
        (found,) = await probe_chat_models(configured(server))

    assert words in found.problem
    assert found.answered is answered
    assert "\n" not in found.problem and KEY not in found.problem


async def test_a_redirected_list_of_models_is_not_read() -> None:
    """The key stays with the server of the settings, and the size of the context stays unknown."""
    with ModelServer(models={"large": 1000}) as server, ModelServer(models={"large": 32_000}) as other:
        server.fail(Fault(status=307, headers={"Location": f"{other.base_url}/models"}), method="GET")
        found = await probe_chat_models(configured(server, model="large", fast_model="large"))

        assert {trial.context_tokens for trial in found} == {None}
        assert other.requests == []


async def test_an_invalid_url_is_reported() -> None:
    """An invalid setting is the problem of every model."""
    (found,) = await probe_chat_models(Settings(_env_file=None, openai_base_url="localhost:1234"))

    assert found.problem == "OPENAI_BASE_URL must start with http:// or https://"


def test_an_embedding_probe_has_dimensions() -> None:
    """One vector is requested; a rejection is reported as the problem."""
    with ModelServer(dimensions=48) as server:
        found = probe_embedding_model(configured(server, embedding_model="e"))
        server.fail(Fault(401))
        refused = probe_embedding_model(configured(server, embedding_model="e"))

    assert (found.model, found.dimensions, found.answered, found.problem) == ("e", 48, True, "")
    assert found.seconds is not None
    assert "OPENAI_API_KEY" in refused.problem


def test_a_configured_rerank_model_is_probed() -> None:
    """It scores a sentence; a rejection or a missing URL is reported as the problem."""
    with ModelServer() as server:
        settings = configured(server, rerank_model="r", rerank_base_url=server.base_url)
        (found,) = probe_rerank_model(settings)
        server.fail(Fault(401))
        (refused,) = probe_rerank_model(settings)

        assert probe_rerank_model(configured(server)) == []
        assert "TENURE_RERANK_BASE_URL" in probe_rerank_model(configured(server, rerank_model="r"))[0].problem

    assert (found.model, found.answered, found.problem) == ("r", True, "")
    assert "TENURE_RERANK_API_KEY" in refused.problem


@slow
@pytest.mark.parametrize("kind", ["chat", "embedding", "rerank"])
def test_the_module_prints_json(kind: str) -> None:
    """The program that `doctor` runs prints one list of probes."""
    with ModelServer() as server:
        models = dict.fromkeys(("TENURE_MODEL", "TENURE_EMBEDDING_MODEL", "TENURE_RERANK_MODEL"), "m")
        extra = {**server.environment, **models, "TENURE_RERANK_BASE_URL": server.base_url}
        done = subprocess.run(
            [sys.executable, "-m", "tenure.models.probe", kind],
            capture_output=True,
            check=True,
            env={**os.environ, **extra},
            cwd=Path(__file__).parents[2],
        )

    assert [trial["model"] for trial in json.loads(done.stdout)] == ["m"]


def test_a_configured_transcription_model_is_probed() -> None:
    """It gets a second of sound as a WAV file; a rejection is reported as the problem."""
    with ModelServer() as server:
        settings = configured(server, transcription_model="w", transcription_base_url=server.base_url)
        (found,) = probe_transcription_model(settings)
        name, recording = server.requests[0].json["file"]
        server.fail(Fault(401))
        (refused,) = probe_transcription_model(settings)

        assert probe_transcription_model(configured(server)) == []

    with wave.open(io.BytesIO(recording)) as opened:
        assert (name, opened.getnframes() / opened.getframerate()) == ("recording.wav", 1.0)
    assert (found.model, found.answered, found.problem) == ("w", True, "")
    assert "TENURE_TRANSCRIPTION_API_KEY" in refused.problem
