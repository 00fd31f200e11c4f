"""Test the answers of a model that works in a repository."""

import pytest

from tenure.algorithms.coding.engineer_answer import MAX_ACTIONS, describe_action, parse_engineer_answer
from tenure.contracts.coding.engineering import EngineerAction
from tenure.contracts.coding.repositories import Replacement

EDIT = "EDIT src/a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"


def actions(text: str) -> tuple[EngineerAction, ...]:
    """Return the actions of an answer."""
    return parse_engineer_answer(text).actions


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("READ src/a.py", {"kind": "read", "subject": "src/a.py"}),
        ("READ src/a.py 10-80", {"kind": "read", "subject": "src/a.py", "first": 10, "last": 80}),
        ("READ src/a.py:10-80", {"kind": "read", "subject": "src/a.py", "first": 10, "last": 80}),
        ("READ src/a.py lines 10 to 80", {"kind": "read", "subject": "src/a.py", "first": 10, "last": 80}),
        ("READ src/a.py [10-80]", {"kind": "read", "subject": "src/a.py", "first": 10, "last": 80}),
        ("READ src/a.py 10-", {"kind": "read", "subject": "src/a.py", "first": 10}),
        ("- `READ src/a.py`", {"kind": "read", "subject": "src/a.py"}),
        ("**READ** src/a.py", {"kind": "read", "subject": "src/a.py"}),
        ("READ `a b.py`", {"kind": "read", "subject": "a b.py"}),
        ("LIST", {"kind": "list", "subject": ""}),
        ("LIST src/**", {"kind": "list", "subject": "src/**"}),
        ("SEARCH where headers are parsed", {"kind": "search", "subject": "where headers are parsed"}),
        ("GREP def parse.* in src/**/*.py", {"kind": "grep", "subject": "def parse.*", "pattern": "src/**/*.py"}),
        ("GREP x in y", {"kind": "grep", "subject": "x in y"}),
        ("SYMBOL Parser.parse", {"kind": "symbol", "subject": "Parser.parse"}),
        ("RUN: ls src/*", {"kind": "run", "subject": "ls src/*", "text": "ls src/*"}),
        ("DELETE tmp.py", {"kind": "delete", "subject": "tmp.py"}),
        ("ASK Which one?", {"kind": "ask", "text": "Which one?"}),
    ],
)
def test_an_action_is_a_line(line: str, action: dict[str, object]) -> None:
    """Keyword and subject are read in the forms in which models write them."""
    assert actions(f"A thought.\n\n{line}\n") == (EngineerAction.model_validate(action),)


def test_a_thought_precedes_the_actions() -> None:
    """Sentences are no actions, also if they begin with a keyword in another form."""
    parsed = parse_engineer_answer("Reading on.\nREADING is slow.\nDONE with the first part.\n\nREAD a.py")

    assert parsed.thought == "Reading on.\nREADING is slow.\nDONE with the first part."
    assert [action.kind for action in parsed.actions] == ["read"]


@pytest.mark.parametrize("wrapped", [EDIT, EDIT.replace("<<<<<<< SEARCH", "```python\n<<<<<<< SEARCH") + "```\n"])
def test_an_edit_has_blocks(wrapped: str) -> None:
    """Several blocks follow an edit, with or without a fence, and keep white space."""
    (edit,) = actions(f"{wrapped}<<<<<<< SEARCH\n  a\n\n=======\n>>>>>>> REPLACE\nThat is all.")

    assert edit.replacements == (
        Replacement(search="old\n", replace="new\n"),
        Replacement(search="  a\n\n", replace=""),
    )


def test_wider_markers_enclose_narrower_ones() -> None:
    """A heading of reStructuredText and a conflict are content."""
    text = "Title\n=======\n<<<<<<< HEAD\n"
    (edit,) = actions(f"EDIT a.rst\n<<<<<<<< SEARCH\n{text}========\nx\n>>>>>>>> REPLACE")
    (write,) = actions(f"WRITE b.rst\n<<<<<<<< CONTENT\n{text}>>>>>>>> END")

    assert edit.replacements == (Replacement(search=text, replace="x\n"),)
    assert write.text == text


def test_a_file_can_be_in_a_fence() -> None:
    """A longer fence contains shorter ones."""
    (write,) = actions("WRITE b.md\n````markdown\n# A\n```sh\nls\n```\n````\n")

    assert write.text == "# A\n```sh\nls\n```\n"


def test_a_command_has_several_lines() -> None:
    """A here-document ends with its word, and a block replaces the line; keywords in them are text."""
    here, block = actions("RUN python - <<'E'\nREAD = 1\nRUN x\nE\nRUN\n<<<<<<<\na\nREAD b\n>>>>>>>\n")

    assert here.text == "python - <<'E'\nREAD = 1\nRUN x\nE"
    assert block.text == "a\nREAD b"


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("RUN cat > t.py <<'E'\nx\nE\npython t.py\nREAD a.py", "cat > t.py <<'E'\nx\nE\npython t.py"),
        ("RUN cat <<A\nx\nA\n\ncat <<B\nREAD y\nB\n\nREAD a.py", "cat <<A\nx\nA\n\ncat <<B\nREAD y\nB"),
        ("RUN cd src\nls <<< a\n```\nREAD a.py", "cd src\nls <<< a"),
        ("RUN ls\n\nThen I read.\n\nREAD a.py", "ls"),
    ],
    ids=["after a here-document", "two here-documents", "lines", "prose"],
)
def test_no_line_of_a_script_is_dropped(answer: str, command: str) -> None:
    """A command has all lines up to the next action; a paragraph behind a single line is prose."""
    run, read = actions(answer)

    assert (run.text, read.subject) == (command, "a.py")


@pytest.mark.parametrize(
    "command",
    [
        'python -c "\nREAD = 1\nprint(READ)"',
        "make \\\n  all",
        "echo it's",
        "echo \"it's\" 'a\"b'",
    ],
)
def test_a_command_continues_until_it_is_complete(command: str) -> None:
    """An open quote takes the following lines, and none if nothing closes it."""
    run, read = actions(f"RUN {command}\nREAD b.py\n")

    assert (run.text, read.subject) == (command, "b.py")


def test_the_end_has_a_report() -> None:
    """Everything after DONE belongs to it; a message has its paragraphs."""
    read, done = actions("READ a.py\nDONE\nCAUSE: a.py:1\nis wrong\nCHANGE: b\n**MESSAGE:** a: b\n\nREAD more\n")

    assert (read.kind, done.kind) == ("read", "done")
    assert (done.cause, done.change, done.text) == ("a.py:1\nis wrong", "b", "a: b\n\nREAD more")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("EDIT a.py\nold\n", "no block with the old and the new lines"),
        (EDIT.replace("=======\n", ""), "no line of 7 `=`"),
        (EDIT.replace("new", "=======\nnew"), "more than one line of 7 `=`"),
        (EDIT.replace("old\n", ""), "no lines to search for"),
        (EDIT.replace(">>>>>>> REPLACE", ""), "no end line of 7 `>`"),
        ("WRITE a.py\ntext", "no block with the content"),
        ("RUN python - <<E\nx", "no end line E"),
        ("READ a.py 80-10", "the last line 10 is before the first line 80"),
    ],
)
def test_a_malformed_action_says_what_is_wrong(text: str, reason: str) -> None:
    """The reason is for the model; actions before it are kept."""
    found = actions(f"READ b.py\n{text}")

    assert [action.kind for action in found] == ["read", "invalid"]
    assert reason in found[1].text


def test_actions_are_limited() -> None:
    """More than the limit are refused with a reason."""
    found = actions("\n".join(f"READ {n}.py" for n in range(MAX_ACTIONS + 3)))

    assert len(found) == MAX_ACTIONS + 1 and found[-1].kind == "invalid"


def test_any_text_is_parsed_in_time() -> None:
    """A long answer of markers and keywords takes no more than a moment."""
    for piece in ("<<<<<<< \n", "EDIT a\n", "```\n", "READ a 1-\n", "DONE\n", "=" * 40, "x in " * 10):
        assert parse_engineer_answer(piece * 5_000) is not None


def test_an_action_is_described_in_a_line() -> None:
    """People read kind, subject, lines and files."""
    read, grep = actions("READ a.py 1-2\nGREP x in *.py")

    assert (describe_action(read), describe_action(grep)) == ("read a.py 1-2", "grep x in *.py")
