"""A fork continues from the checkpoint of its origin alone, or from the work after an answer in a repository."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import SecretStr

from tenure.contracts.base import RunId
from tenure.contracts.coding.repositories import CopyStateRequest, EnvironmentRequest, ProjectTestRequest
from tenure.contracts.research.fork import CycleCheckpoint
from tenure.contracts.research.spiral import ResearchRequest, SpiralState
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.fork import _change_limits, launch_fork, read_origin
from tenure.runs.messages import ForkBody, RepeatBody
from tenure.runs.session.run_records import RunRecord
from tenure.settings import Settings
from tests.conftest import Serving
from tests.runs.test_ask import connect
from tests.support.repositories.memory import MemoryRepository
from tests.support.sandboxes import ScriptedSandbox
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, in_turn, story
from tests.workflows.coding.test_repository import DONE, FIX, READ, request


async def test_a_fork_of_a_fork_has_one_state() -> None:
    """The state that the request of the earlier fork began with is left out."""
    state, checkpoint, research = (cast(Any, kind) for kind in (SpiralState, CycleCheckpoint, ResearchRequest))
    before, after = (state.model_construct(cycle=cycle) for cycle in (1, 2))
    kept = SimpleNamespace(
        cycles=[checkpoint.model_construct(state=after, progress=None)],
        research=research.model_construct(state=before),
    )

    async def give(value: Any, kind: type | None = None) -> Any:
        return value

    record = SimpleNamespace(
        id=RunId("fork-1"),
        source=SimpleNamespace(fetch_checkpoints=lambda: give(kept)),
        decode=give,
    )
    origin = await read_origin(cast(RunRecord, record), 2)

    assert origin.research.state is None and origin.checkpoint.state is after


OTHER = (
    """Another word is better.

EDIT src/a.py
<<<<<<< SEARCH
    return 'wrong'
=======
    return 'all right'
>>>>>>> REPLACE
"""
    + DONE
)
MORE = "WRITE src/b.py\n<<<<<<< CONTENT\nright\n>>>>>>> END\n" + DONE


async def test_work_in_a_repository_continues_from_an_answer(serving: Serving) -> None:
    """A fork makes neither calls nor preparations again, reads its feedback first, and its origin does not change."""
    chat = ScriptedChat(story(repository_engineer=in_turn(READ, FIX, DONE, OTHER, MORE)))
    repository = MemoryRepository()
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[repository]) as stage:
        run = await stage.start(request())
        before = await run.result()
        asked = len(repository.asked)
        body = ForkBody(answer=1, feedback=" Say it differently. ", max_calls=9)
        early, notes = await launch_fork(connect(stage), run.id, body)
        stage.adopt(early)
        other = await early.result()
        late, _ = await launch_fork(connect(stage), run.id, ForkBody(id=f"{run.id}-more"))
        stage.adopt(late)
        more = await late.result()

    prompts = [prompt for _, prompt in chat.asked]
    assert len(prompts) == 5 and not notes and early.id.startswith(f"{run.id}-after-1-")
    assert "<feedback>\nSay it differently.\n</feedback>" in prompts[3] and "return 'wrong'" in prompts[3]
    assert prompts[4] == "The work continues from here. See what is left to do."
    assert "return 'right'" in before.patch and "all right" in other.patch and "'right'" in more.patch
    assert more.repository and {file.path for file in more.repository.files} == {"src/a.py", "src/b.py"}
    assert [one.repository and one.repository.verdict for one in (other, more)] == ["proved", "proved"]
    assert other.repository and [step.n for step in other.repository.steps] == [1, 2, 3, 4, 5]
    assert f"This run continues from answer 1 of {run.id}, whose usage is not counted here." in other.notes
    assert (other.usage.model_calls, other.feedback[0].text) == (1, "Say it differently.")
    new = repository.asked[asked:]
    assert [one.run for one in new if isinstance(one, CopyStateRequest)] == [early.id, late.id]
    assert not any(isinstance(one, EnvironmentRequest) for one in new)
    tests = [one for one in new if isinstance(one, ProjectTestRequest)]
    assert tests and all(one.workspace.patch or one.ids for one in tests)


async def test_an_attempt_is_continued_alone(serving: Serving) -> None:
    """A run of several attempts needs the number of one, whose work continues in a single one."""
    chat = ScriptedChat(story(repository_engineer=in_turn(FIX + DONE, FIX + DONE, MORE)))
    async with serving(chat, MemoryKnowledge({}), ScriptedSandbox(), others=[MemoryRepository()]) as stage:
        run = await stage.start(request(candidates=2, has_model=True))
        await run.result()
        with pytest.raises(InvalidRequest, match="has 2 attempts: name one"):
            await launch_fork(connect(stage), run.id, ForkBody())
        with pytest.raises(InvalidRequest, match=r"attempt 3 of run .* has no such answer"):
            await launch_fork(connect(stage), run.id, ForkBody(attempt=3))
        handle, _ = await launch_fork(connect(stage), run.id, ForkBody(attempt=2, feedback="And b."))
        stage.adopt(handle)
        result = await handle.result()

    assert result.repository and {file.path for file in result.repository.files} == {"src/a.py", "src/b.py"}
    assert result.repository.attempts == () and chat.count("repository_engineer") == 3


async def test_what_cannot_be_continued_is_named(serving: Serving) -> None:
    """An answer that was not given, a cycle of work in a repository, and an answer of a research are refused."""
    chat = ScriptedChat(story(repository_engineer=in_turn(READ, FIX, DONE)))
    async with serving(chat, MemoryKnowledge(KITCHEN), ScriptedSandbox(), others=[MemoryRepository()]) as stage:
        run = await stage.start(request())
        await run.result()
        limits = RunLimits(min_relevance=0.05, has_model=False)
        research = await stage.start(RunRequest(question="Who rules Mars?", mode="research", limits=limits))
        await research.result()
        for handle, body, reason in (
            (run, ForkBody(answer=4), "no such answer to continue from: it has answers 1 to 3"),
            (run, ForkBody(cycle=1), "works in a repository and has no cycles"),
            (research, ForkBody(answer=1), "is no work in a repository: give a cycle"),
            (research, ForkBody(), "the last cycle to take over is missing"),
        ):
            with pytest.raises(InvalidRequest, match=reason):
                await launch_fork(connect(stage), handle.id, body)


@pytest.mark.parametrize(("own", "left", "given"), [(2.0, 8.0, 2.0), (9.0, 8.0, 8.0), (None, 8.0, 8.0)])
def test_a_quota_raises_no_limit_of_the_earlier_run(
    tmp_path: Path, own: float | None, left: float, given: float
) -> None:
    """The rest of a day bounds the limit of the earlier run; a new limit replaces it, at the price of its model."""
    (tmp_path / "prices.toml").write_text('[models."big"]\ninput = 9\noutput = 9\n', encoding="utf-8")
    settings = Settings(_env_file=None, home=tmp_path, openai_api_key=SecretStr("key"), model="big", fast_model="big")
    limits = RunLimits(max_cost_usd=own, chat_model="big")
    request = RunRequest(question="Who?", mode="research", limits=limits)
    bounded = RepeatBody().model_copy(update={"max_cost_usd": left})
    bounded.model_fields_set.discard("max_cost_usd")

    assert _change_limits(request, bounded, settings).max_cost_usd == given
    assert _change_limits(request, RepeatBody(max_cost_usd=20.0), settings).max_cost_usd == 20.0
    unpriced = settings.model_copy(update={"model": "unpriced"})
    price = _change_limits(request, RepeatBody(max_cost_usd=20.0), unpriced).highest_price
    assert price is not None and price.input == 9
