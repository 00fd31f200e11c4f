"""Test `ask` as a process, against a real server and a stub worker."""

import json

from tenure.cli.parser import build_parser
from tests.cli.conftest import CommandLine
from tests.cli.test_commands import error_line
from tests.support.tiers import slow


@slow
def test_questions_about_a_run_form_a_conversation(running: CommandLine) -> None:
    """Each question continues the conversation, even after a failed one, until a new one is started."""
    assert running("start", "What is this?", "--id", "asked-1").returncode == 0
    first = running("ask", "asked-1", "And who made it?")
    failed = running("ask", "asked-1", "fail please")
    second = running("ask", "asked-1", "When?", "--json")
    again = running("ask", "asked-1", "Where?", "--new", "--json")

    assert (first.returncode, failed.returncode, second.returncode) == (0, 1, 0)
    assert first.stdout.startswith("This is answer 1.")
    assert "understood as: And who made it? (manual)" in first.stderr
    assert error_line(failed.stderr).endswith("failed: the stub was told to fail")
    asked = [exchange["question"] for exchange in json.loads(second.stdout)["thread"]["exchanges"]]
    assert asked == ["And who made it?", "When?"]
    assert len(json.loads(again.stdout)["thread"]["exchanges"]) == 1


def test_a_question_without_an_answer_sets_the_exit_code(running: CommandLine) -> None:
    """No answer gives exit code 3 with a hint; an unknown run and a run without documents are usage errors."""
    assert running("start", "read nothing", "--id", "asked-2").returncode == 3
    nothing = running("ask", "asked-2", "nothing at all?")
    changed = running("ask", "asked-2", "nothing about the change?")
    assert running("start", "read no documents", "--mode", "code", "--id", "asked-3").returncode == 0
    program = running("ask", "asked-3", "What does it do?")
    unknown = running("ask", "asked-4", "What?")
    long = running("ask", "asked-2", "x" * 20_001)

    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "--search-again" in error_line(nothing.stderr)
    assert changed.returncode == 3 and "use the words of its report or its files" in error_line(changed.stderr)
    assert (program.returncode, unknown.returncode, long.returncode) == (2, 2, 2)
    assert "has read no documents to ask about" in error_line(program.stderr)
    assert "QUESTION: String should have at most 20000 characters" in error_line(long.stderr)
    assert "there is no run asked-4" in error_line(unknown.stderr)


def test_other_workflows_cannot_be_asked(running: CommandLine) -> None:
    """The id of an answer is not that of a run."""
    assert running("start", "What is this?", "--id", "asked-5").returncode == 0
    assert running("ask", "asked-5", "And this?").returncode == 0
    done = running("ask", "asked-5/ask", "And that?")

    assert done.returncode == 2
    assert "is not a run but a AskWorkflow" in error_line(done.stderr)


def test_what_an_answer_may_use_is_on_the_command_line() -> None:
    """Budget, search mode, second search and a new conversation are options."""
    arguments = build_parser().parse_args([*"ask run Why? --max-calls 3 --search-again --new --search sparse".split()])

    assert (arguments.max_calls, arguments.search_again, arguments.new) == (3, True, True)
    assert arguments.search_mode == "sparse"
