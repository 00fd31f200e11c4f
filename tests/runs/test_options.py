"""Test that an option of `start` is declared once, and that every face has it."""

import inspect
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.main import _name_option
from tenure.contracts.run.options import get_option, list_options
from tenure.mcp_server.tools import TOOLS
from tenure.python_api import start
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import RememberBody, StartRequest, validate_request
from tenure.runs.options import RunOptions
from tenure.runs.start import plan_run
from tenure.settings import Settings
from tenure.site.openapi import build_description
from tests.runs.command_lines import PARSER

NAMES = [name for name, _, _ in list_options(RunOptions)]

WITHHELD = {
    *("mode", "include_secrets", "files", "tests", "candidates", "max_code_attempts"),
    *("repo", "revision", "setup", "test", "allow_setup", "approve"),
}
"""Options that the tool `research` does not offer: those of programs, and the reading of secrets."""


@cache
def describe_options() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the options of `start` in the descriptions of the HTTP API and of the MCP tools."""
    described = build_description("http://127.0.0.1:1")["components"]["schemas"]["StartRequest"]["properties"]
    return described, TOOLS["research"].arguments.model_json_schema()["properties"]


@pytest.mark.parametrize("name", NAMES)
def test_every_face_has_the_option(name: str) -> None:
    """Command line, OpenAPI, MCP and Python take the option, with the words of its declaration."""
    option = get_option(StartRequest.model_fields[name].metadata)
    described, offered = describe_options()

    assert option
    assert name in vars(PARSER.parse_args(["start", "Why?"]))
    assert described[name]["description"] == option.description
    assert name in WITHHELD or offered[name]["description"] == option.description
    assert name in inspect.signature(start).parameters


def test_a_field_that_is_not_given_is_that_of_the_settings() -> None:
    """A limit of a request replaces that of the settings only if it is given, also with its default value."""
    settings = Settings(max_sections=3, approve_plan=True, _env_file=None)
    plain = plan_run(validate_request(StartRequest, {"question": "Why?", "max_sections": None}), settings)
    given = plan_run(StartRequest(question="Why?", max_sections=8, approve_plan=False), settings)

    assert (plain.request.limits.max_sections, plain.request.limits.approve_plan) == (3, True)
    assert (given.request.limits.max_sections, given.request.limits.approve_plan) == (8, False)


def test_an_error_names_its_field_in_the_words_of_the_face() -> None:
    """A program reads the name of the field, and a person at the command line the option."""
    with pytest.raises(InvalidRequest) as caught:
        validate_request(RememberBody, {"text": "one", "subject": "x" * 401})
    arguments = PARSER.parse_args(["memory", "add", "one", "--subject", "x" * 401])

    assert str(caught.value).startswith("subject: String should have")
    assert _name_option(arguments, caught.value).startswith("--subject: String should have")


def test_a_plan_tells_its_caller_and_nobody_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are left out are notes of the run; standard output and error are those of the program."""
    (tmp_path / "id_rsa").write_text("key", encoding="utf-8")
    planned = plan_run(StartRequest(question="Why?", files=[str(tmp_path)]), Settings(_env_file=None))

    assert len(planned.notes) == 1 and "id_rsa" in planned.notes[0]
    assert capsys.readouterr() == ("", "")
