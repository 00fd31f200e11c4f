"""Tests of the rendered prompts against the files in `golden` (renewed by `python -m tests.roles.cases`)."""

import pytest

from tenure.roles.registry import list_role_names
from tests.roles.cases import CASES, GOLDEN


def test_every_role_has_a_case_and_a_golden() -> None:
    """Every role has a golden prompt, and every golden prompt has a role."""
    assert set(list_role_names()) == CASES.keys() == {path.stem for path in GOLDEN.glob("*.txt")}


@pytest.mark.parametrize("name", CASES)
def test_the_prompt_is_the_golden_one(name: str) -> None:
    """Wording, order and markers of a prompt change only together with its golden file."""
    assert (GOLDEN / f"{name}.txt").read_text(encoding="utf-8") == CASES[name].prompt


@pytest.mark.parametrize("name", CASES)
def test_a_prompt_is_a_system_and_a_user_message(name: str) -> None:
    """The first message contains only our own text; foreign text is in one message after it."""
    case = CASES[name]
    messages = case.role.prompt(case.input, case.evidence)

    assert [message.role for message in messages] == ["system", "user"]
    assert not any(passage.text in messages[0].content for passage in case.evidence.passages)
