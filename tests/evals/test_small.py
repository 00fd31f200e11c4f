"""Test that answers over recorded ones are as good as the stored figures, with a real Temporal server and worker."""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

pytest.importorskip("inspect_ai", reason="the dependency group evals is not installed")

from evals import small
from evals.figures import PAGE, load_figures
from tests.model_server.recording import Recording
from tests.support.tiers import slow
from tests.system.test_durability import ROOT, worker_process

_TASKS = ("short_answers", "reports")
"""Tasks of both efforts, whose requests are of every role; all three take longer than a test should."""
_PRINT = "import json, pathlib, evals.small as s; print(json.dumps(s.evaluate_tasks(pathlib.Path({!r}), {!r})))"


async def evaluate(environment: dict[str, str], logs: Path) -> dict[str, dict[str, float]]:
    """Run the small evaluation in a process of its own, since Inspect patches the event loop of its process."""
    command = (sys.executable, "-c", _PRINT.format(str(logs), _TASKS))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe)
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    means: dict[str, dict[str, float]] = json.loads(output.splitlines()[-1])
    return means


@slow
@pytest.mark.timeout(600)
async def test_no_figure_is_worse_than_the_stored_one(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Every quality is as high and every cost as low as stored, but for the noise; every request finds its answer."""
    recording = Recording.load(small.ANSWERS)
    with small.start_server(tmp_path / "requests", recording) as model:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))},
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "recorded",
            "TENURE_HOME": str(tmp_path / "home"),
            "TENURE_ARCHIVE_HOURS": "0",  # the server has the runs of other tests
            "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
        }
        async with worker_process(environment, tmp_path / "worker.log"):
            means = await evaluate(environment, tmp_path / "logs")

    assert small.list_losses(means) == []
    assert model.missed == [], Counter(match.kind for match in recording.matches)


def test_a_drop_beyond_the_noise_is_a_loss() -> None:
    """A lower quality and a higher cost are named, and better figures are not."""
    stored = load_figures()["rows"]["nothing"]
    quality, cost = stored["short_answers"]["f1"], stored["short_answers"]["calls"]
    worse = stored | {"short_answers": stored["short_answers"] | {"f1": quality - 0.5, "calls": cost + 5}}
    better = stored | {"short_answers": stored["short_answers"] | {"f1": quality + 0.5, "calls": cost - 1}}

    assert small.list_losses(stored) == small.list_losses(better) == []
    assert [loss.split(":")[0] for loss in small.list_losses(worse)] == ["short_answers calls", "short_answers f1"]


def test_the_page_is_made_from_the_stored_figures() -> None:
    """The page has been written since the figures were stored."""
    assert PAGE.read_text(encoding="utf-8") == small.render_page()
