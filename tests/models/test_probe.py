"""A tiny call to each configured model, over real HTTP, and what it shows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tenure.models.probe import MAX_OUTPUT, ROLE, try_chat, try_embedding, try_rerank
from tenure.settings import Settings
from tests.model_server import Fault, ModelServer

KEY = "sk-verysecret123"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let what is found out about a server be remembered where nobody else looks."""
    monkeypatch.setenv("TENURE_HOME", str(tmp_path))


def configured(server: ModelServer, **chosen: Any) -> Settings:
    """Return settings that point at a server."""
    return Settings(_env_file=None, openai_base_url=server.base_url, openai_api_key=SecretStr(KEY), **chosen)


async def test_every_model_is_asked_once_for_a_word() -> None:
    """Both tiers and a role's own model are tried; each tells its setting, its latency and its context."""
    with ModelServer(models={"large": 32_000, "small": None, "own": 8_000}) as server:
        roles = {"router": {"model": "own"}, "title_writer": {"model": "small"}}
        found = await try_chat(configured(server, model="large", fast_model="small", roles=roles))

    assert [(trial.model, trial.setting, trial.context_tokens) for trial in found] == [
        ("large", "TENURE_MODEL", 32_000),
        ("small", "TENURE_FAST_MODEL", None),
        ("own", "TENURE_ROLES__ROUTER__MODEL", 8_000),
    ]
    assert [billed.model for billed in server.billed] == ["large", "small", "own"]
    assert all(trial.answered and not trial.problem and trial.seconds for trial in found)
    assert max(server.tokens) < 400


async def test_a_call_is_tiny_and_may_reason() -> None:
    """The answer is bounded, with room for a model that thinks first."""
    with ModelServer() as server:
        await try_chat(configured(server))

    (asked,) = server.asked(ROLE)
    assert MAX_OUTPUT in (asked.json.get("max_completion_tokens"), asked.json.get("max_tokens"))


@pytest.mark.parametrize(
    ("options", "rung", "streams"),
    [
        ({}, "json_schema", True),
        ({"json_schema": False, "streaming": False}, "json_object", False),
        ({"json_schema": False, "json_object": False}, "text", True),
    ],
)
async def test_what_a_server_can_do_is_told(options: dict[str, Any], rung: str, streams: bool) -> None:
    """The rung of the ladder on which the answer came, and whether it came in pieces."""
    with ModelServer(**options) as server:
        (found,) = await try_chat(configured(server))

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
        (Fault.finish("length"), True, "answers, but gave nothing to read (answer cut off at the length limit)"),
        (Fault.finish("length"), True, "check TENURE_REASONING_EFFORT"),
        (Fault.refusal(), True, "check TENURE_MODEL"),
    ],
)
async def test_a_failure_names_the_setting_to_fix(fault: Fault, answered: bool, words: str) -> None:
    """One line, with the setting where there is one to fix, and without the key."""
    with ModelServer() as server:
        server.fail(fault)
        (found,) = await try_chat(configured(server))

    assert words in found.problem
    assert found.answered is answered
    assert "\n" not in found.problem and KEY not in found.problem


async def test_an_address_that_is_none_is_said() -> None:
    """A setting that no request can be made with is the problem of every model."""
    (found,) = await try_chat(Settings(_env_file=None, openai_base_url="localhost:1234"))

    assert found.problem == "OPENAI_BASE_URL must start with http:// or https://"


def test_an_embedding_model_tells_its_dimensions() -> None:
    """The model of the server is asked for one vector; a refusal is its problem."""
    with ModelServer(dimensions=48) as server:
        found = try_embedding(configured(server, embedding_model="e"))
        server.fail(Fault(401))
        refused = try_embedding(configured(server, embedding_model="e"))

    assert (found.model, found.dimensions, found.answered, found.problem) == ("e", 48, True, "")
    assert found.seconds is not None
    assert "OPENAI_API_KEY" in refused.problem


def test_a_rerank_model_is_tried_where_there_is_one() -> None:
    """It scores a sentence; a refusal or a missing address is its problem."""
    with ModelServer() as server:
        settings = configured(server, rerank_model="r", rerank_base_url=server.base_url)
        (found,) = try_rerank(settings)
        server.fail(Fault(401))
        (refused,) = try_rerank(settings)

        assert try_rerank(configured(server)) == []
        assert "TENURE_RERANK_BASE_URL" in try_rerank(configured(server, rerank_model="r"))[0].problem

    assert (found.model, found.answered, found.problem) == ("r", True, "")
    assert "TENURE_RERANK_API_KEY" in refused.problem


@pytest.mark.parametrize("kind", ["chat", "embedding", "rerank"])
def test_it_is_a_program_that_prints_json(kind: str) -> None:
    """What `doctor` runs prints one list of trials and nothing else."""
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
