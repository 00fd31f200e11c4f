"""Recorded histories replay: a change of a workflow that would break running runs is seen here."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from temporalio.workflow import _Definition

from tenure.contracts.choices import ReasoningStrategy
from tenure.roles.registry import list_role_names
from tests.histories import storage
from tests.histories.facts import collect_facts, get_type
from tests.histories.record import find_recordings, main
from tests.histories.replayer import HiddenNondeterminism, check_replay, replay
from tests.histories.storage import (
    ROOT,
    VersionReleased,
    find_recording,
    get_name,
    is_released,
    list_recordings,
    list_versions,
    read_events,
    read_recording,
    read_version,
    write_recording,
)
from tests.histories.usage import describe_miscounts
from tests.support.tiers import exhaustive, slow
from workflows.plugin import WORKFLOWS
from workflows.research.strategy_registry import STRATEGIES
from workflows.research.tool_registry import TOOLS
from workflows.runtime.activity_options import ACTIVITY_OPTIONS

FEATURES: dict[str, tuple[str, ...]] = {
    "memory": (
        "activity recall_experience in AgentWorkflow",
        "activity store_memories in AgentWorkflow",
    ),
    "lessons of programs": ("activity search_memories in AgentWorkflow",),
    "web": ("activity search_web in ResearchWorkflow", "activity fetch_pages in AgentWorkflow"),
    "browser": ("activity render_pages in ResearchWorkflow",),
    "budget of calls": ("exhausted calls in ResearchWorkflow",),
    "budget of tokens": ("exhausted tokens in ResearchWorkflow",),
    "budget of money": ("exhausted money in ResearchWorkflow",),
    "budget of searches": ("exhausted searches in ResearchWorkflow",),
    "budget of time": ("deadline in ResearchWorkflow", "activity cancelled in ResearchWorkflow"),
    "budget in a program": ("exhausted calls in CodingWorkflow",),
    "budget changed by a person": ("command budget in AgentWorkflow", "signal budget in AgentWorkflow"),
    "clarification": ("activity clarifier in AgentWorkflow", "command answer in AgentWorkflow"),
    "clarification without an answer": ("activity clarifier in AgentWorkflow", "timer in AgentWorkflow"),
    "question of the planner": ("question clarification in AgentWorkflow", "signal answer in AgentWorkflow"),
    "plan approval": ("question plan in AgentWorkflow", "signal approve in AgentWorkflow"),
    "outline of a person": ("command outline in AgentWorkflow", "signal outline in AgentWorkflow"),
    "fork": ("fork", "activity fork_corpus in AgentWorkflow"),
    "fork in a repository": ("activity copy_state in RepositoryWorkflow",),
    "batch": ("child AgentWorkflow in BatchWorkflow", "child failed in BatchWorkflow"),
    "follow-up question": ("AskWorkflow", "activity query_refiner in AskWorkflow"),
    "question about a change": ("activity store_result_texts in AskWorkflow",),
    "scheduled question": ("AgentWorkflow after an earlier one", "activity compare_reports in AgentWorkflow"),
    "ReAct": ("strategy react", "activity react in SubagentWorkflow"),
    "MCP tools": ("activity list_mcp_tools in SubagentWorkflow", "activity call_mcp_tool in SubagentWorkflow"),
    "tables": ("activity query_tables in AgentWorkflow", "activity sql_writer in AgentWorkflow"),
    "programs over tables": ("activity run_program in AgentWorkflow", "activity store_computation in AgentWorkflow"),
    "SQL of a person": ("activity query_tables in SqlWorkflow",),
    "search for a dispute": (
        "activity find_contradictions in ResearchWorkflow",
        "activity compare_sources in ResearchWorkflow",
        "activity dispute_judge in ResearchWorkflow",
    ),
    "graph": ("activity find_relations in GraphWorkflow",),
    "code repair": ("activity repair_program in CodingWorkflow",),
    "code without a sandbox": ("activity timed out in CodingWorkflow",),
    "notifications": ("child NotifyWorkflow in AgentWorkflow", "activity post_notification in NotifyWorkflow"),
    "notification of a batch": ("child NotifyWorkflow in BatchWorkflow",),
    "consolidation": ("activity consolidate_memories in ConsolidationWorkflow",),
    "background embedding": ("child EmbedWorkflow in AgentWorkflow", "child refused in AgentWorkflow"),
    "flood of signals": ("signal refused in ResearchWorkflow",),
    "burst of signals": ("timer in AgentWorkflow", "signal feedback in AgentWorkflow"),
    "cancellation from outside": ("cancelled in AgentWorkflow", "cancelled in ResearchWorkflow"),
    "failed run": ("failed in AgentWorkflow",),
    "named latent topics": ("activity topic_namer in SpiralWorkflow",),
    **{f"{name} continued as new": (f"continued in {name}",) for name in ("SpiralWorkflow", "BatchWorkflow")},
    **{f"strategy {name}": (f"strategy {name}",) for name in STRATEGIES},
    **{f"tool {name}": (f"tool {name} in SubagentWorkflow",) for name in TOOLS},
    **{f"reasoning {name}": (f"reasoning {name} in ResearchWorkflow",) for name in get_args(ReasoningStrategy)},
}
"""Features that need a recording, each with what happens in it."""


@cache
def facts_by_recording(version: str) -> dict[str, set[str]]:
    """Return the facts of each recording of a version."""
    return {get_name(path): collect_facts(read_events(path)) for path in list_recordings(version)}


def all_facts() -> set[str]:
    return set().union(*facts_by_recording(read_version()).values())


def test_every_workflow_type_is_recorded() -> None:
    """Each type that the worker registers has a history of the current version."""
    registered = {_Definition.must_from_class(workflow).name for workflow in WORKFLOWS}
    recorded = {get_type(events) for path in list_recordings(read_version()) for events in read_events(path)}

    assert sorted(filter(None, registered - recorded)) == [], "record them: python -m tests.histories.record"


def test_every_feature_is_recorded() -> None:
    """Each feature is in one recording of the current version, with everything that belongs to it."""
    recorded = facts_by_recording(read_version()).values()
    missing = [name for name, needed in FEATURES.items() if not any(set(needed) <= facts for facts in recorded)]

    assert missing == []


def commands_and_messages() -> Iterator[str]:
    """Yield every activity, role, signal and update; signals that a workflow handles itself are named with it."""
    yield from (f"activity {name}" for name in (*ACTIVITY_OPTIONS, *list_role_names()))
    for workflow in WORKFLOWS:
        definition = _Definition.must_from_class(workflow)
        yield from (f"update {name} in {definition.name}" for name in definition.updates)
        for name, signal in definition.signals.items():
            yield f"signal {name} in {definition.name}" if signal.fn in vars(workflow).values() else f"signal {name}"


def test_every_command_and_message_is_recorded() -> None:
    """Each activity and each message of a workflow is in some recording of the current version."""
    known = all_facts()
    anywhere = known | {fact.rpartition(" in ")[0] for fact in known}

    assert sorted(set(commands_and_messages()) - anywhere) == []


def test_every_usage_is_the_sum_of_the_replies() -> None:
    """In all recordings, a result states exactly what the roles of its run and of all its parts have used."""
    miscounts = (line for path in list_recordings(read_version()) for line in describe_miscounts(read_events(path)))

    assert list(miscounts) == []


def test_a_lost_call_is_found() -> None:
    """A result that states less than the replies of its parts is reported with both figures."""
    histories = [list(events) for events in read_events(find_recording("revised"))]
    lost = [events for events in histories if get_type(events) != "ResearchWorkflow"]

    assert describe_miscounts(histories) == []
    assert describe_miscounts(lost)[0].startswith("recorded-revised: its roles used {'model_calls': ")


def test_every_recording_is_up_to_date() -> None:
    """Each recording has a function that makes it, and each function has made its recording."""
    assert {get_name(path) for path in list_recordings(read_version())} == set(find_recordings())


def test_every_released_version_has_recordings() -> None:
    """Each version that the changelog lists has its recordings."""
    released = re.findall(r"^## \[?v?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert set(released) <= set(list_versions())


def test_histories_of_a_release_are_never_overwritten(tmp_path: Path) -> None:
    """A recording of an unreleased version may be replaced, one of a released version may not."""
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n- A line on 0.3.0.\n\n## 0.2.0\n\n- Older.\n")
    histories = read_recording(find_recording("maintenance"))
    path = write_recording("maintenance", histories, "0.3.0", tmp_path, changelog)
    write_recording("maintenance", histories, "0.3.0", tmp_path, changelog)
    with pytest.raises(VersionReleased, match=r"version 0.2.0 is released .* raise `version` in pyproject.toml"):
        write_recording("maintenance", histories, "0.2.0", tmp_path, changelog)

    assert [one.to_json_dict() for one in read_recording(path)] == [one.to_json_dict() for one in histories]
    assert list_versions(tmp_path) == ["0.3.0"]
    assert not is_released("0.2.0.1", changelog) and not is_released("0.2", changelog)


def test_recording_a_released_version_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command starts no server for a released version, and says in one line what to do."""
    monkeypatch.setattr(storage, "is_released", lambda version, changelog: True)
    code = main(["offline"])

    assert code == 2
    assert capsys.readouterr().err == (
        f"error: version {read_version()} is released and its histories are never overwritten: "
        "raise `version` in pyproject.toml, then record again\n"
    )


def test_unknown_recordings_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelled name is an error, and nothing is recorded."""
    assert main(["ofline"]) == 2
    assert capsys.readouterr().err == "error: no recording ofline; --list prints all\n"


def test_the_newest_recording_is_found(tmp_path: Path) -> None:
    """Versions are compared by their numbers."""
    for version in ("0.9.0", "0.10.0", "0.2.0"):
        (tmp_path / version).mkdir()
        (tmp_path / version / f"one{storage.SUFFIX}").touch()

    assert find_recording("one", tmp_path).parent.name == "0.10.0"
    with pytest.raises(FileNotFoundError, match=r"python -m tests.histories.record"):
        find_recording("two", tmp_path)


@pytest.mark.parametrize("name", ["code", "maintenance"])
async def test_a_short_history_replays(name: str) -> None:
    """The workflows of today make the decisions of a short recorded run."""
    await replay(read_recording(find_recording(name)))


def transcribe_in_process(seed: int, names: Sequence[str]) -> str:
    """Return hashes of all values that workflows send in a replay, in a process with other hashes of strings."""
    paths = [str(find_recording(name)) for name in names]
    done = subprocess.run(
        [sys.executable, "-m", "tests.histories.replayer", *paths],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


VARIED = ("batch", "code_specified", "continued", "memory", "outline_set", "react", "replanned", "strategies", "web")
"""Recordings that reach most branches of the workflows together."""


@slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "names", [VARIED, pytest.param(tuple(find_recordings()), marks=exhaustive)], ids=["varied", "all"]
)
def test_workflows_depend_on_no_hash_and_no_clock(names: tuple[str, ...]) -> None:
    """In two processes with different hashes of strings, workflows send the same values in the same order."""
    first, second = (transcribe_in_process(seed, names) for seed in (1, 2))

    assert first == second
    assert [line.split()[0] for line in first.splitlines()] == list(names)


async def test_another_value_in_a_replay_is_found() -> None:
    """A replay that sends another argument than the first execution is an error, though Temporal accepts it."""
    (history,) = read_recording(find_recording("ingest"))
    await check_replay(history)
    (scheduled,) = [
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    scheduled.input.payloads[0].data = b'{"corpus":"another","paths":[]}'
    await replay([history])
    with pytest.raises(HiddenNondeterminism, match=r"a replay of recorded-ingest does not send .*another"):
        await check_replay(history)


@slow
@pytest.mark.parametrize("path", list_recordings(), ids=lambda path: f"{path.parent.name}-{get_name(path)}")
async def test_history_replays(path: Path) -> None:
    """The workflows of today make the decisions of the recorded run, in all versions."""
    await replay(read_recording(path))
