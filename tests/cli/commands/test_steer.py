"""Test the steering commands: their requests, and how the answer of a run is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from tenure.algorithms.control.steering import parse_command
from tenure.cli.commands.steer import read_outline
from tenure.contracts.run.control import COMMAND_NAMES, BudgetBounds, OutlineTopic, RunCommand
from tenure.runs.errors import InvalidRequest
from tenure.runs.steer import build_signal_input
from tests.cli.conftest import CommandLine

LINES = "# my outline\n- Bread | How is it made?\n\n* Milk => Cheese\nButter\n"
TOPICS = (
    OutlineTopic(heading="Bread", question="How is it made?"),
    OutlineTopic(heading="Cheese", renamed_from="Milk"),
    OutlineTopic(heading="Butter"),
)


def test_an_outline_is_a_list_of_lines_or_json(tmp_path: Path) -> None:
    """Both forms say the same; comments, marks of lists and empty lines are no topics."""
    lines, listed = tmp_path / "outline.txt", tmp_path / "outline.json"
    lines.write_text(LINES, encoding="utf-8")
    listed.write_text(
        json.dumps([{"heading": "Bread", "question": "How is it made?"}, "Milk => Cheese", "Butter"]), encoding="utf-8"
    )

    assert read_outline(lines) == read_outline(listed) == TOPICS


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("missing.txt", None, "cannot read .*no such file"),
        ("broken.json", b"[", "is not an outline: "),
        ("number.json", b"[4]", "is not an outline: input should be"),
        ("bytes.txt", b"\xff\xfe", "is not an outline: "),
        ("long.txt", b"x" * 1_000_001, "more than 1,000,000 bytes"),
    ],
)
def test_what_is_no_outline_is_named(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    """A file that cannot be read is an error of one line."""
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(InvalidRequest, match=why) as error:
        read_outline(tmp_path / name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("verb", COMMAND_NAMES)
def test_the_signal_of_a_command_equals_its_update(verb: Any) -> None:
    """A command left as a signal is read like the equivalent update."""
    said: dict[str, dict[str, Any]] = {
        "feedback": {"text": "More", "topic": "Bread"},
        "answer": {"text": "Rye."},
        "outline": {"outline": TOPICS},
        "budget": {"budget": BudgetBounds(max_calls=9)},
        "cancel": {"discard": True},
    }
    steering = RunCommand(name=verb, **said.get(verb, {}))

    assert parse_command(verb, *(build_signal_input(steering) or [None])) == steering


def test_the_answer_of_a_run_is_printed(running: CommandLine, tmp_path: Path) -> None:
    """Each command shows what the run says it will change, and a refusal with exit code 1."""
    outline = tmp_path / "outline.txt"
    outline.write_text(LINES, encoding="utf-8")
    running("start", "wait for words", "--id", "led", "--detach")
    told = [
        running("outline", "led", "--set", str(outline), "--json"),
        running("budget", "led", "--max-tokens", "9", "--deadline", "2h"),
        running("approve", "led"),
        running("answer", "led", "Rye."),
        running("feedback", "led", "nonsense"),
        running("budget", "led"),
        running("cancel", "led", "--discard"),
    ]
    result = json.loads(running("watch", "led", "--json").stdout)

    assert [done.returncode for done in told] == [0, 0, 0, 0, 1, 2, 0]
    assert json.loads(told[0].stdout) == {
        "id": "led",
        "command": "outline",
        "acknowledged": True,
        "effect": "The stub heard outline.",
    }
    assert told[4].stderr.strip() == "error: run led refuses: the stub takes no nonsense"
    assert "budget needs a bound" in told[5].stderr
    words = [RunCommand.model_validate_json(note) for note in result["notes"] if note.startswith("{")]
    assert words == [
        RunCommand(name="outline", outline=TOPICS),
        RunCommand(name="budget", budget=BudgetBounds(max_tokens=9, max_seconds=7200.0)),
        RunCommand(name="approve"),
        RunCommand(name="answer", text="Rye."),
    ]
