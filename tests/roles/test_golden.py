"""Prompts as a model reads them, held against the files in `golden` (renewed by `python -m tests.roles.cases`)."""

import pytest

from tests.roles.cases import CASES, GOLDEN
from tests.test_architecture import role_names


def test_every_role_has_a_case_and_a_golden() -> None:
    """A new role cannot go without a golden prompt, and none stays behind a role that is gone."""
    assert set(role_names()) == CASES.keys() == {path.stem for path in GOLDEN.glob("*.txt")}


@pytest.mark.parametrize("name", CASES)
def test_the_prompt_is_the_golden_one(name: str) -> None:
    """Wording, order and markers of a prompt change only together with its golden."""
    assert (GOLDEN / f"{name}.txt").read_text(encoding="utf-8") == CASES[name].prompt


@pytest.mark.parametrize("name", CASES)
def test_a_prompt_is_a_system_and_a_user_message(name: str) -> None:
    """Our own words come first and alone; what is not ours comes in one message after them."""
    case = CASES[name]
    messages = case.role.prompt(case.input, case.evidence)

    assert [message.role for message in messages] == ["system", "user"]
    assert not any(passage.text in messages[0].content for passage in case.evidence.passages)
