"""Tests of suggestions and examples of the command line."""

import pytest

from tenure.cli.command_parser import find_nearest
from tenure.cli.parser import build_parser


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["strat", "Why?"], "there is no command strat: did you mean start?"),
        (["start", "Why?", "--max-cylces", "3"], "there is no option --max-cylces: did you mean --max-cycles?"),
        (["start", "--max-cylces=3"], "there is no option --max-cylces: did you mean --max-cycles?"),
        (["fork", "r", "--cylce", "2"], "there is no option --cylce: did you mean --cycle?"),
        (["start", "Why?", "--format", "htm"], "there is no --format htm: did you mean html?"),
        (["corpus", "statz"], "there is no command statz: did you mean stats?"),
        (["--verison"], "there is no option --verison: did you mean --version?"),
    ],
)
def test_a_misspelt_word_is_answered_by_the_nearest_one(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the known word, and the exit code is that of a usage error."""
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {line}\n"


@pytest.mark.parametrize(
    "arguments",
    [["start", "--", "--max-cylces"], ["start", "--max-cylces is no option"], ["start", "q", "--max-cyc=3"]],
)
def test_texts_and_abbreviations_are_accepted(arguments: list[str]) -> None:
    """Neither a text that begins like an option nor an unambiguous abbreviation is a misspelt option."""
    assert build_parser().parse_args(arguments).command == "start"


def test_a_word_without_a_similar_one_gets_no_suggestion() -> None:
    """Nothing is suggested at random, and transposed letters are preferred."""
    assert find_nearest("xyzzy", ["start", "state"]) == ""
    assert find_nearest("strat", ["state", "start"]) == "start"


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The option prints name and version."""
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == "tenure 0.1.0\n"


def test_a_command_line_without_words_teaches_by_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """Examples are printed that the parser accepts."""
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([])
    lines = capsys.readouterr().err.splitlines()

    assert ended.value.code == 2
    assert [line.split()[2] for line in lines if line.startswith("  python client.py")] == [
        *("start", "start", "start", "list", "feedback")
    ]
